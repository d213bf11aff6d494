//! Balancers on costs of real applications: every task once, only excess moves, as even as the
//! centralised one at a tenth of its cost.

use proptest::prelude::*;
use tidings_applications::Application;
use tidings_applications::scf::{Basis, Fock, cost};
use tidings_applications::tce::Contraction;
use tidings_steal::balance::{Hierarchy, Move, Plan, centralised, hierarchical, imbalance};

const FINE: Hierarchy = Hierarchy { bin: 1000, ..Hierarchy::PAPER };

/// Blocks of a list, one for each worker.
fn blocks(costs: &[u64], workers: usize) -> Vec<Vec<u64>> {
    let start = |worker: usize| costs.len() * worker / workers;
    (0..workers).map(|worker| costs[start(worker)..start(worker + 1)].to_vec()).collect()
}

/// A plan moves tasks that are there, each once, to others that are there.
fn is_a_plan(plan: &Plan, costs: &[Vec<u64>]) {
    for step in &plan.moves {
        assert!((step.to as usize) < costs.len() && step.to != step.from, "{step:?}");
        assert!((step.task as usize) < costs[step.from as usize].len(), "{step:?}");
    }
    let once = |two: &[Move]| (two[0].from, two[0].task) < (two[1].from, two[1].task);
    assert!(plan.moves.windows(2).all(once));
}

/// As even as the centralised plan within a hundredth, at a tenth of its steps.
fn is_as_good(name: &str, costs: &[Vec<u64>]) {
    let (reference, plan) = (centralised(costs), hierarchical(costs, &FINE));
    is_a_plan(&reference, costs);
    is_a_plan(&plan, costs);
    let (best, reached) = (imbalance(&reference.loads(costs)), imbalance(&plan.loads(costs)));
    let share = plan.steps as f64 / reference.steps as f64;
    let moved = plan.moves.len() as f64 / reference.moves.len() as f64;
    println!("{name} {}: {best:.4} {reached:.4}, steps {share:.4}, moves {moved:.3}", costs.len());
    assert!(reached <= 1.01 * best, "{name}: {reached} for {best}");
    assert!(share <= 0.1, "{name}: {share} of the steps");
    assert!(moved <= 0.7, "{name}: {moved} of the moves");
}

#[test]
fn tasks_of_a_fock_matrix_are_as_even_as_by_the_centralised_one() {
    let fock = Fock::new(Basis::grid([4, 2, 2]));
    let costs: Vec<u64> = cost::of_all(fock.bounds()).iter().map(|cost| u64::from(*cost)).collect();
    for workers in [64, 256] {
        is_as_good("scf", &blocks(&costs, workers));
    }
}

#[test]
fn tasks_of_a_contraction_are_as_even_as_by_the_centralised_one() {
    let contraction = Contraction::new(24, 8, 1);
    let costs: Vec<u64> = contraction.roots().map(|task| contraction.cost(&task)).collect();
    for workers in [64, 256] {
        is_as_good("tce", &blocks(&costs, workers));
    }
}

fn costs() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(0u64..5000, 0..40), 1..60)
}

proptest! {
    /// Who has no more than the average gives nothing away; the rest is one task at most above it.
    #[test]
    fn only_excess_moves(costs in costs()) {
        let plan = hierarchical(&costs, &FINE);
        is_a_plan(&plan, &costs);
        let before: Vec<u64> = costs.iter().map(|own| own.iter().sum()).collect();
        let average = before.iter().sum::<u64>() as f64 / before.len() as f64;
        for step in &plan.moves {
            prop_assert!(before[step.from as usize] as f64 > 1.005 * average);
        }
        let after = plan.loads(&costs);
        prop_assert_eq!(after.iter().sum::<u64>(), before.iter().sum::<u64>());
        is_a_plan(&centralised(&costs), &costs);
    }
}
