//! Who waits for the vectors of other colonies.

use tidings_gossip::ColonyId;
use tokio::sync::oneshot;

/// Who waits for which colony's vector, first come first.
#[derive(Debug, Default)]
pub(super) struct Visits {
    pub(super) waiting: Vec<(ColonyId, oneshot::Sender<String>)>,
    /// The colony that the node is visiting.
    pub(super) under_way: Option<ColonyId>,
}
