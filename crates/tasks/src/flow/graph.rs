//! Graphs: what submissions to a flow come to, without a store.
//!
//! Invariant: what waits to be sent is in the order of submissions, so each task is behind those
//! that make what it is given; number `n` of a flow is one task, whatever becomes of its answer.

use std::sync::Arc;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{MAX_TASKS, Submission};
use tidings_tasks_core::tuple::{Field, Type};

use crate::work::MAX_WORK_BYTES;

use super::declared::Declared;
use super::error::FlowError;
use super::instances::{Dependency, Instances};
use super::step::Step;
use super::version::Version;

/// The bytes of what waits to be sent, from which on it is.
const WAITING_BYTES: usize = 4 << 20;

/// What is declared and submitted.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) instances: Instances,
    queue: String,
    /// The name of which its tasks have numbers.
    family: String,
    /// The tasks that were submitted.
    number: u64,
    waiting: Vec<Submission>,
    waiting_bytes: usize,
}

impl Graph {
    /// An empty one, of a name in a queue.
    pub(super) fn of(queue: &str, name: &str) -> Self {
        let family = format!("flow\0{queue}\0{name}");
        let instances = Instances::of(name.into());
        let (queue, waiting) = (queue.to_owned(), Vec::new());
        Self { instances, queue, family, number: 0, waiting, waiting_bytes: 0 }
    }

    pub(super) fn task_declare(
        &self,
        function: &str,
        arguments: &[Type],
    ) -> Result<Declared, FlowError> {
        Declared::of(Arc::clone(self.instances.flow()), function, arguments)
    }

    /// Adds a task.
    ///
    /// # Errors
    /// It cannot be: nothing was added.
    pub(super) fn add(
        &mut self,
        declared: &Declared,
        arguments: Vec<Field>,
    ) -> Result<TaskId, FlowError> {
        let step = Step::of(&self.instances, declared, arguments)?;
        let (task, inputs) = (TaskId::of(&self.family, self.number), step.job.inputs());
        let payload = step.job.to_payload();
        if payload.len() > MAX_WORK_BYTES {
            let (task, bytes) = (declared.function().to_owned(), payload.len());
            return Err(FlowError::Long { task, bytes });
        }
        step.apply(&mut self.instances, task);
        self.number += 1;
        self.waiting_bytes += payload.len();
        self.waiting.push(declared.submission(task, &self.queue, payload, inputs));
        Ok(task)
    }

    /// Whether what waits is to be sent before more is added.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_TASKS || self.waiting_bytes >= WAITING_BYTES
    }

    /// What waits to be sent.
    pub(super) fn waiting(&self) -> &[Submission] {
        &self.waiting
    }

    /// What waited was sent.
    pub(super) fn sent(&mut self) {
        self.waiting.clear();
        self.waiting_bytes = 0;
    }

    /// All tasks that were submitted.
    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        (0..self.number).map(|number| TaskId::of(&self.family, number))
    }

    /// What an instance is now.
    pub(super) fn version(
        &self,
        dependency: &Dependency,
        key: &[Field],
    ) -> Result<&Version, FlowError> {
        self.instances.version(dependency, key)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::flow::IntoFields as _;
    use crate::flow::job::Job;
    use crate::flow::version::{self, parts};

    /// What is done with the cells 0 to 3.
    #[derive(Clone, Copy, Debug)]
    enum Act {
        Put(i64),
        /// Changes the first, and reads the second.
        Change(i64, i64),
        /// Changes both.
        ChangeBoth(i64, i64),
        /// Moves the first to the second, and reads a third.
        Move(i64, i64, i64),
        /// The first and the second change places.
        Exchange(i64, i64),
        Last(i64),
    }

    fn act() -> impl Strategy<Value = Act> {
        let cell = || 0..4_i64;
        prop_oneof![
            2 => cell().prop_map(Act::Put),
            4 => (cell(), cell()).prop_map(|(one, other)| Act::Change(one, other)),
            3 => (cell(), cell()).prop_map(|(one, other)| Act::ChangeBoth(one, other)),
            2 => (cell(), cell(), cell()).prop_map(|(from, to, with)| Act::Move(from, to, with)),
            1 => (cell(), cell()).prop_map(|(one, other)| Act::Exchange(one, other)),
            1 => cell().prop_map(Act::Last),
        ]
    }

    /// What a function makes of what it is given, as its change of a number.
    fn made(function: &str, values: &[Vec<u8>], change: usize) -> Vec<u8> {
        let mut hasher = DefaultHasher::new();
        (function, values, change).hash(&mut hasher);
        hasher.finish().to_be_bytes().to_vec()
    }

    /// The cells, each act done when its turn comes. Returns whether it can be.
    fn done(cells: &mut BTreeMap<i64, Vec<u8>>, act: Act) -> bool {
        let values = |all: &[i64]| -> Option<Vec<Vec<u8>>> {
            all.iter().map(|cell| cells.get(cell).cloned()).collect()
        };
        match act {
            Act::Put(cell) => {
                let is_free = !cells.contains_key(&cell);
                cells.entry(cell).or_insert_with(|| vec![cell as u8]);
                return is_free;
            }
            Act::Change(one, other) => {
                let Some(values) = values(&[one, other]) else { return false };
                cells.insert(one, made("change", &values, 0));
            }
            Act::ChangeBoth(one, other) => {
                let Some(values) = values(&[one, other]).filter(|_| one != other) else {
                    return false;
                };
                cells.insert(one, made("both", &values, 0));
                cells.insert(other, made("both", &values, 1));
            }
            Act::Move(from, to, with) => {
                let is_free = from == to || !cells.contains_key(&to);
                let Some(_) = values(&[from, with]).filter(|_| is_free) else { return false };
                let moved = cells.remove(&from);
                cells.extend(moved.map(|value| (to, value)));
            }
            Act::Exchange(one, other) => {
                let Some(values) = values(&[one, other]).filter(|_| one != other) else {
                    return false;
                };
                cells.extend([(one, values[1].clone()), (other, values[0].clone())]);
            }
            Act::Last(cell) => return cells.remove(&cell).is_some(),
        }
        true
    }

    /// The same by declared tasks.
    struct Cells {
        graph: Graph,
        cell: Dependency,
        tasks: [Declared; 5],
    }

    impl Cells {
        fn new() -> Self {
            type Three = (i64, i64, i64);
            let mut graph = Graph::of("q", "cells");
            let cell = graph.instances.declare("cell", &[Type::Int]).unwrap();
            let task =
                |name: &str, count| graph.task_declare(name, &vec![Type::Int; count]).unwrap();
            let [mut change, mut both, mut exchange] =
                ["change", "both", "exchange"].map(|name| task(name, 2));
            let (mut moves, mut last) = (task("move", 3), task("last", 1));
            let (one, other) = (|(one, _): (i64, i64)| (one,), |(_, other): (i64, i64)| (other,));
            change.append_inout_dependency(&cell, one).unwrap();
            change.append_read_dependency(&cell, other).unwrap();
            both.append_inout_dependency(&cell, one).unwrap();
            both.append_inout_dependency(&cell, other).unwrap();
            exchange.append_migrate_dependency(&cell, one, other).unwrap();
            exchange.append_migrate_dependency(&cell, other, one).unwrap();
            moves.append_migrate_dependency(&cell, |n: Three| (n.0,), |n: Three| (n.1,)).unwrap();
            moves.append_read_dependency(&cell, |n: Three| (n.2,)).unwrap();
            last.append_last_dependency(&cell, |n: (i64,)| n).unwrap();
            Self { graph, cell, tasks: [change, both, exchange, moves, last] }
        }

        fn act(&mut self, act: Act) -> Result<(), FlowError> {
            let (task, arguments) = match act {
                Act::Put(cell) => {
                    let data = vec![cell as u8].into();
                    return self.graph.instances.put(&self.cell, &(cell,).into_fields(), data);
                }
                Act::Change(one, other) => (0, (one, other).into_fields()),
                Act::ChangeBoth(one, other) => (1, (one, other).into_fields()),
                Act::Exchange(one, other) => (2, (one, other).into_fields()),
                Act::Move(from, to, with) => (3, (from, to, with).into_fields()),
                Act::Last(cell) => (4, (cell,).into_fields()),
            };
            self.graph.add(&self.tasks[task], arguments).map(drop)
        }

        /// All cells, when the tasks were done in an order that picks choose, some of them twice.
        fn results(&self, picks: &[usize]) -> BTreeMap<i64, Vec<u8>> {
            let mut results: BTreeMap<TaskId, Vec<u8>> = BTreeMap::new();
            let mut left: Vec<&Submission> = self.graph.waiting().iter().collect();
            let mut picks = picks.iter().cycle();
            while !left.is_empty() {
                let is_ready =
                    |task: &&Submission| task.inputs.iter().all(|one| results.contains_key(one));
                let ready: Vec<usize> = (0..left.len()).filter(|at| is_ready(&left[*at])).collect();
                let pick = picks.next().copied().unwrap_or(0);
                let task = left[ready[pick % ready.len()]];
                let result = performed(task, &results);
                // Tried again it may be, as long as any task is left.
                if pick % 3 > 0 || results.insert(task.id, result.clone()).is_some() {
                    left.retain(|one| one.id != task.id);
                }
                results.insert(task.id, result);
            }
            let all = (0..4).filter_map(|cell| {
                let version = self.graph.version(&self.cell, &(cell,).into_fields()).ok()?;
                Some((cell, value(version, &results)))
            });
            all.collect()
        }
    }

    fn value(version: &Version, results: &BTreeMap<TaskId, Vec<u8>>) -> Vec<u8> {
        match version {
            Version::Data(data) => data.clone(),
            Version::Made { task, part: None } => results[task].clone(),
            Version::Made { task, part: Some(part) } => {
                let result = &results[task];
                result[parts(result).unwrap()[usize::from(*part)].clone()].to_vec()
            }
        }
    }

    /// What a worker does, which has the payload and the results of inputs.
    fn performed(task: &Submission, results: &BTreeMap<TaskId, Vec<u8>>) -> Vec<u8> {
        let Job { function, body } = Job::from_payload(&task.payload).unwrap().unwrap();
        let values: Vec<Vec<u8>> =
            body.instances.iter().map(|one| value(&one.version, results)).collect();
        let changes = 0..usize::from(body.changes);
        let all: Vec<Vec<u8>> = changes.map(|change| made(&function, &values, change)).collect();
        version::result(&all)
    }

    proptest! {
        /// Whatever the order in which they are done, and however often, tasks have what they would
        /// have had, had each been done when it was submitted. What cannot be changes nothing.
        #[test]
        fn the_order_of_submissions_is_that_of_changes(
            acts in vec(act(), 1..40),
            picks in vec(any::<usize>(), 8..9),
        ) {
            let (mut cells, mut graph) = (BTreeMap::new(), Cells::new());
            for act in acts {
                let is_done = done(&mut cells, act);
                prop_assert_eq!(graph.act(act).is_ok(), is_done, "{:?}", act);
            }
            prop_assert_eq!(graph.results(&picks), cells);
        }
    }

    #[test]
    fn a_task_of_a_number_is_the_same_in_each_run_and_an_error_takes_no_number() {
        let run = |with_error: bool| {
            let mut cells = Cells::new();
            cells.act(Act::Put(1)).unwrap();
            cells.act(Act::Change(1, 1)).unwrap();
            if with_error {
                assert!(matches!(cells.act(Act::Last(2)), Err(FlowError::Missing(_))));
            }
            cells.act(Act::Last(1)).unwrap();
            cells.graph.waiting().to_vec()
        };
        assert_eq!(run(true), run(false));
        assert_eq!(run(false)[1].inputs, [run(false)[0].id]);
    }

    #[test]
    fn what_waits_is_bounded_in_tasks_and_in_bytes() {
        let mut cells = Cells::new();
        cells.act(Act::Put(1)).unwrap();
        for _ in 0..MAX_TASKS {
            assert!(!cells.graph.is_full());
            cells.act(Act::Change(1, 1)).unwrap();
        }
        assert!(cells.graph.is_full());
        cells.graph.sent();
        assert!(!cells.graph.is_full() && cells.graph.waiting().is_empty());
        let key = (2,).into_fields();
        cells.graph.instances.put(&cells.cell, &key, vec![0; WAITING_BYTES].into()).unwrap();
        cells.act(Act::Change(1, 2)).unwrap();
        assert!(cells.graph.is_full());
    }

    #[test]
    fn more_than_a_payload_holds_is_refused() {
        let mut cells = Cells::new();
        cells.act(Act::Put(1)).unwrap();
        let key = (2,).into_fields();
        cells.graph.instances.put(&cells.cell, &key, vec![0; MAX_WORK_BYTES].into()).unwrap();
        let error = cells.act(Act::Change(1, 2)).unwrap_err().to_string();
        assert!(error.contains("let what is large be made by tasks"), "{error}");
        assert!(cells.graph.waiting().is_empty());
    }
}
