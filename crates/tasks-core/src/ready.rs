//! The ready tasks of one queue, in the order in which they are assigned.
//!
//! The largest priority first; within a priority the groups take turns, a task each; within a group
//! first in, first out. So a group with a million tasks delays another's single task by one.
//!
//! An identifier costs 16 bytes here. A task that is no longer ready is not looked for when it is
//! taken out of turn: whoever takes an identifier checks what it stands for.

use core::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::id::TaskId;

/// The ready tasks of a queue.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    levels: BTreeMap<Reverse<i16>, Level>,
}

/// Those of one priority.
#[derive(Debug, Default)]
struct Level {
    groups: BTreeMap<Arc<str>, VecDeque<TaskId>>,
    /// Groups that have a task, the next one first.
    turns: VecDeque<Arc<str>>,
}

impl Ready {
    /// Adds a task behind those of its group.
    pub(crate) fn push(&mut self, priority: i16, group: &str, id: TaskId) {
        self.level(priority, group).push_back(id);
    }

    /// Adds a task before those of its group.
    pub(crate) fn push_first(&mut self, priority: i16, group: &str, id: TaskId) {
        self.level(priority, group).push_front(id);
    }

    /// Takes the next task.
    pub(crate) fn pop(&mut self) -> Option<TaskId> {
        let mut level = self.levels.first_entry()?;
        let id = level.get_mut().pop();
        if level.get().turns.is_empty() {
            level.remove();
        }
        id
    }

    /// The next task.
    pub(crate) fn first(&self) -> Option<TaskId> {
        let (_, level) = self.levels.first_key_value()?;
        level.groups.get(level.turns.front()?)?.front().copied()
    }

    /// Some of the next tasks, at most `limit`: the first ones of each group of the first level.
    pub(crate) fn heads(&self, limit: usize) -> Vec<TaskId> {
        let Some((_, level)) = self.levels.first_key_value() else { return Vec::new() };
        let each = (limit / level.turns.len().max(1)).max(1);
        let queues = level.turns.iter().filter_map(|group| level.groups.get(group));
        queues.flat_map(|ids| ids.iter().take(each)).take(limit).copied().collect()
    }

    /// The tasks of a group, which gets a turn if it had none.
    fn level(&mut self, priority: i16, group: &str) -> &mut VecDeque<TaskId> {
        let level = self.levels.entry(Reverse(priority)).or_default();
        if !level.groups.contains_key(group) {
            let group: Arc<str> = group.into();
            level.turns.push_back(group.clone());
            return level.groups.entry(group).or_default();
        }
        level.groups.get_mut(group).expect("it was found just now")
    }
}

impl Level {
    fn pop(&mut self) -> Option<TaskId> {
        let group = self.turns.pop_front()?;
        let ids = self.groups.get_mut(&group)?;
        let id = ids.pop_front();
        if ids.is_empty() {
            self.groups.remove(&group);
        } else {
            self.turns.push_back(group);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(tasks: &[(i16, &str, u64)]) -> Vec<u64> {
        let mut ready = Ready::default();
        for &(priority, group, number) in tasks {
            ready.push(priority, group, TaskId::of("t", number));
        }
        let mut popped = Vec::new();
        while let Some(id) = ready.pop() {
            let (_, _, number) = tasks.iter().find(|task| TaskId::of("t", task.2) == id).unwrap();
            popped.push(*number);
        }
        assert_eq!(ready.first(), None);
        popped
    }

    #[test]
    fn first_in_first_out() {
        assert_eq!(order(&[(0, "a", 1), (0, "a", 2), (0, "a", 3)]), [1, 2, 3]);
    }

    #[test]
    fn the_larger_priority_comes_first() {
        assert_eq!(order(&[(0, "a", 1), (-1, "a", 2), (5, "b", 3)]), [3, 1, 2]);
    }

    #[test]
    fn groups_take_turns() {
        let tasks = [(0, "a", 1), (0, "a", 2), (0, "a", 3), (0, "b", 4), (0, "c", 5)];
        assert_eq!(order(&tasks), [1, 4, 5, 2, 3]);
    }

    #[test]
    fn heads_are_those_that_come_next() {
        let mut ready = Ready::default();
        for number in 0..10 {
            ready.push(0, if number < 8 { "a" } else { "b" }, TaskId::of("t", number));
        }
        let heads = ready.heads(4);
        for _ in 0..4 {
            assert!(heads.contains(&ready.pop().unwrap()));
        }
        assert_eq!(Ready::default().heads(4), []);
    }

    #[test]
    fn a_task_may_go_before_the_others_of_its_group() {
        let mut ready = Ready::default();
        ready.push(0, "a", TaskId::of("t", 1));
        ready.push_first(0, "a", TaskId::of("t", 2));
        assert_eq!(ready.first(), Some(TaskId::of("t", 2)));
        assert_eq!(ready.pop(), Some(TaskId::of("t", 2)));
    }
}
