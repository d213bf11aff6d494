//! Tending: what nobody needs any more is freed.
//!
//! A blob is needed while a process that lives holds it, a task has it pinned that has a record, or
//! a tuple names it, which the coordinator knows. One process of the node looks from time to time,
//! whichever comes first. It frees what it has found not needed in each look for the [`GRACE`]: so
//! a reader has that time from taking a tuple to getting the blob.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tidings_tasks_core::message::{Answer, MAX_TASKS, Request};
use tokio::time::Instant;

use super::holder;
use crate::blobs::{self, BlobError, Blobs};
use crate::depot;
use crate::keeper::{KeepError, blocking};
use crate::session::Session;

/// How long a blob stays that nobody needs, and a pin of a task that has no record.
pub const GRACE: Duration = Duration::from_secs(30);

/// The time from one look to the next.
const PERIOD: Duration = Duration::from_secs(10);

/// Since when each blob was not needed, by its name.
#[derive(Debug, Default)]
struct Unneeded(BTreeMap<String, Instant>);

/// Looks from time to time, for ever.
pub(super) async fn tend(session: Session, blobs: Arc<Blobs>) {
    let mut unneeded = Unneeded::default();
    loop {
        tokio::time::sleep(PERIOD).await;
        // What cannot be freed now may be at the next look.
        let _ = unneeded.look(&session, &blobs, Look::Usual).await;
    }
}

/// Frees at once what is not needed. Returns how many bytes that freed.
pub(super) async fn free_now(session: &Session, blobs: &Arc<Blobs>) -> Result<u64, KeepError> {
    Unneeded::default().look(session, blobs, Look::Now).await
}

/// How it is looked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    /// If nobody else does, and what is found was not needed for the grace.
    Usual,
    /// What is found goes.
    Now,
}

impl Unneeded {
    /// Looks once. Returns how many bytes that freed.
    async fn look(
        &mut self,
        session: &Session,
        blobs: &Arc<Blobs>,
        how: Look,
    ) -> Result<u64, KeepError> {
        let grace = if how == Look::Now { Duration::ZERO } else { GRACE };
        let path = blobs.folder().join("tending");
        let lock = move || {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(|error| BlobError::file(&path, &error))?;
            let is_mine = match how {
                Look::Usual => flock(&file, FlockOperation::NonBlockingLockExclusive),
                Look::Now => flock(&file, FlockOperation::LockExclusive),
            };
            Ok(is_mine.is_ok().then_some(file))
        };
        let Some(_lock) = blocking(lock).await? else {
            self.0.clear();
            return Ok(0);
        };
        // Those who submit a task pin before they have a record.
        depot::drop_pins(session, blobs, GRACE).await?;
        let folder = blobs.clone();
        let unpinned = blocking(move || {
            let dead = holder::dead(folder.folder(), folder.holders(Duration::ZERO)?);
            folder.drop_pins(&dead, Duration::ZERO)?;
            folder.sweep()?;
            folder.unpinned(grace)
        });
        let now = Instant::now();
        let unneeded = unnamed(session, unpinned.await?).await?;
        let since = |name: String| (self.0.get(&name).copied().unwrap_or(now), name);
        self.0 = unneeded.into_iter().map(since).map(|(since, name)| (name, since)).collect();
        let is_over = |since: &Instant| now.duration_since(*since) >= grace;
        let over = self.0.iter().filter(|(_, since)| is_over(since));
        let over: Vec<String> = over.map(|(name, _)| name.clone()).collect();
        let folder = blobs.clone();
        blocking(move || folder.free(&over, grace)).await
    }
}

/// Those of some blobs, by their names, that no tuple names.
async fn unnamed(session: &Session, all: Vec<String>) -> Result<Vec<String>, KeepError> {
    let mut unnamed = Vec::new();
    for some in all.chunks(MAX_TASKS) {
        let blobs = some.iter().filter_map(|hex| blobs::hash_of(hex)).map(Into::into).collect();
        let answer = session.ask(Request::Unnamed { blobs }).await;
        if let Answer::Unnamed(some) = answer.map_err(|_| KeepError::Ending)? {
            unnamed.extend(some.into_iter().map(|hash| blobs::hex(&hash)));
        }
    }
    Ok(unnamed)
}
