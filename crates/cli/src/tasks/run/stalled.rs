//! A run that makes no progress: when no task of it has ended for a while, and the first that has
//! not ended fits no worker that is there, the run says so. It goes on waiting: such a worker may
//! come.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tidings_tasks_core::id::TaskId;
use tokio::time::Instant;

use super::super::client::Client;
use super::super::explain;
use super::super::failure::TasksError;
use super::row::{Ended, Row};

/// How long nothing ends before it is asked why.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is known of a run to tell whether it makes progress.
pub(super) struct Stalled {
    /// Tasks that have not ended, by the numbers of their rows.
    open: BTreeMap<usize, TaskId>,
    /// Since when nothing has ended.
    since: Instant,
    /// What was said: nothing is said twice.
    said: BTreeSet<String>,
}

impl Stalled {
    pub(super) fn new() -> Self {
        Self { open: BTreeMap::new(), since: Instant::now(), said: BTreeSet::new() }
    }

    /// A task of the run, which ends later.
    pub(super) fn know(&mut self, row: &Row) {
        self.open.insert(row.number, row.submission.id);
    }

    /// A task has ended.
    pub(super) fn ended(&mut self, ended: &Ended) {
        self.open.remove(&ended.row.number);
        self.since = Instant::now();
    }

    /// Comes when it is to be asked why nothing ends.
    pub(super) async fn due(&self) {
        tokio::time::sleep_until(self.since + PATIENCE).await;
    }

    /// Asks, and returns what is to be said.
    pub(super) async fn ask(&mut self, client: &Client) -> Result<Option<String>, TasksError> {
        self.since = Instant::now();
        let Some(&task) = self.open.values().next() else { return Ok(None) };
        let Some(text) = explain::obstacle(client, task).await? else { return Ok(None) };
        let is_new = self.said.insert(text.clone());
        Ok(is_new.then(|| format!("task {task} waits: {text}")))
    }
}
