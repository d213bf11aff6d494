//! A store one of whose parts says nothing: nobody reads what its coordinator would begin with.

use core::time::Duration;
use std::sync::Arc;

use async_trait::async_trait;
use tidings_tasks::store::memory::Memory;
use tidings_tasks::store::{Lost, SessionError, Snapshot, Store, Watch, WatchError};
use tidings_tasks_core::id::Part;
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{CommitError, Key, Limits, Revision, Session, Transaction};

/// A store in memory, and the part whose ranges are never read to their end.
pub(crate) struct Silent {
    inner: Arc<Memory>,
    part: Part,
}

impl Silent {
    pub(crate) fn new(inner: Memory, part: Part) -> Self {
        Self { inner: Arc::new(inner), part }
    }
}

#[async_trait]
impl Store for Silent {
    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        let role = keys::role(self.part);
        let own = role.as_bytes().strip_suffix(b"role").unwrap();
        if from.as_bytes().starts_with(own) {
            return core::future::pending().await;
        }
        self.inner.scan(from, end, limit).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        self.inner.commit(transaction).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        self.inner.get(keys).await
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.inner.watch(prefix, after).await
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        self.inner.open_session(ttl).await
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        self.inner.keep_session(session).await
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        self.inner.close_session(session).await
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        self.inner.compact(before).await
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
