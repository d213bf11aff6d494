//! Reads: when something is read, and what follows from it.

use tidings_primitives::Instant;

use crate::id::{Attempt, TaskId};
use crate::keys;
use crate::message::{Answer, Call, Message, Peer, Refusal, Request};
use crate::record::{Finished, Outcome, State, Task, decode};
use crate::retry::Tally;
use crate::transaction::{Key, Record};

use super::change::{Altered, Change};
use super::commit::LOST;
use super::parked::Obstacle;
use super::reading::{Purpose, Read, Reply};
use super::{Coordinator, Ticket};

impl Coordinator {
    /// The next read, to be answered by [`Coordinator::handle_read`].
    pub fn poll_read(&mut self) -> Option<(Ticket, Read)> {
        // What is on its way when a recovery begins may still be committed: it is waited for, or
        // kept from it, so that all that is read belongs together.
        let is_open = self.in_flight.is_empty() && self.fencing.is_done();
        let must_wait = !self.is_serving() && !is_open;
        if must_wait || self.read_hold_until.is_some() {
            return None;
        }
        if self.wanted.is_empty() {
            self.read_heads();
            self.read_inputs();
            self.read_wanted();
        }
        let (read, purpose) = self.wanted.pop_front()?;
        let ticket = self.next_ticket();
        self.reading.insert(ticket, purpose);
        Some((ticket, read))
    }

    /// What a read has found.
    pub fn handle_read(&mut self, now: Instant, ticket: Ticket, reply: Reply) {
        self.pass(now);
        let Some(purpose) = self.reading.remove(&ticket) else { return };
        let records = match (purpose, reply) {
            (Purpose::Recover, Reply::Page(page)) => return self.recovered(&page),
            (Purpose::List(listing), Reply::Page(page)) => return self.listed(*listing, page),
            (Purpose::Keys(peer, call), Reply::Page(page)) => {
                return self.tell_values((peer, call), page.records, page.next);
            }
            (purpose, Reply::Records(records)) => (purpose, records),
            (purpose, _) => return self.not_read(purpose),
        };
        self.take_records(records.0, &records.1);
        self.unpark();
    }

    fn take_records(&mut self, purpose: Purpose, records: &[Record]) {
        let role = keys::role(self.settings.part);
        let of_role = records.iter().find(|record| record.key == role);
        if of_role.is_none_or(|record| record.revision != self.settings.role) {
            for (peer, call) in purpose.asker() {
                self.refuse(peer, call, Refusal::Elsewhere);
            }
            return self.depose(Vec::new());
        }
        let mut others = records.iter().filter(|record| record.key != role);
        match purpose {
            Purpose::Recover => self.recover_later(),
            Purpose::List(listing) => {
                let (peer, call) = listing.asked;
                self.refuse(peer, call, Refusal::Elsewhere);
            }
            Purpose::Heads => self.take_heads(others),
            Purpose::Outcome(id, peer, call) => {
                self.tell_outcome(id, (peer, call), others.next());
            }
            Purpose::Repeated(attempt, peer, call) => {
                self.tell_repeated(attempt, (peer, call), others.next());
            }
            Purpose::Cancelled(id, peer, call) => {
                self.tell_cancelled(id, (peer, call), others.next());
            }
            Purpose::Cancel(id, peer, call) => {
                self.take_heads(others);
                self.serve(peer, call, Request::Cancel { task: id });
            }
            Purpose::Withdraw(id, peer, call) => {
                self.take_heads(others);
                self.serve(peer, call, Request::Withdraw { task: id });
            }
            Purpose::Revive(id, peer, call) => self.revive_read(id, (peer, call), others.next()),
            Purpose::Show(peer, call) => self.shown((peer, call), others.next()),
            Purpose::Keys(peer, call) => {
                self.tell_values((peer, call), others.cloned().collect(), None);
            }
            Purpose::Forget(forgetting) => self.forget_read(*forgetting, others),
            Purpose::Known(change) => {
                self.leave_out(*change, others.filter_map(|record| keys::id_of(&record.key)));
            }
            Purpose::Inputs(gathering) if gathering.ahead > 0 => {
                self.gathered_abroad(*gathering, others);
            }
            Purpose::Inputs(gathering) => self.gathered(*gathering, others),
            Purpose::Ended(inputs) => self.inputs_read(inputs, others),
            Purpose::Wanted(tasks) => self.wanted_read(tasks, others),
            Purpose::Again(id) => self.again_read(id, others.next()),
            Purpose::Lost(id, attempt, peer, call) => {
                self.lost_read((id, attempt), (peer, call), others.next());
            }
            Purpose::Fetch(id, peer, call) => self.fetch_read(id, (peer, call), others.next()),
            Purpose::Unknown(tasks, peer, call) => {
                self.unknown_read(tasks, (peer, call), others);
            }
        }
    }

    /// The store did not answer.
    fn not_read(&mut self, purpose: Purpose) {
        self.read_hold_until = Some(self.now + LOST);
        match purpose {
            Purpose::Recover => self.recover_later(),
            Purpose::Heads => {}
            Purpose::Known(change) if change.is_asked() => {
                self.undo(*change, &Refusal::Elsewhere);
            }
            Purpose::Ended(inputs) => inputs.into_iter().for_each(|id| self.edges.look_for(id)),
            Purpose::Wanted(tasks) => tasks.into_iter().for_each(|id| self.look_for_wanted(id)),
            Purpose::Again(id) => self.read_finished(id, Purpose::Again(id)),
            // Nobody would ask again: the conflict shows once more what is to be read.
            Purpose::Known(change) => self.staged.push_front(*change),
            other => {
                for (peer, call) in other.asker() {
                    self.refuse(peer, call, Refusal::Elsewhere);
                }
            }
        }
    }

    /// Wants some records, and to know whether it still had the role then: only so what is said of
    /// tasks that this coordinator does not know is true.
    pub(super) fn want(&mut self, mut keys: Vec<Key>, purpose: Purpose) {
        keys.push(keys::role(self.settings.part));
        self.wanted.push_back((Read::Get(keys), purpose));
    }

    /// Wants the record of a task that has ended.
    pub(super) fn read_finished(&mut self, id: TaskId, purpose: Purpose) {
        self.want(vec![keys::finished(self.settings.part, id)], purpose);
    }

    /// Wants the records of tasks that are assigned next, if workers have room, and of those that
    /// are to end.
    fn read_heads(&mut self) {
        if !self.is_serving() {
            return;
        }
        if self.reading.values().any(|purpose| matches!(purpose, Purpose::Heads)) {
            return;
        }
        let part = self.settings.part;
        let mut unread = self.unread_doomed();
        let sessions = &mut self.sessions;
        if sessions.any_room() {
            unread
                .extend(self.table.unread(|queue, id, class| sessions.can_take(queue, id, class)));
        }
        if !unread.is_empty() {
            let keys = unread.into_iter().map(|id| keys::task(part, id)).collect();
            self.want(keys, Purpose::Heads);
        }
    }

    fn take_heads<'r>(&mut self, records: impl Iterator<Item = &'r Record>) {
        for record in records {
            let Some(id) = keys::id_of(&record.key) else { continue };
            let is_current = self.table.get(id).is_some_and(|one| one.revision == record.revision);
            match decode::<Task>(record) {
                Ok(task) if is_current => self.table.keep(id, Box::new(task)),
                Ok(_) => {}
                Err(_) => self.leave(id),
            }
        }
    }

    /// A record cannot be read or written. It is left as it is in the store, and not touched.
    pub(super) fn leave(&mut self, id: TaskId) {
        self.counters.unreadable += 1;
        self.near.remove(id);
        self.table.remove(id);
        self.drop_inputs(id);
        self.edges.look_for(id);
    }

    /// Whether a task has not ended, or is being added.
    pub(super) fn is_live(&self, id: TaskId) -> bool {
        self.table.get(id).is_some() || self.arriving.contains(&id)
    }

    fn tell_outcome(&mut self, id: TaskId, (peer, call): (Peer, Call), record: Option<&Record>) {
        match record.map(decode::<Finished>) {
            // It may be live again since.
            _ if self.is_live(id) => self.waits.insert(id, peer, call),
            Some(Ok(finished)) => self.answer(peer, call, Answer::Outcome(Box::new(finished))),
            Some(Err(error)) => self.refuse(peer, call, Refusal::Invalid(error.to_string())),
            None => self.refuse(peer, call, Refusal::NoTask),
        }
    }

    fn tell_repeated(
        &mut self,
        attempt: Attempt,
        (peer, call): (Peer, Call),
        record: Option<&Record>,
    ) {
        let finished = record.and_then(|record| decode::<Finished>(record).ok());
        let is_same = finished.is_some_and(|finished| {
            finished.task.attempt == attempt && finished.outcome != Outcome::Cancelled
        });
        if is_same {
            return self.answer(peer, call, Answer::Done);
        }
        self.counters.superseded += 1;
        self.refuse(peer, call, Refusal::Superseded);
    }

    fn tell_cancelled(&mut self, id: TaskId, (peer, call): (Peer, Call), record: Option<&Record>) {
        match record.map(decode::<Finished>) {
            _ if self.is_live(id) => self.serve(peer, call, Request::Cancel { task: id }),
            None => self.refuse(peer, call, Refusal::NoTask),
            Some(Err(error)) => self.refuse(peer, call, Refusal::Invalid(error.to_string())),
            Some(Ok(finished)) => match finished.outcome {
                Outcome::Cancelled => self.answer(peer, call, Answer::Done),
                Outcome::Done(_) => self.refuse(peer, call, Refusal::State("done".to_owned())),
                Outcome::Failed => self.refuse(peer, call, Refusal::State("failed".to_owned())),
            },
        }
    }

    fn revive_read(&mut self, id: TaskId, (peer, call): (Peer, Call), record: Option<&Record>) {
        if self.is_live(id) {
            return self.serve(peer, call, Request::Revive { task: id });
        }
        let Some(record) = record else {
            return self.refuse(peer, call, Refusal::NoTask);
        };
        let finished = match decode::<Finished>(record) {
            Ok(finished) => finished,
            Err(error) => return self.refuse(peer, call, Refusal::Invalid(error.to_string())),
        };
        if matches!(finished.outcome, Outcome::Done(_)) {
            return self.refuse(peer, call, Refusal::State("done".to_owned()));
        }
        let mut inputs = finished.task.abroad.iter().map(|(input, _)| *input);
        if let Some(input) = inputs.find(|input| self.arriving.contains(input)) {
            let request = Request::Revive { task: id };
            return self.parked.push(Obstacle::Task(input), (peer, call, request));
        }
        let mut task = finished.task;
        task.state = if task.inputs.is_empty() { State::Ready } else { State::Waiting };
        (task.cancelled, task.tally) = (false, Tally::default());
        self.stage(Change {
            tasks: vec![Altered::to(id, None, Some(Box::new(task)))],
            revived: Some((id, record.revision)),
            messages: vec![(peer, Message::Answer(call, Answer::Done))],
            origin: Some((peer, call)),
            ..Change::default()
        });
    }
}
