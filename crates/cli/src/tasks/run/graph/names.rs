//! Names: which tasks of a file one means.
//!
//! A task has the name that is written, and a task of an array that of the array with a number from
//! 1: `fit.2`. Others may name one of them, or the array, which is all of its tasks.
//!
//! Invariant: no name means two tasks.

use std::collections::BTreeMap;
use std::ops::Range;

/// Where the tasks of each name are.
#[derive(Default)]
pub(super) struct Names(BTreeMap<String, Entry>);

struct Entry {
    tasks: Range<usize>,
    is_array: bool,
}

impl Names {
    /// Adds what is written behind all others.
    ///
    /// # Errors
    /// The name that would then mean two tasks.
    pub(super) fn add(
        &mut self,
        name: &str,
        is_array: bool,
        tasks: Range<usize>,
    ) -> Result<(), String> {
        let before = self.member(name).is_some().then(|| name.to_owned());
        let own = || is_array.then(|| self.first_like(name, tasks.len())).flatten();
        if let Some(known) = before.or_else(own) {
            return Err(known);
        }
        self.0.insert(name.to_owned(), Entry { tasks, is_array });
        Ok(())
    }

    /// The tasks of a name.
    pub(super) fn of(&self, name: &str) -> Option<Range<usize>> {
        let known = self.0.get(name).map(|entry| entry.tasks.clone());
        known.or_else(|| self.member(name).map(|at| at..at + 1))
    }

    /// How many tasks an array has; `None` if it is none.
    pub(super) fn array(&self, name: &str) -> Option<usize> {
        self.0.get(name).filter(|entry| entry.is_array).map(|entry| entry.tasks.len())
    }

    /// The task of an array that a name means.
    fn member(&self, name: &str) -> Option<usize> {
        let (array, number) = name.rsplit_once('.')?;
        let entry = self.0.get(array).filter(|entry| entry.is_array)?;
        Some(entry.tasks.start + number_of(number, entry.tasks.len())? - 1)
    }

    /// A name that is written and is that of one of the tasks of an array.
    fn first_like(&self, array: &str, count: usize) -> Option<String> {
        let begin = format!("{array}.");
        let like = self.0.range(begin.clone()..).map(|(name, _)| name);
        let mut like = like.take_while(|name| name.starts_with(&begin));
        like.find(|name| number_of(&name[begin.len()..], count).is_some()).cloned()
    }
}

/// A number from 1 to `most`, as it is written in names.
fn number_of(text: &str, most: usize) -> Option<usize> {
    let number: usize = text.parse().ok()?;
    ((1..=most).contains(&number) && number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_a_task_or_all_of_an_array() {
        let mut names = Names::default();
        names.add("a", false, 0..1).unwrap();
        names.add("fit", true, 1..4).unwrap();
        names.add("fit.4", false, 4..5).unwrap();
        let of = |name| names.of(name);
        assert_eq!((of("a"), of("fit"), of("fit.3")), (Some(0..1), Some(1..4), Some(3..4)));
        assert_eq!(of("fit.4"), Some(4..5));
        for name in ["fit.0", "fit.03", "fit.+3", "fit.5", "a.1", "b", ""] {
            assert_eq!(of(name), None, "{name}");
        }
        assert_eq!((names.array("fit"), names.array("a")), (Some(3), None));
    }

    #[test]
    fn no_name_means_two_tasks() {
        let mut names = Names::default();
        names.add("a.2", false, 0..1).unwrap();
        names.add("b", true, 1..3).unwrap();
        assert_eq!(names.add("a", true, 3..5), Err("a.2".to_owned()));
        assert_eq!(names.add("b.2", false, 3..4), Err("b.2".to_owned()));
        assert_eq!(names.add("b.1", true, 3..9), Err("b.1".to_owned()));
        names.add("a", true, 3..4).unwrap();
        names.add("b.3", false, 4..5).unwrap();
    }
}
