//! Members: the processes that use one embedded store.
//!
//! One of them holds the store and serves it; the others of its machine speak to it over its
//! socket. Nobody is appointed: whoever can open the store holds it, and when it dies the next one
//! can. So there is no server to start, and none whose death ends the work.
//!
//! Members on other machines cannot open it: they follow whoever holds it, over the network, if
//! that one listens ([`Network`]).
//!
//! Invariant: the engine's lock admits one holder, so two members never serve at a time.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidings_primitives::KeyRing;
use tidings_tasks_core::id::Part;
use tidings_tasks_core::message::{Call, Message, Request};
use tidings_tasks_core::reign::Candidate;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::blobs::{self, Blobs};
use crate::keeper;
use crate::net::endpoint::Endpoint;
use crate::net::listen::{self, Listener};
use crate::net::{Credentials, NetError, connect};
use crate::service::{Connection, Options, Service, ServiceError};
use crate::socket;
use crate::store::Store;
use crate::store::address::{Address, OpenError};
use crate::store::embedded;
use crate::stream::Remote;

/// The first wait for a holder that does not listen yet; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait for a holder on another host.
const LONGEST_WAIT_AWAY: Duration = Duration::from_secs(1);

/// Where the service is.
#[derive(Clone, Debug)]
enum Place {
    /// Nobody holds the store, as far as is known; why, if that is known.
    Nowhere(Option<NetError>),
    /// In this process, which may listen for other hosts.
    Here(Service, Option<Endpoint>),
    /// Behind this socket.
    There(PathBuf),
    /// On another host.
    Away,
    /// It is not to be had.
    Failed(LinkError),
}

/// How this process takes part over the network.
#[derive(Clone, Debug)]
pub struct Network {
    /// The keys of the cluster.
    pub ring: KeyRing,
    /// Where it listens when it holds the store; nowhere, if there is none. Port 0 is any port.
    pub listen: Option<Endpoint>,
}

impl Network {
    /// Without a key, and without listening: for one host.
    pub fn none(cluster: &str) -> Self {
        Self { ring: KeyRing::open(cluster), listen: None }
    }
}

/// This process among those that use a store. Dropped, it gives the store up if it holds it.
#[derive(Debug)]
pub struct Member {
    place: watch::Receiver<Place>,
    holding: JoinHandle<()>,
    address: Address,
    own: Credentials,
}

/// Why there is no link to a service.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LinkError {
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] Arc<OpenError>),
    /// The holder on another host does not let this process in, or this one cannot listen.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The member has ended.
    #[error("this process no longer takes part in the store")]
    Ended,
}

/// A connection to whoever serves the store.
#[derive(Debug)]
pub enum Link {
    /// In this process.
    Here(Connection),
    /// In another one.
    There(Remote),
}

impl Member {
    /// Takes part in a store of this host, or without a key in one of another: holds and serves it
    /// if nobody else does, now or later. Needs a runtime of tokio with time and I/O.
    pub fn join(address: Address, cluster: &str, candidate: Candidate, options: Options) -> Self {
        Self::join_over(Network::none(cluster), address, cluster, candidate, options)
    }

    /// Takes part in a store, also over the network: with `tcp://HOST:PORT` as one who follows,
    /// with a file as one who listens when it holds that.
    pub fn join_over(
        network: Network,
        address: Address,
        cluster: &str,
        candidate: Candidate,
        options: Options,
    ) -> Self {
        let (sender, place) = watch::channel(Place::Nowhere(None));
        let own = Credentials { ring: network.ring, cluster: cluster.to_owned() };
        let holder = Holder {
            address: address.clone(),
            own: own.clone(),
            listen: network.listen,
            candidate,
            options,
            sender,
        };
        Self { place, holding: tokio::spawn(holder.run()), address, own }
    }

    /// Whether this process holds the store.
    pub fn holds(&self) -> bool {
        matches!(*self.place.borrow(), Place::Here(..))
    }

    /// Where processes of other hosts reach this one, if it holds the store and listens.
    pub fn reached(&self) -> Option<Endpoint> {
        match &*self.place.borrow() {
            Place::Here(_, reached) => reached.clone(),
            _ => None,
        }
    }

    /// Waits until this process holds the store and listens, and says where.
    pub async fn listens(&self) -> Endpoint {
        let mut place = self.place.clone();
        loop {
            if let Place::Here(_, Some(reached)) = &*place.borrow_and_update() {
                return reached.clone();
            }
            if place.changed().await.is_err() {
                // It takes part no more.
                return core::future::pending().await;
            }
        }
    }

    /// Why the holder on another host cannot be reached just now: to be told to whoever waits.
    pub fn trouble(&self) -> Option<NetError> {
        match &*self.place.borrow() {
            Place::Nowhere(trouble) => trouble.clone(),
            _ => None,
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

    /// What it shows to processes of other hosts.
    pub fn credentials(&self) -> &Credentials {
        &self.own
    }

    /// A link to whoever serves the store, as soon as somebody does.
    ///
    /// # Errors
    /// The store cannot be opened, by nobody of this version and cluster.
    pub async fn link(&self) -> Result<Link, LinkError> {
        let mut place = self.place.clone();
        loop {
            let now = place.borrow_and_update().clone();
            if let Some(link) = self.link_to(now).await? {
                return Ok(link);
            }
            // A holder that could not be reached, and still holds, is tried again.
            let changed = tokio::time::timeout(LONGEST_WAIT, place.changed());
            if let Ok(Err(_)) = changed.await {
                return Err(LinkError::Ended);
            }
        }
    }

    async fn link_to(&self, place: Place) -> Result<Option<Link>, LinkError> {
        Ok(match (place, &self.address) {
            (Place::Here(service, _), _) => service.connect().await.ok().map(Link::Here),
            (Place::There(path), _) => socket::connect(&path).await.ok().map(Link::There),
            (Place::Away, Address::Tcp(at)) => match connect::connect(at, &self.own).await {
                Err(error) if !error.why.is_passing() => return Err(error.into()),
                connected => connected.ok().map(Link::There),
            },
            (Place::Failed(error), _) => return Err(error),
            (Place::Nowhere(_) | Place::Away, _) => None,
        })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.holding.abort();
    }
}

impl Link {
    /// Sends a request; `false` if the link has ended.
    pub async fn send(&self, call: Call, request: Request) -> bool {
        match self {
            Self::Here(connection) => connection.send(call, request).await.is_ok(),
            Self::There(remote) => remote.send(call, request).await,
        }
    }

    /// The next message; `None` once the link has ended.
    pub async fn receive(&mut self) -> Option<Message> {
        match self {
            Self::Here(connection) => connection.receive().await,
            Self::There(remote) => remote.receive().await,
        }
    }
}

/// What holds the store, or waits until it can.
struct Holder {
    address: Address,
    own: Credentials,
    listen: Option<Endpoint>,
    candidate: Candidate,
    options: Options,
    sender: watch::Sender<Place>,
}

impl Holder {
    async fn run(self) {
        let ended = match &self.address {
            Address::Tcp(at) => self.follow_away(at).await,
            // Two that hold it would take the role from each other all the time.
            #[cfg(feature = "etcd")]
            Address::Etcd(place) => Arc::new(OpenError::Unshared(place.to_string())).into(),
            _ => self.hold().await,
        };
        self.sender.send_replace(Place::Failed(ended));
    }

    /// Holds the store whenever it can, until that is of no use any more.
    async fn hold(&self) -> LinkError {
        let mut wait = FIRST_WAIT;
        loop {
            match self.address.open(&self.own.cluster).await {
                Ok(store) => {
                    wait = FIRST_WAIT;
                    // What has ended it is found out by opening it again, unless it never began.
                    if let Err(Unserved::Listen(error)) = self.serve(store).await {
                        return error.into();
                    }
                    self.sender.send_replace(Place::Nowhere(None));
                }
                Err(OpenError::File(embedded::OpenError::Held { .. })) => {
                    if self.follow().await {
                        wait = FIRST_WAIT;
                    }
                }
                Err(error) => return Arc::new(error).into(),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Serves the store until the service ends.
    async fn serve(&self, store: Arc<dyn Store>) -> Result<(), Unserved> {
        let mut candidate = self.candidate.clone();
        let far = match &self.listen {
            Some(at) => Some(listen::listen(at, &self.own, &candidate.host).await?),
            None => None,
        };
        if let Some(far) = &far {
            candidate.address = format!("tcp://{}", far.reached());
        }
        let keeping = store.clone();
        let (service, running) =
            Service::begin(store, Part(0), &candidate, self.options.clone()).await?;
        let near = self.socket().map(|path| socket::listen(&path));
        let reached = far.as_ref().map(|far| far.reached().clone());
        self.sender.send_replace(Place::Here(service.clone(), reached));
        tokio::select! {
            _ = running => {}
            () = serve_near(near, service.clone()) => {}
            () = self.serve_away(far, service) => {}
            () = self.keep(keeping) => {}
        }
        Ok(())
    }

    async fn serve_away(&self, listener: Option<Listener>, service: Service) {
        let Some(listener) = listener else { return core::future::pending().await };
        let folder = self.blobs();
        let opened = tokio::task::spawn_blocking(move || Blobs::open(&folder?).ok()).await;
        listener.serve(service, opened.ok().flatten().map(Arc::new)).await;
    }

    async fn keep(&self, store: Arc<dyn Store>) {
        match self.blobs() {
            Some(folder) => keeper::keep(store, Part(0), folder).await,
            None => core::future::pending().await,
        }
    }

    /// Stays connected with the holder until it ends. Returns whether there was one.
    async fn follow(&self) -> bool {
        let Some(path) = self.socket() else { return false };
        let Ok(remote) = socket::connect(&path).await else { return false };
        self.stay(remote, Place::There(path)).await;
        true
    }

    /// Stays connected with the holder on another host, whoever that is; until it lets nobody in.
    async fn follow_away(&self, at: &Endpoint) -> LinkError {
        let mut wait = FIRST_WAIT;
        loop {
            match connect::connect(at, &self.own).await {
                Ok(remote) => {
                    wait = FIRST_WAIT;
                    self.stay(remote, Place::Away).await;
                }
                Err(error) if error.why.is_passing() => {
                    self.sender.send_replace(Place::Nowhere(Some(error)));
                }
                Err(error) => return error.into(),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT_AWAY);
        }
    }

    async fn stay(&self, mut remote: Remote, place: Place) {
        self.sender.send_replace(place);
        while remote.receive().await.is_some() {}
        self.sender.send_replace(Place::Nowhere(None));
    }

    fn socket(&self) -> Option<PathBuf> {
        match &self.address {
            Address::File(path) => Some(socket::beside(path)),
            _ => None,
        }
    }

    fn blobs(&self) -> Option<PathBuf> {
        match &self.address {
            Address::File(path) => Some(blobs::beside(path)),
            _ => None,
        }
    }
}

/// Why a store that was opened is not served.
#[derive(Debug, thiserror::Error)]
enum Unserved {
    /// Nobody listens where others were told to come.
    #[error(transparent)]
    Listen(#[from] NetError),
    /// The role was not taken.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

/// Serves the other processes of the host.
async fn serve_near(listening: Option<io::Result<UnixListener>>, service: Service) {
    match listening {
        Some(Ok(listener)) => drop(socket::serve(listener, service).await),
        // Other processes cannot come; this one can.
        Some(Err(_)) | None => core::future::pending().await,
    }
}
