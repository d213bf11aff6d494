//! The inputs of a task, with where they are.

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Refusal, Request};

use super::client::Client;
use super::failure::TasksError;
use super::input::{Found, InputView};
use super::kinds;

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
