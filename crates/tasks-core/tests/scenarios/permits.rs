//! Permits, shares, poison, and a store out of reach.

use core::time::Duration;

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Reply};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Answer, Message, Peer, Refusal, Request, Submission};
use tidings_tasks_core::record::Outcome;

use crate::stage::*;

#[test]
fn permits_of_one_that_ends_while_they_are_granted_go_to_the_next() {
    let mut stage = Stage::new();
    stage.pass(TTL * 2);
    stage.join(A, "a", &[], 0);
    stage.join(B, "b", &[], 0);
    let name = || "s".to_owned();
    stage.request(CLIENT, Request::SetPermits { semaphore: name(), permits: 1 });
    stage.settle();
    stage.request(A, Request::Acquire { semaphore: name(), permits: 1 });
    let commits = stage.commits();
    stage.coordinator.handle_host_lost(stage.now, "host-a");
    let wants = stage.request(B, Request::Acquire { semaphore: name(), permits: 1 });
    for (ticket, transaction) in commits {
        let answer = stage.ledger.commit(&transaction);
        stage.coordinator.handle_commit(stage.now, ticket, answer);
    }
    assert_eq!(answer(&stage.settle(), wants), Some(&Answer::Done));
    assert_eq!(stage.semaphore("s").held[0].holder, "b");
}

#[test]
fn one_that_leaves_soon_after_a_takeover_gives_its_permits_back() {
    let mut stage = Stage::new();
    stage.join(A, "a", &[], 0);
    let name = || "s".to_owned();
    stage.request(A, Request::SetPermits { semaphore: name(), permits: 1 });
    stage.settle();
    stage.request(A, Request::Acquire { semaphore: name(), permits: 1 });
    stage.settle();
    stage.succeed(2);
    stage.join(A, "a", &[], 0);
    stage.settle();
    assert_eq!(stage.semaphore("s").held[0].holder, "a");
    stage.request(A, Request::Leave);
    stage.settle();
    assert_eq!(stage.semaphore("s").held, []);
}

#[test]
fn a_deposed_coordinator_stops_nothing() {
    let mut stage = Stage::new();
    let mut old = stage.succeed(2);
    stage.join(A, "a", &[], 1);
    stage.submit(&[task(1)]);
    assert_eq!(assigned(&stage.settle()).len(), 1);
    core::mem::swap(&mut old, &mut stage.coordinator);
    stage.join(B, "a", &[(task(1).id, Attempt(1))], 1);
    let said = stage.settle();
    assert!(!said.iter().any(|(_, one)| matches!(one, Message::Stop { .. })), "{said:?}");
    assert!(stage.coordinator.is_deposed());
}

#[test]
fn a_deposed_coordinator_takes_no_permits_back() {
    let mut stage = Stage::new();
    let name = || "s".to_owned();
    stage.request(CLIENT, Request::SetPermits { semaphore: name(), permits: 1 });
    stage.join(A, "a", &[], 0);
    stage.settle();
    let mut old = stage.succeed(2);
    stage.join(A, "a", &[], 0);
    let acquired = stage.request(A, Request::Acquire { semaphore: name(), permits: 1 });
    assert_eq!(answer(&stage.settle(), acquired), Some(&Answer::Done));
    core::mem::swap(&mut old, &mut stage.coordinator);
    let call = stage.request(A, Request::Release { semaphore: name(), acquired });
    assert_eq!(answer(&stage.settle(), call), Some(&refused(Refusal::Elsewhere)));
}

#[test]
fn groups_of_a_queue_get_equal_shares() {
    let mut stage = Stage::new();
    let mut tasks: Vec<Submission> = (0..90).map(task).collect();
    for (number, one) in tasks.iter_mut().enumerate() {
        one.group = match number {
            0..60 => "large".into(),
            _ => format!("small-{}", number % 2).into(),
        };
    }
    stage.submit(&tasks);
    stage.settle();
    stage.join(A, "a", &[], 1);
    let mut shares = std::collections::BTreeMap::<_, usize>::new();
    for _ in 0..30 {
        let [(_, id, attempt)] = assigned(&stage.settle())[..] else { panic!("one at a time") };
        let one = tasks.iter().find(|one| one.id == id).unwrap();
        *shares.entry(one.group.clone()).or_default() += 1;
        stage.request(A, complete(id, attempt));
    }
    assert_eq!(shares.into_values().collect::<Vec<_>>(), [10, 10, 10]);
}

#[test]
fn poison_is_stopped_and_others_are_done() {
    let mut stage = Stage::new();
    let poison = TaskId::of("t", 0);
    stage.submit(&(0..10).map(task).collect::<Vec<_>>());
    for life in 0..20 {
        let peer = Peer(200 + life);
        stage.join(peer, &format!("w{}.{life}", life % 2), &[], 1);
        let mut said = stage.settle();
        while let [(_, id, attempt)] = assigned(&said)[..] {
            if id == poison {
                break;
            }
            stage.request(peer, complete(id, attempt));
            said = stage.settle();
        }
        stage.coordinator.handle_gone(stage.now, peer);
        stage.pass(TTL);
    }
    let ended = stage.finished(poison).unwrap();
    assert_eq!((&ended.outcome, ended.task.attempt), (&Outcome::Failed, Attempt(3)));
    assert!(
        (1..10).all(|n| matches!(stage.finished(task(n).id).unwrap().outcome, Outcome::Done(_)))
    );
}

#[test]
fn records_that_are_not_at_hand_are_read_before_they_are_needed() {
    let mut stage = Stage::with(|settings| settings.cached_bytes = 0);
    let mut tasks: Vec<Submission> = (0..20).map(task).collect();
    tasks[7].delay_ms = 50;
    stage.submit(&tasks);
    stage.settle();
    stage.pass(Duration::from_millis(100));
    stage.request(CLIENT, Request::Cancel { task: tasks[5].id });
    stage.settle();
    assert_eq!(stage.finished(tasks[5].id).unwrap().outcome, Outcome::Cancelled);
    stage.join(A, "a", &[], 30);
    assert_eq!(assigned(&stage.settle()).len(), 19);
}

#[test]
fn a_store_out_of_reach_is_asked_now_and_then() {
    let mut ledger = Ledger::default();
    let settings = settings(&mut ledger, 1);
    let (mut now, mut reads) = (Instant::EPOCH, 0);
    let mut coordinator = Coordinator::new(settings, now);
    while now < Instant::EPOCH + Duration::from_secs(1) {
        while let Some((ticket, _)) = coordinator.poll_read() {
            reads += 1;
            coordinator.handle_read(now, ticket, Reply::Lost);
        }
        now = coordinator.poll_timeout().expect("it will ask again");
        coordinator.handle_timeout(now);
    }
    assert_eq!(reads, 10);
}
