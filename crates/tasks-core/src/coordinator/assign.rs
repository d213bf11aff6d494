//! Assignment: which worker does which task.

use crate::id::{Attempt, TaskId};
use crate::message::{Message, Peer};
use crate::record::{Running, State, Task};
use crate::retry::Cause;

use super::Coordinator;
use super::change::{Altered, Change};
use super::end::Fault;
use super::locality::Nearness;
use super::slots::Hold;

/// Why a try has failed whose session has ended meanwhile.
const GONE: &str = "its worker was gone";

impl Coordinator {
    /// Stages assignments while a session can take a ready task whose record is at hand.
    pub(super) fn assign(&mut self) {
        self.sessions.keep_classes(self.table.classes());
        self.assign_near();
        while self.sessions.any_room() {
            let sessions = &mut self.sessions;
            let next = self.table.pop(|queue, id, class| sessions.can_take(queue, id, class));
            let Some(id) = next else { break };
            if !self.assign_one(id) {
                self.table.unpop(id);
                break;
            }
        }
    }

    fn assign_one(&mut self, id: TaskId) -> bool {
        let Some(entry) = self.table.get(id) else { return true };
        let Some(task) = entry.task.clone() else { return true };
        if !task.inputs.is_empty() && self.hold_back(id, &task.inputs) {
            return true;
        }
        match self.near(id, &task) {
            Nearness::To(peer) => self.give_to(id, task, Some(peer)),
            Nearness::Anywhere => self.give_to(id, task, None),
            Nearness::Later => true,
        }
    }

    /// Stages that a task is given to this session, or to one that has room, if there is one.
    pub(super) fn give_to(&mut self, id: TaskId, mut task: Box<Task>, to: Option<Peer>) -> bool {
        let Some(revision) = self.table.get(id).map(|entry| entry.revision) else { return true };
        if !self.give(id, &mut task, to) {
            return false;
        }
        let (revision, task) = (Some(revision), Some(task));
        let tasks = vec![Altered { is_assigned: true, ..Altered::to(id, revision, task) }];
        self.stage(Change { tasks, ..Change::default() });
        true
    }

    /// Gives a task to this worker, or one that has room, if there is one. The worker is told once
    /// this is committed.
    pub(super) fn give(&mut self, id: TaskId, task: &mut Task, to: Option<Peer>) -> bool {
        let (class_id, class) = self.table.class(task);
        let chosen = match to {
            Some(peer) => Some(self.sessions.take_turn(peer)),
            None => self.sessions.choose(&task.queue, class_id, &class),
        };
        let Some(peer) = chosen else { return false };
        let Some(session) = self.sessions.get(peer) else { return false };
        let (worker, host) = (session.name.clone().into(), session.host.clone().into());
        task.attempt = task.attempt.next();
        let slot = session.free_slot();
        task.state = State::Running(Running { worker, host, since_ms: self.now_ms(), slot });
        let (attempt, progress) = (task.attempt, None);
        let hold = Hold { attempt, class, slot, is_told: false, is_ending: false, progress };
        self.sessions.begin(peer, id, hold);
        true
    }

    /// A worker was given a task, and this is committed: it is told, unless it is gone by now.
    pub(super) fn assigned(&mut self, id: TaskId, attempt: Attempt, worker: &str) {
        self.counters.assigned += 1;
        match self.sessions.having(worker, id, attempt) {
            Some(peer) => self.tell_assigned(peer, id),
            None => self.fail(id, attempt, Fault::new(Cause::Returned, GONE), None),
        }
    }

    /// Tells a session of a task that it has.
    pub(super) fn tell_assigned(&mut self, peer: Peer, id: TaskId) {
        let Some(task) = self.table.get(id).and_then(|entry| entry.task.as_ref()) else { return };
        let (attempt, queue, payload) = (task.attempt, task.queue.clone(), task.payload.clone());
        let need = (self.settings.parts > 1).then(|| task.need.clone());
        let copies = task.copies;
        let assign = Message::Assign { task: id, attempt, queue, payload, copies, need };
        self.messages.push_back((peer, assign));
        self.sessions.set_told(peer, id);
    }

    /// A task runs on, after another change of it or after one that is not committed. If nobody has
    /// it any more, it is lost.
    pub(super) fn runs_on(&mut self, id: TaskId, attempt: Attempt, worker: &str) {
        match self.sessions.having(worker, id, attempt) {
            Some(peer) => self.sessions.set_ending(peer, id, false),
            None if self.absent.has(worker, id, attempt) => {}
            None => self.fail(id, attempt, Fault::new(Cause::Lost, GONE), None),
        }
    }
}
