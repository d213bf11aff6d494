//! A store that kills its own process at one of its calls: the machine's part in a crash, at a
//! place that is chosen.
//!
//! Calls have numbers, from 1 on in the order in which they begin. The process is gone either
//! before the call, or once the call is done and before anybody in the process knows its answer.
//! It may also stop before the call, until somebody lets it go on.
//!
//! A store may also forget: it acknowledges a commit that it does not keep, and the process is gone
//! some calls later. No such engine is allowed; the tests have to find one out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rustix::process::{Signal, getpid, kill_process};
use tidings_tasks::store::{Lost, SessionError, Snapshot, Store, Watch, WatchError};
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{CommitError, Key, Limits, Revision, Session, Transaction};

/// Calls after one that was forgotten: time to act on what was acknowledged.
const AFTER: u64 = 3;

/// How a process ends at a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Before,
    /// When the call is done.
    After,
    /// It does not end: it stops before the call, and goes on when it is told to.
    Frozen,
    /// Some calls after it, if it is a commit, which is not kept.
    Forgotten,
}

/// Where the process ends. No call has the number 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Death {
    pub(crate) call: u64,
    pub(crate) how: How,
}

pub(crate) struct Dying {
    inner: Arc<dyn Store>,
    death: Death,
    calls: AtomicU64,
    /// The last commit.
    revision: AtomicU64,
}

impl Death {
    pub(crate) const NEVER: Self = Self { call: 0, how: How::Before };
}

impl core::fmt::Display for Death {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}@{}", self.how, self.call)
    }
}

impl core::str::FromStr for Death {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (how, call) = text.split_once('@').ok_or(())?;
        let all = [How::Before, How::After, How::Frozen, How::Forgotten];
        let how = all.into_iter().find(|one| format!("{one:?}") == how).ok_or(())?;
        Ok(Self { call: call.parse().map_err(drop)?, how })
    }
}

impl Dying {
    pub(crate) fn new(inner: Arc<dyn Store>, death: Death) -> Self {
        Self { inner, death, calls: AtomicU64::new(0), revision: AtomicU64::new(0) }
    }

    /// How many calls there were.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    async fn call<T>(&self, call: impl Future<Output = T> + Send) -> T {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let Death { call: last, how } = self.death;
        let is_over = how == How::Forgotten && last > 0 && number >= last + AFTER;
        if is_over || (number == last && how == How::Before) {
            die();
        }
        if number == last && how == How::Frozen {
            kill_process(getpid(), Signal::STOP).unwrap();
        }
        let answer = call.await;
        if number == last && how == How::After {
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
        let next = self.calls.load(Ordering::Relaxed) + 1;
        let commit = async {
            if self.death == (Death { call: next, how: How::Forgotten }) {
                return Ok(Revision(self.revision.load(Ordering::Relaxed) + 1));
            }
            let committed = self.inner.commit(transaction).await;
            if let Ok(Revision(revision)) = committed {
                self.revision.fetch_max(revision, Ordering::Relaxed);
            }
            committed
        };
        self.call(commit).await
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
