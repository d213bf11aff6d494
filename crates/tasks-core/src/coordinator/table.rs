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

use crate::class::{Class, ClassId, Classes};
use crate::id::TaskId;
use crate::ready::Ready;
use crate::record::{State, Task};
use crate::transaction::Revision;
use crate::view::QueueView;

/// The heads of a queue whose records are read together.
const READ_AHEAD: usize = 256;

/// Where a task is, as it was committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Ready,
    Delayed,
    Waiting,
    Running,
}

/// A task that has not ended.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) revision: Revision,
    queue: Arc<str>,
    /// Its record; that of a task that does not run may have to be read.
    pub(super) task: Option<Box<Task>>,
    /// Whether a change of it is being committed.
    pub(super) is_changing: bool,
    place: Place,
    class: ClassId,
}

impl Entry {
    /// Its queue.
    pub(super) fn queue(&self) -> &str {
        &self.queue
    }

    /// Where it is.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// Its class.
    pub(super) fn class(&self) -> ClassId {
        self.class
    }

    fn is_ready_in(&self, class: ClassId) -> bool {
        self.place == Place::Ready && self.class == class && !self.is_changing
    }
}

/// A queue.
#[derive(Debug, Default)]
struct Queue {
    ready: Ready,
    live: usize,
    /// How many of them are delayed, wait for inputs, and are with a worker.
    delayed: usize,
    waiting: usize,
    running: usize,
    /// How many are ready, by class.
    ready_of: BTreeMap<ClassId, usize>,
}

impl Queue {
    /// Counts one more task, or one less.
    fn count(&mut self, place: Place, class: ClassId, add: bool) {
        let count = match place {
            Place::Ready => self.ready_of.entry(class).or_default(),
            Place::Delayed => &mut self.delayed,
            Place::Waiting => &mut self.waiting,
            Place::Running => &mut self.running,
        };
        *count = if add { *count + 1 } else { *count - 1 };
        if place == Place::Ready && *count == 0 {
            self.ready_of.remove(&class);
            self.ready.forget(class);
        }
    }

    fn view(&self, name: &str, unfit: usize) -> QueueView {
        QueueView {
            name: name.to_owned(),
            ready: self.ready_of.values().sum::<usize>() as u64,
            delayed: self.delayed as u64,
            waiting: self.waiting as u64,
            running: self.running as u64,
            unfit: unfit as u64,
            ..QueueView::default()
        }
    }
}

/// Where a task goes that is delayed or waits for inputs, once that is over.
#[derive(Debug)]
struct Later {
    priority: i16,
    group: Box<str>,
}

impl Later {
    fn of(task: &Task) -> Self {
        Self { priority: task.priority, group: task.group.as_str().into() }
    }
}

/// How a ready task of a priority and group is added.
type Push = fn(&mut Ready, i16, &str, ClassId, TaskId);

/// All tasks that have not ended.
#[derive(Debug)]
pub(super) struct Table {
    tasks: BTreeMap<TaskId, Entry>,
    queues: BTreeMap<Arc<str>, Queue>,
    classes: Classes,
    /// The queues that may have a ready task.
    open: BTreeSet<Arc<str>>,
    /// Tasks that are not assigned before a time, in milliseconds since 1970. One that has ended
    /// meanwhile stays until then.
    delayed: BTreeMap<(u64, TaskId), Later>,
    /// Tasks that wait for inputs.
    waiting: BTreeMap<TaskId, Later>,
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
            classes: Classes::default(),
            open: BTreeSet::new(),
            delayed: BTreeMap::new(),
            waiting: BTreeMap::new(),
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

    /// How many tasks of a queue are ready.
    pub(super) fn ready(&self, queue: &str) -> usize {
        self.queues.get(queue).map_or(0, |queue| queue.ready_of.values().sum())
    }

    /// The queues that may have a ready task.
    pub(super) fn open_queues(&self) -> impl Iterator<Item = &Arc<str>> {
        self.open.iter()
    }

    /// How many queues have a task that has not ended.
    pub(super) fn queues(&self) -> usize {
        self.queues.len()
    }

    /// The first queues, by name. The ready tasks of classes that `is_able` does not accept are
    /// counted as unfit.
    pub(super) fn views(
        &self,
        limit: usize,
        mut is_able: impl FnMut(&str, ClassId, &Arc<Class>) -> bool,
    ) -> Vec<QueueView> {
        let queues = self.queues.iter().take(limit);
        let view = queues.map(|(name, queue)| {
            let classes = queue.ready_of.iter().filter(|(id, _)| {
                self.classes.get(**id).is_some_and(|class| !is_able(name, **id, class))
            });
            queue.view(name, classes.map(|(_, count)| count).sum())
        });
        view.collect()
    }

    /// The class of a task, which need not be in the table.
    pub(super) fn class(&mut self, task: &Task) -> (ClassId, Arc<Class>) {
        let last = task.retry.last(&task.tally);
        self.classes.find(&task.need, &task.filter, task.tally.lost_on(), last)
    }

    /// The classes of all tasks.
    pub(super) fn classes(&self) -> &Classes {
        &self.classes
    }

    pub(super) fn get(&self, id: TaskId) -> Option<&Entry> {
        self.tasks.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: TaskId) -> Option<&mut Entry> {
        self.tasks.get_mut(&id)
    }

    /// Has the task as it was committed.
    pub(super) fn insert(&mut self, id: TaskId, task: Box<Task>, revision: Revision) {
        self.add(id, task, revision, Ready::push);
    }

    /// The same; one that is ready comes before the others of its group.
    pub(super) fn insert_first(&mut self, id: TaskId, task: Box<Task>, revision: Revision) {
        self.add(id, task, revision, Ready::push_first);
    }

    fn add(&mut self, id: TaskId, mut task: Box<Task>, revision: Revision, push: Push) {
        self.next_sequence = self.next_sequence.max(task.sequence.saturating_add(1));
        let name = self.enter(&task.queue);
        task.queue = name.clone().into();
        let (class, _) = self.class(&task);
        self.classes.enter(class);
        self.remove(id);
        let place = match task.state {
            State::Ready => Place::Ready,
            State::Delayed(_) => Place::Delayed,
            State::Waiting => Place::Waiting,
            State::Running(_) => Place::Running,
        };
        match task.state {
            State::Delayed(until_ms) => drop(self.delayed.insert((until_ms, id), Later::of(&task))),
            State::Waiting => drop(self.waiting.insert(id, Later::of(&task))),
            State::Ready | State::Running(_) => {}
        }
        if let Some(queue) = self.queues.get_mut(&name) {
            queue.count(place, class, true);
        }
        let queue = name.clone();
        let entry = Entry { revision, queue, task: None, is_changing: false, place, class };
        self.tasks.insert(id, entry);
        if place == Place::Ready {
            self.push(&name, |ready| push(ready, task.priority, &task.group, class, id));
        }
        match place {
            Place::Ready | Place::Delayed | Place::Waiting => self.cache(id, task),
            Place::Running => self.keep(id, task),
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
        if entry.place == Place::Waiting {
            self.waiting.remove(&id);
        }
        if let Some(task) = &entry.task {
            self.cached_bytes -= bytes_of(task);
            if let State::Delayed(until_ms) = task.state {
                self.delayed.remove(&(until_ms, id));
            }
        }
        self.classes.leave(entry.class);
        if let Some(queue) = self.queues.get_mut(&entry.queue) {
            queue.live -= 1;
            queue.count(entry.place, entry.class, false);
            if queue.live == 0 {
                self.queues.remove(&entry.queue);
                self.open.remove(&entry.queue);
            }
        }
        Some(entry)
    }

    /// Takes the next ready task whose record is at hand, queue by queue in turn, of the queues and
    /// classes that `wanted` accepts.
    pub(super) fn pop(
        &mut self,
        mut wanted: impl FnMut(&str, ClassId, &Arc<Class>) -> bool,
    ) -> Option<TaskId> {
        let mut last = self.last.clone();
        for _ in 0..self.open.len() {
            let name = self.next_open(last.as_ref())?;
            let id = self.pop_from(&name, &mut wanted);
            if id.is_some() {
                self.last = Some(name);
                return id;
            }
            last = Some(name);
        }
        None
    }

    fn pop_from(
        &mut self,
        name: &Arc<str>,
        wanted: &mut impl FnMut(&str, ClassId, &Arc<Class>) -> bool,
    ) -> Option<TaskId> {
        let (queue, classes) = (self.queues.get_mut(name)?, &self.classes);
        let mut wanted = |id| classes.get(id).is_some_and(|class| wanted(name, id, class));
        while let Some(next) = queue.ready.first(&mut wanted) {
            match self.tasks.get(&next.id) {
                Some(entry) if entry.is_ready_in(next.class) => {
                    entry.task.as_ref()?; // if there is none, it is being read
                    queue.ready.take(&next);
                    return Some(next.id);
                }
                // It is changing (and will be pushed again if it is ready then), or has ended.
                _ => queue.ready.take(&next),
            }
        }
        if queue.ready.is_empty() {
            self.open.remove(name);
        }
        None
    }

    /// Puts a task that was popped, or whose change is not committed, before the others of its
    /// group again.
    pub(super) fn unpop(&mut self, id: TaskId) {
        let Some(entry) = self.tasks.get(&id).filter(|entry| entry.place == Place::Ready) else {
            return;
        };
        let (Some(task), Some(queue)) = (&entry.task, self.queues.get_mut(&entry.queue)) else {
            return;
        };
        queue.ready.push_first(task.priority, &task.group, entry.class, id);
        self.open.insert(entry.queue.clone());
    }

    /// The tasks that come next in queues and classes that `wanted` accepts and whose records have
    /// to be read for that.
    pub(super) fn unread(
        &self,
        mut wanted: impl FnMut(&str, ClassId, &Arc<Class>) -> bool,
    ) -> Vec<TaskId> {
        let is_unread = |id: &TaskId| {
            let entry = self.tasks.get(id);
            entry.is_some_and(|entry| entry.place == Place::Ready && entry.task.is_none())
        };
        let mut unread = Vec::new();
        for name in &self.open {
            let Some(queue) = self.queues.get(name) else { continue };
            let mut wanted = |id| self.is_wanted(name, id, &mut wanted);
            let first = queue.ready.first(&mut wanted);
            if first.is_some_and(|next| is_unread(&next.id)) {
                unread.extend(queue.ready.heads(READ_AHEAD, wanted).into_iter().filter(is_unread));
            }
        }
        unread
    }

    /// Whether no task of a queue that `wanted` accepts is ready.
    pub(super) fn is_drained(
        &self,
        queue: &str,
        mut wanted: impl FnMut(&str, ClassId, &Arc<Class>) -> bool,
    ) -> bool {
        let Some(ready) = self.open.get(queue).and_then(|name| self.queues.get(name)) else {
            return true;
        };
        ready.ready.first(|id| self.is_wanted(queue, id, &mut wanted)).is_none()
    }

    fn is_wanted(
        &self,
        queue: &str,
        id: ClassId,
        wanted: &mut impl FnMut(&str, ClassId, &Arc<Class>) -> bool,
    ) -> bool {
        self.classes.get(id).is_some_and(|class| wanted(queue, id, class))
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
            let ((due_ms, id), later) = first.remove_entry();
            let Some(entry) = self.tasks.get(&id) else { continue };
            let is_other = |task: &Task| task.state != State::Delayed(due_ms);
            if entry.task.as_deref().is_some_and(is_other) {
                continue; // it has ended since, and was revived
            }
            self.make_ready(id, &later);
        }
    }

    /// Lets a task be ready whose inputs are done. As with [`Table::wake`] nothing is committed.
    pub(super) fn release(&mut self, id: TaskId) {
        if let Some(later) = self.waiting.remove(&id) {
            self.make_ready(id, &later);
        }
    }

    /// Lets a task wait that was popped, until it is released.
    pub(super) fn hold(&mut self, id: TaskId) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let Some(task) = entry.task.as_ref().filter(|_| entry.place == Place::Ready) else {
            return;
        };
        let later = Later::of(task);
        entry.place = Place::Waiting;
        let class = entry.class;
        if let Some(queue) = self.queues.get_mut(&entry.queue) {
            queue.count(Place::Ready, class, false);
            queue.count(Place::Waiting, class, true);
        }
        self.waiting.insert(id, later);
    }

    fn make_ready(&mut self, id: TaskId, later: &Later) {
        let Some(entry) = self.tasks.get_mut(&id) else { return };
        let before = core::mem::replace(&mut entry.place, Place::Ready);
        let (name, class) = (entry.queue.clone(), entry.class);
        if let Some(queue) = self.queues.get_mut(&name) {
            queue.count(before, class, false);
            queue.count(Place::Ready, class, true);
        }
        self.push(&name, |ready| ready.push(later.priority, &later.group, class, id));
    }

    fn push(&mut self, name: &Arc<str>, push: impl FnOnce(&mut Ready)) {
        if let Some(queue) = self.queues.get_mut(name) {
            push(&mut queue.ready);
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
    size_of::<Task>()
        + task.queue.len()
        + task.group.len()
        + task.payload.len()
        + task.need.heap_bytes()
        + task.filter.len()
        + size_of_val(&*task.inputs)
        + size_of_val(&*task.abroad)
}
