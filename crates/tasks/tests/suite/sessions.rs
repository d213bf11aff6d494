//! Sessions, and the keys that vanish with them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tidings_tasks::store::{SessionError, Store};
use tidings_tasks_core::transaction::{CommitError, Event, Expect, Session};

use super::{Place, Txn, cases, changes, conflict, get, key, put, revision, value};

cases![
    a_closed_session_takes_its_keys_along,
    a_session_without_keys_leaves_no_trace,
    the_keys_of_a_session_vanish_at_one_revision,
    a_key_of_another_writer_stays,
    a_key_of_a_later_session_stays,
    a_key_that_was_written_again_without_stays,
    a_key_that_was_written_again_with_it_goes,
    a_key_that_was_deleted_and_made_again_stays,
    each_session_has_its_own_keys,
    a_session_that_has_ended_cannot_be_used,
    sessions_have_numbers_of_their_own,
    a_session_that_nobody_keeps_expires,
    a_session_that_is_kept_lasts,
    an_expired_key_is_absent_in_conditions,
];

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3_600);

async fn open(store: &dyn Store) -> Session {
    store.open_session(LONG).await.expect("it is there")
}

async fn a_closed_session_takes_its_keys_along(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let session = open(store).await;
    Txn::default().put_with(session, "a").put("b", "stays").done(store).await;
    assert_eq!(value(store, "a").await.unwrap(), b"held");
    store.close_session(session).await.unwrap();
    assert_eq!(get(store, "a").await, None);
    assert_eq!(value(store, "b").await.unwrap(), b"stays");
}

async fn a_session_without_keys_leaves_no_trace(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let last = put(store, "a", "1").await;
    let session = open(store).await;
    store.keep_session(session).await.unwrap();
    store.close_session(session).await.unwrap();
    assert_eq!(revision(store).await, last);
}

async fn the_keys_of_a_session_vanish_at_one_revision(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let session = open(store).await;
    for name in ["b", "a", "c"] {
        Txn::default().put_with(session, name).done(store).await;
    }
    let begin = revision(store).await;
    let mut seen = store.watch(b"", begin).await.unwrap();
    store.close_session(session).await.unwrap();
    let mut events = changes(&mut *seen, 3).await;
    events.sort_by(|a, b| a.key.cmp(&b.key));
    let revision = revision(store).await;
    let gone = |name: &str| Event { key: key(name), value: None, revision };
    assert_eq!(events, ["a", "b", "c"].map(gone));
    assert!(revision > begin);
}

async fn a_key_of_another_writer_stays(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let session = open(store).await;
    let held = Txn::default().put_with(session, "a").done(store).await;
    Txn::default().expect("a", Expect::At(held)).put("a", "taken").done(store).await;
    store.close_session(session).await.unwrap();
    assert_eq!(value(store, "a").await.unwrap(), b"taken");
}

async fn a_key_of_a_later_session_stays(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let (first, second) = (open(store).await, open(store).await);
    Txn::default().put_with(first, "a").done(store).await;
    Txn::default().put_with(second, "a").done(store).await;
    store.close_session(first).await.unwrap();
    assert_eq!(value(store, "a").await.unwrap(), b"held");
    store.close_session(second).await.unwrap();
    assert_eq!(get(store, "a").await, None);
}

async fn a_key_that_was_written_again_without_stays(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let session = open(store).await;
    Txn::default().put_with(session, "a").done(store).await;
    put(store, "a", "for good").await;
    store.close_session(session).await.unwrap();
    assert_eq!(value(store, "a").await.unwrap(), b"for good");
}

async fn a_key_that_was_written_again_with_it_goes(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let session = open(store).await;
    put(store, "a", "before").await;
    Txn::default().put_with(session, "a").done(store).await;
    Txn::default().put_with(session, "a").done(store).await;
    store.close_session(session).await.unwrap();
    assert_eq!(get(store, "a").await, None);
}

async fn a_key_that_was_deleted_and_made_again_stays(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let session = open(store).await;
    Txn::default().put_with(session, "a").done(store).await;
    Txn::default().delete("a").done(store).await;
    put(store, "a", "another").await;
    store.close_session(session).await.unwrap();
    assert_eq!(value(store, "a").await.unwrap(), b"another");
}

async fn each_session_has_its_own_keys(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let sessions = [open(store).await, open(store).await, open(store).await];
    for (number, session) in sessions.into_iter().enumerate() {
        let (one, two) = (format!("{number}/a"), format!("{number}/\u{ff}"));
        Txn::default().put_with(session, &one).put_with(session, &two).done(store).await;
    }
    store.close_session(sessions[1]).await.unwrap();
    for (number, stays) in [true, false, true].into_iter().enumerate() {
        assert_eq!(get(store, format!("{number}/a")).await.is_some(), stays);
        assert_eq!(get(store, format!("{number}/\u{ff}")).await.is_some(), stays);
    }
}

async fn a_session_that_has_ended_cannot_be_used(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let session = open(store).await;
    store.close_session(session).await.unwrap();
    let begin = revision(store).await;
    let refused = Txn::default().put("a", "1").put_with(session, "b").commit(store).await;
    assert!(matches!(refused, Err(CommitError::Invalid(_))), "{refused:?}");
    assert_eq!((get(store, "a").await, revision(store).await), (None, begin));
    let ended = Err(SessionError::Ended(session));
    assert_eq!(store.keep_session(session).await, ended);
    assert_eq!(store.close_session(session).await, ended);
}

async fn sessions_have_numbers_of_their_own(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let mut sessions = Vec::new();
    for round in 0..10 {
        sessions.push(open(store).await);
        if round % 2 == 0 {
            store.close_session(sessions[round]).await.unwrap();
        }
    }
    sessions.sort_unstable();
    sessions.dedup();
    assert_eq!(sessions.len(), 10);
}

async fn a_session_that_nobody_keeps_expires(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let long = open(store).await;
    let short = store.open_session(Duration::from_millis(20)).await.unwrap();
    Txn::default().put_with(long, "long").done(store).await;
    let Ok(made) = Txn::default().put_with(short, "short").commit(store).await else {
        return; // the machine is so slow that it has ended already
    };
    let mut seen = store.watch(b"short", made).await.unwrap();
    let gone = &changes(&mut *seen, 1).await[0];
    assert_eq!((&gone.key, &gone.value), (&key("short"), &None));
    assert_eq!(store.keep_session(short).await, Err(SessionError::Ended(short)));
    assert_eq!(value(store, "long").await.unwrap(), b"held");
    store.keep_session(long).await.unwrap();
}

async fn a_session_that_is_kept_lasts(place: Arc<dyn Place>) {
    const TTL: Duration = Duration::from_millis(300);
    let store = &*place.open().await;
    let kept = store.open_session(TTL).await.unwrap();
    let mut last = Instant::now();
    let other = store.open_session(TTL).await.unwrap();
    // The other one, opened later, ends while this is kept.
    loop {
        match store.keep_session(kept).await {
            Ok(()) => last = Instant::now(),
            // It ends no sooner than it should, and here only where the test was held up.
            Err(error) => {
                assert_eq!(error, SessionError::Ended(kept));
                assert!(last.elapsed() >= TTL);
                return;
            }
        }
        if Txn::default().put_with(other, "probe").commit(store).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(store.keep_session(kept).await.is_ok() || last.elapsed() >= TTL);
}

async fn an_expired_key_is_absent_in_conditions(place: Arc<dyn Place>) {
    let store = &*place.open().await;
    let session = open(store).await;
    let held = Txn::default().expect("role", Expect::Absent).put_with(session, "role").done(store);
    let held = held.await;
    let early = Txn::default().expect("role", Expect::Absent).put("role", "2").commit(store).await;
    assert_eq!(early, conflict("role", Some(held)));
    store.close_session(session).await.unwrap();
    Txn::default().expect("role", Expect::Absent).put("role", "2").done(store).await;
}
