//! Members: the processes of one machine that use one embedded store.
//!
//! One of them holds the store and serves it; the others speak to it over its socket. Nobody is
//! appointed: whoever can open the store holds it, and when it dies the next one can. So there is
//! no server to start, and none whose death ends the work.
//!
//! Invariant: the engine's lock admits one holder, so two members never serve at a time.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tidings_tasks_core::message::{Call, Message, Request};
use tidings_tasks_core::reign::Candidate;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::service::{Connection, Options, Service, ServiceError};
use crate::socket::{self, Remote};
use crate::store::Store;
use crate::store::address::Address;
use crate::store::embedded::OpenError;

/// The first wait for a holder that does not listen yet; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(2);
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Where the service is.
#[derive(Clone, Debug)]
enum Place {
    /// Nobody holds the store, as far as is known.
    Nowhere,
    /// In this process.
    Here(Service),
    /// Behind this socket.
    There(PathBuf),
    /// It is not to be had.
    Failed(Arc<OpenError>),
}

/// This process among those that use a store. Dropped, it gives the store up if it holds it.
#[derive(Debug)]
pub struct Member {
    place: watch::Receiver<Place>,
    holding: JoinHandle<()>,
}

/// Why there is no link to a service.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LinkError {
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] Arc<OpenError>),
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
    /// Takes part in a store: holds and serves it if nobody else does, now or later. Needs a
    /// runtime of tokio with time and I/O.
    pub fn join(address: Address, cluster: &str, candidate: Candidate, options: Options) -> Self {
        let (sender, place) = watch::channel(Place::Nowhere);
        let holder = Holder { address, cluster: cluster.to_owned(), candidate, options, sender };
        Self { place, holding: tokio::spawn(holder.run()) }
    }

    /// Whether this process holds the store.
    pub fn holds(&self) -> bool {
        matches!(*self.place.borrow(), Place::Here(_))
    }

    /// A link to whoever serves the store, as soon as somebody does.
    ///
    /// # Errors
    /// The store cannot be opened, by nobody of this version and cluster.
    pub async fn link(&self) -> Result<Link, LinkError> {
        let mut place = self.place.clone();
        loop {
            let now = place.borrow_and_update().clone();
            let link = match now {
                Place::Nowhere => None,
                Place::Here(service) => service.connect().await.ok().map(Link::Here),
                Place::There(path) => Remote::connect(&path).await.ok().map(Link::There),
                Place::Failed(error) => return Err(error.into()),
            };
            if let Some(link) = link {
                return Ok(link);
            }
            // A holder that could not be reached, and still holds, is tried again.
            let changed = tokio::time::timeout(LONGEST_WAIT, place.changed());
            if let Ok(Err(_)) = changed.await {
                return Err(LinkError::Ended);
            }
        }
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
    cluster: String,
    candidate: Candidate,
    options: Options,
    sender: watch::Sender<Place>,
}

impl Holder {
    async fn run(self) {
        let mut wait = FIRST_WAIT;
        loop {
            match self.address.open(&self.cluster).await {
                Ok(store) => {
                    wait = FIRST_WAIT;
                    // What ended it is found out by opening it again.
                    let _ = self.serve(store).await;
                    self.sender.send_replace(Place::Nowhere);
                }
                Err(OpenError::Held { .. }) => {
                    if self.follow().await {
                        wait = FIRST_WAIT;
                    }
                }
                Err(error) => {
                    self.sender.send_replace(Place::Failed(Arc::new(error)));
                    return;
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Serves the store until the service ends.
    async fn serve(&self, store: Arc<dyn Store>) -> Result<(), ServiceError> {
        let begun = Service::begin(store, Part(0), &self.candidate, self.options).await?;
        let (service, running) = begun;
        let listening = self.socket().map(|path| socket::listen(&path));
        self.sender.send_replace(Place::Here(service.clone()));
        let serving = async {
            match listening {
                Some(Ok(listener)) => drop(socket::serve(listener, service).await),
                // Other processes cannot come; this one can.
                Some(Err(_)) | None => core::future::pending().await,
            }
        };
        tokio::select! {
            _ = running => {}
            () = serving => {}
        }
        Ok(())
    }

    /// Stays connected with the holder until it ends. Returns whether there was one.
    async fn follow(&self) -> bool {
        let Some(path) = self.socket() else { return false };
        let Ok(mut remote) = Remote::connect(&path).await else { return false };
        self.sender.send_replace(Place::There(path));
        while remote.receive().await.is_some() {}
        self.sender.send_replace(Place::Nowhere);
        true
    }

    fn socket(&self) -> Option<PathBuf> {
        match &self.address {
            Address::File(path) => Some(socket::beside(path)),
            Address::Memory => None,
        }
    }
}
