//! Commits: which changes go together, and what follows from the store's answer.
//!
//! | answer | what follows |
//! |---|---|
//! | committed | the changes happen here, and are told |
//! | conflict at the role | another coordinator has the part |
//! | conflict at a key of the users' | that change is refused, the others are committed |
//! | conflict at a finished task | it is left out, with others of its submission |
//! | any other conflict, or unknown | all is read from the store again |
//! | larger than a commit | before it is sent: it is divided (`dividing.rs`) |
//! | no space | what was requested is refused, the rest is committed a second later |
//! | too large | it is refused if it was requested; if not, its tasks are left as they are |
//! | not reached | the same again, a little later |

use core::time::Duration;

use tidings_primitives::Instant;

use crate::id::TaskId;
use crate::keys;
use crate::message::{Answer, Refusal};
use crate::record::{Finished, Outcome, State};
use crate::transaction::{CommitError, Expect, Key, Revision, Transaction};

use super::change::{Altered, Change};
use super::inbox::Letters;
use super::parked::Obstacle;
use super::reading::Purpose;
use super::{Coordinator, Phase, Ticket};

/// The wait after the store had no space.
pub(super) const FULL: Duration = Duration::from_secs(1);

/// The wait after the store was not reached.
pub(super) const LOST: Duration = Duration::from_millis(100);

impl Coordinator {
    /// The next transaction, to be answered by [`Coordinator::handle_commit`].
    pub fn poll_commit(&mut self) -> Option<(Ticket, Transaction)> {
        let is_full = self.in_flight.len() >= self.settings.pipeline;
        if self.hold_until.is_some() || is_full {
            return None;
        }
        if !self.is_serving() {
            return self.poll_fence();
        }
        self.end_doomed();
        self.assign();
        self.tell_beside();
        self.leave_inputs();
        let (group, transaction) = self.group()?;
        let ticket = self.next_ticket();
        self.in_flight.insert(ticket, group);
        Some((ticket, transaction))
    }

    /// The store's answer to a transaction.
    pub fn handle_commit(
        &mut self,
        now: Instant,
        ticket: Ticket,
        answer: Result<Revision, CommitError>,
    ) {
        self.pass(now);
        if self.fencing.is_sent(ticket) {
            return self.fenced(&answer);
        }
        let Some(group) = self.in_flight.remove(&ticket) else { return };
        if group.is_empty() {
            return; // it was given up by a recovery
        }
        match answer {
            Ok(revision) => self.committed(group, revision),
            Err(CommitError::Conflict { key, revision }) => self.conflict(group, &key, revision),
            Err(CommitError::Unknown) => self.begin_again(group),
            Err(CommitError::Full(reason)) => self.full(group, &reason),
            Err(CommitError::Invalid(reason)) => self.too_large(group, reason),
            Err(CommitError::Lost(_)) => {
                self.hold_until = Some(self.now + LOST);
                self.restage(group);
            }
        }
        self.unpark();
    }

    /// Lets a change be committed. What it touches is changing until then.
    pub(super) fn stage(&mut self, change: Change) {
        for altered in &change.tasks {
            match self.table.get_mut(altered.id) {
                Some(entry) => entry.is_changing = true,
                None => drop(self.arriving.insert(altered.id)),
            }
        }
        for (id, _) in change.forgetting.iter().flat_map(|forgetting| &forgetting.now) {
            self.arriving.insert(*id);
        }
        self.arriving.extend(change.left.iter().map(|(id, _)| *id));
        if let Some((name, _, _)) = &change.semaphore {
            self.permits.set_changing(name, true);
        }
        if let Some(exchange) = &change.exchange {
            self.spaces.begin(exchange);
        }
        self.staged.push_back(change);
    }

    /// As many of the next changes as one commit can carry; one at least.
    fn group(&mut self) -> Option<(Vec<Change>, Transaction)> {
        let (part, limits) = (self.settings.part, self.settings.limits);
        let parts = (part, self.settings.parts);
        let mut transaction = Transaction::default();
        transaction.expect(keys::role(part), Expect::At(self.settings.role));
        transaction.expect(keys::fence(part), Expect::At(self.fence));
        let mut bytes = transaction.bytes();
        let (mut group, mut letters) = (Vec::new(), Letters::of(parts, &self.inbox));
        while group.len() < self.group_limit.max(1) {
            let Some(change) = self.staged.front_mut() else { break };
            let before = transaction.extent();
            change.told = self.inbox.waiting_for_end_of(change);
            change.write(part, &mut transaction);
            letters.write(change, &mut transaction);
            bytes += transaction.bytes_after(before);
            let fits = transaction.operations() <= limits.operations && bytes <= limits.bytes;
            if group.is_empty() && !fits && change.is_divisible() {
                bytes -= transaction.bytes_after(before);
                transaction.cut(before);
                self.divide_next();
                letters = Letters::of(parts, &self.inbox);
                continue;
            }
            let writes_twice = group.iter().any(|one: &Change| one.shares_effects(change));
            if !group.is_empty() && (!fits || writes_twice) {
                transaction.cut(before);
                break;
            }
            group.extend(self.staged.pop_front());
        }
        (!group.is_empty()).then_some((group, transaction))
    }

    fn committed(&mut self, group: Vec<Change>, revision: Revision) {
        self.counters.commits += 1;
        self.group_limit = usize::MAX;
        for change in group {
            self.counters.changes += 1;
            self.happen(change, revision);
        }
    }

    /// A change was committed.
    fn happen(&mut self, change: Change, revision: Revision) {
        if let Some(asked) = change.submitter {
            self.submitted(asked, change.portion_of, change.count_new());
        }
        self.counters.remade += u64::from(change.is_remade);
        if let Some((peer, call)) = change.writer {
            self.answer(peer, call, Answer::Written(revision.0));
        }
        self.messages.extend(change.messages);
        if let Some((name, _, semaphore)) = change.semaphore {
            self.permits.insert(name.clone(), semaphore, revision);
            self.settle_semaphore(&name);
        }
        for altered in change.tasks {
            self.alter(altered, revision);
        }
        if let Some(exchange) = change.exchange {
            self.exchanged(*exchange, revision);
        }
        if let Some(forgetting) = change.forgetting {
            self.forgotten(forgetting);
        }
        if let Some(tried) = change.tried {
            self.recent.add(*tried);
        }
        self.release_left(&change.left);
        if let Some((id, finished)) = change.ended {
            self.tell_ended(id, finished);
            self.tell_others(id, &change.told);
        }
        if let Some(step) = change.step {
            self.stepped(&step, revision);
        }
    }

    fn alter(&mut self, altered: Altered, revision: Revision) {
        let Altered { id, task, is_assigned, .. } = altered;
        self.arriving.remove(&id);
        self.near.remove(id);
        self.parked.note(Obstacle::Task(id));
        let next = task.as_ref().and_then(|task| match &task.state {
            State::Running(running) => Some((running.worker.clone(), task.attempt)),
            State::Ready | State::Delayed(_) | State::Waiting => None,
        });
        self.free_worker(id, next.as_ref().map(|(_, attempt)| *attempt));
        match &task {
            Some(task) => self.place_inputs(id, task),
            None => self.drop_inputs(id),
        }
        match task {
            // It has waited for its turn already.
            Some(task) if task.was_returned() => self.table.insert_first(id, task, revision),
            Some(task) => self.table.insert(id, task, revision),
            None => {
                if let Some(entry) = self.table.remove(id) {
                    self.parked.note_room(entry.queue());
                }
            }
        }
        match next {
            Some((worker, attempt)) if is_assigned => self.assigned(id, attempt, &worker),
            Some((worker, attempt)) => self.runs_on(id, attempt, &worker),
            None => self.evaluate_inputs(id),
        }
    }

    fn tell_ended(&mut self, id: TaskId, finished: Box<Finished>) {
        let is_done = matches!(finished.outcome, Outcome::Done(_));
        self.counters.done += u64::from(is_done);
        self.counters.failed += u64::from(!is_done);
        self.recent.count(&finished.task.queue, is_done);
        self.input_ended(id, &finished);
        let mut waiting = self.waits.take(id);
        // Most often one waits, to whom it is given.
        let last = waiting.pop_last();
        for (peer, call) in waiting {
            self.answer(peer, call, Answer::Outcome(finished.clone()));
        }
        if let Some((peer, call)) = last {
            self.answer(peer, call, Answer::Outcome(finished));
        }
    }

    fn conflict(&mut self, mut group: Vec<Change>, key: &Key, revision: Option<Revision>) {
        let part = self.settings.part;
        if *key == keys::role(part) {
            return self.depose(group);
        }
        if let Some(at) = group.iter().position(|change| change.expects_effect(key)) {
            let refused = group.remove(at);
            self.restage(group);
            let revision = revision.map(|revision| revision.0);
            return self.undo(refused, &Refusal::EffectConflict(revision));
        }
        if *key == keys::bell(part) {
            return self.bell_rang(group, revision);
        }
        if let Some(at) = group.iter().position(|change| change.has_seen(key)) {
            // It has ended meanwhile, or was forgotten: who submits again finds what it is now.
            let refused = group.remove(at);
            self.restage(group);
            return self.undo(refused, &Refusal::Elsewhere);
        }
        let is_it = |id: TaskId| keys::finished(part, id) == *key;
        let Some(at) = group.iter().position(|change| change.new_tasks().any(is_it)) else {
            return self.begin_again(group);
        };
        let known = group.remove(at);
        self.restage(group);
        let keys = known.new_tasks().map(|id| keys::finished(part, id)).collect();
        self.want(keys, Purpose::Known(Box::new(known)));
    }

    /// Some of the new tasks of a change had ended before.
    pub(super) fn leave_out(&mut self, mut change: Change, ended: impl Iterator<Item = TaskId>) {
        for id in ended {
            let Some(altered) = change.leave_out(id) else { continue };
            self.counters.known += 1;
            self.forget_new(&altered);
        }
        self.staged.push_front(change);
    }

    /// Lets a group be committed again, before all others.
    pub(super) fn restage(&mut self, group: Vec<Change>) {
        for change in group.into_iter().rev() {
            self.staged.push_front(change);
        }
    }

    /// The store has no space.
    fn full(&mut self, group: Vec<Change>, reason: &str) {
        self.hold_until = Some(self.now + FULL);
        let (asked, own) = group.into_iter().partition(Change::is_asked);
        self.restage(own);
        for change in asked {
            self.undo(change, &Refusal::Full(reason.to_owned()));
        }
    }

    /// The store does not take a group at all: one by one shows which change it is.
    fn too_large(&mut self, mut group: Vec<Change>, reason: String) {
        if group.len() > 1 {
            self.group_limit = 1;
            return self.restage(group);
        }
        let Some(change) = group.pop() else { return };
        if change.is_asked() {
            return self.undo(change, &Refusal::Invalid(reason));
        }
        if let Some(completion) = change.step.as_ref().and_then(|step| self.give_up(step)) {
            return self.undo(completion, &Refusal::Invalid(reason));
        }
        self.release_left(&change.left);
        for altered in change.tasks {
            self.free_worker(altered.id, None);
            self.leave(altered.id);
            self.parked.note(Obstacle::Task(altered.id));
        }
    }

    /// A change does not happen: all is as it was before.
    pub(super) fn undo(&mut self, change: Change, refusal: &Refusal) {
        if let Some((peer, call)) = change.submitter.or(change.origin) {
            self.refuse(peer, call, refusal.clone());
        }
        if let Some(submission) = change.portion_of {
            for altered in self.stages.drop_later(submission) {
                self.forget_new(&altered);
            }
            self.stages.portion_ended(submission, None);
        }
        if let Some((id, _)) = change.ended {
            self.drop_stage(id);
        }
        if let Some((name, _, _)) = &change.semaphore {
            self.permits.set_changing(name, false);
            self.settle_semaphore(name);
        }
        if let Some(forgetting) = &change.forgetting {
            self.release_forgetting(&forgetting.now);
        }
        for altered in change.tasks {
            self.undo_task(&altered);
        }
        if let Some(exchange) = &change.exchange {
            self.undo_exchange(exchange);
        }
    }

    fn undo_task(&mut self, altered: &Altered) {
        let id = altered.id;
        let Some(entry) = self.table.get_mut(id) else { return self.forget_new(altered) };
        entry.is_changing = false;
        let running = entry.task.as_ref().and_then(|task| match &task.state {
            State::Running(running) => Some((running.worker.clone(), task.attempt)),
            State::Ready | State::Delayed(_) | State::Waiting => None,
        });
        self.parked.note(Obstacle::Task(id));
        match running {
            None => self.table.unpop(id),
            Some((worker, attempt)) => self.runs_on(id, attempt, &worker),
        }
    }

    /// A task that was to be new is not.
    pub(super) fn forget_new(&mut self, altered: &Altered) {
        let id = altered.id;
        self.arriving.remove(&id);
        self.parked.note(Obstacle::Task(id));
        self.take_away(altered);
        self.edges.look_for(id);
        self.look_for_wanted(id);
        if let Some(task) = &altered.task {
            self.inbox.leave(task.abroad.iter().copied());
        }
        for (peer, call) in self.waits.take(id) {
            self.read_finished(id, Purpose::Outcome(id, peer, call));
        }
    }

    /// A new task that was given to a worker, which was not told, is not.
    pub(super) fn take_away(&mut self, altered: &Altered) {
        if let Some(State::Running(running)) = altered.task.as_ref().map(|task| &task.state) {
            if let Some(peer) = self.sessions.named(&running.worker) {
                self.sessions.end(peer, altered.id);
            }
        }
    }

    /// Whether a group has been committed is not known, or it does not fit to what the store has.
    pub(super) fn begin_again(&mut self, group: Vec<Change>) {
        self.counters.recoveries += 1;
        self.drop_changes(group);
        self.fencing.want();
        self.recover();
    }

    /// Another coordinator has the part.
    pub(super) fn depose(&mut self, group: Vec<Change>) {
        self.drop_changes(group);
        self.phase = Phase::Deposed;
        for (peer, call, _) in self.parked.take() {
            self.refuse(peer, call, Refusal::Elsewhere);
        }
        self.refuse_waits();
        let waiting = self.waits.take_all().into_iter().chain(self.beside.take_all());
        for (peer, call) in waiting.chain(self.broadcasts.take_waiting()) {
            self.refuse(peer, call, Refusal::Elsewhere);
        }
    }

    /// Whoever requested what is on its way or staged is to ask again. What is on its way is given
    /// up: its answers will be of no interest.
    fn drop_changes(&mut self, group: Vec<Change>) {
        let in_flight = self.in_flight.values_mut().flat_map(core::mem::take);
        let mut changes: Vec<Change> = group.into_iter().chain(in_flight).collect();
        changes.extend(core::mem::take(&mut self.staged));
        changes.extend(core::mem::take(&mut self.stages).into_completions());
        for (peer, call) in self.inbox.take_later() {
            self.refuse(peer, call, Refusal::Elsewhere);
        }
        let asked = core::mem::take(&mut self.wanted).into_iter().map(|(_, purpose)| purpose);
        let reading = core::mem::take(&mut self.reading).into_values();
        let purposes: Vec<Purpose> = asked.chain(reading).collect();
        for purpose in purposes {
            match purpose {
                Purpose::Known(change) => changes.push(*change),
                other => {
                    for (peer, call) in other.asker() {
                        self.refuse(peer, call, Refusal::Elsewhere);
                    }
                }
            }
        }
        for (peer, call) in changes.iter().flat_map(Change::answers) {
            self.refuse(peer, call, Refusal::Elsewhere);
        }
    }
}
