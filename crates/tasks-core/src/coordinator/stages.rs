//! What is too large for one commit, and how far it has come. How it goes on: `dividing.rs`.

use std::collections::{BTreeMap, VecDeque};

use crate::id::TaskId;
use crate::record::Task;
use crate::transaction::Revision;

use super::change::{Altered, Change};

/// What is too large for one commit.
#[derive(Debug, Default)]
pub(super) struct Stages {
    pub(super) by_parent: BTreeMap<TaskId, Stage>,
    submissions: BTreeMap<u64, Divided>,
    last_submission: u64,
}

/// Children of one task.
#[derive(Debug, Default)]
pub(super) struct Stage {
    /// The completion, as long as it waits for its portions.
    pub(super) completion: Option<Change>,
    /// The portions that are there, or are going to be, by number.
    pub(super) portions: BTreeMap<u16, Portion>,
    /// When it was written that they count.
    pub(super) counted: Option<Revision>,
}

/// Some of them.
#[derive(Debug)]
pub(super) struct Portion {
    /// When it was written; `None` as long as that is to be done.
    pub(super) written: Option<Revision>,
    pub(super) tasks: Vec<Altered>,
}

/// A submission in several commits.
#[derive(Debug)]
struct Divided {
    /// Portions of which it is not known yet whether they are added.
    left: usize,
    /// Portions that are committed one after the other, since tasks wait for those before them.
    later: VecDeque<Vec<Altered>>,
    /// The new tasks of the others.
    new: u32,
    /// Whether one of them was refused: then it was answered.
    is_refused: bool,
}

/// A key of a stage as it was read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) revision: Revision,
    /// The tasks of a portion.
    pub(super) tasks: Vec<(TaskId, Task)>,
}

impl Stages {
    /// The completions that wait.
    pub(super) fn into_completions(self) -> impl Iterator<Item = Change> {
        self.by_parent.into_values().filter_map(|stage| stage.completion)
    }

    /// The tasks that wait to be staged.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Altered> {
        let children = self.by_parent.values().flat_map(|stage| stage.portions.values());
        let children = children.flat_map(|portion| &portion.tasks);
        let later = self.submissions.values().flat_map(|one| one.later.iter().flatten());
        children.chain(later)
    }

    /// A number for a submission of so many portions that are staged, and of others that follow
    /// one by one.
    pub(super) fn divide(&mut self, staged: usize, later: VecDeque<Vec<Altered>>) -> u64 {
        self.last_submission += 1;
        let left = staged + later.len();
        let divided = Divided { left, later, new: 0, is_refused: false };
        self.submissions.insert(self.last_submission, divided);
        self.last_submission
    }

    /// The portion of a submission that is staged next.
    pub(super) fn next_portion(&mut self, submission: u64) -> Option<Vec<Altered>> {
        self.submissions.get_mut(&submission)?.later.pop_front()
    }

    /// The tasks of a submission that are not staged, since a portion was refused.
    pub(super) fn drop_later(&mut self, submission: u64) -> Vec<Altered> {
        let Some(divided) = self.submissions.get_mut(&submission) else { return Vec::new() };
        let later = core::mem::take(&mut divided.later);
        divided.left -= later.len();
        later.into_iter().flatten().collect()
    }

    /// A portion is added, so many of its tasks being new, or refused. Returns how many are new in
    /// all, once all portions are added.
    pub(super) fn portion_ended(&mut self, submission: u64, new: Option<u32>) -> Option<u32> {
        let divided = self.submissions.get_mut(&submission)?;
        divided.left -= 1;
        divided.new += new.unwrap_or(0);
        divided.is_refused |= new.is_none();
        if divided.left > 0 {
            return None;
        }
        let divided = self.submissions.remove(&submission)?;
        (!divided.is_refused).then_some(divided.new)
    }
}

impl Stage {
    /// The portions that are written, and when.
    pub(super) fn written(&self) -> Vec<(u16, Revision)> {
        let written = self.portions.iter();
        written.filter_map(|(&number, portion)| Some((number, portion.written?))).collect()
    }
}
