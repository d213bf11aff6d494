//! Watching a history that lies in this process.
//!
//! The watcher asks for what came after the revision it has seen, and sleeps while that is nothing.
//! So nothing is queued for it: a slow one finds that the history no longer reaches back far
//! enough, and begins again.

use std::sync::Arc;

use async_trait::async_trait;
use tidings_tasks_core::ledger::Compacted;
use tidings_tasks_core::transaction::{Event, Revision};
use tokio::sync::watch::Receiver;

use super::{Batch, Watch, WatchError};

/// Why an engine in this process no longer answers.
pub(super) const CLOSED: &str = "it was closed";

/// What has changed, as far back as it is held.
pub(super) trait History: Send + Sync {
    /// Changes after a revision of keys that begin with `prefix`: whole revisions, not very many at
    /// once; and up to where these are all.
    fn changes(&self, prefix: &[u8], after: Revision) -> Result<(Vec<Event>, Revision), Compacted>;
}

/// A watcher of a history.
pub(super) struct Follower {
    history: Arc<dyn History>,
    /// The last revision of the history; closed with the store.
    news: Receiver<Revision>,
    prefix: Box<[u8]>,
    seen: Revision,
}

impl Follower {
    /// Watches from a revision on, of which the history must still hold all that follows.
    pub(super) fn begin(
        history: Arc<dyn History>,
        news: Receiver<Revision>,
        prefix: &[u8],
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError> {
        history.changes(prefix, after).map_err(too_late)?;
        Ok(Box::new(Self { history, news, prefix: prefix.into(), seen: after }))
    }
}

#[async_trait]
impl Watch for Follower {
    async fn next(&mut self) -> Result<Batch, WatchError> {
        loop {
            self.news.borrow_and_update();
            let (events, revision) =
                self.history.changes(&self.prefix, self.seen).map_err(too_late)?;
            let more = revision > self.seen;
            self.seen = self.seen.max(revision);
            if !events.is_empty() {
                return Ok(Batch { events, revision });
            }
            if !more {
                let closed = |_| WatchError::Lost(CLOSED.into());
                self.news.changed().await.map_err(closed)?;
            }
        }
    }
}

fn too_late(compacted: Compacted) -> WatchError {
    WatchError::Compacted(compacted.0)
}
