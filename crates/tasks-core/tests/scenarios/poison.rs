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

/// Workers, each on a host of its own.
#[derive(Clone, Copy)]
struct Site {
    workers: u64,
    slots: u32,
    healthy: u64,
}

const MANY: Site = Site { workers: 8, slots: 4, healthy: 1_000 };

/// What was in hand, and what became of it.
struct Work {
    site: Site,
    /// Of each worker, by its peer.
    hands: BTreeMap<Peer, Vec<(TaskId, u32)>>,
    /// How often the worker of each host has begun.
    lives: BTreeMap<u64, u64>,
    rounds: u32,
    /// Tries that poison has taken along.
    taken_along: usize,
}

impl Work {
    fn new(site: Site) -> Self {
        let (hands, lives) = (BTreeMap::new(), BTreeMap::new());
        Self { site, hands, lives, rounds: 0, taken_along: 0 }
    }

    /// A worker begins, on a host of its own.
    fn begin(&mut self, stage: &mut Stage, host: u64) {
        // Of one host the numbers have the same rest.
        let lives = self.lives.entry(host).or_default();
        *lives += 1;
        let (peer, name) = (Peer(*lives * self.site.workers + host), format!("w{host}"));
        stage.join(peer, &name, &[], self.site.slots);
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
                dead.push(peer.0 % self.site.workers);
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
fn rounds(site: Site, poison: u64) -> (u32, usize) {
    let mut stage = Stage::with(|settings| settings.queue_capacity = 2_000);
    let mut work = Work::new(site);
    for host in 0..site.workers {
        work.begin(&mut stage, host);
    }
    let all: Vec<Submission> = (0..poison + site.healthy).map(task).collect();
    let ids: Vec<TaskId> = all.iter().map(|task| task.id).collect();
    let (poison, healthy) = ids.split_at(poison as usize);
    for some in all.chunks(500) {
        stage.submit(some);
    }
    let said = stage.settle();
    work.hear(&said);
    let until = |stage: &mut Stage, work: &mut Work, ids: &[TaskId]| {
        while ids.iter().any(|id| stage.finished(*id).is_none()) {
            assert!(work.rounds < 200, "{ids:?} are starved");
            work.round(stage, poison);
        }
        (work.rounds, work.taken_along)
    };
    let done = until(&mut stage, &mut work, healthy);
    until(&mut stage, &mut work, poison);
    for id in healthy {
        let ended = stage.finished(*id).expect("all have ended");
        assert!(matches!(ended.outcome, Outcome::Done(_)), "{id}: {ended:?}");
    }
    for id in poison {
        let ended = stage.finished(*id).expect("it is stopped");
        let lost = ended.task.failures.iter().filter(|failure| failure.cause == Cause::Lost);
        let losses = if site.workers == 1 { 6 } else { 3 };
        assert_eq!((ended.outcome, lost.count()), (Outcome::Failed, losses));
    }
    done
}

#[test]
fn one_poison_among_many_leaves_the_others_their_throughput() {
    let (alone, none) = rounds(MANY, 0);
    let at_a_time = MANY.workers * u64::from(MANY.slots);
    assert_eq!((alone, none), (MANY.healthy.div_ceil(at_a_time) as u32, 0));
    let (beside, taken_along) = rounds(MANY, 1);
    let kept = f64::from(alone) / f64::from(beside);
    println!("{alone} rounds alone, {beside} beside poison: {kept:.3}; {taken_along} again");
    assert!(kept >= 0.95, "{alone} rounds alone, {beside} beside poison");
    assert!(taken_along <= 3 * (MANY.slots as usize - 1), "it is tried three times");
}

#[test]
fn what_poison_takes_along_is_not_taken_for_poison_where_hosts_are_few() {
    for workers in 1..4 {
        for slots in 2..6 {
            // What is lost goes first, so all that poison took along is assigned with it again.
            let site = Site { workers, slots, healthy: 20 };
            println!("{workers} workers of {slots} slots: {:?}", rounds(site, 1));
        }
    }
}
