//! A member of a store that many processes open at a time: in an etcd, or in their memory.
//!
//! It listens before it stands by, since the record of a role says where others find whoever has
//! it. The store tells who that is ([`standby`](crate::standby)); links move there by themselves
//! when it changes, also those whose other side is only frozen. It stands by for each part of the
//! store (`chair`), and listens once for all.
//!
//! A process that the others of a store in memory found dead, and is not, opens it again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::reign::Candidate;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::chair::Chair;
use super::in_memory::InMemory;
use super::place::{
    Bid, LEFT_TO_OTHERS, LONGEST_WAIT, LinkError, Others, Place, SCHEME, places_of, until_left,
};
use crate::blocks::{Blocks, Settings};
use crate::net::endpoint::Endpoint;
use crate::net::listen::{self, Listener, Served};
use crate::net::store::offer::Offer;
use crate::net::{Credentials, route};
use crate::parts::{self, PartsError};
use crate::service::{Options, Services};
use crate::spawn::boxed;
use crate::standby::{Seats, Standby};
use crate::store::Store;
use crate::store::address::{Address, OpenError};
#[cfg(feature = "etcd")]
use crate::store::etcd;

/// The time after which silent servers are spoken of.
const PATIENCE: Duration = Duration::from_secs(1);

/// The wait before servers are tried again that could not be used.
const AGAIN: Duration = Duration::from_secs(1);

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
    pub(super) others: Others,
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
        for place in places_of(&self.others).iter().chain([&self.sender]) {
            place.send_replace(Place::Failed(ended.clone()));
        }
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

    /// Stands by for each part until it is to end, or cannot go on: why. Without a reason it must
    /// begin again.
    async fn take_part(
        &self,
        store: &Arc<dyn Store>,
        blocks: Option<&Blocks>,
        listener: Listener,
    ) -> Option<LinkError> {
        let parts = match self.parts(&**store).await {
            Ok(parts) => parts,
            Err(error) => return Some(error),
        };
        let (ending, is_ending) = watch::channel(false);
        let mut chairs = JoinSet::new();
        let services = self.stand_by(&mut chairs, store, (parts, listener.reached()), &is_ending);
        // Also while another one has the role: who cannot reach the servers speaks through this.
        let all = Served {
            services: Some(services),
            store: Some(Offer::of_blocks(store.clone())),
            ..Served::default()
        };
        let ended = tokio::select! {
            Some(ended) = chairs.join_next() => Some(ended.unwrap_or(LinkError::Ended)),
            () = listener.serve(all) => Some(LinkError::Ended),
            () = until_left(&self.leaving) => Some(LinkError::Ended),
            () = until_lost(blocks) => None,
        };
        ending.send_replace(true);
        while chairs.join_next().await.is_some() {}
        ended
    }

    /// How many parts there are, as soon as the store says so.
    async fn parts(&self, store: &dyn Store) -> Result<u16, LinkError> {
        loop {
            match parts::of(store).await {
                Ok((parts, _)) => return Ok(parts),
                Err(PartsError::Lost(lost)) => {
                    let (place, why) = (self.place(), lost.to_string());
                    self.is_nowhere(Some(LinkError::Lost { place, why }));
                    tokio::select! {
                        () = tokio::time::sleep(LONGEST_WAIT) => {}
                        () = until_left(&self.leaving) => return Err(LinkError::Ended),
                    }
                }
                Err(why) => return Err(LinkError::Parts { place: self.place(), why }),
            }
        }
    }

    /// Stands by for all parts. The services of those whose role this process has are the result.
    fn stand_by(
        &self,
        chairs: &mut JoinSet<LinkError>,
        store: &Arc<dyn Store>,
        (parts, reached): (u16, &Endpoint),
        ending: &watch::Receiver<bool>,
    ) -> Services {
        let candidate =
            Candidate { address: format!("{SCHEME}{reached}"), ..self.candidate.clone() };
        let patience = match self.bid {
            Bid::AtOnce => Duration::ZERO,
            Bid::IfNobodyElse => LEFT_TO_OTHERS,
        };
        self.others.get_or_init(|| Place::nowhere(parts));
        let (served, serving): (Vec<_>, Vec<_>) =
            parts::all(parts).map(|_| watch::channel(None)).unzip();
        let services = Services::of(serving);
        let places = core::iter::once(&self.sender).chain(places_of(&self.others));
        let seats = Seats::default();
        for ((part, sender), served) in parts::all(parts).zip(places).zip(served) {
            let (candidate, options) = (candidate.clone(), self.options.clone());
            let store = store.clone();
            let standby =
                Standby::begin_among(&seats, store.clone(), part, candidate, options, patience);
            // Blobs are those of all parts: who has the first frees them.
            let blobs = self.options.blobs.clone().filter(|_| part == Part(0));
            let chair = Chair {
                part,
                parts,
                contends: self.bid == Bid::AtOnce,
                place: self.place(),
                own: self.own.clone(),
                reached: reached.clone(),
                blobs,
                store,
                services: services.clone(),
                served,
                sender: sender.clone(),
            };
            chairs.spawn(boxed(chair.keep(standby, ending.clone())));
        }
        services
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
