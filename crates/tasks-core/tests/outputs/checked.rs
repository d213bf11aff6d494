//! A store that notes what is done again, and checks that effects and children happen once.

use std::collections::BTreeSet;

use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::record::{Finished, Task, decode};
use tidings_tasks_core::transaction::{CommitError, Key, Revision, Transaction, Write};

pub(crate) const PART: Part = Part(0);

#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) ledger: Ledger,
    effects: BTreeSet<Key>,
    created: BTreeSet<TaskId>,
}

impl Checked {
    pub(crate) fn finished(&self, id: TaskId) -> Option<Finished> {
        let record = self.ledger.get(&keys::finished(PART, id))?;
        Some(decode(&record).expect("a record"))
    }

    pub(crate) fn live(&self, id: TaskId) -> Option<Task> {
        let record = self.ledger.get(&keys::task(PART, id))?;
        Some(decode(&record).expect("a record"))
    }

    /// A commit; what of those is done again whose ends it deletes.
    pub(crate) fn commit(
        &mut self,
        transaction: &Transaction,
    ) -> Result<(Revision, Vec<(TaskId, Finished)>), CommitError> {
        let deleted = transaction.writes.iter().filter_map(|write| match write {
            Write::Delete { key } if key.to_string().contains("/f/") => keys::id_of(key),
            _ => None,
        });
        let ends: Vec<_> = deleted.filter_map(|id| Some((id, self.finished(id)?))).collect();
        let put = transaction.writes.iter().filter_map(|write| match write {
            Write::Put { key, .. } if key.to_string().contains("/t/") => keys::id_of(key),
            _ => None,
        });
        let is_new = |id: &TaskId| self.live(*id).is_none() && ends.iter().all(|end| end.0 != *id);
        let new: Vec<TaskId> = put.filter(is_new).collect();
        let revision = self.ledger.commit(transaction)?;
        for id in new {
            assert!(self.created.insert(id), "{id} is new once, also if it is a child");
        }
        for write in &transaction.writes {
            let key = write.key();
            if key.to_string().starts_with("e/") {
                assert!(self.effects.insert(key.clone()), "the effect {key} happens once");
            }
        }
        for (id, _) in &ends {
            let task = self.live(*id).expect("what no longer is ended is live");
            assert!(task.made > 0 && !task.payload.is_empty(), "{id}: {task:?}");
        }
        Ok((revision, ends))
    }

    /// How many effects there were.
    pub(crate) fn effects(&self) -> usize {
        self.effects.len()
    }
}
