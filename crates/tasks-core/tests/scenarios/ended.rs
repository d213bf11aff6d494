//! A process that coordinated and was a worker, and is killed as both.

use core::time::Duration;

use tidings_tasks_core::id::Attempt;
use tidings_tasks_core::message::{Message, Peer};

use crate::stage::*;

/// Two workers with a task each, of which the first coordinated; then another one takes the role.
fn taken_over(is_heard_first: bool) -> Stage {
    let mut stage = Stage::new();
    stage.join(A, "p1-worker", &[], 1);
    stage.join(B, "p10-worker", &[], 1);
    stage.submit(&[task(1), task(2)]);
    assert_eq!(assigned(&stage.settle()), [(A, task(1).id, 1), (B, task(2).id, 1)]);
    stage.succeed_hearing(2, |coordinator, now| {
        if is_heard_first {
            coordinator.handle_process_ended(now, "p1");
        }
    });
    if !is_heard_first {
        stage.coordinator.handle_process_ended(stage.now, "p1");
    }
    stage
}

#[test]
fn what_the_coordinator_before_had_as_a_worker_runs_elsewhere_at_once() {
    for is_heard_first in [true, false] {
        let mut stage = taken_over(is_heard_first);
        stage.settle();
        stage.join(Peer(7), "p3-worker", &[], 2);
        // The other one is waited for as long as its session would have lasted.
        assert_eq!(assigned(&stage.settle()), [(Peer(7), task(1).id, 2)]);
        stage.join(B, "p10-worker", &[(task(2).id, Attempt(1))], 1);
        assert_eq!(assigned(&stage.settle()), []);
        stage.request(B, complete(task(2).id, 1));
        stage.settle();
        assert!(stage.finished(task(2).id).is_some());
        let failures = stage.live(task(1).id).expect("it runs").failures;
        assert!(failures[0].text.contains("its process has ended"), "{failures:?}");
    }
}

#[test]
fn one_that_was_wrongly_said_to_have_ended_is_told_to_stop() {
    let mut stage = taken_over(false);
    stage.settle();
    stage.join(Peer(7), "p3-worker", &[], 1);
    stage.settle();
    stage.join(A, "p1-worker", &[(task(1).id, Attempt(1))], 1);
    stage.request(A, complete(task(1).id, 1));
    let said = stage.settle();
    let stop = Message::Stop { task: task(1).id, attempt: Attempt(1) };
    assert!(said.iter().any(|(peer, one)| *peer == A && *one == stop), "{said:?}");
    assert!(stage.finished(task(1).id).is_none());
    stage.pass(Duration::from_millis(100));
    stage.request(Peer(7), complete(task(1).id, 2));
    stage.settle();
    assert!(stage.finished(task(1).id).is_some());
}
