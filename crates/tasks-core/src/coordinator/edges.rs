//! Edges: which tasks wait for which.
//!
//! An edge lies in the record of the task that waits, its *consumer*; whether it is there still is
//! in the record of the other, its *input*, which has ended or not. So nothing is written when an
//! input is done, and nothing can disagree. Here lies what a decision needs: some 120 bytes an
//! edge, made again from the records when a coordinator begins.
//!
//! # Invariants
//! 1. An edge is in `missing` from when its consumer is placed until its input is seen to be done:
//!    a second word of that changes nothing.
//! 2. A consumer is released when its last edge leaves `missing`: once, and once more for each time
//!    that it waits again since an output was lost.
//! 3. An input of a task that has not ended keeps its record ([`Edges::is_used`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::id::TaskId;

/// Why a task cannot be done: an input was not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Doom {
    pub(super) input: TaskId,
    /// What became of it, in words.
    pub(super) why: Arc<str>,
}

/// Which tasks wait for which.
#[derive(Debug, Default)]
pub(super) struct Edges {
    /// Inputs that are not known to be done, and who waits for them.
    missing: BTreeSet<(TaskId, TaskId)>,
    consumers: BTreeMap<TaskId, Consumer>,
    /// Inputs, and the tasks that have not ended and name them.
    uses: BTreeSet<(TaskId, TaskId)>,
    /// Inputs that have ended, or never were: what became of them is to be read.
    unknown: BTreeSet<TaskId>,
    /// Consumers that are to end.
    doomed: BTreeMap<TaskId, Doom>,
    total: usize,
}

/// A task with inputs that has not ended.
#[derive(Debug)]
struct Consumer {
    inputs: Box<[TaskId]>,
    missing: usize,
}

impl Edges {
    /// How many edges there are.
    pub(super) fn len(&self) -> usize {
        self.total
    }

    /// Whether a task that has not ended names this one as an input.
    pub(super) fn is_used(&self, input: TaskId) -> bool {
        self.readers(input).next().is_some()
    }

    /// A task is there. If it waits, its inputs that `is_live` does not know are to be read.
    pub(super) fn insert(
        &mut self,
        id: TaskId,
        inputs: &[TaskId],
        waits: bool,
        is_live: impl Fn(TaskId) -> bool,
    ) {
        if inputs.is_empty() {
            return;
        }
        if self.consumers.contains_key(&id) {
            if waits {
                self.hold(id, inputs);
                self.unknown.extend(inputs.iter().copied().filter(|input| !is_live(*input)));
            }
            return;
        }
        self.total += inputs.len();
        for &input in inputs {
            self.uses.insert((input, id));
            if waits {
                self.missing.insert((input, id));
                if !is_live(input) {
                    self.unknown.insert(input);
                }
            }
        }
        let missing = if waits { inputs.len() } else { 0 };
        self.consumers.insert(id, Consumer { inputs: inputs.into(), missing });
    }

    /// Inputs that `is_live` does not know are to be read.
    pub(super) fn look_for_ended(&mut self, is_live: impl Fn(TaskId) -> bool) {
        let mut last = None;
        for &(input, _) in &self.missing {
            if last != Some(input) && !is_live(input) {
                self.unknown.insert(input);
            }
            last = Some(input);
        }
    }

    /// A task waits again for some of its inputs.
    pub(super) fn hold(&mut self, id: TaskId, inputs: &[TaskId]) {
        let Some(consumer) = self.consumers.get_mut(&id) else { return };
        for &input in inputs {
            consumer.missing += usize::from(self.missing.insert((input, id)));
        }
    }

    /// A task has ended. Returns its inputs, if it had some.
    pub(super) fn remove(&mut self, id: TaskId) -> Option<Box<[TaskId]>> {
        let consumer = self.consumers.remove(&id)?;
        self.doomed.remove(&id);
        self.total -= consumer.inputs.len();
        for &input in &consumer.inputs {
            self.missing.remove(&(input, id));
            self.uses.remove(&(input, id));
        }
        Some(consumer.inputs)
    }

    /// Who waits for a task.
    pub(super) fn waiting_for(&self, input: TaskId) -> impl Iterator<Item = TaskId> {
        of(&self.missing, input)
    }

    /// The tasks that have not ended and name an input, whether they wait for it or not.
    pub(super) fn readers(&self, input: TaskId) -> impl Iterator<Item = TaskId> {
        of(&self.uses, input)
    }

    /// The inputs of a task.
    pub(super) fn inputs(&self, id: TaskId) -> &[TaskId] {
        self.consumers.get(&id).map_or(&[][..], |consumer| &consumer.inputs)
    }

    /// An input is done. Returns those that wait for nothing any more.
    pub(super) fn done(&mut self, input: TaskId) -> Vec<TaskId> {
        let waiting: Vec<TaskId> = self.waiting_for(input).collect();
        let mut released = Vec::new();
        for id in waiting {
            self.missing.remove(&(input, id));
            let Some(consumer) = self.consumers.get_mut(&id) else { continue };
            consumer.missing -= 1;
            if consumer.missing == 0 {
                released.push(id);
            }
        }
        released
    }

    /// An input was not done: those that wait for it are to end.
    pub(super) fn doom(&mut self, input: TaskId, why: &Arc<str>) {
        let waiting: Vec<TaskId> = self.waiting_for(input).collect();
        for id in waiting {
            self.doomed.entry(id).or_insert_with(|| Doom { input, why: why.clone() });
        }
    }

    /// The first tasks that are to end.
    pub(super) fn doomed(&self, most: usize) -> Vec<(TaskId, Doom)> {
        self.doomed.iter().take(most).map(|(id, doom)| (*id, doom.clone())).collect()
    }

    /// A task need not end: its input is tried again.
    pub(super) fn spare(&mut self, id: TaskId) {
        self.doomed.remove(&id);
    }

    /// What became of a task is to be read, if somebody waits for it.
    pub(super) fn look_for(&mut self, input: TaskId) {
        if self.waiting_for(input).next().is_some() {
            self.unknown.insert(input);
        }
    }

    /// Some of the inputs that are to be read.
    pub(super) fn take_unknown(&mut self, most: usize) -> Vec<TaskId> {
        let some: Vec<TaskId> = self.unknown.iter().take(most).copied().collect();
        for input in &some {
            self.unknown.remove(input);
        }
        some
    }

    /// The inputs that a task waits for.
    pub(super) fn missing(&self, id: TaskId) -> Vec<TaskId> {
        let inputs = self.inputs(id).iter();
        inputs.copied().filter(|input| self.missing.contains(&(*input, id))).collect()
    }
}

fn of(edges: &BTreeSet<(TaskId, TaskId)>, input: TaskId) -> impl Iterator<Item = TaskId> {
    let (first, last) = (TaskId::from_bytes([0; 16]), TaskId::from_bytes([u8::MAX; 16]));
    edges.range((input, first)..=(input, last)).map(|(_, id)| *id)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn id(number: u8) -> TaskId {
        TaskId::of("t", u64::from(number))
    }

    proptest! {
        /// Whatever is said of inputs, and how often, each consumer is released once, when the last
        /// of its inputs is done, unless it has ended before.
        #[test]
        fn a_consumer_is_released_once(
            inputs in vec(prop::collection::btree_set(0..6_u8, 1..5), 1..8),
            steps in vec((0..6_u8, any::<bool>()), 0..40),
        ) {
            let mut edges = Edges::default();
            for (at, some) in (100_u8..).zip(&inputs) {
                let some: Vec<TaskId> = some.iter().map(|one| id(*one)).collect();
                edges.insert(id(at), &some, true, |_| true);
            }
            let (mut done, mut released) = (BTreeSet::new(), BTreeSet::new());
            for (step, removes) in steps {
                if removes {
                    edges.remove(id(100 + step));
                    released.insert(id(100 + step));
                    continue;
                }
                done.insert(step);
                for one in edges.done(id(step)) {
                    prop_assert!(released.insert(one), "{one} is released twice");
                }
                for (at, some) in (100_u8..).zip(&inputs) {
                    let is_free = some.is_subset(&done);
                    prop_assert!(is_free <= released.contains(&id(at)));
                }
            }
            for at in (100_u8..).take(inputs.len()) {
                edges.remove(id(at));
            }
            prop_assert_eq!((edges.len(), edges.missing.len(), edges.uses.len()), (0, 0, 0));
        }
    }
}
