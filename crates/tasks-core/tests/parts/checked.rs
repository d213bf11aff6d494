//! A store that checks what coordinators of several parts write.

use std::collections::BTreeMap;

use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys::{self, Letter};
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::record::{Finished, Outcome, Task, decode};
use tidings_tasks_core::transaction::{CommitError, Key, Revision, Transaction, Write};

use crate::totals::Totals;

#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) ledger: Ledger,
    pub(crate) parts: u16,
    /// Whether each task that has ended is done.
    pub(crate) ended: BTreeMap<TaskId, bool>,
}

/// What the key of a record of a part is about.
fn record_of(part: Part, key: &Key) -> Option<(char, TaskId)> {
    let id = keys::id_of(key)?;
    let kinds = [('t', keys::task(part, id)), ('f', keys::finished(part, id))];
    kinds.into_iter().find(|(_, of)| of == key).map(|(kind, _)| (kind, id))
}

impl Checked {
    fn all(&self) -> impl Iterator<Item = Part> + use<> {
        (0..self.parts).map(Part)
    }

    pub(crate) fn live(&self, part: Part) -> Vec<(TaskId, Task)> {
        let (from, end) = (keys::tasks(part), keys::tasks(part).after_prefix());
        let page = self.ledger.scan(&from, end.as_ref(), usize::MAX);
        let task = |record: &_| {
            let task = decode(record).expect("a record of a task");
            (keys::id_of(&record.key).expect("a task's key"), task)
        };
        page.records.iter().map(task).collect()
    }

    /// Letters that are in inboxes, without the bells.
    pub(crate) fn letters(&self) -> Vec<Key> {
        let inboxes = self.all().flat_map(|part| {
            let (from, end) = (keys::inbox(part), keys::inbox(part).after_prefix());
            let page = self.ledger.scan(&from, end.as_ref(), usize::MAX);
            page.records.into_iter().filter(move |record| record.key != keys::bell(part))
        });
        inboxes.map(|record| record.key).collect()
    }

    /// Whether any part has a record of a task.
    pub(crate) fn knows(&self, id: TaskId) -> bool {
        let has = |key| self.ledger.get(&key).is_some();
        self.all().any(|part| has(keys::task(part, id)) || has(keys::finished(part, id)))
    }

    /// A commit of the coordinator of a part.
    pub(crate) fn commit(
        &mut self,
        part: Part,
        transaction: &Transaction,
        totals: &mut Totals,
    ) -> Result<Revision, CommitError> {
        assert_eq!(transaction.conditions[0].0, keys::role(part), "each commit names the role");
        let is_live = |id: TaskId| self.ledger.get(&keys::task(part, id)).is_some();
        let puts = transaction.writes.iter().filter(|write| matches!(write, Write::Put { .. }));
        let tasks = puts.filter_map(|write| record_of(part, write.key()));
        let new: Vec<TaskId> =
            tasks.filter(|(kind, id)| *kind == 't' && !is_live(*id)).map(|(_, id)| id).collect();
        let revision = self.ledger.commit(transaction)?;
        totals.commits += 1;
        let ends = |write: &&Write| {
            let kind = record_of(part, write.key()).map(|(kind, _)| kind);
            kind == Some('f') && matches!(write, Write::Put { .. })
        };
        let has_ended = transaction.writes.iter().any(|write| ends(&write));
        for write in &transaction.writes {
            self.check(part, write, has_ended, totals);
        }
        for id in new {
            assert!(!self.ended.contains_key(&id), "{id} is new after its end");
        }
        Ok(revision)
    }

    fn check(&mut self, part: Part, write: &Write, has_ended: bool, totals: &mut Totals) {
        let (key, is_put) = (write.key(), matches!(write, Write::Put { .. }));
        let other = self.all().find_map(|of| Some((of, keys::letter_of(of, key)?)));
        match (other, record_of(part, key)) {
            (Some((of, letter)), _) => {
                self.check_letter(part, (of, letter), is_put);
                if is_put && matches!(letter, Letter::Ended(_)) {
                    *(if has_ended { &mut totals.told } else { &mut totals.told_later }) += 1;
                }
            }
            (None, Some(('t', id))) if is_put => self.check_task(part, id),
            (None, Some(('t', id))) => {
                assert!(self.finished(part, id).is_some(), "{id} vanishes without an end");
            }
            (None, Some((_, id))) if is_put => {
                let finished = self.finished(part, id).expect("it was put");
                let is_done = matches!(finished.outcome, Outcome::Done(_));
                assert_eq!(self.ended.insert(id, is_done), None, "{id} ends twice");
            }
            (None, Some((_, id))) => {
                totals.forgotten += 1;
                for of in self.all() {
                    let all = self.live(of);
                    let reader = all.iter().find(|(_, task)| task.inputs.contains(&id));
                    assert!(
                        reader.is_none(),
                        "{id} is forgotten, and {reader:?} of {of:?} reads it"
                    );
                }
            }
            (None, None) => {
                let own = format!("p{:04x}/", part.0);
                assert!(key.to_string().starts_with(&own), "{part:?} writes {key}");
            }
        }
    }

    fn finished(&self, part: Part, id: TaskId) -> Option<Finished> {
        let record = self.ledger.get(&keys::finished(part, id))?;
        Some(decode(&record).expect("a record of an end"))
    }

    /// The part writes in an inbox what it may.
    fn check_letter(&self, part: Part, (of, letter): (Part, Letter), is_put: bool) {
        match letter {
            Letter::Bell => assert!(is_put && of != part, "the bell of {of:?} is rung by others"),
            Letter::Wanted(id, by) => {
                assert!(by == part && of != part, "{part:?} writes for {by:?} in {of:?}");
                let is_named = self.live(by).iter().any(|(_, task)| task.inputs.contains(&id));
                assert_eq!(is_put, is_named, "{id} is named by tasks of {by:?}");
            }
            Letter::Ended(id) if is_put => {
                assert!(of != part, "{part:?} writes to itself that {id} has ended");
            }
            Letter::Ended(id) => {
                assert!(of == part, "{part:?} takes a letter of {of:?}");
                let is_named = self.live(of).iter().any(|(_, task)| task.inputs.contains(&id));
                assert!(!is_named, "{id} is named by tasks of {of:?}");
            }
        }
    }

    /// Who waits is known where its inputs are, and who runs has them.
    fn check_task(&self, part: Part, id: TaskId) {
        let record = self.ledger.get(&keys::task(part, id)).expect("it was put");
        let task: Task = decode(&record).expect("a record of a task");
        for (input, of) in &task.abroad {
            let is_known = self.ledger.get(&keys::wanted(*of, *input, part)).is_some();
            assert!(is_known, "{of:?} does not know that {id} of {part:?} names {input}");
        }
        for input in task.inputs.iter().filter(|_| task.state.is_running()) {
            let of = task.abroad.iter().find(|(one, _)| one == input).map_or(part, |(_, of)| *of);
            let outcome = self.finished(of, *input).map(|finished| finished.outcome);
            let is_done = matches!(outcome, Some(Outcome::Done(_)));
            assert!(is_done, "{id} runs, and its input {input} is {outcome:?}");
        }
    }
}
