//! The engine *memory*: a [`Ledger`] that tasks share. For tests, and for work that may be lost
//! with its process.
//!
//! Every call is done at once under one lock, so the order of the calls is the order of the
//! revisions. Sessions end by the clock of the runtime (`tokio::time`): a test that pauses it sets
//! the time itself.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use tidings_tasks_core::ledger::{Compacted, Ledger, Page};
use tidings_tasks_core::transaction::{
    CommitError, Durability, Event, Key, Limits, Revision, Session, Transaction,
};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::follow::{CLOSED, Follower, History};
use super::lease::Leases;
use super::{Lost, SessionError, Snapshot, Store, Watch, WatchError};

/// What a transaction may hold: as much as the embedded engine takes.
pub const LIMITS: Limits =
    Limits { operations: 65_536, bytes: 16 << 20, durability: Durability::Volatile };

/// The bytes of the changes that watchers can go back, some thousand of them. Older ones are
/// forgotten: with more of them each commit would write where no processor has a cache.
const HISTORY_BYTES: usize = 1 << 20;

/// A store in this process. The clones are one store; it is gone with the last of them.
#[derive(Clone)]
pub struct Memory(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// An earlier end of a session than the one waited for.
    sooner: Arc<Notify>,
}

struct State {
    ledger: Ledger,
    leases: Leases,
    /// Whether a task waits for the end of sessions.
    waiting: bool,
    /// The last revision; `None` once the store is closed.
    news: Option<watch::Sender<Revision>>,
}

impl Default for Memory {
    /// An empty store.
    fn default() -> Self {
        Self::with(Ledger::default())
    }
}

impl Memory {
    /// A store that holds this already. None of its sessions is kept by anybody: they never end.
    pub fn with(ledger: Ledger) -> Self {
        let news = watch::Sender::new(ledger.revision());
        let state = State { ledger, leases: Leases::default(), waiting: false, news: Some(news) };
        Self(Arc::new(Shared { state: Mutex::new(state), sooner: Arc::default() }))
    }

    /// All that it holds now.
    pub fn ledger(&self) -> Ledger {
        self.0.lock().ledger.clone()
    }

    /// Ends the store: calls and watchers get an error from now on.
    pub fn close(&self) {
        self.0.lock().news = None;
        self.0.sooner.notify_one();
    }

    /// What [`Store::commit`] does, without waiting.
    ///
    /// # Errors
    /// Nothing was written.
    pub fn commit_now(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        if let Some(refusal) = LIMITS.refusal(&transaction) {
            return Err(CommitError::Invalid(refusal));
        }
        let mut state = self.0.open().map_err(|lost| CommitError::Lost(lost.0))?;
        let revision = state.ledger.take(transaction)?;
        state.publish();
        Ok(revision)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<MutexGuard<'_, State>, Lost> {
        let state = self.lock();
        if state.news.is_some() { Ok(state) } else { Err(Lost(CLOSED.into())) }
    }
}

impl State {
    /// Wakes the watchers, and forgets what is older than is held.
    fn publish(&mut self) {
        self.ledger.bound_history(HISTORY_BYTES);
        if let Some(news) = &self.news {
            news.send_replace(self.ledger.revision());
        }
    }

    /// Ends the sessions whose time is over; when to look again.
    fn expire(&mut self, now: Instant) -> Option<Instant> {
        self.leases.expire(now.into_std());
        self.end();
        let next = self.leases.plan().map(Instant::from_std);
        self.waiting = next.is_some();
        next
    }

    fn end(&mut self) {
        let ending = self.leases.ending();
        for &session in &ending {
            // It is there: sessions are opened, and ended, in both.
            let _ = self.ledger.end_session(session);
        }
        self.leases.ended(&ending);
        if !ending.is_empty() {
            self.publish();
        }
    }
}

/// Ends sessions in time, as long as the store is there.
async fn end_sessions(store: Weak<Shared>, sooner: Arc<Notify>) {
    while let Some(store) = store.upgrade() {
        let Ok(next) = store.open().map(|mut state| state.expire(Instant::now())) else { return };
        drop(store);
        // Without sessions there is nothing to do: the next to be opened starts this again.
        let Some(next) = next else { return };
        tokio::select! {
            () = tokio::time::sleep_until(next) => {}
            () = sooner.notified() => {}
        }
    }
}

impl History for Shared {
    fn changes(&self, prefix: &[u8], after: Revision) -> Result<(Vec<Event>, Revision), Compacted> {
        let state = self.lock();
        Ok((state.ledger.changes(prefix, after)?, state.ledger.revision()))
    }
}

#[async_trait]
impl Store for Memory {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        self.commit_now(transaction)
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        let state = self.0.open()?;
        let records = keys.iter().map(|key| state.ledger.get(key)).collect();
        Ok(Snapshot { records, revision: state.ledger.revision() })
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        Ok(self.0.open()?.ledger.scan(from, end, limit.max(1)))
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        let news = self.0.open()?.news.as_ref().map(watch::Sender::subscribe);
        let news = news.ok_or_else(|| WatchError::Lost(CLOSED.into()))?;
        Follower::begin(self.0.clone(), news, prefix, after)
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        let mut state = self.0.open()?;
        let session = state.ledger.open_session();
        state.leases.open(session, ttl, Instant::now().into_std());
        let waits = std::mem::replace(&mut state.waiting, true);
        drop(state);
        if waits {
            self.0.sooner.notify_one();
        } else {
            crate::spawn::spawn(end_sessions(Arc::downgrade(&self.0), self.0.sooner.clone()));
        }
        Ok(session)
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        self.0.open()?.leases.keep(session, Instant::now().into_std())
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        let mut state = self.0.open()?;
        state.leases.close(session)?;
        state.end();
        Ok(())
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        self.0.open()?.ledger.compact(before);
        Ok(())
    }

    fn limits(&self) -> Limits {
        LIMITS
    }
}
