//! What each session gets of many tasks where hosts differ in speed.
//!
//! Nobody divides tasks among sessions: who is done gets the next one. So speeds need not be known,
//! and all end at the same time, where an equal share for each would wait for the slowest.

use std::collections::BTreeMap;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Message, Peer, Request, Submission};

use crate::stage::*;

const TASKS: u64 = 600;

/// The units of time that each of these sessions takes for a task.
const UNITS: [(Peer, &str, u64); 3] = [(A, "a", 1), (B, "b", 1), (Peer(3), "c", 2)];

/// What came of a run.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    done: BTreeMap<Peer, u64>,
    makespan: u64,
}

/// Does tasks with so many ahead in each session, one after the other in each.
fn run(ahead: u32) -> Run {
    let mut stage = Stage::new();
    for (peer, name, _) in UNITS {
        stage.join(peer, name, &[], 0);
        let (queues, resources) = (Vec::new(), Vec::new());
        stage.request(peer, Request::Offer { queues, slots: 1, resources, ahead, full: None });
    }
    stage.settle();
    let tasks: Vec<Submission> = (0..TASKS).map(task).collect();
    stage.submit(&tasks);
    let mut run = Run { done: BTreeMap::new(), makespan: 0 };
    let mut said = stage.settle();
    // When each task ends; a session begins the next one when its last one has.
    let mut ends: BTreeMap<(u64, Peer, u64), TaskId> = BTreeMap::new();
    let mut free: BTreeMap<Peer, u64> = BTreeMap::new();
    for sequence in 0.. {
        take(&said, (run.makespan, sequence), &mut free, &mut ends);
        let Some(((at, peer, _), id)) = ends.pop_first() else { break };
        run.makespan = at;
        *run.done.entry(peer).or_default() += 1;
        stage.request(peer, complete(id, 1));
        said = stage.settle();
    }
    run
}

/// Notes what was assigned, and when it will have ended.
fn take(
    said: &[(Peer, Message)],
    (now, sequence): (u64, u64),
    free: &mut BTreeMap<Peer, u64>,
    ends: &mut BTreeMap<(u64, Peer, u64), TaskId>,
) {
    for (peer, id, _) in assigned(said) {
        let units = UNITS.iter().find(|(one, ..)| *one == peer).map_or(0, |(.., units)| *units);
        let free = free.entry(peer).or_default();
        *free = now.max(*free) + units;
        ends.insert((*free, peer, sequence), id);
    }
}

#[test]
fn a_host_at_half_speed_gets_half_as_many_and_all_end_together() {
    let done = BTreeMap::from([(A, 240), (B, 240), (Peer(3), 120)]);
    let run = run(0);
    assert_eq!(run, Run { done, makespan: 240 });
    let with_equal_shares = TASKS / 3 * 2;
    assert!(run.makespan * 5 == with_equal_shares * 3, "{run:?}");
}

/// Tasks that lie with a slow session are waited for at the end, by as many as it has ahead.
#[test]
fn with_tasks_ahead_the_last_ones_of_a_slow_host_are_waited_for() {
    let ahead = 4;
    let Run { done, makespan } = run(ahead);
    assert_eq!(done.values().sum::<u64>(), TASKS);
    assert!(done[&Peer(3)] < done[&A] && done[&Peer(3)] < done[&B], "{done:?}");
    assert!((240..=240 + 2 * u64::from(ahead)).contains(&makespan), "{makespan}");
}
