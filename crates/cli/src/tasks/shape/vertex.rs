//! A task as its graph needs it.

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::record::{Finished, State, Task};
use tidings_tasks_core::view::Shown;

use super::super::kinds;

/// What is taken from a task's record.
pub(super) struct Vertex {
    pub(super) id: TaskId,
    pub(super) name: String,
    pub(super) state: &'static str,
    /// The tasks that it waits for.
    pub(super) inputs: Vec<TaskId>,
    /// How long its last try took, or has taken so far; 0 before the first.
    pub(super) ms: u64,
    /// Where it runs or was done.
    pub(super) host: Option<String>,
    /// The hosts that have its output, if that stays on nodes.
    pub(super) lies: Vec<String>,
    /// How long that is.
    pub(super) bytes: u64,
    /// Whether it was made again, or is.
    pub(super) is_again: bool,
}

impl Vertex {
    pub(super) fn of(id: TaskId, shown: &Shown, now_ms: u64) -> Self {
        let task = shown.task();
        let (kept, made_before) = match shown {
            Shown::Finished(finished) => (finished.kept.as_ref(), 1),
            Shown::Live(_) => (None, 0),
        };
        Self {
            id,
            name: kinds::label(shown),
            state: kinds::state(shown),
            inputs: task.inputs.clone(),
            ms: taken_ms(shown, now_ms),
            host: kinds::host(shown).map(str::to_owned),
            lies: kept.map_or_else(Vec::new, |kept| {
                kept.depots.iter().map(|depot| depot.host.clone()).collect()
            }),
            bytes: kept.map_or(0, |kept| kept.bytes),
            is_again: task.made > made_before,
        }
    }
}

fn taken_ms(shown: &Shown, now_ms: u64) -> u64 {
    match shown {
        Shown::Finished(Finished { done_by: Some(by), ended_ms, .. }) => {
            ended_ms.saturating_sub(by.since_ms)
        }
        Shown::Live(Task { state: State::Running(by), .. }) => now_ms.saturating_sub(by.since_ms),
        Shown::Finished(Finished { task, .. }) => {
            let last = task.failures.last();
            last.map_or(0, |last| last.at_ms.saturating_sub(last.since_ms))
        }
        Shown::Live(_) => 0,
    }
}

#[cfg(test)]
impl Vertex {
    /// A task that is done and waited for nothing.
    pub(super) fn plain(id: TaskId, name: &str, ms: u64) -> Self {
        Self {
            id,
            name: name.to_owned(),
            state: "done",
            inputs: Vec::new(),
            ms,
            host: Some("n1".to_owned()),
            lies: Vec::new(),
            bytes: 0,
            is_again: false,
        }
    }
}
