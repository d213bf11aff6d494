//! A change: what one request, assignment or loss alters, in the store and then here.
//!
//! Changes touch different records, so any of them may share a commit (a *group*), and a group may
//! be committed while others are. What a change alters here, and what it tells whom, happens once
//! its commit is acknowledged. Until then each task and semaphore that it touches is *changing*,
//! and requests about them wait.

use std::collections::BTreeSet;

use crate::id::{Part, TaskId};
use crate::keys;
use crate::message::{Call, Message, Peer};
use crate::record::{Finished, Task, encode};
use crate::semaphore::Semaphore;
use crate::transaction::{Expect, Key, Revision, Transaction, Write};
use crate::view::TryView;

use super::exchange::Exchange;
use super::partial::Forgetting;
use super::step::Step;

/// What one request, assignment or loss alters.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// Tasks, with the revision they have, and what they are from then on (nothing if they end).
    pub(super) tasks: Vec<Altered>,
    /// How a task of `tasks` has ended.
    pub(super) ended: Option<(TaskId, Box<Finished>)>,
    /// A try that ends by this.
    pub(super) tried: Option<Box<TryView>>,
    /// A finished task that is a live one again: it was read at this revision.
    pub(super) revived: Option<(TaskId, Revision)>,
    /// Whether that is done again, since its output is lost.
    pub(super) is_remade: bool,
    /// What it does of children that are too many for one commit.
    pub(super) step: Option<Step>,
    /// Tasks of this part that have ended, the parts that are to be told, and whether there is a
    /// record.
    pub(super) notices: Vec<(TaskId, Part, bool)>,
    /// The parts that are told of the end of `ended` in the same commit.
    pub(super) told: Vec<Part>,
    /// Inputs in other parts that no task of this one names any more.
    pub(super) left: Vec<(TaskId, Part)>,
    /// Tasks that have ended, whose records are deleted.
    pub(super) forgetting: Option<Forgetting>,
    /// A semaphore, its revision, and what it is from then on.
    pub(super) semaphore: Option<(String, Option<Revision>, Semaphore)>,
    /// Tuples, and statements that are done.
    pub(super) exchange: Option<Box<Exchange>>,
    /// Keys of the users': what is expected of them, and what is written.
    pub(super) effects: Transaction,
    /// What is said then.
    pub(super) messages: Vec<(Peer, Message)>,
    /// Who submitted tasks, to be answered with how many are new.
    pub(super) submitter: Option<(Peer, Call)>,
    /// Who wrote keys, to be answered with the revision.
    pub(super) writer: Option<(Peer, Call)>,
    /// The submission of which these tasks are a portion.
    pub(super) portion_of: Option<u64>,
    /// Whose request it is, to be refused if it cannot be done.
    pub(super) origin: Option<(Peer, Call)>,
}

/// A task that is altered.
#[derive(Debug)]
pub(super) struct Altered {
    /// Which.
    pub(super) id: TaskId,
    /// The commit that wrote it last; `None` if it is new.
    pub(super) revision: Option<Revision>,
    /// What it is from then on; `None` if it ends.
    pub(super) task: Option<Box<Task>>,
    /// Whether this gives it to a worker, which is told then.
    pub(super) is_assigned: bool,
    /// Records of inputs in other parts that were seen: they are to be there still.
    pub(super) seen: Vec<Key>,
}

impl Altered {
    /// What a task is from then on; `None` if it ends.
    pub(super) fn to(id: TaskId, revision: Option<Revision>, task: Option<Box<Task>>) -> Self {
        Self { id, revision, task, is_assigned: false, seen: Vec::new() }
    }

    /// Whether it is to be made sure that the task has not ended before.
    pub(super) fn is_new(&self) -> bool {
        self.revision.is_none()
    }
}

impl Change {
    /// Adds conditions and writes to a transaction.
    pub(super) fn write(&self, part: Part, transaction: &mut Transaction) {
        for altered in &self.tasks {
            self.write_task(part, altered, transaction);
        }
        if let Some((id, finished)) = &self.ended {
            transaction.put(keys::finished(part, *id), encode(finished));
        }
        if let Some((id, revision)) = self.revived {
            let key = keys::finished(part, id);
            transaction.expect(key.clone(), Expect::At(revision));
            transaction.delete(key);
        }
        for (id, revision) in self.forgetting.iter().flat_map(|forgetting| &forgetting.now) {
            let key = keys::finished(part, *id);
            transaction.expect(key.clone(), Expect::At(*revision));
            transaction.delete(key);
        }
        if let Some((name, revision, semaphore)) = &self.semaphore {
            let key = keys::semaphore(part, name);
            transaction.expect(key.clone(), revision.map_or(Expect::Absent, Expect::At));
            transaction.put(key, encode(semaphore));
        }
        if let Some(exchange) = &self.exchange {
            exchange.write(part, transaction);
        }
        let own = self.step.iter().map(|step| &step.keys).chain([&self.effects]);
        for keys in own {
            transaction.conditions.extend(keys.conditions.iter().cloned());
            transaction.writes.extend(keys.writes.iter().cloned());
        }
    }

    fn write_task(&self, part: Part, altered: &Altered, transaction: &mut Transaction) {
        let key = keys::task(part, altered.id);
        let is_revived = self.revived.is_some_and(|(id, _)| id == altered.id);
        if altered.is_new() && !is_revived {
            transaction.expect(keys::finished(part, altered.id), Expect::Absent);
        }
        transaction.expect(key.clone(), altered.revision.map_or(Expect::Absent, Expect::At));
        match &altered.task {
            Some(task) => transaction.put(key, encode(&**task)),
            None => transaction.delete(key),
        }
    }

    /// Whether a condition on this key is one of the users' keys.
    pub(super) fn expects_effect(&self, key: &Key) -> bool {
        self.effects.conditions.iter().any(|(own, _)| own == key)
    }

    /// Whether a condition on this key is one of inputs in other parts.
    pub(super) fn has_seen(&self, key: &Key) -> bool {
        self.tasks.iter().any(|altered| altered.seen.contains(key))
    }

    /// The tasks of which it is to be made sure that they have not ended before.
    pub(super) fn new_tasks(&self) -> impl Iterator<Item = TaskId> {
        let all = self.tasks.iter().filter(|altered| altered.is_new());
        all.map(|altered| altered.id).filter(|id| self.revived.is_none_or(|(one, _)| one != *id))
    }

    /// Leaves out a task.
    pub(super) fn leave_out(&mut self, id: TaskId) -> Option<Altered> {
        let at = self.tasks.iter().position(|altered| altered.id == id)?;
        Some(self.tasks.remove(at))
    }

    /// Whether both write the same key of the users'.
    pub(super) fn shares_effects(&self, other: &Self) -> bool {
        let writes = |key: &Key| other.effects.writes.iter().any(|write| write.key() == key);
        self.effects.writes.iter().any(|write| writes(write.key()))
    }

    /// How many tasks are new.
    pub(super) fn count_new(&self) -> u32 {
        self.new_tasks().count() as u32
    }

    /// Whether somebody asked for it, and would ask again.
    pub(super) fn is_asked(&self) -> bool {
        self.submitter.or(self.origin).is_some()
    }

    /// Whether it can be done in several commits.
    pub(super) fn is_divisible(&self) -> bool {
        let new = self.new_tasks().count();
        match (self.submitter, self.portion_of) {
            (Some(_), None) => new > 1,
            (Some(_), Some(_)) => false,
            (None, _) => self.ended.is_some() && new > 0,
        }
    }

    /// The requests that it would answer.
    pub(super) fn answers(&self) -> BTreeSet<(Peer, Call)> {
        let told = self.messages.iter().filter_map(|(peer, message)| match message {
            Message::Answer(call, _) => Some((*peer, *call)),
            _ => None,
        });
        told.chain(self.submitter).chain(self.origin).collect()
    }

    /// Adds a write of a key of the users'.
    pub(super) fn add_effect(
        &mut self,
        key: Key,
        value: Option<Vec<u8>>,
        expect: Option<Revision>,
    ) {
        match expect {
            Some(Revision(0)) => self.effects.expect(key.clone(), Expect::Absent),
            Some(revision) => self.effects.expect(key.clone(), Expect::At(revision)),
            None => {}
        }
        let write = match value {
            Some(value) => Write::Put { key, value: value.into(), session: None },
            None => Write::Delete { key },
        };
        self.effects.writes.push(write);
    }
}
