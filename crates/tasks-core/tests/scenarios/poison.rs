//! Poison among healthy tasks: its tries take little from them.
//!
//! Work is counted in rounds, not in time: in each, every worker ends all that it has in hand. Who
//! has poison in hand ends instead, with all that it has, and is back in the next round.

use core::time::Duration;
use std::collections::BTreeMap;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Message, Peer, Request, Submission};
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::retry::Cause;

use crate::stage::*;

const WORKERS: u64 = 8;
const SLOTS: u32 = 4;
const HEALTHY: u64 = 1_000;

/// What was in hand, and what became of it.
#[derive(Default)]
struct Work {
    /// Of each worker, by its peer.
    hands: BTreeMap<Peer, Vec<(TaskId, u32)>>,
    /// How often the worker of each host has begun.
    lives: BTreeMap<u64, u64>,
    rounds: u32,
    /// Tries that poison has taken along.
    taken_along: usize,
}

impl Work {
    /// A worker begins, on a host of its own.
    fn begin(&mut self, stage: &mut Stage, host: u64) {
        // Of one host the numbers have the same rest.
        let lives = self.lives.entry(host).or_default();
        *lives += 1;
        let (peer, name) = (Peer(*lives * WORKERS + host), format!("w{host}"));
        stage.join(peer, &name, &[], SLOTS);
        self.hands.insert(peer, Vec::new());
    }

    fn hear(&mut self, said: &[(Peer, Message)]) {
        for (peer, id, attempt) in assigned(said) {
            self.hands.entry(peer).or_default().push((id, attempt));
        }
    }

    /// Ends what is in hand. Returns how many ended.
    fn round(&mut self, stage: &mut Stage, poison: &[TaskId]) {
        self.rounds += 1;
        let mut dead = Vec::new();
        for (peer, hand) in core::mem::take(&mut self.hands) {
            if hand.iter().any(|(id, _)| poison.contains(id)) {
                self.taken_along += hand.len() - 1;
                stage.coordinator.handle_gone(stage.now, peer);
                dead.push(peer.0 % WORKERS);
                continue;
            }
            self.hands.insert(peer, Vec::new());
            for (id, attempt) in hand {
                stage.request(peer, complete(id, attempt));
            }
        }
        let said = stage.settle();
        self.hear(&said);
        // Longer than a worker may take to come back to what it had.
        let said = stage.pass(Duration::from_secs(2));
        self.hear(&said);
        for host in dead {
            self.begin(stage, host);
        }
        for peer in self.hands.keys() {
            stage.request(*peer, Request::Heartbeat);
        }
        let said = stage.settle();
        self.hear(&said);
    }
}

/// How many rounds it takes until all healthy tasks have ended, with so many others before them.
fn rounds(poison: u64) -> (u32, usize) {
    let mut stage = Stage::with(|settings| settings.queue_capacity = 2_000);
    let mut work = Work::default();
    for host in 0..WORKERS {
        work.begin(&mut stage, host);
    }
    let all: Vec<Submission> = (0..poison + HEALTHY).map(task).collect();
    let ids: Vec<TaskId> = all.iter().map(|task| task.id).collect();
    let (poison, healthy) = ids.split_at(poison as usize);
    for some in all.chunks(500) {
        stage.submit(some);
    }
    let said = stage.settle();
    work.hear(&said);
    while healthy.iter().any(|id| stage.finished(*id).is_none()) {
        assert!(work.rounds < 200, "healthy tasks are starved");
        work.round(&mut stage, poison);
    }
    for id in healthy {
        let ended = stage.finished(*id).expect("all have ended");
        assert!(matches!(ended.outcome, Outcome::Done(_)), "{id}: {ended:?}");
    }
    for id in poison {
        let ended = stage.finished(*id).expect("it is stopped");
        let lost = ended.task.failures.iter().filter(|failure| failure.cause == Cause::Lost);
        assert_eq!((ended.outcome, lost.count()), (Outcome::Failed, 3));
    }
    (work.rounds, work.taken_along)
}

#[test]
fn one_poison_among_many_leaves_the_others_their_throughput() {
    let (alone, none) = rounds(0);
    assert_eq!((alone, none), (HEALTHY.div_ceil(WORKERS * u64::from(SLOTS)) as u32, 0));
    let (beside, taken_along) = rounds(1);
    let kept = f64::from(alone) / f64::from(beside);
    println!("{alone} rounds alone, {beside} beside poison: {kept:.3}; {taken_along} again");
    assert!(kept >= 0.95, "{alone} rounds alone, {beside} beside poison");
    assert!(taken_along <= 3 * (SLOTS as usize - 1), "it is tried three times");
}
