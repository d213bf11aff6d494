//! Forgetting: the records of tasks that have ended are deleted, as many as one commit can carry at
//! a time.
//!
//! While such a commit is on its way its tasks count as arriving: whoever wants to submit or revive
//! one of them waits until it is known whether there still is a record.

use crate::id::TaskId;
use crate::keys;
use crate::message::{Answer, Call, MAX_TASKS, Peer, Refusal};
use crate::transaction::{Record, Revision};

use super::Coordinator;
use super::change::Change;
use super::parked::Obstacle;
use super::partial::Forgetting;
use super::reading::Purpose;

impl Coordinator {
    pub(super) fn forget(&mut self, peer: Peer, call: Call, tasks: Vec<TaskId>) {
        if tasks.len() > MAX_TASKS {
            let reason = format!("{} tasks at once; at most {MAX_TASKS}", tasks.len());
            return self.refuse(peer, call, Refusal::Invalid(reason));
        }
        let asked = (peer, call);
        self.forget_next(Forgetting { asked, rest: tasks, now: Vec::new(), count: 0 });
    }

    /// Reads the next of them.
    pub(super) fn forget_next(&mut self, mut forgetting: Forgetting) {
        let rest = &mut forgetting.rest;
        if rest.is_empty() {
            let (peer, call) = forgetting.asked;
            return self.answer(peer, call, Answer::Forgotten(forgetting.count));
        }
        // Each takes a condition and a write, beside role, fence and bell.
        let most = (self.settings.limits.operations.saturating_sub(3) / 2).max(1);
        let part = self.settings.part;
        let next = rest.drain(..rest.len().min(most));
        let keys = next.map(|id| keys::finished(part, id)).collect();
        self.want(keys, Purpose::Forget(Box::new(forgetting)));
    }

    /// Those that have ended were read.
    pub(super) fn forget_read<'r>(
        &mut self,
        mut forgetting: Forgetting,
        records: impl Iterator<Item = &'r Record>,
    ) {
        let found = records.filter_map(|one| Some((keys::id_of(&one.key)?, one.revision)));
        // One that is live again since is left, and so is one whose result is still of use.
        let of_new = self.inputs_of_new();
        let is_used = |id| self.edges.is_used(id) || self.inbox.is_wanted(id);
        let is_over = |id| !self.is_live(id) && !is_used(id) && !of_new.contains(&id);
        forgetting.now = found.filter(|(id, _)| is_over(*id)).collect();
        if forgetting.now.is_empty() {
            return self.forget_next(forgetting);
        }
        let origin = Some(forgetting.asked);
        self.stage(Change { forgetting: Some(forgetting), origin, ..Change::default() });
    }

    /// They are deleted.
    pub(super) fn forgotten(&mut self, mut forgetting: Forgetting) {
        let now = core::mem::take(&mut forgetting.now);
        self.counters.forgotten += now.len() as u64;
        forgetting.count += now.len() as u32;
        self.release_forgetting(&now);
        self.forget_next(forgetting);
    }

    /// It is known whether they are deleted.
    pub(super) fn release_forgetting(&mut self, now: &[(TaskId, Revision)]) {
        for &(id, _) in now {
            self.arriving.remove(&id);
            self.parked.note(Obstacle::Task(id));
            self.look_for_wanted(id);
            for (peer, call) in self.waits.take(id) {
                self.read_finished(id, Purpose::Outcome(id, peer, call));
            }
        }
    }
}
