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
    /// Commits so far, and during which of them the power fails.
    commits: u64,
    outage: Option<Outage>,
}

/// When the power fails by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// During which commit, from 1 on. It is not acknowledged.
    pub commit: u64,
    /// Whether the disk has it by then.
    pub is_synced: bool,
}

impl Crashing {
    /// An empty store.
    pub fn new(acknowledge: Acknowledge) -> Self {
        Self::with_outage(acknowledge, None)
    }

    /// An empty store whose power fails once by itself.
    pub fn with_outage(acknowledge: Acknowledge, outage: Option<Outage>) -> Self {
        let (memory, disk) = (Memory::default(), Ledger::default());
        let machine = Machine { memory, disk, unsynced: 0, commits: 0, outage };
        Self { acknowledge, machine: Mutex::new(machine) }
    }

    /// How many commits were acknowledged or broken off.
    pub fn commits(&self) -> u64 {
        self.lock().commits
    }

    /// All that it holds now.
    pub fn ledger(&self) -> Ledger {
        self.lock().memory.ledger()
    }

    /// The power fails and comes back: what was not synced is gone, sessions have ended, and
    /// watchers get an error.
    pub fn crash(&self) {
        self.lock().crash();
    }

    fn lock(&self) -> MutexGuard<'_, Machine> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> Memory {
        self.lock().memory.clone()
    }
}

impl Machine {
    fn crash(&mut self) {
        self.memory.close();
        let mut ledger = self.disk.clone();
        let used = self.memory.ledger().open_session();
        ledger.end_sessions(used);
        ledger.compact(ledger.revision());
        self.memory = Memory::with(ledger);
        self.unsynced = 0;
    }

    fn sync(&mut self) {
        self.disk = self.memory.ledger();
        self.unsynced = 0;
    }
}

#[async_trait]
impl Store for Crashing {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        let mut machine = self.lock();
        let revision = machine.memory.commit_now(transaction)?;
        machine.unsynced += 1;
        machine.commits += 1;
        if let Some(outage) = machine.outage.filter(|outage| outage.commit == machine.commits) {
            if outage.is_synced {
                machine.sync();
            }
            machine.crash();
            return Err(CommitError::Unknown);
        }
        let every = match self.acknowledge {
            Acknowledge::Synced => 1,
            Acknowledge::Early { commits } => commits,
        };
        if machine.unsynced >= every {
            machine.sync();
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
