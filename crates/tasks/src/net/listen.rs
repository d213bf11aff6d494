//! Listening: whoever serves a store lets the processes of other hosts in. A process that only
//! stands by listens as well, so that its address is known when it serves; until then it lets
//! nobody stay.
//!
//! Invariants: without a secret key nobody but this host is let in; a peer that has not shown that
//! it has the key takes one of 64 places, for a bounded time, and no more than
//! 4,096 are served at a time. Others are turned away at once, and come again.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::blobs;
use super::connect::{Reading, Writing, halves, tune};
use super::endpoint::Endpoint;
use super::error::{Failure, NetError};
use super::handshake::{self, Credentials};
use crate::blobs::Blobs;
use crate::frame;
use crate::service::Service;
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

    /// Connects whoever comes with the service, if there is one just then, and with the blobs
    /// beside its store, for ever.
    pub async fn serve(self, service: watch::Receiver<Option<Service>>, blobs: Option<Arc<Blobs>>) {
        let server = Arc::new(Server { own: self.own, service, blobs });
        let connections = Arc::new(Semaphore::new(CONNECTIONS));
        let greeting = Arc::new(Semaphore::new(GREETING));
        loop {
            let Ok((stream, _)) = self.socket.accept().await else {
                // Out of files, or the peer is gone already: others may still come.
                tokio::time::sleep(AGAIN).await;
                continue;
            };
            let places = (connections.clone().try_acquire_owned(), greeting.clone());
            let (Ok(place), Ok(greets)) = (places.0, places.1.try_acquire_owned()) else {
                continue;
            };
            let server = server.clone();
            tokio::spawn(async move {
                // Whoever does not keep to the protocol is let go without a word.
                let _ = server.welcome(stream, greets).await;
                drop(place);
            });
        }
    }
}

struct Server {
    own: Credentials,
    service: watch::Receiver<Option<Service>>,
    blobs: Option<Arc<Blobs>>,
}

impl Server {
    async fn welcome(&self, stream: TcpStream, greets: OwnedSemaphorePermit) -> io::Result<()> {
        tune(&stream)?;
        let answered = handshake::answer(halves(stream), &self.own).await;
        let (reading, writing) =
            answered.map_err(|failure| io::Error::other(failure.to_string()))?;
        let wants = tokio::time::timeout(PATIENCE, wants(reading, writing)).await;
        let (wants, reading, writing) = wants??;
        drop(greets);
        match wants.as_str() {
            frame::HELLO => {
                let service = self.service.borrow().clone();
                let service = service.ok_or(io::ErrorKind::NotConnected)?;
                let connection = service.connect().await.map_err(io::Error::other)?;
                stream::pump(reading, writing, connection).await
            }
            blobs::HELLO => blobs::serve(reading, writing, self.blobs.as_ref()).await,
            _ => Ok(()),
        }
    }
}

/// What a peer wants, which it is told back; or what there is, if that is something else.
async fn wants(
    mut reading: Reading,
    mut writing: Writing,
) -> io::Result<(String, Reading, Writing)> {
    let mut buffer = Vec::new();
    let wants: Option<String> = frame::read(&mut reading, &mut buffer).await?;
    let wants = wants.ok_or(io::ErrorKind::UnexpectedEof)?;
    let known = [frame::HELLO, blobs::HELLO].into_iter().find(|known| *known == wants);
    buffer.clear();
    frame::append(&mut buffer, &known.unwrap_or(frame::HELLO))?;
    writing.write_all(&buffer).await?;
    writing.flush().await?;
    Ok((wants, reading, writing))
}
