//! Members: the processes that use one store.
//!
//! One of them serves it, and the others speak to that one. Nobody is appointed, so there is no
//! server to start, and none whose death ends the work:
//!
//! * An embedded store is served by whoever can open its file (`holder`). Others of its machine
//!   speak to that process over its socket, those of other machines over the network, if it
//!   listens ([`Network`]).
//! * A store in an etcd, or in the memory of those who use it, can be opened by all. There a role
//!   decides who serves (`sharer`): each member listens first, stands by, and follows whoever has
//!   the role to the address that lies beside it.
//!
//! A member that only *asks* leaves the role to others as long as there are any: it would take the
//! role along when it ends, a moment later.
//!
//! A store may have several parts ([`parts`](crate::parts)). The process that holds a file serves
//! all of them. Of a store that all can open each part has a role of its own, so several processes
//! may serve some each.
//!
//! Invariant: two members of an embedded store never serve at a time, since its lock admits one.
//! Two of a store in an etcd may believe for a while that they do; the store refuses what the
//! earlier one commits.

mod away;
mod chair;
mod holder;
mod in_memory;
mod link;
mod opened;
mod place;
mod sharer;

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidings_primitives::KeyRing;
use tidings_tasks_core::id::Part;
use tidings_tasks_core::reign::Candidate;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::place::{Bid, FAREWELL, LONGEST_WAIT, Others, Place, Places};
use crate::blobs;
use crate::net::endpoint::Endpoint;
use crate::net::{Credentials, connect, route};
use crate::service::Options;
use crate::socket;
use crate::store::Store;
use crate::store::address::Address;

pub use self::link::Link;
pub use self::place::LinkError;

/// How this process takes part over the network.
#[derive(Clone, Debug)]
pub struct Network {
    /// The keys of the cluster.
    pub ring: KeyRing,
    /// Where it listens when it serves the store. Port 0 is any port. If there is none: nowhere; of
    /// a store in an etcd, at the address by which this host reaches that.
    pub listen: Option<Endpoint>,
}

impl Network {
    /// Without a key, and without listening: for one host.
    pub fn none(cluster: &str) -> Self {
        Self { ring: KeyRing::open(cluster), listen: None }
    }
}

/// This process among those that use a store. Dropped, it gives the store up if it serves it.
#[derive(Debug)]
pub struct Member {
    places: Places,
    serving: JoinHandle<()>,
    leaving: watch::Sender<bool>,
    address: Address,
    own: Credentials,
    listen: Option<Endpoint>,
    blobs: Option<PathBuf>,
    name: String,
    host: String,
}

impl Member {
    /// Takes part in a store of this host, or without a key in one of another: holds and serves it
    /// if nobody else does, now or later. Needs a runtime of tokio with time and I/O.
    pub fn join(address: Address, cluster: &str, candidate: Candidate, options: Options) -> Self {
        Self::join_over(Network::none(cluster), address, cluster, candidate, options)
    }

    /// Takes part in a store, also over the network: with `tcp://HOST:PORT` as one who follows,
    /// with a file as one who listens when it holds that, in an etcd as one who listens and stands
    /// by.
    pub fn join_over(
        network: Network,
        address: Address,
        cluster: &str,
        candidate: Candidate,
        options: Options,
    ) -> Self {
        Self::begin(Bid::AtOnce, network, address, cluster, (candidate, options))
    }

    /// As [`Member::join_over`], for a process that asks something and ends: in an etcd it serves
    /// only if nobody else does.
    pub fn visit_over(
        network: Network,
        address: Address,
        cluster: &str,
        candidate: Candidate,
        options: Options,
    ) -> Self {
        Self::begin(Bid::IfNobodyElse, network, address, cluster, (candidate, options))
    }

    /// Takes part in a store that this program has opened itself, whatever its engine is, and
    /// serves it, to this process only, whenever no other one does. Needs a runtime of tokio with
    /// time.
    pub fn join_opened(
        store: Arc<dyn Store>,
        cluster: &str,
        candidate: Candidate,
        options: Options,
    ) -> Self {
        let (sender, place) = watch::channel(Place::Nowhere(None));
        let (leaving, is_leaving) = watch::channel(false);
        let own = Credentials { ring: KeyRing::open(cluster), cluster: cluster.to_owned() };
        let blobs = options.blobs.clone();
        let (name, host) = (candidate.name.clone(), candidate.host.clone());
        let others = Others::default();
        let places = Places { first: place, others: others.clone() };
        let opened =
            opened::Opened { store, candidate, options, sender, others, leaving: is_leaving };
        let serving = crate::spawn::spawn(opened.run());
        let (address, listen) = (Address::Memory, None);
        Self { places, serving, leaving, address, own, listen, blobs, name, host }
    }

    fn begin(
        bid: Bid,
        network: Network,
        address: Address,
        cluster: &str,
        (candidate, options): (Candidate, Options),
    ) -> Self {
        let (sender, place) = watch::channel(Place::Nowhere(None));
        let (leaving, is_leaving) = watch::channel(false);
        let own = Credentials { ring: network.ring, cluster: cluster.to_owned() };
        let listen = network.listen;
        let told = listen.clone();
        let (name, host) = (candidate.name.clone(), candidate.host.clone());
        let (to, by) = (address.clone(), own.clone());
        let others = Others::default();
        let places = Places { first: place, others: others.clone() };
        let blobs = match &address {
            Address::File(file) => Some(blobs::beside(file)),
            shared if shared.is_shared() => options.blobs.clone(),
            _ => None,
        };
        let serving = if address.is_shared() {
            crate::spawn::spawn(
                sharer::Sharer {
                    address: to,
                    own: by,
                    listen,
                    bid,
                    candidate,
                    options,
                    sender,
                    others,
                    leaving: is_leaving,
                }
                .run(),
            )
        } else {
            // A file has one holder, whoever that is, and over TCP there is nothing to hold.
            crate::spawn::spawn(
                holder::Holder {
                    address: to,
                    own: by,
                    listen,
                    candidate,
                    options,
                    sender,
                    leaving: is_leaving,
                }
                .run(),
            )
        };
        Self { places, serving, leaving, address, own, listen: told, blobs, name, host }
    }

    /// Whether this process serves the store, or a part of it.
    pub fn holds(&self) -> bool {
        self.places.all().iter().any(|place| matches!(place, Place::Here(..)))
    }

    /// Where processes of other hosts reach this one, if it serves the store and listens.
    pub fn reached(&self) -> Option<Endpoint> {
        self.places.all().into_iter().find_map(|place| match place {
            Place::Here(_, reached) => reached,
            _ => None,
        })
    }

    /// Waits until this process serves the store and listens, and says where.
    pub async fn listens(&self) -> Endpoint {
        let mut place = self.places.first.clone();
        let listens = |place: &Place| matches!(place, Place::Here(_, Some(_)));
        let found = place.wait_for(listens).await.ok().map(|found| (*found).clone());
        match found {
            Some(Place::Here(_, Some(reached))) => reached,
            // It takes part no more.
            _ => core::future::pending().await,
        }
    }

    /// Why the store cannot be reached just now: to be told to whoever waits.
    pub fn trouble(&self) -> Option<LinkError> {
        self.places.first.borrow().trouble()
    }

    /// Waits until that is something else than this, or the store can be reached again; for ever
    /// once this process takes part no more.
    pub async fn until_trouble_is_not(&self, known: Option<&str>) {
        let mut place = self.places.first.clone();
        let is_other =
            |place: &Place| place.trouble().map(|error| error.to_string()).as_deref() != known;
        if place.wait_for(is_other).await.is_err() {
            core::future::pending::<()>().await;
        }
    }

    /// The address by which it takes part.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Whether the store is held on another host.
    pub fn is_away(&self) -> bool {
        matches!(self.address, Address::Tcp(_))
    }

    /// The name of this process's life.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name of this host.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The folder in which all blobs of the store lie, if this host can reach it.
    pub(crate) fn blobs(&self) -> Option<&Path> {
        self.blobs.as_deref()
    }

    /// The address of this host on the way to the store, by which others reach this one.
    ///
    /// # Errors
    /// The store is on this host, or the way to it is not known.
    pub(crate) async fn own_address(&self) -> io::Result<IpAddr> {
        match self.address.ways().as_slice() {
            [] => Err(io::ErrorKind::Unsupported.into()),
            ways => route::own_address(ways).await,
        }
    }

    /// Where it listens when it serves the store, if it does.
    pub(crate) fn listens_at(&self) -> Option<&Endpoint> {
        self.listen.as_ref()
    }

    /// What it shows to other hosts.
    pub(crate) fn credentials(&self) -> &Credentials {
        &self.own
    }

    /// A link to whoever serves the first part of the store, as soon as somebody does.
    ///
    /// # Errors
    /// The store cannot be opened, by nobody of this version and cluster.
    pub async fn link(&self) -> Result<Link, LinkError> {
        self.link_of(Part(0)).await
    }

    /// A link to whoever serves a part of the store, as soon as somebody does.
    ///
    /// # Errors
    /// As of [`Member::link`].
    pub async fn link_of(&self, part: Part) -> Result<Link, LinkError> {
        let mut place = self.places.of(part);
        loop {
            let now = place.borrow_and_update().clone();
            if let Some(link) = self.link_to(now, part).await? {
                return Ok(link);
            }
            // A holder that could not be reached, and still holds, is tried again.
            let changed = tokio::time::timeout(LONGEST_WAIT, place.changed());
            if let Ok(Err(_)) = changed.await {
                return Err(LinkError::Ended);
            }
        }
    }

    async fn link_to(&self, place: Place, part: Part) -> Result<Option<Link>, LinkError> {
        Ok(match place {
            Place::Here(services, _) => services.connect(part).await.map(Link::here),
            Place::There(path) => socket::connect(&path, part).await.ok().map(Link::there),
            Place::Away(at) => match connect::connect(&at, &self.own, part).await {
                Ok(remote) => Some(Link::away(remote, at, self.places.of(part))),
                // Whoever follows it says what is fatal.
                Err(_) => None,
            },
            Place::Failed(error) => return Err(error),
            Place::Nowhere(_) => None,
        })
    }

    /// Gives up what this process serves, so that others need not find out that it has ended, and
    /// returns when that is done, or cannot be done in time. Links of this process end.
    pub async fn leave(&self) {
        self.leaving.send_replace(true);
        let mut place = self.places.first.clone();
        // The sender goes when all is given up.
        let given_up = async { while place.changed().await.is_ok() {} };
        let _ = tokio::time::timeout(FAREWELL, given_up).await;
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
