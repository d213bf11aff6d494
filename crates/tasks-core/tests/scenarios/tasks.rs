//! What becomes of tasks when workers, coordinators and answers are lost.

use core::time::Duration;

use tidings_tasks_core::id::Attempt;
use tidings_tasks_core::message::{Answer, Effect, Message, Refusal, Request, Submission};
use tidings_tasks_core::record::{Outcome, State};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::transaction::{CommitError, Transaction};

use crate::stage::*;

#[test]
fn what_a_worker_gives_back_comes_next() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 2);
    stage.settle();
    stage.submit(&(0..5).map(task).collect::<Vec<_>>());
    assert_eq!(assigned(&stage.settle()).len(), 2);
    let (queues, resources) = (Vec::new(), Vec::new());
    stage.request(A, Request::Offer { queues, slots: 0, resources, ahead: 0, full: None });
    // The last first, so that they come in their order again.
    for number in [1, 0] {
        let (task, attempt, cause) = (task(number).id, Attempt(1), Cause::Returned);
        stage.request(
            A,
            Request::Fail { task, attempt, cause, text: String::new(), detail: Vec::new() },
        );
    }
    stage.settle();
    stage.join(B, "b", &[], 3);
    let got = assigned(&stage.settle());
    assert_eq!(got, [(0, 2), (1, 2), (2, 1)].map(|(number, tries)| (B, task(number).id, tries)));
}

/// Takes out the commits that are to be made, and loses their answers.
fn lose(stage: &mut Stage) -> Vec<Transaction> {
    let commits = stage.commits();
    let lost = |(ticket, transaction)| {
        stage.coordinator.handle_commit(stage.now, ticket, Err(CommitError::Unknown));
        transaction
    };
    commits.into_iter().map(lost).collect()
}

#[test]
fn a_commit_whose_answer_was_lost_does_not_happen_later() {
    let mut stage = Stage::new();
    stage.submit(&[task(1)]);
    let late = lose(&mut stage);
    stage.settle();
    for transaction in late {
        let answer = stage.ledger.commit(&transaction);
        assert!(matches!(answer, Err(CommitError::Conflict { .. })), "{answer:?}");
    }
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    assert_eq!(assigned(&stage.settle()), [(A, task(1).id, 1)]);
}

#[test]
fn a_fence_that_is_written_late_costs_another_recovery() {
    let mut stage = Stage::new();
    stage.submit(&[task(1)]);
    lose(&mut stage);
    let late = lose(&mut stage);
    stage.settle();
    let before = stage.coordinator.counters().recoveries;
    for transaction in late {
        stage.ledger.commit(&transaction).expect("it only requires the role");
    }
    stage.join(A, "a", &[], 1);
    let call = stage.submit(&[task(1)]);
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&refused(Refusal::Elsewhere)), "it is to ask again");
    assert_eq!(stage.coordinator.counters().recoveries, before + 1);
    stage.submit(&[task(1)]);
    assert_eq!(assigned(&stage.settle()), [(A, task(1).id, 1)]);
}

#[test]
fn a_late_result_of_a_frozen_worker_does_not_count() {
    let mut stage = Stage::new();
    let id = task(1).id;
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    assert_eq!(assigned(&stage.settle()), [(A, id, 1)]);
    stage.pass(TTL / 2);
    stage.join(B, "b", &[], 1);
    let said = stage.pass(TTL / 2 + TTL / 4);
    assert_eq!(assigned(&said), [(B, id, 2)], "one silent term is enough: {said:?}");
    let call = stage.request(B, complete(id, 2));
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Done));
    let late = stage.request(A, complete(id, 1));
    assert_eq!(answer(&stage.settle(), late), Some(&refused(Refusal::Superseded)));
    assert_eq!(stage.finished(id).unwrap().outcome, Outcome::Done(vec![2]));
    assert_eq!(stage.coordinator.counters().superseded, 1);
}

#[test]
fn a_lone_worker_that_falls_silent_is_noticed() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    stage.pass(TTL + TTL / 4);
    assert_eq!(stage.live(task(1).id).unwrap().state, State::Ready);
    assert_eq!(stage.coordinator.counters().lost, 1);
}

#[test]
fn a_pause_of_the_coordinator_ends_no_session() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    for late in [2, 3, 10] {
        stage.now = stage.now + TTL * late;
        stage.coordinator.handle_timeout(stage.now);
        assert_eq!(stage.settle(), [], "what A has said meanwhile is still to be read");
        stage.request(A, Request::Heartbeat);
        stage.settle();
    }
    assert!(stage.live(task(1).id).unwrap().state.is_running());
}

#[test]
fn a_crash_between_commit_and_answer_loses_nothing() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    let call = stage.request(A, complete(task(1).id, 1));
    for (_, transaction) in stage.commits() {
        stage.ledger.commit(&transaction).unwrap();
    }
    stage.succeed(2);
    stage.join(B, "a", &[(task(1).id, Attempt(1))], 1);
    stage.again(B, call, complete(task(1).id, 1));
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&Answer::Done));
    assert_eq!(assigned(&said), []);
}

#[test]
fn a_deposed_coordinator_says_nothing_that_counts() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    let mut old = stage.succeed(2);
    stage.pass(TTL / 2);
    stage.join(B, "b", &[], 1);
    stage.settle();
    assert_eq!(assigned(&stage.pass(TTL * 3 / 4)), [(B, task(1).id, 2)]);
    core::mem::swap(&mut old, &mut stage.coordinator);
    // It would have refused a live attempt that it knows nothing of.
    let call = stage.request(B, complete(task(1).id, 2));
    assert_eq!(answer(&stage.settle(), call), Some(&refused(Refusal::Elsewhere)));
    assert!(stage.coordinator.is_deposed());
    assert_eq!(stage.coordinator.poll_timeout(), None);
}

#[test]
fn an_assignment_whose_answer_was_lost_is_told() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.settle();
    let call = stage.submit(&[task(1)]);
    for (ticket, transaction) in stage.commits() {
        stage.ledger.commit(&transaction).unwrap();
        stage.coordinator.handle_commit(stage.now, ticket, Err(CommitError::Unknown));
    }
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&refused(Refusal::Elsewhere)));
    assert_eq!(assigned(&said), [(A, task(1).id, 1)]);
    stage.again(CLIENT, call, Request::Submit { tasks: vec![task(1)] });
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Submitted(0)));
}

#[test]
fn a_worker_that_comes_back_while_it_is_given_a_task_gets_it_anew() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.settle();
    stage.submit(&[task(1)]);
    let commits = stage.commits();
    stage.join(B, "a", &[], 1);
    for (ticket, transaction) in commits {
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    assert_eq!(assigned(&stage.settle()), [(B, task(1).id, 2)]);
}

#[test]
fn the_cancelled_task_of_a_worker_that_dies_ends() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    let id = task(1).id;
    let call = stage.request(CLIENT, Request::Cancel { task: id });
    let commits = stage.commits();
    stage.coordinator.handle_host_lost(stage.now, "host-a");
    for (ticket, transaction) in commits {
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Done));
    assert_eq!(stage.finished(id).unwrap().outcome, Outcome::Cancelled);
    let again = stage.request(CLIENT, Request::Cancel { task: id });
    assert_eq!(answer(&stage.settle(), again), Some(&Answer::Done));
}

#[test]
fn a_task_is_withdrawn_unless_a_worker_has_it() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1), task(2)]);
    assert_eq!(assigned(&stage.settle()), [(A, task(1).id, 1)]);
    let calls = [1, 2].map(|n| stage.request(CLIENT, Request::Withdraw { task: task(n).id }));
    let said = stage.settle();
    let refused = Answer::Refused(Refusal::State("running".to_owned()));
    assert_eq!(answer(&said, calls[0]), Some(&refused));
    assert_eq!(answer(&said, calls[1]), Some(&Answer::Done));
    assert_eq!(stage.finished(task(2).id).unwrap().outcome, Outcome::Cancelled);
    assert!(stage.finished(task(1).id).is_none(), "it goes on");
    let again = stage.request(CLIENT, Request::Withdraw { task: task(2).id });
    assert_eq!(answer(&stage.settle(), again), Some(&Answer::Done));
    let none = stage.request(CLIENT, Request::Withdraw { task: task(3).id });
    assert_eq!(answer(&stage.settle(), none), Some(&Answer::Refused(Refusal::NoTask)));
}

#[test]
fn what_was_cancelled_can_be_tried_again() {
    let mut stage = Stage::new();
    let id = task(1).id;
    stage.submit(&[task(1)]);
    stage.request(CLIENT, Request::Cancel { task: id });
    stage.settle();
    assert_eq!(stage.finished(id).unwrap().outcome, Outcome::Cancelled);
    let calls = [(); 2].map(|()| stage.request(CLIENT, Request::Revive { task: id }));
    let said = stage.settle();
    assert_eq!(answer(&said, calls[0]), Some(&Answer::Done));
    assert!(matches!(answer(&said, calls[1]), Some(Answer::Refused(Refusal::State(_)))));
    stage.join(A, "a", &[], 1);
    assert_eq!(assigned(&stage.settle()), [(A, id, 1)]);
    assert_eq!(stage.coordinator.counters().recoveries, 0);
}

#[test]
fn tasks_that_ended_before_are_left_out_of_a_submission_at_once() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 10);
    let tasks: Vec<Submission> = (0..20).map(task).collect();
    stage.submit(&tasks[..10]);
    stage.settle();
    for one in &tasks[..10] {
        stage.request(A, complete(one.id, 1));
    }
    stage.settle();
    let commits = stage.coordinator.counters().commits;
    let call = stage.submit(&tasks);
    let said = stage.settle();
    assert_eq!(answer(&said, call), Some(&Answer::Submitted(10)));
    assert_eq!(assigned(&said).len(), 10);
    assert!(assigned(&said).iter().all(|(_, id, _)| tasks[10..].iter().any(|one| one.id == *id)));
    assert!(stage.coordinator.counters().commits <= commits + 3);
}

#[test]
fn a_submission_that_is_sent_again_while_it_is_on_its_way_adds_nothing() {
    let mut stage = Stage::new();
    let first = stage.submit(&[task(1)]);
    let second = stage.submit(&[task(1), task(2)]);
    let said = stage.settle();
    assert_eq!(answer(&said, first), Some(&Answer::Submitted(1)));
    assert_eq!(answer(&said, second), Some(&Answer::Submitted(1)));
    assert_eq!(stage.coordinator.live(), 2);
}

#[test]
fn a_full_queue_lets_submitters_wait() {
    let mut stage = Stage::with(|settings| settings.queue_capacity = 2);
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1), task(2)]);
    stage.settle();
    let calls = [3, 4].map(|number| stage.submit(&[task(number)]));
    let said = stage.settle();
    assert_eq!(calls.map(|call| answer(&said, call)), [None, None]);
    stage.request(A, complete(task(1).id, 1));
    let said = stage.settle();
    assert_eq!(answer(&said, calls[0]), Some(&Answer::Submitted(1)));
}

#[test]
fn a_full_store_refuses_what_is_asked_and_forgets_nothing() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    let call = stage.submit(&[task(2)]);
    stage.coordinator.handle_host_lost(stage.now, "host-a");
    for (ticket, _) in stage.commits() {
        let full = Err(CommitError::Full("no space".to_owned()));
        stage.coordinator.handle_commit(stage.now, ticket, full);
    }
    assert!(matches!(answer(&stage.settle(), call), Some(Answer::Refused(Refusal::Full(_)))));
    assert!(stage.live(task(1).id).unwrap().state.is_running(), "nothing is written");
    stage.pass(Duration::from_secs(2));
    assert_eq!(stage.live(task(1).id).unwrap().state, State::Ready);
}

#[test]
fn a_conflict_of_an_effect_refuses_that_completion_only() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 3);
    stage.submit(&[task(1), task(2), task(3)]);
    stage.settle();
    let mut calls = Vec::new();
    for number in 1..=3 {
        let key = if number < 3 { b"one".to_vec() } else { b"other".to_vec() };
        let effects = vec![Effect { key, value: Some(vec![1].into()), expect: Some(0) }];
        let (task, attempt) = (task(number).id, Attempt(1));
        let (result, children) = (Vec::new(), Vec::new());
        calls.push(stage.request(
            A,
            Request::Complete { task, attempt, result, children, effects, puts: Vec::new() },
        ));
    }
    let said = stage.settle();
    assert_eq!(answer(&said, calls[0]), Some(&Answer::Done));
    let second = answer(&said, calls[1]);
    assert!(matches!(second, Some(Answer::Refused(Refusal::EffectConflict(Some(_))))));
    assert_eq!(answer(&said, calls[2]), Some(&Answer::Done));
    let (cause, text) = (Cause::Error, String::new());
    let detail = Vec::new();
    stage.request(A, Request::Fail { task: task(2).id, attempt: Attempt(1), cause, text, detail });
    stage.settle();
    assert_eq!(stage.finished(task(2).id).unwrap().outcome, Outcome::Failed);
}

#[test]
fn a_false_death_costs_one_run_a_slot() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 2);
    stage.submit(&[1, 2, 3, 4].map(task));
    let first = assigned(&stage.settle());
    assert_eq!(first.len(), 2);
    stage.coordinator.handle_host_lost(stage.now, "host-a");
    assert!(stage.settle().contains(&(A, Message::Ended)));
    let holding: Vec<_> = first.iter().map(|(_, id, n)| (*id, Attempt(*n))).collect();
    stage.join(A, "a", &holding, 2);
    let said = stage.settle();
    assert_eq!(said.iter().filter(|(_, one)| matches!(one, Message::Stop { .. })).count(), 2);
    assert_eq!(stage.coordinator.counters().lost, 2);
}

#[test]
fn a_worker_goes_on_when_another_coordinates() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    stage.settle();
    stage.succeed(2);
    stage.join(B, "a", &[(task(1).id, Attempt(1))], 1);
    assert_eq!(assigned(&stage.settle()), []);
    stage.pass(TTL * 3 / 4);
    stage.request(B, Request::Heartbeat);
    stage.pass(TTL * 3 / 4);
    let call = stage.request(B, complete(task(1).id, 1));
    assert_eq!(answer(&stage.settle(), call), Some(&Answer::Done));
}
