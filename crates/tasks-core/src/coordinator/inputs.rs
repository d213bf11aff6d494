//! Inputs: tasks that wait for others, until these are done or never will be.
//!
//! | what happens to an input | what becomes of those that wait for it |
//! |---|---|
//! | it is done | who waits for no other is ready. Nothing is written: the record of the input says so |
//! | it fails, is cancelled, or has no record | they fail, with what became of it as the reason; so those that wait for them do |
//! | it is tried again before that | they wait on |
//! | its output stays on nodes, and is lost | they wait until it is made again (`remaking.rs`) |
//!
//! A submission names inputs that are there: what is neither live nor part of it is looked for
//! among what has ended. A coordinator that begins finds the edges in the records of those that
//! wait, and reads what became of inputs that are no longer live. So a release or a failure that
//! its predecessor owed follows from what the store has, once.
//!
//! Since an input is committed before its consumers, those that a full queue keeps waiting never
//! hold up what they wait for.
//!
//! Source: the dataflow coordinator of the FOX final report, §3.2, which died with its state.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::id::TaskId;
use crate::keys;
use crate::message::{Answer, Call, Peer, Refusal, Request, Submission};
use crate::name::Name;
use crate::record::{Failure, Finished, Outcome, Task, beginning, decode};
use crate::retry::Cause;
use crate::transaction::Record;
use crate::view::TryView;

use super::Coordinator;
use super::change::Change;
use super::parked::Obstacle;
use super::partial::{Found, Gathering};
use super::reading::Purpose;

/// The inputs that are read together, and the tasks that are ended together.
pub(super) const TOGETHER: usize = 256;

/// The reads of inputs that are on their way at a time.
const READS: usize = 4;

/// The edges for each task that a queue may hold; of more, submissions wait.
pub(super) const EDGES_A_TASK: usize = 8;

/// The bytes of a reason that is part of another: its beginning and its end.
const REASON_BYTES: [usize; 2] = [400, 1_000];

impl Coordinator {
    /// Adds tasks that are in order and checked, once what has ended of their inputs is known.
    pub(super) fn gather(&mut self, asked: (Peer, Call), tasks: Vec<Submission>) {
        let own: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
        let is_new = |task: &&Submission| self.table.get(task.id).is_none();
        let inputs = tasks.iter().filter(is_new).flat_map(|task| &task.inputs);
        let unknown: BTreeSet<TaskId> =
            inputs.copied().filter(|id| !own.contains(id) && !self.is_live(*id)).collect();
        let rest = unknown.into_iter().collect();
        let (now, found) = (Vec::new(), Found::default());
        self.gather_next(Gathering { asked, tasks, rest, now, ahead: 0, found });
    }

    pub(super) fn gather_next(&mut self, mut gathering: Gathering) {
        let from = gathering.rest.len().saturating_sub(TOGETHER);
        (gathering.now, gathering.ahead) = (gathering.rest.split_off(from), 0);
        if gathering.now.is_empty() {
            let Gathering { asked, tasks, found, .. } = gathering;
            return self.submit_with(asked, tasks, &found);
        }
        let part = self.settings.part;
        let keys = gathering.now.iter().map(|id| keys::finished(part, *id)).collect();
        self.want(keys, Purpose::Inputs(Box::new(gathering)));
    }

    /// Some inputs of a submission were looked for among what has ended.
    pub(super) fn gathered<'r>(
        &mut self,
        mut gathering: Gathering,
        records: impl Iterator<Item = &'r Record>,
    ) {
        let mut missing: BTreeSet<TaskId> = gathering.now.drain(..).collect();
        for record in records {
            let Some(id) = keys::id_of(&record.key) else { continue };
            missing.remove(&id);
            let finished = decode::<Finished>(record);
            // Whether an output is there that stays on nodes is looked at when the task is there.
            let is_done =
                |one: Finished| matches!(one.outcome, Outcome::Done(_)) && one.kept.is_none();
            if finished.is_ok_and(is_done) {
                gathering.found.done.insert(id);
            }
        }
        gathering.now = missing.into_iter().filter(|id| !self.is_live(*id)).collect();
        self.gather_abroad(gathering);
    }

    fn submit_with(&mut self, (peer, call): (Peer, Call), tasks: Vec<Submission>, found: &Found) {
        if let Some(id) = self.arriving_of(&tasks) {
            let request = Request::Submit { tasks };
            return self.parked.push(Obstacle::Task(id), (peer, call, request));
        }
        let mut change = Change { submitter: Some((peer, call)), ..Change::default() };
        if let Err(reason) = self.add_ordered(&mut change, tasks, found) {
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        if change.tasks.is_empty() {
            return self.answer(peer, call, Answer::Submitted(0));
        }
        self.stage(change);
    }

    /// A task, or an input, of a submission that is being added by another.
    pub(super) fn arriving_of(&self, tasks: &[Submission]) -> Option<TaskId> {
        if self.arriving.is_empty() {
            return None;
        }
        let all = tasks.iter().flat_map(|task| core::iter::once(&task.id).chain(&task.inputs));
        all.copied().find(|id| self.arriving.contains(id))
    }

    /// The inputs of tasks that are being added.
    pub(super) fn inputs_of_new(&self) -> BTreeSet<TaskId> {
        let read = self.wanted.iter().map(|(_, purpose)| purpose).chain(self.reading.values());
        let (mut gathered, mut known) = (Vec::new(), Vec::new());
        for purpose in read {
            match purpose {
                Purpose::Inputs(gathering) => gathered.push(&gathering.tasks),
                Purpose::Known(change) => known.push(&**change),
                _ => {}
            }
        }
        let changes = self.staged.iter().chain(self.in_flight.values().flatten()).chain(known);
        let of_changes = changes.flat_map(|change| &change.tasks);
        let all = of_changes.chain(self.stages.tasks()).filter(|altered| altered.is_new());
        let tasks = all.filter_map(|altered| altered.task.as_deref()).map(|task| &task.inputs);
        let submitted = gathered.into_iter().flatten().map(|task| &task.inputs);
        tasks.chain(submitted).flatten().copied().collect()
    }

    /// Whether as many edges are there as may be.
    pub(super) fn is_full_of_edges(&self) -> bool {
        self.edges.len() >= self.settings.queue_capacity.saturating_mul(EDGES_A_TASK)
    }

    /// A task is there as it was committed.
    pub(super) fn place_inputs(&mut self, id: TaskId, task: &Task) {
        if !task.inputs.is_empty() {
            let (table, arriving) = (&self.table, &self.arriving);
            let is_live = |id| table.get(id).is_some() || arriving.contains(&id);
            self.edges.insert(id, &task.inputs, task.is_waiting(), is_live);
            self.inbox.place(&task.abroad);
        }
    }

    /// A task has ended, or its record cannot be read: it waits for nothing any more.
    pub(super) fn drop_inputs(&mut self, id: TaskId) {
        let Some(inputs) = self.edges.remove(id) else { return };
        let places = &self.inbox;
        let away = inputs.iter().filter_map(|input| Some((*input, places.part_of(*input)?)));
        let left: Vec<_> = away.filter(|(input, _)| !self.edges.is_used(*input)).collect();
        self.inbox.leave(left);
        if !self.outputs.is_empty() {
            let unused = inputs.iter().filter(|input| !self.edges.is_used(**input));
            unused.for_each(|input| self.outputs.remove(*input));
        }
        self.parked.note(Obstacle::Inputs);
    }

    /// A task has ended: those that wait for it are released, or are to end.
    pub(super) fn input_ended(&mut self, id: TaskId, finished: &Finished) {
        if matches!(finished.outcome, Outcome::Done(_)) {
            // Whether an output is there that another part has is a matter of that part.
            let own = finished.kept.as_ref().filter(|_| self.inbox.part_of(id).is_none());
            if own.is_some_and(|kept| !self.place_output(id, kept)) {
                return;
            }
            for consumer in self.edges.done(id) {
                self.table.release(consumer);
            }
        } else if self.edges.is_used(id) {
            self.edges.doom(id, &reason(finished));
        }
    }

    /// Wants to know what became of inputs that are not live.
    pub(super) fn read_inputs(&mut self) {
        if !self.is_serving() {
            return;
        }
        let is_it = |purpose: &&Purpose| matches!(purpose, Purpose::Ended(_));
        if self.reading.values().filter(is_it).count() >= READS {
            return;
        }
        let inputs = self.edges.take_unknown(TOGETHER);
        if !inputs.is_empty() {
            let part_of = |id| self.inbox.part_of(id).unwrap_or(self.settings.part);
            let keys = inputs.iter().map(|id| keys::finished(part_of(*id), *id)).collect();
            self.want(keys, Purpose::Ended(inputs));
        }
    }

    /// What became of some inputs was read.
    pub(super) fn inputs_read<'r>(
        &mut self,
        inputs: Vec<TaskId>,
        records: impl Iterator<Item = &'r Record>,
    ) {
        let mut missing: BTreeSet<TaskId> = inputs.into_iter().collect();
        for record in records {
            let Some(id) = keys::id_of(&record.key) else { continue };
            // One that is live again since is heard of when it ends.
            if self.is_live(id) {
                continue;
            }
            if let Ok(finished) = decode::<Finished>(record) {
                missing.remove(&id);
                self.input_ended(id, &finished);
            }
        }
        for id in missing {
            if !self.is_live(id) && !self.inbox.may_end(id) {
                self.edges.doom(id, &Arc::from("has no record that can be read"));
            }
        }
    }

    /// Lets tasks end whose inputs never will be done, some at a time.
    pub(super) fn end_doomed(&mut self) {
        if self.staged.len() >= TOGETHER {
            return;
        }
        for (id, doom) in self.edges.doomed(TOGETHER) {
            if self.is_live(doom.input) {
                self.edges.spare(id);
                continue;
            }
            // What is changing is looked at again; the record of another is being read.
            let entry = self.table.get(id).filter(|entry| !entry.is_changing);
            let Some(mut task) = entry.and_then(|entry| entry.task.clone()) else { continue };
            let at_ms = self.now_ms();
            task.note(Failure {
                attempt: task.attempt,
                cause: Cause::Input,
                text: format!("input {} {}", doom.input, doom.why),
                host: Name::default(),
                at_ms,
                since_ms: at_ms,
                worker: Name::default(),
                slot: 0,
                detail: Vec::new(),
            });
            let tried = task.failures.last().map(|last| TryView::failed(id, &task, last));
            let change = Change { tried: tried.map(Box::new), ..Change::default() };
            self.end_task(change, id, *task, Outcome::Failed);
        }
    }

    /// The tasks that are to end and whose records are not at hand.
    pub(super) fn unread_doomed(&self) -> Vec<TaskId> {
        let doomed = self.edges.doomed(TOGETHER).into_iter().map(|(id, _)| id);
        let is_unread = |id: &TaskId| {
            let entry = self.table.get(*id);
            entry.is_some_and(|entry| entry.task.is_none() && !entry.is_changing)
        };
        doomed.filter(is_unread).collect()
    }
}

/// What became of a task that was not done. Of a chain of failures the first one is at the end.
fn reason(finished: &Finished) -> Arc<str> {
    match finished.task.failures.last() {
        Some(last) if finished.outcome == Outcome::Failed => {
            format!("has failed: {}", shortened(&last.text)).into()
        }
        _ => Arc::from("was cancelled"),
    }
}

/// A text without its middle, if it is long.
fn shortened(text: &str) -> String {
    let [first, last] = REASON_BYTES;
    if text.len() <= first + last {
        return text.to_owned();
    }
    let mut from = text.len() - last;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    format!("{} … {}", beginning(text, first), &text[from..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("short"), "short");
        let long = shortened(&format!("a{}z", "é".repeat(2_000)));
        assert!(long.starts_with('a') && long.ends_with('z') && long.contains(" … "));
        assert!(long.len() < 1_500);
    }
}
