//! What every engine must do: one suite of cases.
//!
//! A case gets a place where a store can be opened, and nothing else: it knows no engine. It waits
//! for events, never for a time.

#![allow(clippy::unwrap_used, reason = "all of it is tests, also what they share")]

pub(crate) mod concurrent;
mod conditions;
mod reopened;
mod scans;
mod sessions;
mod values;
mod watches;

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use tidings_tasks::store::{Store, Watch};
use tidings_tasks_core::transaction::{
    CommitError, Event, Expect, Key, Record, Revision, Session, Transaction, Write,
};

/// Where an engine keeps a store.
#[async_trait]
pub(crate) trait Place: Send + Sync {
    /// Opens it. What was opened before must have been dropped.
    async fn open(&self) -> Arc<dyn Store>;

    /// Whether what was written is there when it is opened again.
    fn lasts(&self) -> bool;

    /// Whether others may have it open too: then sessions go on when it is opened again.
    fn is_shared(&self) -> bool {
        false
    }
}

type Case = fn(Arc<dyn Place>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// The cases of a module, with their names.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(super) const CASES: &[(&str, super::Case)] = &[
            $((stringify!($name), |place| Box::pin($name(place)))),+
        ];
    };
}
use cases;

/// Runs all cases, each in a new place. How many there were.
pub(crate) async fn conform(make: impl Fn() -> Arc<dyn Place>) -> usize {
    let cases = [
        conditions::CASES,
        values::CASES,
        scans::CASES,
        watches::CASES,
        sessions::CASES,
        concurrent::CASES,
        reopened::CASES,
    ]
    .concat();
    let mut failed = Vec::new();
    for (name, case) in &cases {
        let place = make();
        if name.starts_with("reopened") && !place.lasts() {
            continue;
        }
        if tokio::spawn(case(place)).await.is_err() {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "these cases failed: {failed:?}");
    cases.len()
}

fn key(bytes: impl AsRef<[u8]>) -> Key {
    Key::new(bytes.as_ref()).unwrap()
}

/// A transaction from short words.
#[derive(Default)]
struct Txn(Transaction);

impl Txn {
    fn expect(mut self, name: impl AsRef<[u8]>, expect: Expect) -> Self {
        self.0.expect(key(name), expect);
        self
    }

    fn put(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.0.put(key(name), value.as_ref());
        self
    }

    fn put_with(mut self, session: Session, name: impl AsRef<[u8]>) -> Self {
        let value = b"held"[..].into();
        self.0.writes.push(Write::Put { key: key(name), value, session: Some(session) });
        self
    }

    fn delete(mut self, name: impl AsRef<[u8]>) -> Self {
        self.0.delete(key(name));
        self
    }

    async fn commit(self, store: &dyn Store) -> Result<Revision, CommitError> {
        store.commit(self.0).await
    }

    async fn done(self, store: &dyn Store) -> Revision {
        self.commit(store).await.expect("nothing is against it")
    }
}

async fn put(store: &dyn Store, name: &str, value: impl AsRef<[u8]>) -> Revision {
    Txn::default().put(name, value).done(store).await
}

async fn get(store: &dyn Store, name: impl AsRef<[u8]>) -> Option<Record> {
    let mut snapshot = store.get(&[key(name)]).await.expect("it can be read");
    snapshot.records.pop().expect("one for each key")
}

async fn value(store: &dyn Store, name: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    get(store, name).await.map(|record| record.value.into_vec())
}

async fn revision(store: &dyn Store) -> Revision {
    store.get(&[]).await.expect("it can be read").revision
}

fn conflict(name: &str, revision: Option<Revision>) -> Result<Revision, CommitError> {
    Err(CommitError::Conflict { key: key(name), revision })
}

/// All that begins with a prefix, in pages of two.
async fn list(store: &dyn Store, prefix: &[u8]) -> Vec<Record> {
    let (prefix, mut found) = (key(prefix), Vec::new());
    let (mut from, end) = (prefix.clone(), prefix.after_prefix());
    loop {
        let page = store.scan(&from, end.as_ref(), 2).await.expect("it can be read");
        assert!(page.records.len() <= 2);
        found.extend(page.records);
        match page.next {
            Some(next) => from = next,
            None => return found,
        }
    }
}

/// The next changes, at least `count`.
async fn changes(watch: &mut dyn Watch, count: usize) -> Vec<Event> {
    let mut events = Vec::new();
    while events.len() < count {
        let batch = watch.next().await.expect("it goes on");
        assert!(!batch.events.is_empty());
        assert!(batch.events.iter().all(|event| event.revision <= batch.revision));
        events.extend(batch.events);
    }
    events
}

/// Clients that do the same at once, each in a thread of its own.
async fn clients<T, F>(
    store: &Arc<dyn Store>,
    count: usize,
    client: impl Fn(usize, Arc<dyn Store>) -> F + Clone + Send + 'static,
) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let (client, store) = (client.clone(), store.clone());
            tokio::task::spawn_blocking(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime").block_on(client(number, store))
            })
        })
        .collect();
    let mut results = Vec::new();
    for thread in threads {
        results.push(thread.await.expect("no client panics"));
    }
    results
}
