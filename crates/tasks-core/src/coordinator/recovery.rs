//! What a coordinator has read so far of what its part holds, and who has not come back yet.

use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::Instant;

use crate::id::{Attempt, Part, TaskId};
use crate::keys;
use crate::ledger::Page;
use crate::record::{RecordError, Running, Task, decode};
use crate::semaphore::Semaphore;
use crate::transaction::{Record, Revision};

use super::sessions::Hold;

/// What has been read so far.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    pub(super) tasks: Vec<(TaskId, Box<Task>, Revision)>,
    pub(super) semaphores: Vec<(String, Semaphore, Revision)>,
    /// Whether all tasks were read, and semaphores are next.
    pub(super) has_tasks: bool,
    pub(super) unreadable: u64,
    /// Hosts of which it was heard meanwhile that they are gone.
    pub(super) lost_hosts: BTreeSet<String>,
}

/// Workers that had tasks when all was read, and whose sessions are not there yet.
#[derive(Debug, Default)]
pub(super) struct Absent {
    pub(super) workers: BTreeMap<String, Worker>,
    /// Until when they may come back, and those who hold permits; `None` once that is over.
    pub(super) until: Option<Instant>,
}

/// One of them, and what it has.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) host: String,
    pub(super) running: BTreeMap<TaskId, Hold>,
}

impl Absent {
    pub(super) fn insert(&mut self, running: &Running, id: TaskId, hold: Hold) {
        let worker = self.workers.entry(running.worker.clone()).or_default();
        worker.host.clone_from(&running.host);
        worker.running.insert(id, hold);
    }

    /// Whether a try of a task is with a worker that may come back.
    pub(super) fn has(&self, worker: &str, id: TaskId, attempt: Attempt) -> bool {
        let hold = self.workers.get(worker).and_then(|worker| worker.running.get(&id));
        hold.is_some_and(|hold| hold.attempt == attempt)
    }

    /// Whether those who hold permits may come back.
    pub(super) fn may_come_back(&self) -> bool {
        self.until.is_some()
    }

    /// A worker no longer has a task.
    pub(super) fn remove(&mut self, worker: &str, id: TaskId) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.running.remove(&id);
        }
    }

    /// A worker has come back, or will not: what it had.
    pub(super) fn take(&mut self, worker: &str) -> BTreeMap<TaskId, Hold> {
        self.workers.remove(worker).map(|worker| worker.running).unwrap_or_default()
    }

    /// Gives them at least this time.
    pub(super) fn renew(&mut self, until: Instant) {
        self.until = self.until.map(|before| before.max(until));
    }
}

impl Recovery {
    pub(super) fn take(&mut self, part: Part, page: &Page) {
        for record in &page.records {
            let taken = if self.has_tasks {
                self.take_semaphore(part, record)
            } else {
                self.take_task(record)
            };
            self.unreadable += u64::from(taken.is_err());
        }
    }

    pub(super) fn take_task(&mut self, record: &Record) -> Result<(), RecordError> {
        let task = Box::new(decode::<Task>(record)?);
        if let Some(id) = keys::id_of(&record.key) {
            self.tasks.push((id, task, record.revision));
        }
        Ok(())
    }

    pub(super) fn take_semaphore(
        &mut self,
        part: Part,
        record: &Record,
    ) -> Result<(), RecordError> {
        let semaphore = decode::<Semaphore>(record)?;
        if let Some(name) = keys::name_of(part, &record.key) {
            self.semaphores.push((name.to_owned(), semaphore, record.revision));
        }
        Ok(())
    }
}
