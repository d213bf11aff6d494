//! What a coordinator has read so far of what its part holds, and who has not come back yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidings_primitives::Instant;

use crate::id::{Attempt, Part, TaskId};
use crate::keys;
use crate::ledger::Page;
use crate::name::Name;
use crate::record::{RecordError, Running, Staged, Task, decode};
use crate::semaphore::Semaphore;
use crate::transaction::{Event, Key, Record, Revision};
use crate::tuple::{Past, Stored};

use super::exchange::SlotKey;
use super::slots::Hold;
use super::stages::Found;

/// What has been read so far.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    pub(super) tasks: Vec<(TaskId, Box<Task>, Revision)>,
    pub(super) semaphores: Vec<(String, Semaphore, Revision)>,
    pub(super) tuples: Vec<(Arc<str>, u64, Stored, Revision)>,
    pub(super) pasts: Vec<(SlotKey, Past)>,
    pub(super) letters: Vec<Event>,
    /// Children that are no tasks yet.
    pub(super) staged: BTreeMap<Key, Found>,
    /// The same as they were read once more.
    again: BTreeMap<Key, Revision>,
    pub(super) range: Range,
    pub(super) unreadable: u64,
    /// What was heard meanwhile to be gone.
    pub(super) lost: Lost,
}

/// What is gone, by name.
#[derive(Debug, Default)]
pub(super) struct Lost {
    pub(super) hosts: BTreeSet<String>,
    pub(super) processes: BTreeSet<String>,
}

/// What is read, in this order. What becomes a task between two of the reads is seen in neither: so
/// those that may are read before and after.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Range {
    /// Children that are no tasks yet.
    #[default]
    Staged,
    Tasks,
    Semaphores,
    Tuples,
    Pasts,
    Inbox,
    /// Those children again.
    StagedAgain,
}

impl Range {
    /// What is read next.
    pub(super) fn next(self) -> Option<Self> {
        match self {
            Self::Staged => Some(Self::Tasks),
            Self::Tasks => Some(Self::Semaphores),
            Self::Semaphores => Some(Self::Tuples),
            Self::Tuples => Some(Self::Pasts),
            Self::Pasts => Some(Self::Inbox),
            Self::Inbox => Some(Self::StagedAgain),
            Self::StagedAgain => None,
        }
    }

    /// What its keys begin with.
    pub(super) fn prefix(self, part: Part) -> Key {
        match self {
            Self::Staged | Self::StagedAgain => keys::all_staged(part),
            Self::Tasks => keys::tasks(part),
            Self::Semaphores => keys::semaphores(part),
            Self::Tuples => keys::tuples(part),
            Self::Pasts => keys::pasts(part),
            Self::Inbox => keys::inbox(part),
        }
    }
}

/// Workers that had tasks when all was read, and whose sessions are not there yet.
#[derive(Debug, Default)]
pub(super) struct Absent {
    pub(super) workers: BTreeMap<Name, Worker>,
    /// Until when they may come back, and those who hold permits; `None` once that is over.
    pub(super) until: Option<Instant>,
}

/// One of them, and what it has.
#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) host: Name,
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

    /// Those of a process, which will not come back: its sessions have its name, or that and more
    /// behind a dash.
    pub(super) fn take_of(&mut self, process: &str) -> Vec<(Name, Worker)> {
        let is_of = |name: &Name| {
            let rest = name.strip_prefix(process);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let names: Vec<Name> = self.workers.keys().filter(|name| is_of(name)).cloned().collect();
        names.into_iter().filter_map(|name| self.workers.remove_entry(&name)).collect()
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
            let taken = match self.range {
                Range::Staged => self.take_staged(part, record),
                Range::Tasks => self.take_task(record),
                Range::Semaphores => self.take_semaphore(part, record),
                Range::Tuples => self.take_tuple(part, record),
                Range::Pasts => self.take_past(part, record),
                Range::Inbox => {
                    let Record { key, value, revision } = record.clone();
                    self.letters.push(Event { key, value: Some(value), revision });
                    Ok(())
                }
                Range::StagedAgain => {
                    self.again.insert(record.key.clone(), record.revision);
                    Ok(())
                }
            };
            self.unreadable += u64::from(taken.is_err());
        }
    }

    /// Whether nothing has become a task while all was read.
    pub(super) fn is_one_picture(&self) -> bool {
        let before = self.staged.iter().map(|(key, found)| (key, &found.revision));
        before.eq(&self.again)
    }

    /// One that cannot be read is left as it is, and its children are not there.
    fn take_staged(&mut self, part: Part, record: &Record) -> Result<(), RecordError> {
        let (key, revision) = (record.key.clone(), record.revision);
        let holds_tasks = keys::parent_of(part, &key).is_some_and(|(_, number)| number.is_some());
        let decoded =
            if holds_tasks { decode::<Staged>(record).map(|it| it.tasks) } else { Ok(vec![]) };
        let (tasks, result) = match decoded {
            Ok(tasks) => (tasks, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        self.staged.insert(key, Found { revision, tasks });
        result
    }

    pub(super) fn take_task(&mut self, record: &Record) -> Result<(), RecordError> {
        let task = Box::new(decode::<Task>(record)?);
        if let Some(id) = keys::id_of(&record.key) {
            self.tasks.push((id, task, record.revision));
        }
        Ok(())
    }

    fn take_tuple(&mut self, part: Part, record: &Record) -> Result<(), RecordError> {
        let stored = decode::<Stored>(record)?;
        if let Some((space, number)) = keys::tuple_of(part, &record.key) {
            self.tuples.push((space.into(), number, stored, record.revision));
        }
        Ok(())
    }

    fn take_past(&mut self, part: Part, record: &Record) -> Result<(), RecordError> {
        let last = decode::<Past>(record)?;
        if let Some((name, slot)) = keys::past_of(part, &record.key) {
            self.pasts.push(((name.into(), slot), last));
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
