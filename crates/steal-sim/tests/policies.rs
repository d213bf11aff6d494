//! What policies have to reach, at a small size: traffic of thieves, and retention.

use tidings_steal::{Config, Done, Frame, Seeding, Selection, config};
use tidings_steal_sim::programs::Program;
use tidings_steal_sim::programs::divided::{Divided, Order};
use tidings_steal_sim::programs::listed::{Listed, like_scf};
use tidings_steal_sim::{Iteration, Setting, run};

const WORKERS: u32 = 256;

fn of(selection: Selection, change: impl FnOnce(Setting) -> Setting) -> Vec<Iteration> {
    let setting = change(Setting::new(WORKERS, Config::new(selection, 22), 3));
    let costs = like_scf(WORKERS, 500, 4_400_000, 3);
    let iterations = run(&setting, &mut Listed::in_blocks(costs, WORKERS).changing(0.1, 0.01));
    assert!(iterations.iter().all(|one| one.is_complete() && one.never + one.twice == 0));
    iterations
}

#[test]
fn knowledge_saves_attempts_and_steals_at_no_less_efficiency() {
    let random = of(config::random(22), |setting| setting).remove(0);
    let known =
        of(config::known(22), |setting| Setting { unit_ns: 5_000_000, ..setting }).remove(0);
    let steals = |one: &Iteration| one.counters.steals + one.counters.pushed;
    assert!(10 * known.counters.attempts <= random.counters.attempts);
    assert!(5 * steals(&known) <= 3 * steals(&random));
    assert!(5 * known.counters.tasks_in <= 3 * random.counters.tasks_in);
    assert!(known.efficiency + 0.005 >= random.efficiency);
}

/// Workers that answer between tasks only, as ranks of an MPI program do: thieves wait for answers,
/// and what they were told of is older when they get it.
#[test]
fn knowledge_saves_as_much_where_victims_answer_between_tasks() {
    let between = |setting| Setting { between_tasks: true, ..setting };
    let at_once = of(config::random(22), |setting| setting).remove(0);
    let random = of(config::random(22), between).remove(0);
    let known = of(config::known(22), |setting| Setting { unit_ns: 5_000_000, ..between(setting) })
        .remove(0);
    let steals = |one: &Iteration| one.counters.steals + one.counters.pushed;
    assert!(random.waiting_ns > 10 * at_once.waiting_ns);
    assert!(10 * known.counters.attempts <= random.counters.attempts);
    assert!(5 * steals(&known) <= 3 * steals(&random));
    assert!(known.efficiency >= random.efficiency);
}

/// Of a thousand workers one has all the work, and all see the same board. Two are to ask it at a
/// time; before there is a board nobody knows whom to ask, and each asks another one.
#[test]
fn a_thousand_thieves_of_one_victim_take_turns() {
    let (workers, tasks) = (1000, 10_000);
    let config = Config::new(config::known(22), 22);
    let setting = Setting { unit_ns: 5_000_000, ..Setting::new(workers, config, 3) };
    let mut list = Listed::in_blocks(vec![10_000_000; tasks], workers).assigned(&vec![0; tasks]);
    let phase = run(&setting, &mut list).remove(0);
    assert!(phase.is_complete() && phase.never + phase.twice == 0);
    assert!(phase.thieves_at_once <= 4, "{}", phase.thieves_at_once);
}

/// A unit of a tenth of the phase, so that entries say nothing of who has work now.
#[test]
fn where_entries_are_old_knowledge_is_as_good_as_lifelines() {
    let lifelines = of(config::lifelines(), |setting| setting).remove(0);
    let unit_ns = lifelines.makespan_ns / 10;
    let known = of(config::known(22), |setting| Setting { unit_ns, ..setting }).remove(0);
    let (one, other) = (known.efficiency, lifelines.efficiency);
    assert!(one + 0.005 >= other, "{one} {other}");
}

#[test]
fn retention_leaves_little_to_steal() {
    let iterations = of(config::known(22), |mut setting| {
        setting.config.retain = true;
        Setting { unit_ns: 5_000_000, iterations: 5, ..setting }
    });
    assert_eq!(iterations[0].seeding, Some(Seeding::First));
    assert_eq!(iterations[4].seeding, Some(Seeding::Retained));
    let steals = |one: &Iteration| one.counters.steals + one.counters.pushed;
    assert!(5 * steals(&iterations[4]) <= steals(&iterations[0]));
    assert!(3 * iterations[4].counters.tasks_in <= iterations[0].counters.tasks_in);
    assert!(iterations[4].efficiency >= 0.985);
    assert!(iterations[4].retained > 0.9);
}

/// A recursive program, by either policy, whose iterations cost the same.
fn recursive(order: Order, selection: Selection) -> Vec<Iteration> {
    let mut config = Config::new(selection, 22);
    config.retain = true;
    let setting = Setting { iterations: 4, ..Setting::new(64, config, 3) };
    let costs = like_scf(64, 100, 4_400_000, 3);
    let iterations = run(&setting, &mut Divided::new(&costs, 64, order));
    assert!(iterations.iter().all(|one| one.is_complete() && one.never + one.twice == 0));
    iterations
}

/// Where tasks spawn no list can be retained: the tree of steals is what the next iteration begins
/// with, so that hardly anybody has to ask.
#[test]
fn what_was_stolen_of_a_recursive_program_is_given_unasked_the_next_time() {
    for order in [Order::HelpFirst, Order::WorkFirst] {
        for selection in [config::random(22), config::lifelines()] {
            let iterations = recursive(order, selection);
            let (first, last) = (&iterations[0], &iterations[3]);
            let gifts = last.counters.steals + last.counters.pushed;
            assert_eq!(first.counters.guided, 0);
            assert!(20 * last.counters.guided > 19 * gifts, "{:?}", last.counters);
            assert!(last.efficiency + 0.002 > first.efficiency);
            // Thieves that ask at random ask on at the end, when nobody has anything.
            let asks_on = matches!(selection, Selection::Random(_));
            assert!(asks_on || 4 * last.counters.attempts < first.counters.attempts);
        }
    }
}

/// A recursive program whose entries take up to three times as long as in another iteration.
struct Changing(Divided);

impl Program for Changing {
    fn tasks(&self, worker: u32, iteration: u32) -> Vec<Frame> {
        self.0.tasks(worker, iteration)
    }

    fn cost_ns(&self, frame: &Frame, iteration: u32) -> i64 {
        let entry = self.0.number(frame).unwrap_or(0) as i64;
        self.0.cost_ns(frame, iteration) * (1 + (entry + i64::from(iteration)) % 3)
    }

    fn run(&mut self, frame: &Frame, spawn: &mut dyn FnMut(Frame)) -> Done {
        self.0.run(frame, spawn)
    }

    fn number(&self, frame: &Frame) -> Option<usize> {
        self.0.number(frame)
    }

    fn listed(&self) -> usize {
        self.0.listed()
    }
}

/// Other costs put tasks at worse places, and from there they are stolen: each runs once.
#[test]
fn stealing_goes_on_where_costs_are_others_than_last_time() {
    let costs = like_scf(32, 60, 1_000_000, 7);
    let iterations = |selection, retain| {
        let mut config = Config::new(selection, 22);
        config.retain = retain;
        let setting = Setting { iterations: 4, ..Setting::new(32, config, 7) };
        let iterations = run(&setting, &mut Changing(Divided::new(&costs, 32, Order::HelpFirst)));
        assert!(iterations.iter().all(|one| one.is_complete() && one.never + one.twice == 0));
        iterations
    };
    for selection in [config::random(22), config::lifelines()] {
        let (plain, guided) = (iterations(selection, false), iterations(selection, true));
        let second = guided[1].counters;
        assert!(second.guided > 0 && second.steals + second.pushed > second.guided, "{second:?}");
        for (one, other) in guided.iter().zip(&plain) {
            let both = (one.efficiency, other.efficiency);
            assert!(both.0 > 0.8 * both.1, "{both:?}");
        }
    }
}
