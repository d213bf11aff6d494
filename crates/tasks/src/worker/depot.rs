//! The depot of a worker's node: outputs that stay here, served to others, and freed when no record
//! names their tasks.
//!
//! Invariant: an output that was reported to the coordinator is in the depot and pinned for its
//! task, so it is there until the record is gone, or the node is.

use std::sync::Arc;

use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::output::{Depot, MAX_COPIES, Reached};

use crate::blobs::{Blobs, Handle};
use crate::depot::{self, serving};
use crate::member::Member;
use crate::net::endpoint::Endpoint;
use crate::payloads::{PayloadError, Payloads};
use crate::session::Session;

/// The depot of a worker's node.
#[derive(Debug)]
pub(super) struct OwnDepot {
    pub(super) depot: Depot,
    pub(super) payloads: Payloads,
}

/// Serves a depot, and says so to the coordinator. None if others cannot reach this host: then
/// outputs go where others go. The second result is what serves it, for ever.
pub(super) async fn begin(
    member: &Member,
    blobs: Arc<Blobs>,
    host: &str,
) -> Option<(OwnDepot, Reached, impl Future<Output = ()> + Send + use<>)> {
    let ip = member.own_address().await.ok()?;
    let at = Endpoint { host: ip.to_string(), port: 0 };
    let (address, serving) = serving::begin(member, blobs.clone(), host, &at).await.ok()?;
    let folder = blobs.clone();
    let id = crate::spawn::spawn_blocking(move || folder.depot_id()).await.ok()?.ok()?;
    let depot = Depot { id, host: host.to_owned() };
    let reached = Reached { depot: depot.clone(), address, folder: None };
    let payloads = Payloads::in_folder(blobs.folder());
    Some((OwnDepot { depot, payloads }, reached, serving))
}

/// Says that the depot is there, and frees from time to time what no record names.
pub(super) async fn tend(session: Session, reached: Reached, blobs: Arc<Blobs>) {
    // It is said again by the session whenever that is opened again.
    match session.ask(Request::Keep { reached }).await {
        Ok(Answer::Done) => depot::tend(&session, &blobs).await,
        // A coordinator that knows nothing of depots.
        _ => core::future::pending().await,
    }
}

impl OwnDepot {
    /// Copies blobs of a task to other nodes, so that so many have them, or as many as there are.
    /// Returns which have them.
    pub(super) async fn copy(
        &self,
        session: &Session,
        reading: &Payloads,
        (task, handles): (tidings_tasks_core::id::TaskId, &[Handle]),
        copies: u32,
    ) -> Result<Vec<Depot>, PayloadError> {
        let mut depots = vec![self.depot.clone()];
        let wanted = copies.min(MAX_COPIES).saturating_sub(1);
        if wanted == 0 {
            return Ok(depots);
        }
        // Beyond those that are wanted: one may be gone, or full.
        let (own, count) = (self.depot.clone(), MAX_COPIES);
        let request = Request::Depots { own, count, task: Some(task) };
        let Answer::Depots(others) = session.ask(request).await? else { return Ok(depots) };
        for other in others {
            if depots.len() > wanted as usize {
                break;
            }
            let mut is_whole = true;
            for handle in handles {
                let content = self.payloads.get(*handle).await?;
                is_whole &= reading.copy_to(&other, &content, *handle, task).await.is_ok();
            }
            if is_whole {
                depots.push(other.depot);
            }
        }
        Ok(depots)
    }
}
