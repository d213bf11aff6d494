//! Listening: whoever serves a store lets the processes of other hosts in. A process that only
//! stands by listens as well, so that its address is known when it serves; until then it lets
//! nobody stay.
//!
//! Invariants: without a secret key nobody but this host is let in; a peer that has not shown that
//! it has the key takes one of 64 places, for a bounded time, and no more than
//! 4,096 are served at a time. Others are turned away at once, and come again. Connections end with
//! the listener.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use super::blobs;
use super::connect::{Reading, Writing, tune};
use super::endpoint::Endpoint;
use super::error::{Failure, NetError};
use super::handshake::{self, Credentials};
use super::store::{self, offer::Offer};
use crate::blobs::Blobs;
use crate::fabric;
use crate::frame;
use crate::service::Services;
use crate::spawn::boxed;
use crate::stream;

/// Connections that are served at a time.
const CONNECTIONS: usize = 4_096;

/// Peers that have not shown the key yet.
const GREETING: usize = 64;

/// The wait after nobody could be accepted.
const AGAIN: Duration = Duration::from_millis(50);

/// The time in which a peer says what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// A listener that has its address.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    own: Credentials,
    reached: Endpoint,
}

/// Listens, for others that have the same key. `host` is the name by which they know this host.
///
/// # Errors
/// The address is not to be had, or is not of loopback, and there is no key.
pub async fn listen(at: &Endpoint, own: &Credentials, host: &str) -> Result<Listener, NetError> {
    let fail = |failure: Failure| failure.of(format!("tcp://{at}"));
    let bound = TcpListener::bind((at.host.as_str(), at.port)).await;
    let bound = bound.and_then(|socket| Ok((socket.local_addr()?, socket)));
    let (address, socket) = bound.map_err(|error| fail(Failure::Listen(error.to_string())))?;
    if !own.ring.is_secret() && !address.ip().is_loopback() {
        return Err(fail(Failure::Open));
    }
    let reached = Endpoint::reached(address.ip(), address.port(), host);
    Ok(Listener { socket, own: own.clone(), reached })
}

impl Listener {
    /// Where others reach it.
    pub fn reached(&self) -> &Endpoint {
        &self.reached
    }

    /// Connects whoever comes with what it wants, if it is there just then, for ever.
    pub async fn serve(self, served: Served) {
        let shared = Arc::new(served);
        let known = &[frame::HELLO, blobs::HELLO, store::HELLO];
        self.accept(known, move |wants, reading, writing| {
            let shared = shared.clone();
            async move { shared.serve(&wants, reading, writing).await }
        })
        .await;
    }

    /// Passes on the connections of those who want what `known` names, for ever.
    pub(crate) async fn pass_on(
        self,
        known: &'static [&'static str],
        to: mpsc::Sender<(Reading, Writing)>,
    ) {
        self.accept(known, move |_, reading, writing| {
            let to = to.clone();
            async move { to.send((reading, writing)).await.map_err(io::Error::other) }
        })
        .await;
    }

    /// Serves each peer that has shown the key and wants something that is known here.
    async fn accept<F>(
        self,
        known: &'static [&'static str],
        serve: impl Fn(String, Reading, Writing) -> F + Clone + Send + 'static,
    ) where
        F: Future<Output = io::Result<()>> + Send,
    {
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        let greeting = Arc::new(Semaphore::new(GREETING));
        // They end with the listener: none keeps open what it serves.
        let mut serving = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.socket.accept() => accepted,
                Some(_) = serving.join_next() => continue,
            };
            let Ok((stream, _)) = accepted else {
                // Out of files, or the peer is gone already: others may still come.
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            let places = (connections.clone().try_acquire_owned(), greeting.clone());
            let (Ok(place), Ok(greets)) = (places.0, places.1.try_acquire_owned()) else {
                continue;
            };
            let (own, serve) = (self.own.clone(), serve.clone());
            serving.spawn(boxed(async move {
                // Whoever does not keep to the protocol is let go without a word.
                if let Ok((wants, reading, writing)) = welcome(stream, &own, known, greets).await {
                    let _ = serve(wants, reading, writing).await;
                }
                drop(place);
            }));
        }
    }
}

/// What a peer wants that has shown that it has the key, and the streams to it.
async fn welcome(
    stream: TcpStream,
    own: &Credentials,
    known: &[&str],
    greets: OwnedSemaphorePermit,
) -> io::Result<(String, Reading, Writing)> {
    tune(&stream)?;
    let answered = handshake::answer(stream.into_split(), own).await;
    let (reading, writing) = answered.map_err(|failure| io::Error::other(failure.to_string()))?;
    let mut both = tokio::io::join(reading, writing);
    let wants = tokio::time::timeout(PATIENCE, frame::wanted(&mut both, known)).await;
    drop(greets);
    let (reading, writing) = both.into_inner();
    Ok((wants??, reading, writing))
}

/// What those get who come.
#[derive(Debug, Default)]
pub struct Served {
    /// The services of tasks, as long as they are here.
    pub services: Option<Services>,
    /// The blobs beside its store.
    pub blobs: Option<Arc<Blobs>>,
    /// The store.
    pub store: Option<Offer>,
}

impl Served {
    async fn serve(&self, wants: &str, reading: Reading, writing: Writing) -> io::Result<()> {
        match wants {
            blobs::HELLO => {
                let fabric = fabric::of_process();
                blobs::serve(reading, writing, self.blobs.as_ref(), fabric).await
            }
            store::HELLO => {
                let offer = self.store.clone().ok_or(io::ErrorKind::NotConnected)?;
                offer.serve(reading, writing).await
            }
            _ => {
                let wanted = frame::part_of(wants).zip(self.services.as_ref());
                let (part, services) = wanted.ok_or(io::ErrorKind::NotConnected)?;
                let connected = services.connect(part).await;
                let connection = connected.ok_or(io::ErrorKind::NotConnected)?;
                stream::pump(reading, writing, connection).await
            }
        }
    }
}
