//! The inputs of a task, as people and programs read them.

use serde::Serialize;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Refusal, Request};

use super::client::Client;
use super::failure::TasksError;
use super::kinds;

/// An input, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct InputView {
    pub(super) task: String,
    /// What people call it, and where it is, if that was asked.
    #[serde(flatten)]
    found: Option<Found>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Found {
    name: String,
    state: &'static str,
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

/// Inputs, with where they are.
pub(super) async fn found(client: &Client, tasks: &[TaskId]) -> Result<Vec<InputView>, TasksError> {
    let mut inputs = Vec::with_capacity(tasks.len());
    for &task in tasks {
        let found = match client.ask(Request::Show { task }).await {
            Ok(Answer::Shown(shown)) => {
                Found { name: kinds::name_of_work(&shown), state: kinds::state(&shown) }
            }
            // It was forgotten when nobody needed it any more.
            Err(TasksError::Refused(Refusal::NoTask)) => {
                Found { name: String::new(), state: "forgotten" }
            }
            Ok(other) => return Err(TasksError::Answer(Box::new(other))),
            Err(error) => return Err(error),
        };
        inputs.push(InputView { found: Some(found), ..InputView::of(task) });
    }
    Ok(inputs)
}
