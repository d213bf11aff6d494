//! The table of tasks that have not ended: where each is, and the queues of those that are ready.
//!
//! The store has the records. Here lies what a decision needs: some 100 bytes a task, and the
//! record of those that run or come next, as far as a budget of bytes allows. All of it is made
//! again from the store when a coordinator begins.
//!
//! No step is linear in the tasks: the next one is found among the queues that have ready tasks, a
//! record is read before its task comes next, 256 at a time.

use core::ops::Bound::{Excluded, Unbounded};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::id::TaskId;
use crate::ready::Ready;
use crate::record::{State, Task};
use crate::transaction::Revision;

/// The heads of a queue whose records are read together.
const READ_AHEAD: usize = 256;

/// A task that has not ended.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) revision: Revision,
    queue: Arc<str>,
    /// Its record; that of a task that does not run may have to be read.
    pub(super) task: Option<Box<Task>>,
    /// Whether a change of it is being committed.
    pub(super) is_changing: bool,
    is_ready: bool,
}

impl Entry {
    /// Its queue.
    pub(super) fn queue(&self) -> &str {
        &self.queue
    }
}

/// A queue.
#[derive(Debug, Default)]
struct Queue {
    ready: Ready,
    live: usize,
}

/// Where a delayed task goes when its time has come.
#[derive(Debug)]
struct Delayed {
    priority: i16,
    group: Box<str>,
}

/// All tasks that have not ended.
#[derive(Debug)]
pub(super) struct Table {
    tasks: BTreeMap<TaskId, Entry>,
    queues: BTreeMap<Arc<str>, Queue>,
    /// The queues that may have a ready task.
    open: BTreeSet<Arc<str>>,
    /// Tasks that are not assigned before a time, in milliseconds since 1970. One that has ended
    /// meanwhile stays until then.
    delayed: BTreeMap<(u64, TaskId), Delayed>,
    cached_bytes: usize,
    budget_bytes: usize,
    /// The queue that the last task came from: the next one is looked for behind it.
    last: Option<Arc<str>>,
    pub(super) next_sequence: u64,
}

impl Table {
    /// An empty table that keeps records of tasks that do not run up to so many bytes.
    pub(super) fn new(budget_bytes: usize) -> Self {
        Self {
            tasks: BTreeMap::new(),
            queues: BTreeMap::new(),
            open: BTreeSet::new(),
            delayed: BTreeMap::new(),
            cached_bytes: 0,
            budget_bytes,
            last: None,
            next_sequence: 0,
        }
    }

    /// How many tasks have not ended.
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// How many tasks of a queue have not ended.
    pub(super) fn live(&self, queue: &str) -> usize {
        self.queues.get(queue).map_or(0, |queue| queue.live)
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Entry> {
        self.tasks.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Entry> {
        self.tasks.get_mut(&id)
    }

    /// Has the task as it was committed.
    pub(super) fn insert(&mut self, id: TaskId, task: Box<Task>, revision: Revision) {
        self.next_sequence = self.next_sequence.max(task.sequence.saturating_add(1));
        let name = self.enter(&task.queue);
        self.remove(id);
        let is_ready = task.state == State::Ready;
        if let State::Delayed(until_ms) = task.state {
            let delayed = Delayed { priority: task.priority, group: task.group.as_str().into() };
            self.delayed.insert((until_ms, id), delayed);
        }
        let queue = name.clone();
        let entry = Entry { revision, queue, task: None, is_changing: false, is_ready };
        self.tasks.insert(id, entry);
        if is_ready {
            self.push(&name, task.priority, &task.group, id);
        }
        if is_ready || matches!(task.state, State::Delayed(_)) {
            self.cache(id, task);
        } else {
            self.keep(id, task);
        }
    }

    /// Keeps a record, if there is room for it.
    fn cache(&mut self, id: TaskId, task: Box<Task>) {
        if self.cached_bytes + bytes_of(&task) <= self.budget_bytes {
            self.keep(id, task);
        }
    }

    /// Keeps the record of a task that runs or comes next, whatever the budget.
    pub(super) fn keep(&mut self, id: TaskId, task: Box<Task>) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        if entry.task.is_none() {
            self.cached_bytes += bytes_of(&task);
            entry.task = Some(task);
        }
    }

    /// Forgets a task.
    pub(super) fn remove(&mut self, id: TaskId) -> Option<Entry> {
        let entry = self.tasks.remove(&id)?;
        if let Some(task) = &entry.task {
            self.cached_bytes -= bytes_of(task);
            if let State::Delayed(until_ms) = task.state {
                self.delayed.remove(&(until_ms, id));
            }
        }
        if let Some(queue) = self.queues.get_mut(&entry.queue) {
            queue.live -= 1;
            if queue.live == 0 {
                self.queues.remove(&entry.queue);
                self.open.remove(&entry.queue);
            }
        }
        Some(entry)
    }

    /// Takes the next ready task whose record is at hand, queue by queue in turn, of the queues
    /// that `wanted` accepts.
    pub(super) fn pop(&mut self, wanted: impl Fn(&str) -> bool) -> Option<TaskId> {
        let mut last = self.last.clone();
        for _ in 0..self.open.len() {
            let name = self.next_open(last.as_ref())?;
            let id = if wanted(&name) { self.pop_from(&name) } else { None };
            if id.is_some() {
                self.last = Some(name);
                return id;
            }
            last = Some(name);
        }
        None
    }

    fn pop_from(&mut self, name: &Arc<str>) -> Option<TaskId> {
        let queue = self.queues.get_mut(name)?;
        while let Some(id) = queue.ready.first() {
            match self.tasks.get(&id) {
                Some(entry) if entry.is_ready && !entry.is_changing => {
                    entry.task.as_ref()?; // if there is none, it is being read
                    return queue.ready.pop();
                }
                // It is changing (and will be pushed again if it is ready then), or has ended.
                _ => drop(queue.ready.pop()),
            }
        }
        self.open.remove(name);
        None
    }

    /// Puts a task that was popped, or whose change is not committed, before the others of its
    /// group again.
    pub(super) fn unpop(&mut self, id: TaskId) {
        let Some(entry) = self.tasks.get(&id).filter(|entry| entry.is_ready) else { return };
        let (Some(task), Some(queue)) = (&entry.task, self.queues.get_mut(&entry.queue)) else {
            return;
        };
        queue.ready.push_first(task.priority, &task.group, id);
        self.open.insert(entry.queue.clone());
    }

    /// The tasks that come next in queues that `wanted` accepts and whose records have to be read
    /// for that.
    pub(super) fn unread(&self, wanted: impl Fn(&str) -> bool) -> Vec<TaskId> {
        let is_unread = |id: &TaskId| {
            self.tasks.get(id).is_some_and(|entry| entry.is_ready && entry.task.is_none())
        };
        let open = self.open.iter().filter(|name| wanted(name));
        let queues = open.filter_map(|name| self.queues.get(name));
        queues
            .filter(|queue| queue.ready.first().is_some_and(|id| is_unread(&id)))
            .flat_map(|queue| queue.ready.heads(READ_AHEAD))
            .filter(is_unread)
            .collect()
    }

    /// Whether no task of a queue is ready.
    pub(super) fn is_drained(&self, queue: &str) -> bool {
        !self.open.contains(queue)
    }

    /// When the next delayed task is ready, in milliseconds since 1970.
    pub(super) fn next_due_ms(&self) -> Option<u64> {
        self.delayed.first_key_value().map(|(&(due_ms, _), _)| due_ms)
    }

    /// Lets delayed tasks whose time has come be ready. Their records keep saying until when they
    /// were delayed, so nothing is to be committed.
    pub(super) fn wake(&mut self, now_ms: u64) {
        while let Some(first) = self.delayed.first_entry() {
            if first.key().0 > now_ms {
                break;
            }
            let ((due_ms, id), delayed) = first.remove_entry();
            let Some(entry) = self.tasks.get_mut(&id) else { continue };
            let is_other = |task: &Task| task.state != State::Delayed(due_ms);
            if entry.task.as_deref().is_some_and(is_other) {
                continue; // it has ended since, and was revived
            }
            entry.is_ready = true;
            let name = entry.queue.clone();
            self.push(&name, delayed.priority, &delayed.group, id);
        }
    }

    fn push(&mut self, name: &Arc<str>, priority: i16, group: &str, id: TaskId) {
        if let Some(queue) = self.queues.get_mut(name) {
            queue.ready.push(priority, group, id);
            if !self.open.contains(name) {
                self.open.insert(name.clone());
            }
        }
    }

    /// The queue that may have a ready task behind this one, in a circle.
    fn next_open(&self, last: Option<&Arc<str>>) -> Option<Arc<str>> {
        let behind =
            last.and_then(|last| self.open.range::<str, _>((Excluded(&**last), Unbounded)).next());
        behind.or_else(|| self.open.first()).cloned()
    }

    /// Counts one more task of a queue. Its name is the same text for all its tasks.
    fn enter(&mut self, name: &str) -> Arc<str> {
        let known = self.queues.get_key_value(name).map(|(known, _)| known.clone());
        let name = known.unwrap_or_else(|| name.into());
        self.queues.entry(name.clone()).or_default().live += 1;
        name
    }
}

/// The bytes of a record in memory, as far as they are not the same for all.
fn bytes_of(task: &Task) -> usize {
    size_of::<Task>() + task.queue.len() + task.group.len() + task.payload.len()
}
