//! The ready tasks of one queue, in the order in which they are assigned.
//!
//! The largest priority first; within a priority the groups take turns, a task each; within a group
//! first in, first out. So a group with a million tasks delays another's single task by one.
//!
//! Of tasks that cannot go now, since no session has what they need, others are not delayed: each
//! class has a line of its own in its group, and only lines of the classes that could go are looked
//! at. The cost of a step depends on the classes, not on the tasks.
//!
//! An identifier costs 24 bytes here. A task that is no longer ready is not looked for when it is
//! taken out of turn: whoever takes an identifier checks what it stands for.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::class::ClassId;
use crate::id::TaskId;

/// The ready tasks of a queue.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    levels: BTreeMap<Reverse<i16>, Level>,
    /// The numbers of the last task that was added behind others, and before others.
    back: i64,
    front: i64,
}

/// Those of one priority.
#[derive(Debug, Default)]
struct Level {
    groups: BTreeMap<Arc<str>, Group>,
    /// For each class the groups that have a task of it, that with the next turn first.
    turns: BTreeMap<ClassId, BTreeSet<(u64, Arc<str>)>>,
    last_turn: u64,
}

/// Those of one group, by class: their numbers say in which order they came.
#[derive(Debug, Default)]
struct Group {
    turn: u64,
    lines: BTreeMap<ClassId, VecDeque<(i64, TaskId)>>,
}

/// A task that is at the front of its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    pub(crate) id: TaskId,
    pub(crate) class: ClassId,
    priority: i16,
    group: Arc<str>,
}

impl Ready {
    /// Adds a task behind those of its group.
    pub(crate) fn push(&mut self, priority: i16, group: &str, class: ClassId, id: TaskId) {
        self.back += 1;
        let number = self.back;
        self.line(priority, group, class).push_back((number, id));
    }

    /// Adds a task before those of its group.
    pub(crate) fn push_first(&mut self, priority: i16, group: &str, class: ClassId, id: TaskId) {
        self.front -= 1;
        let number = self.front;
        self.line(priority, group, class).push_front((number, id));
    }

    /// The next task of the classes that are wanted.
    pub(crate) fn first(&self, mut wanted: impl FnMut(ClassId) -> bool) -> Option<Next> {
        self.levels.iter().find_map(|(&Reverse(priority), level)| {
            let (id, class, group) = level.first(&level.wanted(&mut wanted))?;
            Some(Next { id, class, priority, group })
        })
    }

    /// Takes the task that is at the front of a line.
    pub(crate) fn take(&mut self, next: &Next) {
        let priority = Reverse(next.priority);
        let Some(level) = self.levels.get_mut(&priority) else { return };
        level.take(next.class, &next.group);
        if level.groups.is_empty() {
            self.levels.remove(&priority);
        }
    }

    /// Some of the next tasks of the classes that are wanted, at most `limit`: the next one, and
    /// the first ones of each line of its priority.
    pub(crate) fn heads(
        &self,
        limit: usize,
        mut wanted: impl FnMut(ClassId) -> bool,
    ) -> BTreeSet<TaskId> {
        for level in self.levels.values() {
            let classes = level.wanted(&mut wanted);
            let Some((first, ..)) = level.first(&classes) else { continue };
            let turns = classes.iter().filter_map(|class| Some((class, level.turns.get(class)?)));
            let lines = turns.flat_map(|(class, groups)| {
                groups.iter().filter_map(|(_, group)| level.groups.get(group)?.lines.get(class))
            });
            let lines: Vec<&VecDeque<(i64, TaskId)>> = lines.take(limit).collect();
            let each = (limit / lines.len().max(1)).max(1);
            let ids = lines.into_iter().flat_map(|line| line.iter().take(each).map(|(_, id)| *id));
            return core::iter::once(first).chain(ids).take(limit).collect();
        }
        BTreeSet::new()
    }

    /// Forgets all tasks of a class: none of them is ready any more.
    pub(crate) fn forget(&mut self, class: ClassId) {
        self.levels.retain(|_, level| {
            for (_, name) in level.turns.remove(&class).unwrap_or_default() {
                let Some(group) = level.groups.get_mut(&name) else { continue };
                group.lines.remove(&class);
                if group.lines.is_empty() {
                    level.groups.remove(&name);
                }
            }
            !level.groups.is_empty()
        });
    }

    /// Whether there is no task.
    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// A line of a group, which gets a turn if it had none.
    fn line(&mut self, priority: i16, group: &str, class: ClassId) -> &mut VecDeque<(i64, TaskId)> {
        let level = self.levels.entry(Reverse(priority)).or_default();
        let known = level.groups.get_key_value(group).map(|(name, _)| name.clone());
        let name = known.unwrap_or_else(|| {
            level.last_turn += 1;
            let new = Group { turn: level.last_turn, ..Group::default() };
            let name: Arc<str> = group.into();
            level.groups.insert(name.clone(), new);
            name
        });
        let group = level.groups.entry(name.clone()).or_default();
        let turn = group.turn;
        group.lines.entry(class).or_insert_with(|| {
            level.turns.entry(class).or_default().insert((turn, name));
            VecDeque::new()
        })
    }
}

impl Level {
    /// The classes that are wanted, of those that have a task here.
    fn wanted(&self, wanted: &mut impl FnMut(ClassId) -> bool) -> Vec<ClassId> {
        self.turns.keys().copied().filter(|class| wanted(*class)).collect()
    }

    /// The next task of some classes.
    fn first(&self, classes: &[ClassId]) -> Option<(TaskId, ClassId, Arc<str>)> {
        let turns = classes.iter().filter_map(|class| self.turns.get(class)?.first());
        let (_, name) = turns.min()?;
        let lines = &self.groups.get(name)?.lines;
        let fronts = classes.iter().filter_map(|class| Some((lines.get(class)?.front()?, *class)));
        let (&(_, id), class) = fronts.min_by_key(|((number, _), _)| *number)?;
        Some((id, class, name.clone()))
    }

    fn take(&mut self, class: ClassId, name: &Arc<str>) {
        let Some(group) = self.groups.get_mut(name) else { return };
        let before = (group.turn, name.clone());
        self.last_turn += 1;
        group.turn = self.last_turn;
        for (of, line) in &mut group.lines {
            if *of == class {
                line.pop_front();
            }
            let Some(turns) = self.turns.get_mut(of) else { continue };
            turns.remove(&before);
            if !line.is_empty() {
                turns.insert((group.turn, name.clone()));
            } else if turns.is_empty() {
                self.turns.remove(of);
            }
        }
        group.lines.retain(|_, line| !line.is_empty());
        if group.lines.is_empty() {
            self.groups.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Classes;
    use crate::resources::Need;
    use crate::retry::Last;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn classes(count: u64) -> Vec<ClassId> {
        let mut classes = Classes::default();
        let need = |amount| Need::new([("cpus".to_owned(), amount)]).unwrap();
        (0..count).map(|amount| classes.find(&need(amount), "", &[], Last::Nowhere).0).collect()
    }

    fn id(number: u64) -> TaskId {
        TaskId::of("t", number)
    }

    fn pop(ready: &mut Ready, wanted: impl FnMut(ClassId) -> bool) -> Option<TaskId> {
        let next = ready.first(wanted)?;
        ready.take(&next);
        Some(next.id)
    }

    /// The order of tasks with a priority, a group, a number and a class.
    fn order(tasks: &[(i16, &str, u64, usize)]) -> Vec<u64> {
        let (mut ready, classes) = (Ready::default(), classes(4));
        for &(priority, group, number, class) in tasks {
            ready.push(priority, group, classes[class], id(number));
        }
        let mut popped = Vec::new();
        while let Some(next) = pop(&mut ready, |_| true) {
            let (_, _, number, _) = tasks.iter().find(|task| id(task.2) == next).unwrap();
            popped.push(*number);
        }
        assert!(ready.is_empty());
        popped
    }

    #[test]
    fn first_in_first_out_whatever_they_need() {
        assert_eq!(order(&[(0, "a", 1, 0), (0, "a", 2, 1), (0, "a", 3, 0)]), [1, 2, 3]);
    }

    #[test]
    fn the_larger_priority_comes_first() {
        assert_eq!(order(&[(0, "a", 1, 0), (-1, "a", 2, 0), (5, "b", 3, 1)]), [3, 1, 2]);
    }

    #[test]
    fn groups_take_turns_whatever_their_tasks_need() {
        let tasks =
            [(0, "a", 1, 0), (0, "a", 2, 1), (0, "a", 3, 0), (0, "b", 4, 1), (0, "c", 5, 2)];
        assert_eq!(order(&tasks), [1, 4, 5, 2, 3]);
    }

    #[test]
    fn what_cannot_go_delays_nobody() {
        let (mut ready, classes) = (Ready::default(), classes(2));
        for number in 0..100 {
            ready.push(9, "a", classes[0], id(number));
        }
        ready.push(0, "a", classes[1], id(100));
        assert_eq!(pop(&mut ready, |class| class == classes[1]), Some(id(100)));
        assert_eq!(pop(&mut ready, |class| class == classes[1]), None);
        assert!(!ready.is_empty());
        ready.forget(classes[0]);
        assert!(ready.is_empty());
    }

    #[test]
    fn a_task_may_go_before_the_others_of_its_group() {
        let (mut ready, classes) = (Ready::default(), classes(2));
        ready.push(0, "a", classes[0], id(1));
        ready.push_first(0, "a", classes[1], id(2));
        ready.push_first(0, "a", classes[0], id(3));
        let popped = [(); 3].map(|()| pop(&mut ready, |_| true).unwrap());
        assert_eq!(popped, [id(3), id(2), id(1)]);
    }

    proptest! {
        #[test]
        fn each_comes_once_and_heads_have_the_next(
            tasks in vec((0..2_i16, 0..3_usize, 0..4_usize), 1..60),
            wanted in vec(any::<bool>(), 4),
            limit in 1..20_usize,
        ) {
            let (mut ready, classes) = (Ready::default(), classes(4));
            for (number, (priority, group, class)) in tasks.iter().enumerate() {
                ready.push(*priority, ["a", "b", "c"][*group], classes[*class], id(number as u64));
            }
            let is_wanted = |class: ClassId| {
                wanted[classes.iter().position(|one| *one == class).unwrap()]
            };
            let mut popped = BTreeSet::new();
            loop {
                let heads = ready.heads(limit, is_wanted);
                prop_assert!(heads.len() <= limit);
                let Some(next) = ready.first(is_wanted) else { break };
                prop_assert!(heads.contains(&next.id));
                ready.take(&next);
                prop_assert!(is_wanted(next.class) && popped.insert(next.id));
            }
            let all = tasks.iter().filter(|(_, _, class)| wanted[*class]).count();
            prop_assert_eq!(popped.len(), all);
            for class in &classes {
                ready.forget(*class);
            }
            prop_assert!(ready.is_empty());
        }
    }
}
