//! An input of a task, as people and programs read it.

use serde::Serialize;
use tidings_tasks_core::id::TaskId;

/// An input, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct InputView {
    pub(super) task: String,
    /// What people call it, and where it is, if that was asked.
    #[serde(flatten)]
    pub(super) found: Option<Found>,
}

/// What an input is called, and where it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) state: &'static str,
}

impl InputView {
    /// One of which the id is known.
    pub(super) fn of(task: TaskId) -> Self {
        Self { task: task.to_string(), found: None }
    }

    /// In a row of a table.
    pub(super) fn text(&self) -> String {
        match &self.found {
            Some(Found { name, state }) if name.is_empty() => format!("{} ({state})", self.task),
            Some(Found { name, state }) => format!("{} {name} ({state})", self.task),
            None => self.task.clone(),
        }
    }
}
