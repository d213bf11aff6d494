//! The herd: a thousand callers at once, each with entries of its own that are some seconds old.
//!
//! 256 nodes of 16 processors, half of them busy on average. Every caller sees every node as it was
//! 0 to 2 s ago, none sees what the others pick, and each sends work for one processor to the node
//! it picks. If all chose the best node they see, a few nodes would get everything.

use tidings_placement::{Candidate, Need, Policy, Reservations, pick};
use tidings_primitives::Chance;

const NODES: usize = 256;
const CALLERS: u64 = 1_000;
const NEED: Need = Need { cpus: 1.0, mem_bytes: 0 };

/// A number from 0 up to `below`.
fn draw(chance: &mut Chance, below: f64) -> f64 {
    chance.real() * below
}

/// How much work each node gets from callers on `machines`, each with an agent and
/// reservations of its own.
fn work(policy: Policy, machines: usize) -> Vec<u32> {
    let mut chance = Chance::new(11);
    let busy: Vec<f64> = (0..NODES).map(|_| draw(&mut chance, 16.0)).collect();
    let mut reservations = vec![Reservations::default(); machines];
    let mut work = vec![0; NODES];
    for caller in 0..CALLERS {
        let own = &mut reservations[caller as usize % machines];
        let view = |(node, &busy): (usize, &f64)| {
            let mut candidate = Candidate::idle(&format!("n{node}"), 16.0, 1).with_busy_cpus(busy);
            candidate.age_s = draw(&mut chance, 2.0);
            own.discount(&mut candidate, 100.0);
            candidate
        };
        let picture: Vec<Candidate> = busy.iter().enumerate().map(view).collect();
        let node = pick(&picture, 1, NEED, policy, caller).expect("half the cluster is idle")[0];
        own.make(&picture[node].name, NEED, 100.0);
        work[node] += 1;
    }
    work
}

#[test]
fn chance_keeps_callers_on_different_machines_apart() {
    let most = |policy, machines| work(policy, machines).into_iter().max().unwrap_or(0);
    let herd = most(Policy::LeastLoaded, CALLERS as usize);
    let apart = most(Policy::TwoChoices, CALLERS as usize);
    println!("1,000 callers on 1,000 machines: the busiest node gets {herd} by least-loaded");
    println!("and {apart} by two-choices; 3.9 each would be even");
    // Before: a herd. After: 1,000 balls into 256 bins, each caller taking the less loaded of two:
    // the nodes that look most idle get about 8, and a few more at random.
    assert!(herd > 200, "{herd}");
    assert!(apart < 25, "{apart}");
}

#[test]
fn reservations_keep_callers_on_one_machine_apart() {
    let work = work(Policy::LeastLoaded, 1);
    let most = work.iter().max().copied().unwrap_or(0);
    println!("1,000 callers on one machine: the busiest node gets {most} by least-loaded");
    // 2,048 processors are idle, at most 16 on one node.
    assert!(most <= 16, "{most}");
}
