//! A member of a store that many processes open at a time: in an etcd, or in their memory.
//!
//! It listens before it stands by, since the record of the role says where others find whoever has
//! it. The store tells who that is ([`standby`](crate::standby)); links move there by themselves
//! when it changes, also those whose other side is only frozen.
//!
//! A process that the others of a store in memory found dead, and is not, opens it again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::record::Reign;
use tidings_tasks_core::reign::Candidate;
use tokio::sync::watch;

use super::away;
use super::in_memory::InMemory;
use super::place::{Bid, LEFT_TO_OTHERS, LinkError, Place, until_left};
use crate::blocks::{Blocks, Settings};
use crate::keeper;
use crate::net::endpoint::Endpoint;
use crate::net::listen::{self, Listener, Served};
use crate::net::store::offer::Offer;
use crate::net::{Credentials, Failure, route};
use crate::service::{Options, Service};
use crate::standby::{Standby, Standing};
use crate::store::Store;
use crate::store::address::{Address, OpenError};
#[cfg(feature = "etcd")]
use crate::store::etcd;

/// The time after which silent servers are spoken of.
const PATIENCE: Duration = Duration::from_secs(1);

/// The wait before servers are tried again that could not be used.
const AGAIN: Duration = Duration::from_secs(1);

/// What the address of a process begins with.
const SCHEME: &str = "tcp://";

/// A store that is open, and this process among those in whose memory it is.
#[derive(Clone)]
struct Opened {
    store: Arc<dyn Store>,
    blocks: Option<Arc<Blocks>>,
}

/// What takes part.
pub(super) struct Sharer {
    pub(super) address: Address,
    pub(super) own: Credentials,
    pub(super) listen: Option<Endpoint>,
    pub(super) bid: Bid,
    pub(super) candidate: Candidate,
    pub(super) options: Options,
    pub(super) sender: watch::Sender<Place>,
    pub(super) leaving: watch::Receiver<bool>,
}

impl Sharer {
    pub(super) async fn run(self) {
        let ended = loop {
            if let Some(ended) = self.turn().await {
                break ended;
            }
            self.is_nowhere(None);
        };
        self.sender.send_replace(Place::Failed(ended));
    }

    /// Takes part until that is over, for the reason that it returns, or must begin again.
    async fn turn(&self) -> Option<LinkError> {
        let beginning = async {
            let listener = self.listen().await?;
            Ok((self.open(listener.reached()).await?, listener))
        };
        let begun = tokio::select! {
            begun = beginning => begun,
            () = until_left(&self.leaving) => Err(LinkError::Ended),
        };
        let (opened, listener) = match begun {
            Ok(begun) => begun,
            Err(error) => return Some(error),
        };
        let ended = self.take_part(&opened.store, opened.blocks.as_deref(), listener).await;
        if let Some(blocks) = opened.blocks {
            blocks.quit().await;
        }
        ended
    }

    /// Opens the store as soon as its servers can be used.
    async fn open(&self, reached: &Endpoint) -> Result<Opened, LinkError> {
        let silent = async {
            tokio::time::sleep(PATIENCE).await;
            if matches!(*self.sender.borrow(), Place::Nowhere(None)) {
                self.is_nowhere(Some(LinkError::Silent(self.place())));
            }
            core::future::pending::<Infallible>().await
        };
        tokio::select! {
            opened = self.opening(reached) => opened,
            never = silent => match never {},
        }
    }

    async fn opening(&self, reached: &Endpoint) -> Result<Opened, LinkError> {
        loop {
            match self.engine(reached).await {
                Ok(opened) => return Ok(opened),
                Err(error) if may_pass(&error) => {
                    self.is_nowhere(Some(Arc::new(error).into()));
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => return Err(Arc::new(error).into()),
            }
        }
    }

    async fn engine(&self, reached: &Endpoint) -> Result<Opened, OpenError> {
        let Address::Block { name, views } = &self.address else {
            let store = self.address.open(&self.own.cluster).await?;
            return Ok(Opened { store, blocks: None });
        };
        let settings = Settings {
            host: self.candidate.host.clone(),
            listen: Endpoint { host: reached.host.clone(), port: 0 },
            own: self.own.clone(),
            board: self.options.board.clone(),
            ..Settings::here(&self.own.cluster)
        };
        let (store, blocks) = InMemory { name, views }.open(settings).await?;
        Ok(Opened { store: Arc::new(store), blocks: Some(blocks) })
    }

    async fn listen(&self) -> Result<Listener, LinkError> {
        let at = match &self.listen {
            Some(at) => at.clone(),
            None => self.usual_endpoint().await?,
        };
        Ok(listen::listen(&at, &self.own, &self.candidate.host).await?)
    }

    /// Any port, at the address by which this host reaches the others; of loopback, if all of them
    /// are on this host.
    async fn usual_endpoint(&self) -> Result<Endpoint, LinkError> {
        let ways = self.address.ways();
        if ways.is_empty() {
            return Ok(Endpoint { host: "127.0.0.1".to_owned(), port: 0 });
        }
        match route::own_address(&ways).await {
            Ok(own) => Ok(Endpoint { host: own.to_string(), port: 0 }),
            Err(error) => {
                let (place, why) = (self.place(), error.to_string());
                Err(LinkError::Route { place, why })
            }
        }
    }

    /// Stands by until it is to end, or cannot go on: why. Without a reason it must begin again.
    async fn take_part(
        &self,
        store: &Arc<dyn Store>,
        blocks: Option<&Blocks>,
        listener: Listener,
    ) -> Option<LinkError> {
        let reached = listener.reached().clone();
        let candidate =
            Candidate { address: format!("{SCHEME}{reached}"), ..self.candidate.clone() };
        let patience = match self.bid {
            Bid::AtOnce => Duration::ZERO,
            Bid::IfNobodyElse => LEFT_TO_OTHERS,
        };
        let options = self.options.clone();
        let standby = Standby::begin(store.clone(), Part(0), candidate, options, patience);
        let (served, serving) = watch::channel(None);
        // Also while another one has the role: who cannot reach the servers speaks through this.
        let all = Served {
            service: Some(serving),
            store: Some(Offer::of_blocks(store.clone())),
            ..Served::default()
        };
        let ended = tokio::select! {
            ended = self.stand_by(store, &standby, &reached, &served) => Some(ended),
            () = listener.serve(all) => Some(LinkError::Ended),
            () = until_left(&self.leaving) => Some(LinkError::Ended),
            () = until_lost(blocks) => None,
        };
        served.send_replace(None);
        standby.leave().await;
        ended
    }

    /// Serves, or follows whoever serves, as the role goes from one to the other.
    async fn stand_by(
        &self,
        store: &Arc<dyn Store>,
        standby: &Standby,
        reached: &Endpoint,
        served: &watch::Sender<Option<Service>>,
    ) -> LinkError {
        let mut standing = standby.standing();
        loop {
            let now = standing.borrow_and_update().clone();
            let leads = matches!(now, Standing::Leads(_));
            if !leads {
                served.send_replace(None);
            }
            let doing = async {
                match now {
                    Standing::Open(None) => self.is_nowhere(None),
                    Standing::Open(Some(why)) => {
                        self.is_nowhere(Some(LinkError::Lost { place: self.place(), why }));
                    }
                    Standing::Leads(service) => {
                        served.send_replace(Some(service.clone()));
                        self.sender.send_replace(Place::Here(service, Some(reached.clone())));
                        if let Some(folder) = self.options.blobs.clone() {
                            keeper::keep(store.clone(), Part(0), folder).await;
                        }
                    }
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

    /// Follows whoever serves, as long as nothing else is known.
    async fn follow(&self, reign: &Reign, standby: &Standby) -> LinkError {
        let place = reign.address.strip_prefix(SCHEME).and_then(|place| place.parse().ok());
        let Some(at) = place else {
            return LinkError::Role {
                place: self.place(),
                coordinator: reign.coordinator.clone(),
                address: reign.address.clone(),
            };
        };
        // Something else may listen where the one that served has ended just now.
        let fatal = |failure: &Failure| {
            matches!(failure, Failure::Key | Failure::Cluster(_) | Failure::Version(_))
        };
        let ended = || standby.has_ended(reign.epoch);
        away::follow(&at, &self.own, &self.sender, fatal, ended).await
    }

    fn is_nowhere(&self, trouble: Option<LinkError>) {
        self.sender.send_replace(Place::Nowhere(trouble));
    }

    fn place(&self) -> String {
        self.address.to_string()
    }
}

/// Whether a store may be opened later, as it is.
fn may_pass(error: &OpenError) -> bool {
    match error {
        #[cfg(feature = "etcd")]
        OpenError::Etcd(etcd::OpenError::Unreachable { .. }) => true,
        OpenError::Apart { .. } => true,
        _ => false,
    }
}

/// Returns when the others go on without this process.
async fn until_lost(blocks: Option<&Blocks>) {
    let Some(blocks) = blocks else { return core::future::pending().await };
    let mut view = blocks.view();
    while view.changed().await.is_ok() {}
}
