//! Stores that fail: what is built on them can be tested, and the tests find what is wrong.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks::store::crashing::{Acknowledge, Crashing};
use tidings_tasks::store::faulty::{Fault, Faults, Faulty};
use tidings_tasks::store::memory::Memory;
use tidings_tasks::store::{Store, WatchError};
use tidings_tasks_core::transaction::{CommitError, Expect, Key, Revision, Transaction};

fn key(name: impl AsRef<str>) -> Key {
    Key::new(name.as_ref().as_bytes()).unwrap()
}

fn put(name: &str, value: u8) -> Transaction {
    let mut transaction = Transaction::default();
    transaction.put(key(name), vec![value]);
    transaction
}

async fn value(store: &dyn Store, name: &str) -> Option<u8> {
    loop {
        if let Ok(mut found) = store.get(&[key(name)]).await {
            return found.records.remove(0).map(|record| record.value[0]);
        }
    }
}

#[tokio::test]
async fn each_call_can_be_made_to_fail() {
    for (fault, answer, written) in [
        (Fault::AnswerLost, CommitError::Unknown, true),
        (Fault::CallLost, CommitError::Unknown, false),
        (Fault::Refused, CommitError::Lost("a fault was injected".into()), false),
    ] {
        let faults = Faults { at: BTreeMap::from([(2, fault)]), ..Faults::default() };
        let memory = Memory::default();
        let store = Faulty::new(Arc::new(memory.clone()), faults, 1);
        store.commit(put("a", 1)).await.unwrap();
        assert_eq!(store.commit(put("b", 1)).await, Err(answer));
        assert_eq!(value(&store, "b").await.is_some(), written);
        assert_eq!(store.calls(), 3);
        assert_eq!(memory.ledger().revision(), Revision(1 + u64::from(written)));
    }
}

#[tokio::test]
async fn a_watch_that_meets_a_fault_is_over_and_another_goes_on() {
    let faults = Faults { at: BTreeMap::from([(4, Fault::Refused)]), ..Faults::default() };
    let store = Faulty::new(Arc::new(Memory::default()), faults, 1);
    let first = store.commit(put("a", 1)).await.unwrap();
    let mut watch = store.watch(b"", Revision(0)).await.unwrap();
    assert_eq!(watch.next().await.unwrap().revision, first);
    assert!(matches!(watch.next().await, Err(WatchError::Lost(_))));
    let second = store.commit(put("a", 2)).await.unwrap();
    let mut watch = store.watch(b"", first).await.unwrap();
    assert_eq!(watch.next().await.unwrap().revision, second);
}

/// Increments of a counter through a store that loses calls and answers. What happened is read from
/// a key that each increment leaves.
async fn count(store: &dyn Store, client: usize, rounds: usize) {
    for round in 0..rounds {
        let own = format!("done/{client}/{round}");
        loop {
            let Ok(mut found) = store.get(&[key("count"), key(&own)]).await else { continue };
            let (done, count) = (found.records.remove(1), found.records.remove(0));
            if done.is_some() {
                break;
            }
            let mut next = put("count", count.as_ref().map_or(0, |count| count.value[0]) + 1);
            next.put(key(&own), []);
            next.expect(key("count"), count.map_or(Expect::Absent, |c| Expect::At(c.revision)));
            if store.commit(next).await.is_ok() {
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn unknown_answers_are_settled_by_reading() {
    for seed in 0..50 {
        let faults = Faults {
            answers_lost: 150,
            calls_lost: 150,
            refused: 50,
            delay_max: Duration::from_millis(20),
            ..Faults::default()
        };
        let store = Arc::new(Faulty::new(Arc::new(Memory::default()), faults, seed));
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let store = store.clone();
                tokio::spawn(async move { count(&*store, client, 10).await })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        assert_eq!(value(&*store, "count").await, Some(40), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_fails_the_same_way() {
    let run = |seed| async move {
        let faults = Faults { answers_lost: 300, calls_lost: 300, ..Faults::default() };
        let memory = Memory::default();
        let store = Faulty::new(Arc::new(memory.clone()), faults, seed);
        let mut answers = Vec::new();
        for round in 0..50 {
            answers.push(store.commit(put("a", round)).await);
        }
        (answers, memory.ledger().revision())
    };
    assert_eq!(run(7).await, run(7).await);
    assert_ne!(run(7).await, run(8).await);
}

/// Commits, and crashes in between; the first commit that was acknowledged and is gone.
async fn lost(store: &Crashing) -> Option<Revision> {
    let mut acknowledged: Vec<(u8, Revision)> = Vec::new();
    for round in 0..100 {
        let revision = store.commit(put(&round.to_string(), round)).await.unwrap();
        acknowledged.push((round, revision));
        if round % 7 == 3 {
            store.crash();
        }
        for (number, revision) in &acknowledged {
            let found = store.get(&[key(number.to_string())]).await.unwrap();
            if found.records[0].as_ref().map(|record| record.revision) != Some(*revision) {
                return Some(*revision);
            }
        }
    }
    None
}

#[tokio::test]
async fn a_check_of_durability_finds_acknowledgements_that_came_too_early() {
    assert_eq!(lost(&Crashing::new(Acknowledge::Synced)).await, None);
    // The crash comes after the fourth commit, the sync would have come after the fifth.
    let early = Crashing::new(Acknowledge::Early { commits: 5 });
    assert_eq!(lost(&early).await, Some(Revision(1)));
}

#[tokio::test]
async fn sessions_end_and_watches_break_with_the_power() {
    let store = Crashing::new(Acknowledge::Synced);
    let session = store.open_session(Duration::from_secs(60)).await.unwrap();
    let write = tidings_tasks_core::transaction::Write::Put {
        key: key("role"),
        value: Box::default(),
        session: Some(session),
    };
    let made = store.commit(Transaction { conditions: vec![], writes: vec![write] }).await.unwrap();
    let mut watch = store.watch(b"", made).await.unwrap();
    store.crash();
    assert!(watch.next().await.is_err());
    assert!(store.keep_session(session).await.is_err());
    assert_eq!(store.get(&[key("role")]).await.unwrap().records, [None]);
    assert_ne!(store.open_session(Duration::from_secs(60)).await.unwrap(), session);
}
