//! A member of a store that its program has opened itself: of an engine of its own, or of one that
//! is wrapped in another. It stands by, and serves the store whenever it has the role.

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::reign::Candidate;
use tokio::sync::watch;

use super::place::{LinkError, Place, until_left};
use crate::service::Options;
use crate::standby::{Standby, Standing};
use crate::store::Store;

/// What takes part.
pub(super) struct Opened {
    pub(super) store: Arc<dyn Store>,
    pub(super) candidate: Candidate,
    pub(super) options: Options,
    pub(super) sender: watch::Sender<Place>,
    pub(super) leaving: watch::Receiver<bool>,
}

impl Opened {
    pub(super) async fn run(self) {
        let Self { store, candidate, options, sender, leaving } = self;
        let standby = Standby::begin(store, Part(0), candidate, options, Duration::ZERO);
        tokio::select! {
            () = tell(standby.standing(), &sender) => {}
            () = until_left(&leaving) => {}
        }
        standby.leave().await;
        sender.send_replace(Place::Failed(LinkError::Ended));
    }
}

/// Tells where the service is, as long as the standby stands.
async fn tell(mut standing: watch::Receiver<Standing>, sender: &watch::Sender<Place>) {
    loop {
        let place = match &*standing.borrow_and_update() {
            Standing::Leads(service) => Place::Here(service.clone(), None),
            // Nobody has said how another one is reached.
            Standing::Open(_) | Standing::Follows(_) => Place::Nowhere(None),
        };
        sender.send_replace(place);
        if standing.changed().await.is_err() {
            return;
        }
    }
}
