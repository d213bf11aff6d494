//! Outputs that are lost, and made again.
//!
//! An output that stays on nodes is there as long as a session of one of these nodes is. When the
//! last one ends, the task that made it is done again if a task reads it that has not ended, and
//! has not begun either: one that runs may have read it already. Who runs and finds it gone says so
//! ([`Request::Lost`]), ends its try, and waits until it is made.
//!
//! A task that is done again is a live one with the same id, by one commit that deletes the record
//! of its end. It waits for its inputs as ever; those that are lost too are found then, so what
//! they need is made again, and nothing else. Its attempts go on, so what an earlier one still says
//! is refused. Its children and effects were written with its first end: the record counts how
//! often it was done ([`made`](crate::record::Task::made)), and after the first time only the
//! result is.
//!
//! A coordinator that begins does not know for the time of a session which nodes are there. Until
//! then nothing is taken as lost, and those who ask for an output wait.
//!
//! Source: the dataflow coordinator of the FOX final report, §3.2: "the DataflowCoordinator can
//! reschedule any tasks whose data needs to be reproduced".

use std::sync::Arc;

use crate::id::{Attempt, TaskId};
use crate::keys;
use crate::message::{Answer, Call, MAX_TASKS, Message, Peer, Refusal, Request};
use crate::output::{
    Depot, Kept, MAX_ADDRESS_BYTES, MAX_COPIES, MAX_FOLDER_BYTES, MAX_NODES, Reached,
};
use crate::record::{Finished, Outcome, State, decode};
use crate::transaction::{Record, Revision};

use super::Coordinator;
use super::change::{Altered, Change};
use super::parked::Obstacle;
use super::reading::Purpose;
use super::submit::check_name;
use super::table::Place;

/// Whether an output is to be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Availability {
    /// A node that has it is there.
    Here,
    /// None is, but those may still come back that were there before this coordinator.
    Awaited,
    Gone,
}

impl Coordinator {
    /// A session's node keeps outputs, and serves them.
    pub(super) fn keep(&mut self, peer: Peer, call: Call, reached: Reached) {
        if self.sessions.get(peer).is_none() {
            return self.refuse(peer, call, Refusal::NoSession);
        }
        if let Err(reason) = check_reached(&reached) {
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        let id = reached.depot.id;
        let gone = self.depots.keep(peer, reached);
        for output in self.outputs.at(id) {
            self.release_readers(output);
        }
        self.parked.note(Obstacle::Depots);
        if let Some(gone) = gone {
            self.depot_gone(gone);
        }
        self.answer(peer, call, Answer::Done);
        self.unpark();
    }

    /// Names depots for copies.
    pub(super) fn name_depots(&mut self, peer: Peer, call: Call, own: &Depot, count: u32) {
        let others = self.depots.others(own, count.min(MAX_COPIES) as usize);
        self.answer(peer, call, Answer::Depots(others));
    }

    /// Names depots of nodes that are there by now: others may still come back from before this
    /// coordinator, and are asked for again.
    pub(super) fn name_nodes(
        &mut self,
        peer: Peer,
        call: Call,
        after: Option<u64>,
        known: Option<u64>,
    ) {
        let is_known = known.is_some_and(|known| known == self.depots.digest());
        let nodes = || self.depots.after(after, MAX_NODES);
        let answer = if is_known { Answer::Done } else { Answer::Depots(nodes()) };
        self.answer(peer, call, answer);
    }

    /// A depot is no longer there.
    pub(super) fn depot_gone(&mut self, depot: u64) {
        self.end_near(Some(depot));
        self.lose_sources(depot);
        for id in self.outputs.at(depot) {
            self.evaluate(id);
        }
    }

    /// Those who were there before this coordinator have come back by now, or never will.
    pub(super) fn evaluate_outputs(&mut self) {
        for id in self.outputs.all() {
            self.evaluate(id);
        }
        self.parked.note(Obstacle::Depots);
    }

    /// An output may be lost: it is made again if it is, and a task that does not run needs it.
    fn evaluate(&mut self, id: TaskId) {
        let is_gone = |at: &[Depot]| self.availability(at) == Availability::Gone;
        let is_lost = self.outputs.get(id).is_some_and(|output| is_gone(&output.depots));
        if is_lost && !self.is_live(id) && self.has_reader_to_come(id) && self.outputs.ask(id) {
            self.read_finished(id, Purpose::Again(id));
        }
    }

    /// A task is to run, and did before: what it reads may be lost since.
    pub(super) fn evaluate_inputs(&mut self, id: TaskId) {
        if !self.outputs.is_empty() {
            let inputs = self.edges.inputs(id).to_vec();
            for input in inputs {
                self.evaluate(input);
            }
        }
    }

    pub(super) fn availability(&self, depots: &[Depot]) -> Availability {
        if depots.iter().any(|depot| self.depots.has(depot.id)) {
            Availability::Here
        } else if self.absent.until.is_some() && !depots.is_empty() {
            Availability::Awaited
        } else {
            Availability::Gone
        }
    }

    /// Whether a task reads an output that does not run.
    fn has_reader_to_come(&self, id: TaskId) -> bool {
        self.edges.readers(id).any(|reader| {
            let entry = self.table.get(reader);
            entry.is_some_and(|entry| entry.place() != Place::Running && !entry.is_changing)
        })
    }

    /// A task is done whose output stays on nodes. Returns whether those may go on that wait for
    /// it.
    pub(super) fn place_output(&mut self, id: TaskId, kept: &Kept) -> bool {
        if !self.edges.is_used(id) {
            return false;
        }
        self.outputs.insert(id, kept);
        self.evaluate(id);
        self.availability(&kept.depots) == Availability::Here
    }

    fn release_readers(&mut self, id: TaskId) {
        if !self.is_live(id) {
            for reader in self.edges.done(id) {
                self.table.release(reader);
            }
        }
    }

    /// Lets a task wait that is next, if an input of it is made again or is to be. Returns whether
    /// it does.
    pub(super) fn hold_back(&mut self, id: TaskId, inputs: &[TaskId]) -> bool {
        let is_away = |input: &TaskId| {
            let is_here = |at: &[Depot]| self.availability(at) == Availability::Here;
            let output = self.outputs.get(*input);
            self.is_live(*input) || output.is_some_and(|output| !is_here(&output.depots))
        };
        let away: Vec<TaskId> = inputs.iter().copied().filter(is_away).collect();
        if away.is_empty() {
            return false;
        }
        self.table.hold(id);
        self.edges.hold(id, &away);
        for input in away {
            self.evaluate(input);
        }
        true
    }

    /// The record of a task was read whose output may have to be made again.
    pub(super) fn again_read(&mut self, id: TaskId, record: Option<&Record>) {
        self.outputs.told(id);
        if self.is_live(id) {
            return;
        }
        let Some((finished, revision)) = record.and_then(read_finished) else {
            return self.edges.doom(id, &Arc::from("has no record that can be read"));
        };
        let is_gone = |kept: &Kept| self.availability(&kept.depots) == Availability::Gone;
        let is_lost = finished.kept.as_ref().is_some_and(is_gone);
        if is_lost && self.has_reader_to_come(id) {
            self.reopen(id, finished, revision, None);
        } else if !is_lost {
            self.input_ended(id, &finished);
        }
    }

    /// Somebody cannot get an output.
    pub(super) fn lost(&mut self, peer: Peer, call: Call, id: TaskId, attempt: Attempt) {
        if self.is_live(id) {
            return self.answer(peer, call, Answer::Done);
        }
        self.read_finished(id, Purpose::Lost(id, attempt, peer, call));
    }

    pub(super) fn lost_read(
        &mut self,
        (id, attempt): (TaskId, Attempt),
        (peer, call): (Peer, Call),
        record: Option<&Record>,
    ) {
        if self.is_live(id) {
            return self.answer(peer, call, Answer::Done);
        }
        let Some((finished, revision)) = record.and_then(read_finished) else {
            return self.refuse(peer, call, Refusal::NoTask);
        };
        // It was made again since, or has failed.
        if finished.task.attempt != attempt || finished.outcome == Outcome::Failed {
            return self.answer(peer, call, Answer::Done);
        }
        if finished.kept.is_none() {
            let with_store = "done, and its output is with the store".to_owned();
            return self.refuse(peer, call, Refusal::State(with_store));
        }
        self.reopen(id, finished, revision, Some((peer, call)));
    }

    /// A task that is done is to be done again.
    fn reopen(
        &mut self,
        id: TaskId,
        finished: Finished,
        revision: Revision,
        origin: Option<(Peer, Call)>,
    ) {
        self.outputs.lose(id);
        // Those that are ready are held back when they are next.
        let readers: Vec<TaskId> = self.edges.readers(id).collect();
        for reader in readers {
            if self.table.get(reader).is_some_and(|entry| entry.place() == Place::Waiting) {
                self.edges.hold(reader, &[id]);
            }
        }
        let mut task = finished.task;
        task.state = if task.inputs.is_empty() { State::Ready } else { State::Waiting };
        let done = |(peer, call)| (peer, Message::Answer(call, Answer::Done));
        self.stage(Change {
            tasks: vec![Altered::to(id, None, Some(Box::new(task)))],
            revived: Some((id, revision)),
            is_remade: true,
            messages: origin.map(done).into_iter().collect(),
            origin,
            ..Change::default()
        });
    }

    /// Tells how a task has ended, and where its output lies.
    pub(super) fn fetch(&mut self, peer: Peer, call: Call, id: TaskId) {
        if self.is_live(id) {
            return self.refuse(peer, call, Refusal::State("not ended".to_owned()));
        }
        self.read_finished(id, Purpose::Fetch(id, peer, call));
    }

    pub(super) fn fetch_read(
        &mut self,
        id: TaskId,
        (peer, call): (Peer, Call),
        record: Option<&Record>,
    ) {
        if self.is_live(id) {
            return self.refuse(peer, call, Refusal::State("not ended".to_owned()));
        }
        let finished = match record.map(decode::<Finished>) {
            None => return self.refuse(peer, call, Refusal::NoTask),
            Some(Err(error)) => {
                return self.refuse(peer, call, Refusal::Invalid(error.to_string()));
            }
            Some(Ok(finished)) => finished,
        };
        let depots = finished.kept.as_ref().map_or(&[][..], |kept| &kept.depots);
        if finished.kept.is_some() && self.availability(depots) == Availability::Awaited {
            let request = Request::Fetch { task: id };
            return self.parked.push(Obstacle::Depots, (peer, call, request));
        }
        let reached = self.depots.reached(depots);
        self.answer(peer, call, Answer::Fetched(Box::new(finished), reached));
    }

    /// Tells which tasks have no record.
    pub(super) fn tell_unknown(&mut self, peer: Peer, call: Call, tasks: Vec<TaskId>) {
        if tasks.len() > MAX_TASKS {
            let reason = format!("{} tasks at once; at most {MAX_TASKS}", tasks.len());
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        let part = self.settings.part;
        let both = |id: &TaskId| [keys::task(part, *id), keys::finished(part, *id)];
        let keys = tasks.iter().flat_map(both).collect();
        self.want(keys, Purpose::Unknown(tasks, peer, call));
    }

    pub(super) fn unknown_read<'r>(
        &mut self,
        mut tasks: Vec<TaskId>,
        (peer, call): (Peer, Call),
        records: impl Iterator<Item = &'r Record>,
    ) {
        let known: Vec<TaskId> = records.filter_map(|record| keys::id_of(&record.key)).collect();
        tasks.retain(|id| !known.contains(id) && !self.is_live(*id));
        self.answer(peer, call, Answer::Unknown(tasks));
    }
}

fn read_finished(record: &Record) -> Option<(Finished, Revision)> {
    Some((decode::<Finished>(record).ok()?, record.revision))
}

fn check_reached(reached: &Reached) -> Result<(), String> {
    check_name("host", &reached.depot.host)?;
    let bytes = reached.address.len();
    if bytes > MAX_ADDRESS_BYTES {
        return Err(format!("an address of {bytes} bytes; at most {MAX_ADDRESS_BYTES}"));
    }
    let bytes = reached.folder.as_ref().map_or(0, String::len);
    if bytes > MAX_FOLDER_BYTES {
        return Err(format!("the path of a folder of {bytes} bytes; at most {MAX_FOLDER_BYTES}"));
    }
    Ok(())
}
