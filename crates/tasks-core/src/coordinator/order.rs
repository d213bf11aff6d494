//! The order of tasks that are submitted together: each behind those that it waits for.
//!
//! A task is committed with its inputs or after them. So whatever dies in between, an input that a
//! record names is there; and tasks of two submissions cannot wait for each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::TaskId;
use crate::message::{MAX_INPUTS, Submission};
use crate::topology;

/// The members of a circle that are named.
const MAX_NAMED: usize = 8;

/// Tasks with different ids, each behind its inputs and otherwise as they came; inputs that are
/// named twice are named once.
///
/// # Errors
/// Some wait for each other in a circle; one has too many inputs, or is delayed as well.
pub(super) fn ordered(mut tasks: Vec<Submission>) -> Result<Vec<Submission>, String> {
    if tasks.iter().all(|task| task.inputs.is_empty()) {
        return Ok(tasks);
    }
    for task in &mut tasks {
        let mut seen = BTreeSet::new();
        task.inputs.retain(|input| seen.insert(*input));
        check(task)?;
    }
    let mut later: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
    let is_behind = |task: &Submission| {
        let is_behind = task.inputs.iter().all(|input| !later.contains(input));
        later.remove(&task.id);
        is_behind
    };
    if tasks.iter().all(is_behind) { Ok(tasks) } else { sorted(tasks) }
}

fn check(task: &Submission) -> Result<(), String> {
    let (id, count) = (task.id, task.inputs.len());
    if count > MAX_INPUTS {
        return Err(format!(
            "task {id} waits for {count} tasks; at most {MAX_INPUTS} are possible: let tasks in \
             between join some each"
        ));
    }
    if count > 0 && task.delay_ms > 0 {
        return Err(format!("task {id} has inputs and a delay; it can have one of them"));
    }
    Ok(())
}

fn sorted(tasks: Vec<Submission>) -> Result<Vec<Submission>, String> {
    let place: BTreeMap<TaskId, usize> = (0..).zip(&tasks).map(|(at, one)| (one.id, at)).collect();
    let inputs_of = |at: usize| {
        let inputs: &Vec<TaskId> = &tasks[at].inputs;
        inputs.iter().filter_map(|input| place.get(input).copied())
    };
    let order = topology::order(tasks.len(), inputs_of);
    let order = order.map_err(|circle| in_a_circle(circle.iter().map(|at| tasks[*at].id)))?;
    let mut tasks: Vec<Option<Submission>> = tasks.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| tasks[at].take()).collect())
}

fn in_a_circle(members: impl ExactSizeIterator<Item = TaskId>) -> String {
    let count = members.len();
    let mut names: Vec<String> = members.take(MAX_NAMED).map(|id| id.to_string()).collect();
    if count > MAX_NAMED {
        names.push(format!("{} more", count - MAX_NAMED));
    }
    let first = names[0].clone();
    names.push(first);
    format!("tasks wait for each other in a circle: {}", names.join(" waits for "))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn tasks(edges: &[(usize, usize)], count: usize) -> Vec<Submission> {
        let id = |at: usize| TaskId::of("t", at as u64);
        let inputs = |at: usize| edges.iter().filter(move |one| one.0 == at).map(|one| id(one.1));
        let task = |at| Submission {
            inputs: inputs(at).collect(),
            ..Submission::new(id(at), "q", Vec::new())
        };
        (0..count).map(task).collect()
    }

    proptest! {
        #[test]
        fn each_comes_behind_its_inputs_or_a_circle_is_named(
            edges in vec((0..9_usize, 0..12_usize), 0..14)
        ) {
            let all = tasks(&edges, 9);
            match ordered(all.clone()) {
                Ok(order) => {
                    prop_assert_eq!(order.len(), all.len());
                    for (at, task) in order.iter().enumerate() {
                        let is_later =
                            |input: &&TaskId| order[at..].iter().any(|one| one.id == **input);
                        prop_assert_eq!(task.inputs.iter().find(is_later), None);
                    }
                }
                Err(error) => {
                    let (_, circle) = error.split_once(": ").unwrap();
                    let members: Vec<TaskId> =
                        circle.split(" waits for ").filter_map(|id| id.parse().ok()).collect();
                    for pair in members.windows(2) {
                        let task = all.iter().find(|task| task.id == pair[0]).unwrap();
                        prop_assert!(task.inputs.contains(&pair[1]), "{}", error);
                    }
                    prop_assert!(members.first() == members.last() || error.contains("more"));
                }
            }
        }
    }

    #[test]
    fn tasks_that_are_in_order_stay_as_they_are() {
        let all = tasks(&[(2, 0), (2, 0), (1, 11)], 3);
        let order = ordered(all.clone()).unwrap();
        assert_eq!(order[2].inputs.len(), 1, "an input that is named twice is one");
        assert!(order.iter().zip(&all).all(|(one, other)| one.id == other.id));
    }

    #[test]
    fn bounds_are_kept() {
        let inputs = (0..=MAX_INPUTS as u64).map(|at| TaskId::of("i", at)).collect();
        let task = Submission { inputs, ..tasks(&[], 1).remove(0) };
        assert!(ordered(vec![task]).unwrap_err().contains("at most 256"));
        let task = Submission { delay_ms: 1, ..tasks(&[(0, 1)], 1).remove(0) };
        assert!(ordered(vec![task]).unwrap_err().contains("delay"));
    }
}
