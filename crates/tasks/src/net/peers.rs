//! Peers: other nodes' depots. Outputs that stay on nodes are fetched from whichever of them has
//! one, and copies are sent there.
//!
//! Nothing is waited for that does not answer: a node may be gone, and who asks goes on to the next
//! one, or has the output made again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidings_tasks_core::output::Reached;

use super::blobs::Holders;
use super::depot::{Depot, DepotError};
use super::handshake::Credentials;
use crate::blobs::{Blobs, Handle};

/// The depots to which a connection is kept.
const MAX_KNOWN: usize = 64;

/// The depots of other nodes.
#[derive(Debug)]
pub(crate) struct Peers {
    own: Credentials,
    known: Mutex<BTreeMap<String, Arc<Depot>>>,
}

impl Peers {
    pub(crate) fn new(own: Credentials) -> Self {
        Self { own, known: Mutex::default() }
    }

    /// Copies a blob into a folder here from the first depot that has it, checked as
    /// [`Depot::fetch`] does.
    ///
    /// # Errors
    /// None has it, or there is no space here: why the last one gave nothing.
    pub(crate) async fn fetch(
        &self,
        from: &[Reached],
        handle: Handle,
        into: &Arc<Blobs>,
    ) -> Result<(), DepotError> {
        let mut last = DepotError::Nowhere(handle);
        for reached in from {
            let Some(depot) = self.depot(&reached.address) else { continue };
            match depot.fetch_once(handle, into).await {
                Ok(()) => return Ok(()),
                Err(error @ DepotError::Blob(_)) => return Err(error),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Puts a content there, unless it is there already, and pins it for some tasks.
    ///
    /// # Errors
    /// It cannot be reached, or has no space.
    pub(crate) async fn send(
        &self,
        to: &Reached,
        content: &[u8],
        handle: Handle,
        of: Holders<'_>,
    ) -> Result<(), DepotError> {
        let depot = self.depot(&to.address).ok_or(DepotError::Nowhere(handle))?;
        depot.send_once(content, handle, of).await
    }

    /// Pins a blob there for some tasks.
    ///
    /// # Errors
    /// It cannot be reached, or does not have it.
    pub(crate) async fn pin(
        &self,
        at: &Reached,
        handle: Handle,
        of: Holders<'_>,
    ) -> Result<(), DepotError> {
        let depot = self.depot(&at.address).ok_or(DepotError::Nowhere(handle))?;
        depot.pin_once(handle, of).await
    }

    /// The depot at an address; none if that is no address.
    fn depot(&self, address: &str) -> Option<Arc<Depot>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(depot) = known.get(address) {
            return Some(depot.clone());
        }
        if known.len() == MAX_KNOWN {
            known.clear();
        }
        let depot = Arc::new(Depot::new(address.parse().ok()?, self.own.clone()));
        known.insert(address.to_owned(), depot.clone());
        Some(depot)
    }
}
