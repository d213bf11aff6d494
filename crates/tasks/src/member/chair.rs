//! The chair of one part, as a process sees it that stands by for it: it serves the part, or
//! follows whoever does, as the role goes from one to the other.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::message::{Call, Request};
use tidings_tasks_core::record::Reign;
use tokio::sync::watch;

use super::away;
use super::place::{LinkError, Place, SCHEME, until_left};
use crate::keeper;
use crate::net::endpoint::Endpoint;
use crate::net::{Credentials, Failure, connect};
use crate::service::{Service, Services};
use crate::standby::{Standby, Standing};
use crate::store::Store;

/// The time from one wish for a part to the next.
const AGAIN: Duration = Duration::from_secs(1);

/// What serves or follows.
pub(super) struct Chair {
    pub(super) part: Part,
    pub(super) parts: u16,
    /// Whether it asks for parts of others, since it stays.
    pub(super) contends: bool,
    /// The store, in words.
    pub(super) place: String,
    pub(super) own: Credentials,
    /// Where others reach this process.
    pub(super) reached: Endpoint,
    /// The folder whose blobs are freed by whoever has this chair.
    pub(super) blobs: Option<PathBuf>,
    pub(super) store: Arc<dyn Store>,
    /// The services of all parts that this process serves, and that of this part among them.
    pub(super) services: Services,
    pub(super) served: watch::Sender<Option<Service>>,
    pub(super) sender: watch::Sender<Place>,
}

impl Chair {
    /// Serves or follows until it is to end, or cannot go on: why. The role is given up then.
    pub(super) async fn keep(self, standby: Standby, ending: watch::Receiver<bool>) -> LinkError {
        let ended = tokio::select! {
            ended = self.stand_by(&standby) => ended,
            () = until_left(&ending) => LinkError::Ended,
        };
        self.served.send_replace(None);
        standby.leave().await;
        ended
    }

    async fn stand_by(&self, standby: &Standby) -> LinkError {
        let mut standing = standby.standing();
        loop {
            let now = standing.borrow_and_update().clone();
            let leads = matches!(now, Standing::Leads(_));
            if !leads {
                self.served.send_replace(None);
            }
            let doing = async {
                match now {
                    Standing::Open(None) => self.is_nowhere(None),
                    Standing::Open(Some(why)) => {
                        let place = self.place.clone();
                        self.is_nowhere(Some(LinkError::Lost { place, why }));
                    }
                    Standing::Leads(service) => self.serve(service).await,
                    Standing::Follows(reign) => return self.follow(&reign, standby).await,
                }
                core::future::pending().await
            };
            tokio::select! {
                ended = doing => return ended,
                changed = standing.changed() => if changed.is_err() {
                    return LinkError::Ended;
                },
            }
        }
    }

    async fn serve(&self, service: Service) {
        self.served.send_replace(Some(service));
        self.sender.send_replace(Place::Here(self.services.clone(), Some(self.reached.clone())));
        if let Some(folder) = self.blobs.clone() {
            keeper::keep(self.store.clone(), self.parts, folder).await;
        }
    }

    /// Follows whoever serves, as long as nothing else is known.
    async fn follow(&self, reign: &Reign, standby: &Standby) -> LinkError {
        let place = reign.address.strip_prefix(SCHEME).and_then(|place| place.parse().ok());
        let Some(at) = place else {
            return LinkError::Role {
                place: self.place.clone(),
                coordinator: reign.coordinator.clone(),
                address: reign.address.clone(),
            };
        };
        // Something else may listen where the one that served has ended just now.
        let fatal = |failure: &Failure| {
            matches!(failure, Failure::Key | Failure::Cluster(_) | Failure::Version(_))
        };
        let ended = || standby.has_ended(reign.epoch);
        tokio::select! {
            ended = away::follow((&at, self.part), &self.own, &self.sender, fatal, ended) => ended,
            never = self.wish(&at, standby), if self.contends => match never {},
        }
    }

    /// Asks for the part whenever whoever serves it has more than this process.
    async fn wish(&self, at: &Endpoint, standby: &Standby) -> Infallible {
        loop {
            let has = standby.wishes().await;
            // One that cannot be asked is asked later, and who has ended is noticed elsewhere.
            if let Ok(mut remote) = connect::connect(at, &self.own, self.part).await {
                if remote.send(Call(1), Request::Cede { has }).await {
                    remote.receive().await;
                }
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    fn is_nowhere(&self, trouble: Option<LinkError>) {
        self.sender.send_replace(Place::Nowhere(trouble));
    }
}
