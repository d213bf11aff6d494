//! A store whose machine can lose its power: to test what an acknowledgement is worth.
//!
//! It is the engine memory with a *disk*: the ledger as it was when it was last synced. A crash
//! goes back to that. One that syncs before it acknowledges loses nothing that anybody was
//! promised. One that acknowledges first, as some servers are set up to do, loses the last commits;
//! a check of durability must find that out, or it checks nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tidings_tasks_core::ledger::{Ledger, Page};
use tidings_tasks_core::transaction::{
    CommitError, Durability, Key, Limits, Revision, Session, Transaction,
};

use super::memory::Memory;
use super::{Lost, SessionError, Snapshot, Store, Watch, WatchError};

/// When an acknowledgement is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acknowledge {
    /// When the commit is on the disk.
    Synced,
    /// At once; the disk gets all there is after each so many commits.
    Early {
        /// Commits of one sync.
        commits: u64,
    },
}

/// A store with a disk.
pub struct Crashing {
    acknowledge: Acknowledge,
    machine: Mutex<Machine>,
}

struct Machine {
    memory: Memory,
    disk: Ledger,
    unsynced: u64,
}

impl Crashing {
    /// An empty store.
    pub fn new(acknowledge: Acknowledge) -> Self {
        let (memory, disk) = (Memory::default(), Ledger::default());
        Self { acknowledge, machine: Mutex::new(Machine { memory, disk, unsynced: 0 }) }
    }

    /// The power fails and comes back: what was not synced is gone, sessions have ended, and
    /// watchers get an error.
    pub fn crash(&self) {
        let mut machine = self.lock();
        machine.memory.close();
        let mut ledger = machine.disk.clone();
        let used = machine.memory.ledger().open_session();
        ledger.end_sessions(used);
        ledger.compact(ledger.revision());
        machine.memory = Memory::with(ledger);
        machine.unsynced = 0;
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> Memory {
        self.lock().memory.clone()
    }
}

#[async_trait]
impl Store for Crashing {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        let mut machine = self.lock();
        let revision = machine.memory.commit_now(&transaction)?;
        machine.unsynced += 1;
        let every = match self.acknowledge {
            Acknowledge::Synced => 1,
            Acknowledge::Early { commits } => commits,
        };
        if machine.unsynced >= every {
            machine.disk = machine.memory.ledger();
            machine.unsynced = 0;
        }
        Ok(revision)
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        self.memory().get(keys).await
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        self.memory().scan(from, end, limit).await
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.memory().watch(prefix, after).await
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        self.memory().open_session(ttl).await
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        self.memory().keep_session(session).await
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        self.memory().close_session(session).await
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        self.memory().compact(before).await
    }

    fn limits(&self) -> Limits {
        // So say those that acknowledge early, too.
        Limits { durability: Durability::Synced, ..self.memory().limits() }
    }
}
