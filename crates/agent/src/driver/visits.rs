//! The requests that wait for vectors of other colonies.

use tidings_gossip::ColonyId;
use tokio::sync::oneshot;

/// Which requests wait for which colony's vector, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Visits {
    pub(super) waiting: Vec<(ColonyId, oneshot::Sender<String>)>,
    /// The colony that the node is visiting.
    pub(super) under_way: Option<ColonyId>,
}
