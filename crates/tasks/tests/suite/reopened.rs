//! What is left when a store is opened again.

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks::store::{SessionError, WatchError};
use tidings_tasks_core::transaction::Expect;

use super::{Place, Txn, cases, changes, get, list, put, revision, value};

cases![
    reopened_values_and_revisions_stay,
    reopened_deletions_stay,
    reopened_revisions_rise,
    reopened_sessions_have_ended,
    reopened_sessions_of_others_go_on,
    reopened_watches_begin_again,
];

async fn reopened_values_and_revisions_stay(place: Arc<dyn Place>) {
    let store = place.open().await;
    for round in 0..50_u8 {
        put(&*store, &format!("k/{:02}", round % 20), [round]).await;
    }
    let (before, last) = (list(&*store, b"k/").await, revision(&*store).await);
    drop(store);
    let store = &*place.open().await;
    assert_eq!((list(store, b"k/").await, revision(store).await), (before, last));
}

async fn reopened_deletions_stay(place: Arc<dyn Place>) {
    let store = place.open().await;
    put(&*store, "a", "1").await;
    Txn::default().delete("a").done(&*store).await;
    drop(store);
    let store = &*place.open().await;
    assert_eq!(get(store, "a").await, None);
    Txn::default().expect("a", Expect::Absent).put("a", "2").done(store).await;
}

async fn reopened_revisions_rise(place: Arc<dyn Place>) {
    let mut last = revision(&*place.open().await).await;
    for round in 0..5_u8 {
        let store = place.open().await;
        for _ in 0..3 {
            let made = put(&*store, "a", [round]).await;
            assert!(made > last);
            last = made;
        }
    }
}

async fn reopened_sessions_have_ended(place: Arc<dyn Place>) {
    if place.is_shared() {
        return; // they are another's; see the next case
    }
    let store = place.open().await;
    let session = store.open_session(Duration::from_secs(3_600)).await.unwrap();
    Txn::default().put_with(session, "a").put_with(session, "b").put("c", "1").done(&*store).await;
    let last = revision(&*store).await;
    drop(store);
    let store = &*place.open().await;
    assert_eq!((get(store, "a").await, get(store, "b").await), (None, None));
    assert_eq!(value(store, "c").await.unwrap(), b"1");
    assert!(revision(store).await > last);
    assert_eq!(store.keep_session(session).await, Err(SessionError::Ended(session)));
    let later = store.open_session(Duration::from_secs(3_600)).await.unwrap();
    assert_ne!(later, session);
    assert!(Txn::default().put_with(session, "a").commit(store).await.is_err());
}

async fn reopened_sessions_of_others_go_on(place: Arc<dyn Place>) {
    if !place.is_shared() {
        return;
    }
    let first = place.open().await;
    let session = first.open_session(Duration::from_secs(3_600)).await.unwrap();
    let held = Txn::default().put_with(session, "a").done(&*first).await;
    let second = &*place.open().await;
    assert_eq!(get(second, "a").await.unwrap().revision, held);
    drop(first);
    second.keep_session(session).await.unwrap();
    assert_eq!(value(second, "a").await.unwrap(), b"held");
    second.close_session(session).await.unwrap();
    assert_eq!(get(second, "a").await, None);
}

async fn reopened_watches_begin_again(place: Arc<dyn Place>) {
    let store = place.open().await;
    let first = put(&*store, "a", "1").await;
    put(&*store, "a", "2").await;
    drop(store);
    let store = &*place.open().await;
    // An engine may hold the changes of before; one that does not says so.
    match store.watch(b"a", first).await {
        Ok(mut seen) => assert_eq!(changes(&mut *seen, 1).await.len(), 1),
        Err(error) => assert!(matches!(error, WatchError::Compacted(_)), "{error}"),
    }
    let mut seen = store.watch(b"a", revision(store).await).await.unwrap();
    let made = put(store, "a", "3").await;
    assert_eq!(changes(&mut *seen, 1).await[0].revision, made);
}
