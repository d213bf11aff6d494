//! Dividing: submissions and completions that are larger than a commit of the store.
//!
//! A *submission* is added portion by portion, and answered when all of it is there. If tasks of it
//! wait for others, a portion is sent when the one before is there: an input comes first.
//!
//! The *children* of a task happen with its completion, all or none. If they are too many they are
//! written first, in portions under keys of their own, where they are no tasks yet. The completion
//! then writes in its own commit that they count. From there on they become tasks, a portion a
//! commit, which deletes the portion:
//!
//! | step | requires | writes |
//! |---|---|---|
//! | write | no such portion | a portion |
//! | count | *all of the completion*; all portions as they were written | the completion; that they count |
//! | release | the portion as it was written | its tasks; deletes the portion |
//! | clear | that they count | deletes that |
//!
//! Whoever takes over finds portions with or without the word that they count. With it they are
//! released, once each, since that deletes them; without it they are removed, and the worker sends
//! its completion again. That is right also if a commit of the one before happens late: it named
//! an earlier role.
//!
//! Source: write-ahead logging; the record that they count is that of a committed transaction.

use std::collections::{BTreeMap, VecDeque};

use crate::id::{Attempt, TaskId};
use crate::keys;
use crate::message::{Answer, Call, Peer};
use crate::record::{Staged, State, encode};
use crate::transaction::{Expect, Key, Revision, Transaction};

use super::Coordinator;
use super::change::{Altered, Change};
use super::inbox::LETTER_BYTES;
use super::stages::{Found, Portion, Stage};
use super::step::{Does, Step};

/// Operations of a portion's commit besides those of its tasks: the role, the fence, and the
/// portion itself.
const OWN_OPERATIONS: usize = 4;

/// Conditions and writes of a new task.
const TASK_OPERATIONS: usize = 3;

/// The bytes of a portion's commit besides those of its tasks, at most.
const OWN_BYTES: usize = 1_024;

impl Coordinator {
    /// Divides the next change that is to be committed.
    pub(super) fn divide_next(&mut self) {
        match self.staged.pop_front() {
            Some(Change { submitter: Some(asked), tasks, .. }) => {
                self.divide_submission(asked, tasks);
            }
            Some(change) => self.divide_completion(change),
            None => {}
        }
    }

    fn divide_submission(&mut self, asked: (Peer, Call), tasks: Vec<Altered>) {
        let has_inputs = |one: &Altered| one.task.as_ref().is_some_and(|it| !it.inputs.is_empty());
        let is_ordered = tasks.iter().any(has_inputs);
        let mut portions = VecDeque::from(self.portions(tasks));
        let later = if is_ordered { portions.split_off(1) } else { VecDeque::new() };
        let portion_of = Some(self.stages.divide(portions.len(), later));
        for tasks in portions.into_iter().rev() {
            let submitter = Some(asked);
            self.staged.push_front(Change { tasks, submitter, portion_of, ..Change::default() });
        }
    }

    /// A submission, or a portion of one, is committed.
    pub(super) fn submitted(
        &mut self,
        (peer, call): (Peer, Call),
        portion_of: Option<u64>,
        new: u32,
    ) {
        let all = match portion_of {
            Some(submission) => {
                if let Some(tasks) = self.stages.next_portion(submission) {
                    let submitter = Some((peer, call));
                    let next = Change { tasks, submitter, portion_of, ..Change::default() };
                    self.staged.push_front(next);
                }
                self.stages.portion_ended(submission, Some(new))
            }
            None => Some(new),
        };
        if let Some(all) = all {
            self.answer(peer, call, Answer::Submitted(all));
        }
    }

    /// A completion waits until its children are written.
    fn divide_completion(&mut self, mut change: Change) {
        let Some((parent, _)) = change.ended else { return };
        let (mut children, others): (Vec<_>, Vec<_>) =
            change.tasks.into_iter().partition(Altered::is_new);
        change.tasks = others;
        for child in &mut children {
            // Nobody is told of them before they are tasks.
            self.take_away(child);
            if let Some(task) = child.task.as_mut().filter(|task| task.state.is_running()) {
                (task.state, task.attempt) = (State::Ready, Attempt(0));
            }
            child.is_assigned = false;
        }
        let mut stage = Stage { completion: Some(change), ..Stage::default() };
        for (number, tasks) in (0..).zip(self.portions(children)) {
            self.staged.push_back(self.writing(parent, number, &tasks));
            stage.portions.insert(number, Portion { written: None, tasks });
        }
        self.stages.by_parent.insert(parent, stage);
    }

    /// Tasks in portions that a commit can carry, each as its tasks or as one record.
    fn portions(&self, tasks: Vec<Altered>) -> Vec<Vec<Altered>> {
        let limits = self.settings.limits;
        let most = limits.operations.saturating_sub(OWN_OPERATIONS + self.bells());
        let most_bytes = limits.bytes.saturating_sub(OWN_BYTES + self.bells() * LETTER_BYTES);
        let key = keys::finished(self.settings.part, TaskId::of("", 0)).as_bytes().len();
        let (mut portions, mut bytes, mut operations) = (Vec::<Vec<Altered>>::new(), 0, 0);
        for altered in tasks {
            let record = altered.task.as_ref().map_or(0, |task| encode(&**task).len());
            let abroad = altered.task.as_ref().map_or(0, |task| task.abroad.len());
            let own_operations = TASK_OPERATIONS + 2 * abroad;
            let own = record + TASK_OPERATIONS * key + 2 * abroad * LETTER_BYTES;
            match portions.last_mut() {
                Some(last) if operations + own_operations <= most && bytes + own <= most_bytes => {
                    last.push(altered);
                    (operations, bytes) = (operations + own_operations, bytes + own);
                }
                _ => {
                    portions.push(vec![altered]);
                    (operations, bytes) = (own_operations, own);
                }
            }
        }
        portions
    }

    fn writing(&self, parent: TaskId, number: u16, tasks: &[Altered]) -> Change {
        let pair = |one: &Altered| Some((one.id, one.task.as_deref().cloned()?));
        let staged = Staged { tasks: tasks.iter().filter_map(pair).collect() };
        let key = keys::staged(self.settings.part, parent, number);
        let mut wanted = Transaction::default();
        wanted.expect(key.clone(), Expect::Absent);
        wanted.put(key, encode(&staged));
        change(parent, Does::Write(number), wanted)
    }

    /// A step is committed.
    pub(super) fn stepped(&mut self, step: &Step, revision: Revision) {
        match step.does {
            Does::Write(number) => self.written(step.parent, number, revision),
            Does::Count => self.counted(step.parent, revision),
            Does::Release(number) => self.released(step.parent, number),
            Does::Clear | Does::Remove => {}
        }
    }

    fn written(&mut self, parent: TaskId, number: u16, revision: Revision) {
        let part = self.settings.part;
        let Some(stage) = self.stages.by_parent.get_mut(&parent) else { return };
        if let Some(portion) = stage.portions.get_mut(&number) {
            portion.written = Some(revision);
        }
        let mut wanted = Transaction::default();
        for (number, portion) in &stage.portions {
            let Some(written) = portion.written else { return };
            wanted.expect(keys::staged(part, parent, *number), Expect::At(written));
        }
        wanted.put(keys::children(part, parent), *b"1");
        let Some(mut completion) = stage.completion.take() else { return };
        completion.step = Some(Step { parent, does: Does::Count, keys: wanted });
        self.staged.push_front(completion);
    }

    /// The task is done, and its children are to become tasks.
    fn counted(&mut self, parent: TaskId, revision: Revision) {
        let part = self.settings.part;
        let Some(stage) = self.stages.by_parent.get_mut(&parent) else { return };
        stage.counted = Some(revision);
        for (number, portion) in &mut stage.portions {
            let Some(written) = portion.written else { continue };
            let tasks = core::mem::take(&mut portion.tasks);
            let key = keys::staged(part, parent, *number);
            let mut wanted = Transaction::default();
            wanted.expect(key.clone(), Expect::At(written));
            wanted.delete(key);
            let release = change(parent, Does::Release(*number), wanted);
            self.staged.push_back(Change { tasks, ..release });
        }
        self.clear_empty(parent);
    }

    fn released(&mut self, parent: TaskId, number: u16) {
        if let Some(stage) = self.stages.by_parent.get_mut(&parent) {
            stage.portions.remove(&number);
        }
        self.clear_empty(parent);
    }

    /// Forgets a stage whose children are all tasks.
    fn clear_empty(&mut self, parent: TaskId) {
        let Some(stage) = self.stages.by_parent.get(&parent) else { return };
        let (true, Some(counted)) = (stage.portions.is_empty(), stage.counted) else { return };
        self.stages.by_parent.remove(&parent);
        let key = keys::children(self.settings.part, parent);
        let mut wanted = Transaction::default();
        wanted.expect(key.clone(), Expect::At(counted));
        wanted.delete(key);
        self.staged.push_back(change(parent, Does::Clear, wanted));
    }

    /// A portion cannot be written: the completion that waits for it.
    pub(super) fn give_up(&mut self, step: &Step) -> Option<Change> {
        self.stages.by_parent.get_mut(&step.parent)?.completion.take()
    }

    /// A completion does not happen: its children are no tasks, and what was written of them goes.
    pub(super) fn drop_stage(&mut self, parent: TaskId) {
        let Some(stage) = self.stages.by_parent.remove(&parent) else { return };
        for altered in stage.portions.values().flat_map(|portion| &portion.tasks) {
            self.forget_new(altered);
        }
        let is_own = |change: &Change| change.step.as_ref().is_some_and(|one| one.parent == parent);
        self.staged.retain(|change| !is_own(change));
        self.remove_portions(parent, &stage.written());
    }

    /// Removes portions, unless they count by now.
    fn remove_portions(&mut self, parent: TaskId, portions: &[(u16, Revision)]) {
        let part = self.settings.part;
        // Each takes a condition and a write, beside the role, the fence and that they do not
        // count.
        let most = (self.settings.limits.operations.saturating_sub(3) / 2).max(1);
        for some in portions.chunks(most) {
            let mut wanted = Transaction::default();
            wanted.expect(keys::children(part, parent), Expect::Absent);
            for (number, written) in some {
                let key = keys::staged(part, parent, *number);
                wanted.expect(key.clone(), Expect::At(*written));
                wanted.delete(key);
            }
            self.staged.push_back(change(parent, Does::Remove, wanted));
        }
    }

    /// What a coordinator that begins finds of stages: they go on, or are removed.
    pub(super) fn take_stages(&mut self, found: BTreeMap<Key, Found>) {
        let mut stages = BTreeMap::<TaskId, Stage>::new();
        for (key, found) in found {
            let Some((parent, number)) = keys::parent_of(self.settings.part, &key) else {
                self.counters.unreadable += 1;
                continue;
            };
            let stage = stages.entry(parent).or_default();
            match (number, found.tasks) {
                (None, _) => stage.counted = Some(found.revision),
                (Some(number), tasks) => {
                    let new = |(id, task)| Altered::to(id, None, Some(Box::new(task)));
                    let tasks = tasks.into_iter().map(new).collect();
                    let written = Some(found.revision);
                    stage.portions.insert(number, Portion { written, tasks });
                }
            }
        }
        for (parent, stage) in stages {
            self.take_stage(parent, stage);
        }
    }

    fn take_stage(&mut self, parent: TaskId, stage: Stage) {
        let Some(counted) = stage.counted else {
            return self.remove_portions(parent, &stage.written());
        };
        for altered in stage.portions.values().flat_map(|portion| &portion.tasks) {
            self.arriving.insert(altered.id);
            let last = altered.task.as_ref().map_or(0, |task| task.sequence);
            self.table.next_sequence = self.table.next_sequence.max(last.saturating_add(1));
        }
        self.stages.by_parent.insert(parent, stage);
        self.counted(parent, counted);
    }
}

fn change(parent: TaskId, does: Does, keys: Transaction) -> Change {
    Change { step: Some(Step { parent, does, keys }), ..Change::default() }
}
