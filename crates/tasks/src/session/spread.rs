//! Submissions of tasks of several parts: each goes to the part of its queue, behind its inputs.
//!
//! The coordinator of a part looks for inputs in other parts too, so they have to be there before.
//! What can go at once makes a *wave*; the next one goes when that was answered.

use std::collections::BTreeMap;

use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::message::{Refusal, Submission};
use tidings_tasks_core::topology;

/// The members of a circle that are named.
const NAMED: usize = 8;

/// The tasks of a wave, by part.
pub(super) type Wave = BTreeMap<Part, Vec<Submission>>;

/// Tasks in waves, each behind those that have its inputs in other parts.
pub(super) fn waves(tasks: Vec<Submission>, parts: u16) -> Result<Vec<Wave>, Refusal> {
    let part_of: Vec<Part> = tasks.iter().map(|task| Part::of(&task.queue, parts)).collect();
    let is_alone = part_of.windows(2).all(|pair| pair[0] == pair[1]);
    let numbers = if is_alone { vec![0; tasks.len()] } else { numbers(&tasks, &part_of)? };
    let count = numbers.iter().max().map_or(1, |last| last + 1);
    let mut waves = vec![Wave::new(); count];
    // An empty submission is answered like any other.
    waves[0].extend(part_of.is_empty().then(|| (Part(0), Vec::new())));
    for ((task, part), number) in tasks.into_iter().zip(part_of).zip(numbers) {
        waves[number].entry(part).or_default().push(task);
    }
    Ok(waves)
}

/// Of which wave each task is.
fn numbers(tasks: &[Submission], part_of: &[Part]) -> Result<Vec<usize>, Refusal> {
    let places: BTreeMap<TaskId, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.id, at)).collect();
    let inputs_of =
        |at: usize| tasks[at].inputs.iter().filter_map(|input| places.get(input).copied());
    let order = topology::order(tasks.len(), inputs_of).map_err(|circle| {
        let first = circle.iter().take(NAMED).map(|at| tasks[*at].id.to_string());
        let members = first.collect::<Vec<_>>().join(" waits for ");
        Refusal::Invalid(format!("tasks wait for each other in a circle: {members}"))
    })?;
    let mut numbers = vec![0; tasks.len()];
    for at in order {
        let behind = |input: usize| numbers[input] + usize::from(part_of[input] != part_of[at]);
        numbers[at] = inputs_of(at).map(behind).max().unwrap_or_default();
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task of a queue of this part of two.
    fn task(number: u64, part: u16, inputs: &[u64]) -> Submission {
        let mut names = (0..).map(|number| format!("q{number}"));
        let queue = names.find(|name| Part::of(name, 2) == Part(part)).unwrap();
        let inputs = inputs.iter().map(|input| TaskId::of("t", *input)).collect();
        Submission { inputs, ..Submission::new(TaskId::of("t", number), queue, *b"") }
    }

    fn numbers_of(tasks: Vec<Submission>) -> Result<Vec<Vec<(u16, usize)>>, Refusal> {
        let all = waves(tasks, 2)?;
        let of = |wave: &Wave| wave.iter().map(|(part, tasks)| (part.0, tasks.len())).collect();
        Ok(all.iter().map(of).collect())
    }

    #[test]
    fn a_task_goes_behind_its_inputs_in_other_parts() {
        // In any order, and with what is not among them.
        let tasks = vec![task(4, 1, &[3]), task(3, 0, &[2, 9]), task(2, 1, &[1]), task(1, 1, &[])];
        let waves = numbers_of(tasks).unwrap();
        assert_eq!(waves, [vec![(1, 2)], vec![(0, 1)], vec![(1, 1)]]);
    }

    #[test]
    fn a_graph_in_one_part_is_one_submission() {
        let tasks = vec![task(2, 1, &[1]), task(1, 1, &[])];
        assert_eq!(numbers_of(tasks).unwrap(), [vec![(1, 2)]]);
        assert_eq!(numbers_of(Vec::new()).unwrap(), [vec![(0, 0)]]);
    }

    #[test]
    fn a_circle_across_parts_is_named() {
        let circle = numbers_of(vec![task(1, 0, &[2]), task(2, 1, &[1])]).unwrap_err();
        let first = TaskId::of("t", 1).to_string();
        assert!(circle.to_string().contains(&first), "{circle}");
    }
}
