//! A store that kills its own process at one of its calls: the machine's part in a crash, at a
//! place that is chosen.
//!
//! Calls have numbers, from 1 on in the order in which they begin. The process is gone either
//! before the call, or once the call is done and before anybody in the process knows its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::{Signal, getpid, kill_process};
use tidings_tasks::store::{Lost, SessionError, Snapshot, Store, Watch, WatchError};
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{CommitError, Key, Limits, Revision, Session, Transaction};

/// Where the process ends. No call has the number 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Death {
    pub(crate) call: u64,
    /// When the call is done, not before it.
    pub(crate) is_late: bool,
}

pub(crate) struct Dying {
    inner: Arc<dyn Store>,
    death: Death,
    calls: AtomicU64,
}

impl Dying {
    pub(crate) fn new(inner: Arc<dyn Store>, death: Death) -> Self {
        Self { inner, death, calls: AtomicU64::new(0) }
    }

    /// How many calls there were.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    async fn call<T>(&self, call: impl Future<Output = T> + Send) -> T {
        let is_last = self.calls.fetch_add(1, Ordering::Relaxed) + 1 == self.death.call;
        if is_last && !self.death.is_late {
            die();
        }
        let answer = call.await;
        if is_last {
            die();
        }
        answer
    }
}

fn die() -> ! {
    kill_process(getpid(), Signal::KILL).unwrap();
    // It ends on its way back from the kernel; nothing may follow in any case.
    std::process::abort()
}

#[async_trait]
impl Store for Dying {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        self.call(self.inner.commit(transaction)).await
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        self.call(self.inner.get(keys)).await
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        self.call(self.inner.scan(from, end, limit)).await
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.call(self.inner.watch(prefix, after)).await
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        self.call(self.inner.open_session(ttl)).await
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        self.call(self.inner.keep_session(session)).await
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        self.call(self.inner.close_session(session)).await
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        self.call(self.inner.compact(before)).await
    }

    fn limits(&self) -> Limits {
        self.inner.limits()
    }
}
