//! A member of a store that its program has opened itself: of an engine of its own, or of one that
//! is wrapped in another. It stands by for each part, and serves those whose role it has.

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::reign::Candidate;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::place::{LONGEST_WAIT, LinkError, Others, Place, places_of, until_left};
use crate::parts::{self, PartsError};
use crate::service::{Options, Services};
use crate::spawn::boxed;
use crate::standby::{Seats, Standby, Standing};
use crate::store::Store;

/// What takes part.
pub(super) struct Opened {
    pub(super) store: Arc<dyn Store>,
    pub(super) candidate: Candidate,
    pub(super) options: Options,
    pub(super) sender: watch::Sender<Place>,
    pub(super) others: Others,
    pub(super) leaving: watch::Receiver<bool>,
}

impl Opened {
    pub(super) async fn run(self) {
        let ended = tokio::select! {
            parts = self.parts() => match parts {
                Ok(parts) => self.stand_by(parts).await,
                Err(error) => error,
            },
            () = until_left(&self.leaving) => LinkError::Ended,
        };
        for place in places_of(&self.others).iter().chain([&self.sender]) {
            place.send_replace(Place::Failed(ended.clone()));
        }
    }

    /// How many parts there are, as soon as the store says so.
    async fn parts(&self) -> Result<u16, LinkError> {
        loop {
            match parts::of(&*self.store).await {
                Ok((parts, _)) => return Ok(parts),
                Err(PartsError::Lost(_)) => tokio::time::sleep(LONGEST_WAIT).await,
                Err(why) => {
                    let place = "the store that was opened".to_owned();
                    return Err(LinkError::Parts { place, why });
                }
            }
        }
    }

    async fn stand_by(&self, parts: u16) -> LinkError {
        self.others.get_or_init(|| Place::nowhere(parts));
        let (seats, mut standing) = (Seats::default(), JoinSet::new());
        let places = core::iter::once(&self.sender).chain(places_of(&self.others));
        for (part, place) in parts::all(parts).zip(places) {
            let (store, candidate) = (self.store.clone(), self.candidate.clone());
            let options = self.options.clone();
            let standby =
                Standby::begin_among(&seats, store, part, candidate, options, Duration::ZERO);
            standing.spawn(boxed(tell(standby, part, parts, place.clone(), self.leaving.clone())));
        }
        while standing.join_next().await.is_some() {}
        LinkError::Ended
    }
}

/// Tells where the service of a part is, until it is given up.
async fn tell(
    standby: Standby,
    part: Part,
    parts: u16,
    sender: watch::Sender<Place>,
    leaving: watch::Receiver<bool>,
) {
    let mut standing = standby.standing();
    let telling = async {
        loop {
            let place = match &*standing.borrow_and_update() {
                Standing::Leads(service) => {
                    let here = watch::channel(Some(service.clone())).1;
                    let none = watch::channel(None).1;
                    let of = |one| if one == part { here.clone() } else { none.clone() };
                    Place::Here(Services::of(parts::all(parts).map(of)), None)
                }
                // Nobody has said how another one is reached.
                Standing::Open(_) | Standing::Follows(_) => Place::Nowhere(None),
            };
            sender.send_replace(place);
            if standing.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = telling => {}
        () = until_left(&leaving) => {}
    }
    standby.leave().await;
}
