//! What must hold of each commit, whoever sent it.

use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::Instant;
use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::MAX_TASKS;
use tidings_tasks_core::record::{Finished, Outcome, Running, State, Task};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::semaphore::Semaphore;
use tidings_tasks_core::transaction::{CommitError, Expect, Key, Revision, Transaction, Write};
use tidings_tasks_core::tuple::Stored;

use crate::tokens::Tokens;

/// The part of the whole simulation: the only one that there is.
pub(crate) const PART: Part = Part(0);

/// A ledger that checks what is written.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) ledger: Ledger,
    /// The keys that tasks have written.
    effects: BTreeSet<Key>,
    /// How often each task has ended, less how often it was revived.
    pub(crate) ended: BTreeMap<TaskId, u32>,
    /// Tasks that were revived: their earlier failures no longer count.
    revived: BTreeSet<TaskId>,
    pub(crate) poisoned: u32,
    /// Portions of children that were too many for one commit.
    pub(crate) staged: u32,
    /// Tasks that were assigned once their inputs were done, and those that failed for want of one.
    pub(crate) released: u32,
    pub(crate) doomed: u32,
    pub(crate) tokens: Tokens,
}

fn value<T: for<'b> minicbor::Decode<'b, ()>>(ledger: &Ledger, key: &Key) -> Option<T> {
    let record = ledger.get(key)?;
    Some(minicbor::decode(&record.value).expect("a record that was written can be read"))
}

impl Checked {
    /// A commit of a coordinator.
    pub(crate) fn commit(
        &mut self,
        now: Instant,
        transaction: &Transaction,
    ) -> Result<Revision, CommitError> {
        let role = keys::role(PART);
        let (key, expect) = &transaction.conditions[0];
        assert_eq!(*key, role, "each commit names the role");
        let before = self.ledger.clone_values_of(transaction);
        let revision = self.ledger.commit(transaction)?;
        assert_eq!(Some(*expect), self.ledger.get(&role).map(|role| Expect::At(role.revision)));
        let now_ms = now.as_micros() as u64 / 1_000;
        for write in &transaction.writes {
            self.check(now_ms, &before, write);
        }
        self.tokens.check();
        Ok(revision)
    }

    fn check(&mut self, now_ms: u64, before: &Before, write: &Write) {
        let key = write.key();
        let is_put = matches!(write, Write::Put { .. });
        let text = key.to_string();
        if text.starts_with("e/by/") {
            assert!(is_put, "who writes {key} by request puts it");
        } else if text.starts_with("e/") {
            assert!(is_put && self.effects.insert(key.clone()), "the effect {key} happens once");
        } else if text.contains("/t/") {
            let id = keys::id_of(key).expect("a task's key ends with its id");
            let old: Option<Task> = before.get(key);
            let ended = self.ledger.get(&keys::finished(PART, id)).is_some();
            assert!(!(is_put && ended), "{id} has ended, and is written again");
            if let Some(task) = value::<Task>(&self.ledger, key) {
                check_task(now_ms, id, old.as_ref(), &task);
                if task.state.is_running() {
                    self.released += u32::from(old.is_some_and(|old| old.is_waiting()));
                    self.check_inputs(id, &task.inputs);
                }
            } else {
                assert!(ended, "{id} vanishes without an end");
            }
        } else if text.contains("/f/") {
            let id = keys::id_of(key).expect("a task's key ends with its id");
            let count = self.ended.entry(id).or_default();
            if is_put {
                *count += 1;
                assert_eq!(*count, 1, "{id} ends once");
                let finished = value::<Finished>(&self.ledger, key).expect("it was put");
                let last = finished.task.failures.last().map(|last| last.cause);
                if finished.outcome == Outcome::Failed && last == Some(Cause::Input) {
                    self.doomed += 1;
                }
                let was_revived = self.revived.contains(&id);
                self.poisoned += u32::from(check_finished(id, &finished, was_revived));
            } else {
                self.revived.insert(id);
                *count -= 1; // it is revived
            }
        } else if text.contains("/c/") {
            let (_, number) = keys::parent_of(PART, key).expect("children have a parent");
            self.staged += u32::from(is_put && number.is_some());
        } else if text.contains("/u/") {
            let new = value::<Stored>(&self.ledger, key);
            self.tokens.change(before.get(key).as_ref(), new.as_ref());
        } else if text.contains("/s/") {
            let old = before.get(key).unwrap_or_default();
            check_semaphore(&old, &value(&self.ledger, key).expect("semaphores stay"));
        }
    }
}

impl Checked {
    /// Who runs has all its inputs done, and their records are there.
    fn check_inputs(&self, id: TaskId, inputs: &[TaskId]) {
        for input in inputs {
            let ended = value::<Finished>(&self.ledger, &keys::finished(PART, *input));
            let outcome = ended.map(|ended| ended.outcome);
            let is_done = matches!(outcome, Some(Outcome::Done(_)));
            assert!(is_done, "{id} runs, and its input {input} is {outcome:?}");
        }
    }

    /// Whether a task was revived once.
    pub(crate) fn was_revived(&self, id: TaskId) -> bool {
        self.revived.contains(&id)
    }
}

/// What keys held before a commit.
pub(crate) struct Before(BTreeMap<Key, Box<[u8]>>);

impl Before {
    fn get<T: for<'b> minicbor::Decode<'b, ()>>(&self, key: &Key) -> Option<T> {
        self.0.get(key).map(|bytes| minicbor::decode(bytes).expect("it can be read"))
    }
}

trait Values {
    fn clone_values_of(&self, transaction: &Transaction) -> Before;
}

impl Values for Ledger {
    fn clone_values_of(&self, transaction: &Transaction) -> Before {
        let keys = transaction.writes.iter().map(Write::key);
        let values = keys.filter_map(|key| Some((key.clone(), self.get(key)?.value)));
        Before(values.collect())
    }
}

fn check_task(now_ms: u64, id: TaskId, old: Option<&Task>, task: &Task) {
    let State::Running(Running { since_ms, .. }) = task.state else {
        let same = old.is_none_or(|old| old.attempt == task.attempt);
        return assert!(same, "{id}: attempts rise with assignments only");
    };
    assert!(since_ms <= now_ms);
    let Some(old) = old else { return };
    if old.state == task.state {
        return assert!(task.cancelled && old.attempt == task.attempt, "{id} was cancelled");
    }
    assert!(!old.state.is_running(), "{id} goes from worker to worker");
    assert_eq!(task.attempt, old.attempt.next(), "{id}: attempts rise by one");
    if let State::Delayed(until_ms) = old.state {
        assert!(until_ms <= since_ms, "{id} is delayed until {until_ms}, not {since_ms}");
    }
}

/// Whether it was stopped as poison.
fn check_finished(id: TaskId, finished: &Finished, was_revived: bool) -> bool {
    let task = &finished.task;
    if let Outcome::Done(result) = &finished.outcome {
        assert_eq!(**result, task.attempt.0.to_be_bytes(), "{id}: the result of the last attempt");
        assert!(task.payload.is_empty());
    }
    let count = |cause| task.failures.iter().filter(|one| one.cause == cause).count();
    let retry = &task.retry;
    assert!(count(Cause::Error) <= usize::from(retry.errors) + 1 || was_revived, "{id}: errors");
    let losses = count(Cause::Lost);
    assert!(losses <= 2 * usize::from(retry.losses) || was_revived, "{id} was lost {losses} times");
    finished.outcome == Outcome::Failed && losses > 0
}

fn check_semaphore(old: &Semaphore, new: &Semaphore) {
    let held: u32 = new.held.iter().map(|grant| grant.permits).sum();
    assert!(held <= new.permits, "{new:?} has given more than it has");
    if let Some(first) = new.waiting.first() {
        assert!(first.permits > new.free(), "{new:?} lets the first wait for nothing");
    }
    // Those that wait on were there before, in the same order, but for the last ones; and nobody
    // that came later got something.
    let stay: Vec<_> = new.waiting.iter().filter(|one| old.waiting.contains(one)).collect();
    let order: Vec<_> = old.waiting.iter().filter(|one| new.waiting.contains(one)).collect();
    assert_eq!(stay, order, "the order of {old:?}");
    if let Some(first) = stay.first() {
        let at = old.waiting.iter().position(|one| one == *first).unwrap_or_default();
        let got = |one: &_| new.held.contains(one);
        assert!(!old.waiting[at..].iter().any(got), "somebody overtakes: {old:?} {new:?}");
    }
    assert!(new.held.len() + new.waiting.len() <= MAX_TASKS);
}
