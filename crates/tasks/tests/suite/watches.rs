//! Watching: every change once, in order, or word that it is too late.

use std::sync::Arc;

use tidings_tasks::store::{Store, Watch, WatchError};
use tidings_tasks_core::transaction::{Event, Revision};

use super::{Place, Txn, cases, changes, clients, key, put, revision, value};

cases![
    each_change_comes_once_in_order,
    no_change_is_lost_or_doubled_beside_commits,
    a_deletion_is_a_change,
    a_deletion_of_nothing_is_none,
    a_commit_is_never_split,
    only_the_prefix_is_watched,
    a_watch_begins_at_an_old_revision,
    a_watch_waits_for_changes,
    a_wait_that_is_given_up_loses_nothing,
    watchers_see_the_same,
    another_watch_goes_on_where_one_ended,
    changes_are_there_when_a_commit_is_acknowledged,
    refused_transactions_are_no_changes,
    what_was_compacted_is_said,
    values_survive_a_compaction,
    a_watcher_beside_a_compaction_goes_on,
];

fn change(name: &str, value: &str, revision: Revision) -> Event {
    Event { key: key(name), value: Some(value.as_bytes().into()), revision }
}

async fn watch(store: &dyn Store, prefix: &str, after: Revision) -> Box<dyn Watch> {
    store.watch(prefix.as_bytes(), after).await.expect("it is held")
}

async fn each_change_comes_once_in_order(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut seen = watch(store, "", revision(store).await).await;
    let mut expected = Vec::new();
    for (name, value) in [("a", "1"), ("b", "1"), ("a", "2"), ("a", "2"), ("c", "")] {
        expected.push(change(name, value, put(store, name, value).await));
    }
    assert_eq!(changes(&mut *seen, 5).await, expected);
}

async fn no_change_is_lost_or_doubled_beside_commits(place: Arc<dyn Place>) {
    const ROUNDS: usize = 60;
    let store = place.open().await;
    let begin = revision(&*store).await;
    let results = clients(&store, 8, move |client, store| async move {
        let mut made = Vec::new();
        if client < 6 {
            for round in 0..ROUNDS {
                let name = format!("k/{}", (client + round) % 5);
                let value = format!("{client} {round}");
                made.push(change(&name, &value, put(&*store, &name, &value).await));
            }
            return made;
        }
        let mut seen = watch(&*store, "k/", begin).await;
        changes(&mut *seen, 6 * ROUNDS).await
    })
    .await;
    let mut made = results[..6].concat();
    made.sort_by_key(|event| event.revision);
    assert!(made.windows(2).all(|pair| pair[0].revision < pair[1].revision));
    assert!(results[6] == made && results[7] == made);
}

async fn a_deletion_is_a_change(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let made = put(store, "a", "1").await;
    let mut seen = watch(store, "a", made).await;
    let deleted = Txn::default().delete("a").done(store).await;
    let gone = Event { key: key("a"), value: None, revision: deleted };
    assert_eq!(changes(&mut *seen, 1).await, [gone]);
}

async fn a_deletion_of_nothing_is_none(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut seen = watch(store, "", revision(store).await).await;
    Txn::default().delete("a").done(store).await;
    let made = Txn::default().delete("a").put("b", "1").done(store).await;
    assert_eq!(changes(&mut *seen, 1).await, [change("b", "1", made)]);
}

async fn a_commit_is_never_split(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let begin = revision(store).await;
    for _ in 0..30 {
        let mut transaction = Txn::default();
        for number in 0..100 {
            transaction = transaction.put(format!("k/{number:03}"), "");
        }
        transaction.done(store).await;
    }
    let mut seen = watch(store, "k/", begin).await;
    let mut count = 0;
    while count < 30 * 100 {
        let batch = seen.next().await.unwrap();
        for commit in batch.events.chunk_by(|a, b| a.revision == b.revision) {
            assert_eq!(commit.len(), 100);
        }
        count += batch.events.len();
    }
}

async fn only_the_prefix_is_watched(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut seen = watch(store, "a/", revision(store).await).await;
    for name in ["a", "a.", "a0", "b", "\0"] {
        put(store, name, "other").await;
    }
    let both = Txn::default().put("a/x", "1").put("other", "2").done(store).await;
    let last = put(store, "a/", "2").await;
    let expected = [change("a/x", "1", both), change("a/", "2", last)];
    assert_eq!(changes(&mut *seen, 2).await, expected);
}

async fn a_watch_begins_at_an_old_revision(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let first = put(store, "a", "1").await;
    let second = put(store, "a", "2").await;
    let third = put(store, "a", "3").await;
    let mut seen = watch(store, "", first).await;
    assert_eq!(changes(&mut *seen, 2).await, [change("a", "2", second), change("a", "3", third)]);
    let mut seen = watch(store, "", third).await;
    let fourth = put(store, "a", "4").await;
    assert_eq!(changes(&mut *seen, 1).await, [change("a", "4", fourth)]);
}

async fn a_watch_waits_for_changes(place: Arc<dyn Place>) {
    let store = place.open().await;
    let mut seen = watch(&*store, "a", revision(&*store).await).await;
    let waiting = tokio::spawn(async move { changes(&mut *seen, 1).await });
    tokio::task::yield_now().await;
    put(&*store, "b", "not this").await;
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    let made = put(&*store, "a", "1").await;
    assert_eq!(waiting.await.unwrap(), [change("a", "1", made)]);
}

async fn a_wait_that_is_given_up_loses_nothing(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut seen = watch(store, "", revision(store).await).await;
    let mut expected = Vec::new();
    for round in 0..20 {
        tokio::select! {
            biased;
            _ = seen.next() => panic!("nothing has changed"),
            () = tokio::task::yield_now() => {}
        }
        expected.push(change("a", &round.to_string(), put(store, "a", round.to_string()).await));
        if round % 3 == 0 {
            assert_eq!(changes(&mut *seen, expected.len()).await, expected);
            expected.clear();
        } else {
            assert_eq!(changes(&mut *seen, expected.len()).await, std::mem::take(&mut expected));
        }
    }
}

async fn watchers_see_the_same(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let begin = revision(store).await;
    let mut early = watch(store, "", begin).await;
    for round in 0..50_u8 {
        put(store, "a", [round]).await;
    }
    let mut late = watch(store, "", begin).await;
    let (early, late) = (changes(&mut *early, 50).await, changes(&mut *late, 50).await);
    assert!(early == late && early.len() == 50);
}

async fn another_watch_goes_on_where_one_ended(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut after = revision(store).await;
    let mut seen = Vec::new();
    for round in 0..30_u8 {
        put(store, "a", [round]).await;
        put(store, "b", "beside it").await;
        let batch = watch(store, "a", after).await.next().await.unwrap();
        after = batch.revision;
        seen.extend(batch.events.into_iter().filter_map(|event| event.value));
    }
    assert!(seen.iter().map(|value| value[0]).eq(0..30));
}

async fn changes_are_there_when_a_commit_is_acknowledged(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut seen = watch(store, "", revision(store).await).await;
    for round in 0..30_u8 {
        put(store, "a", [round]).await;
        assert_eq!(changes(&mut *seen, 1).await.len(), 1);
    }
}

async fn refused_transactions_are_no_changes(place: Arc<dyn Place>) {
    use tidings_tasks_core::transaction::Expect::Present;
    let store = &*place.open().await;
    let mut seen = watch(store, "", revision(store).await).await;
    let refused = Txn::default().put("a", "1").expect("z", Present).commit(store).await;
    assert!(refused.is_err());
    assert!(Txn::default().put("a", "1").put("a", "2").commit(store).await.is_err());
    let made = put(store, "b", "1").await;
    assert_eq!(changes(&mut *seen, 1).await, [change("b", "1", made)]);
}

async fn what_was_compacted_is_said(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let first = put(store, "a", "1").await;
    let second = put(store, "a", "2").await;
    let third = put(store, "a", "3").await;
    store.compact(second).await.unwrap();
    let late = store.watch(b"a", first).await.err();
    assert!(matches!(late, Some(WatchError::Compacted(until)) if until >= second), "{late:?}");
    let mut seen = watch(store, "a", second).await;
    assert_eq!(changes(&mut *seen, 1).await, [change("a", "3", third)]);
}

async fn values_survive_a_compaction(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    put(store, "a", "1").await;
    let last = put(store, "b", "2").await;
    store.compact(last).await.unwrap();
    store.compact(last).await.unwrap();
    assert_eq!(value(store, "a").await.unwrap(), b"1");
    assert_eq!(revision(store).await, last);
    assert!(put(store, "a", "2").await > last);
}

async fn a_watcher_beside_a_compaction_goes_on(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut seen = watch(store, "", revision(store).await).await;
    for round in 0..20_u8 {
        let made = put(store, "a", [round]).await;
        assert_eq!(changes(&mut *seen, 1).await[0].revision, made);
        store.compact(made).await.unwrap();
    }
}
