//! What the page is told: an object of JSON (docs/reference/tasks.md).

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tidings_tasks_core::view::{MAX_RECENT, Overview, TryView};

use super::super::super::kinds;
use super::super::ls;

/// An answer to the page.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    now_ms: u64,
    store: String,
    #[serde(flatten)]
    overview: ls::Picture,
    failures: Vec<TryLine>,
    ended: Vec<TryLine>,
    running: Vec<TryLine>,
    /// The number of the last try of `ended`, as text: it may be more than a browser counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// Whether more have ended after that.
    more: bool,
}

/// A try.
#[derive(Debug, Serialize)]
struct TryLine {
    task: String,
    attempt: u32,
    queue: String,
    worker: String,
    host: String,
    slot: u32,
    since_ms: u64,
    ended_ms: u64,
    outcome: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    text: String,
}

impl Picture {
    pub(super) fn of(
        store: String,
        overview: &Overview,
        ended: &[TryView],
        running: &[TryView],
    ) -> Self {
        let lines = |tries: &[TryView], no_cause: &'static str| {
            tries.iter().map(|one| TryLine::of(one, no_cause)).collect()
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            now_ms: now.as_millis() as u64,
            store,
            failures: lines(&overview.failures, "done"),
            ended: lines(ended, "done"),
            running: lines(running, "running"),
            last: ended.last().map(|last| last.number.to_string()),
            more: ended.len() == MAX_RECENT,
            overview: ls::of(overview),
        }
    }
}

impl TryLine {
    fn of(one: &TryView, no_cause: &'static str) -> Self {
        Self {
            task: one.task.to_string(),
            attempt: one.attempt.0,
            queue: one.queue.to_string(),
            worker: one.by.worker.to_string(),
            host: one.by.host.to_string(),
            slot: one.by.slot,
            since_ms: one.by.since_ms,
            ended_ms: one.ended_ms,
            outcome: one.cause.map_or(no_cause, kinds::cause),
            text: one.text.clone(),
        }
    }
}
