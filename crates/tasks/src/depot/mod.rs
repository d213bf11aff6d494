//! The depot of a node, kept: what no task of the store names any more is freed there.
//!
//! As the keeper of a store's folder does, but by way of the coordinator: who has a depot may be on
//! another host than the store.

pub(crate) mod serving;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::message::{Answer, Request};

use crate::blobs::{self, Blobs};
use crate::keeper::{self, KeepError};
use crate::session::Session;

/// Frees what no record names, from time to time, for ever.
pub(crate) async fn tend(session: &Session, blobs: &Arc<Blobs>) {
    loop {
        // What cannot be freed now may be at the next look.
        let _ = free(session, blobs, blobs::GRACE).await;
        tokio::time::sleep(keeper::PERIOD).await;
    }
}

/// Drops the pins of tasks that have no record, and collects what nobody pins, as far as it is
/// older than the grace. Returns how many bytes that freed.
///
/// # Errors
/// The session has ended, or the folder cannot be used.
pub async fn free(
    session: &Session,
    blobs: &Arc<Blobs>,
    grace: Duration,
) -> Result<u64, KeepError> {
    drop_pins(session, blobs, grace).await?;
    keeper::collect(blobs, grace).await
}

/// Drops the pins of tasks that have no record, as far as they are older than the grace.
pub(crate) async fn drop_pins(
    session: &Session,
    blobs: &Arc<Blobs>,
    grace: Duration,
) -> Result<(), KeepError> {
    let mut gone = BTreeSet::new();
    for some in keeper::pinned(blobs, grace).await?.chunks(keeper::TASKS) {
        let asked = session.ask(Request::Unknown { tasks: some.to_vec() }).await;
        if let Answer::Unknown(unknown) = asked.map_err(|_| KeepError::Ending)? {
            gone.extend(unknown.into_iter().flat_map(blobs::holders_of));
        }
    }
    keeper::drop_pins(blobs, gone, grace).await
}
