//! Values: what calls have returned that a call waited for, for the process that makes it.
//!
//! A short value goes with the call. A long one is a blob, of which the process is told the file:
//! it passes no socket, and calls of one host that read it share the pages.

use tidings_tasks_core::id::TaskId;
use tokio::task::JoinSet;

use crate::inputs::{self, Content};
use crate::runtime::{Given, Value};
use crate::spawn::boxed;

use super::inputs::not_had;
use super::shared::Shared;
use super::verdict::Verdict;

/// The values of some calls, asked for together, and how many bytes came from other nodes for them.
pub(super) async fn of(shared: &Shared, calls: &[TaskId]) -> Result<(Vec<Given>, u64), Verdict> {
    let mut moved_bytes = 0;
    let mut asked = JoinSet::new();
    for (at, &task) in calls.iter().enumerate() {
        let (session, payloads) = (shared.session.clone(), shared.payloads.clone());
        asked.spawn(boxed(async move {
            (at, task, inputs::read_done(&session, &payloads, task).await)
        }));
    }
    let mut values = Vec::with_capacity(calls.len());
    while let Some(got) = asked.join_next().await {
        let (at, task, content) = got.unwrap_or_else(|error| {
            // Nothing is cancelled here.
            std::panic::resume_unwind(error.into_panic())
        });
        let content = content
            .map_err(|error| not_had(&error, format!("input {task} cannot be had: {error}")))?;
        moved_bytes += content.moved_bytes();
        values.push((at, Given { task, value: value(&content) }));
    }
    values.sort_unstable_by_key(|(at, _)| *at);
    Ok((values.into_iter().map(|(_, given)| given).collect(), moved_bytes))
}

fn value(content: &Content) -> Value {
    let file = content.file().and_then(|(path, range)| Some((path.to_str()?.to_owned(), range)));
    match file {
        Some((path, range)) => {
            let (from, bytes) = (range.start as u64, range.len() as u64);
            Value::File { path, from, bytes }
        }
        None => Value::Here(content.to_vec()),
    }
}
