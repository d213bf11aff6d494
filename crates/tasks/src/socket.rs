//! The socket of a service: other processes of the machine speak to the one that holds the store.
//!
//! It lies beside the store's file. Whoever may use the folder's file may use the socket: its mode
//! is 0600, and root gives it away on purpose only. What a process that was killed left behind is
//! replaced by the next holder of the store; the lock of the store says that there is one only.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidings_tasks_core::message::{Call, Message, Request};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use crate::frame;
use crate::service::{Connection, Sender, Service, ServiceError};

/// Messages or requests that wait to be written or handled.
const QUEUE: usize = 1_024;

/// The wait after nobody could be accepted.
const AGAIN: Duration = Duration::from_millis(50);

/// Messages or requests that are written at once.
const BATCH: usize = 256;

/// The socket of the store in this file.
pub fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".sock");
    name.into()
}

/// Listens at a path, in place of what an earlier holder left there.
///
/// # Errors
/// The socket cannot be made there.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Connects whoever comes with a service. Ends with the service.
pub async fn serve(listener: UnixListener, service: Service) -> ServiceError {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of files, or the peer is gone already: others may still come.
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        match service.connect().await {
            Ok(connection) => drop(tokio::spawn(pump(stream, connection))),
            Err(error) => return error,
        }
    }
}

/// Passes on requests and messages until either side ends.
async fn pump(mut stream: UnixStream, connection: Connection) -> io::Result<()> {
    frame::greet(&mut stream).await?;
    let (reading, writing) = stream.into_split();
    let (sender, receiver) = connection.split();
    tokio::select! {
        ended = take_requests(reading, sender) => ended,
        ended = write_all(writing, receiver.into_inner()) => ended,
    }
}

async fn take_requests(reading: OwnedReadHalf, sender: Sender) -> io::Result<()> {
    let (mut reading, mut buffer) = (BufReader::new(reading), Vec::new());
    while let Some((call, request)) = frame::read(&mut reading, &mut buffer).await? {
        if sender.send(call, request).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// Writes what comes, as much as there is with one call.
async fn write_all<T: minicbor::Encode<()>>(
    mut writing: OwnedWriteHalf,
    mut queue: mpsc::Receiver<T>,
) -> io::Result<()> {
    let (mut buffer, mut batch) = (Vec::new(), Vec::new());
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        buffer.clear();
        for one in batch.drain(..) {
            frame::append(&mut buffer, &one)?;
        }
        writing.write_all(&buffer).await?;
    }
    Ok(())
}

/// A connection to a service in another process.
#[derive(Debug)]
pub struct Remote {
    requests: mpsc::Sender<(Call, Request)>,
    messages: mpsc::Receiver<Message>,
}

impl Remote {
    /// Connects to the service that listens at this path.
    ///
    /// # Errors
    /// Nobody listens there, or in another version.
    pub async fn connect(path: &Path) -> io::Result<Self> {
        let mut stream = UnixStream::connect(path).await?;
        frame::greet(&mut stream).await?;
        let (reading, writing) = stream.into_split();
        let (requests, queue) = mpsc::channel(QUEUE);
        let (sender, messages) = mpsc::channel(QUEUE);
        tokio::spawn(read_all(reading, sender));
        tokio::spawn(write_all(writing, queue));
        Ok(Self { requests, messages })
    }

    /// Sends a request; `false` if the connection has ended.
    pub async fn send(&self, call: Call, request: Request) -> bool {
        self.requests.send((call, request)).await.is_ok()
    }

    /// The next message; `None` once the connection has ended.
    pub async fn receive(&mut self) -> Option<Message> {
        self.messages.recv().await
    }
}

async fn read_all(reading: OwnedReadHalf, sender: mpsc::Sender<Message>) -> io::Result<()> {
    let (mut reading, mut buffer) = (BufReader::new(reading), Vec::new());
    while let Some(message) = frame::read(&mut reading, &mut buffer).await? {
        if sender.send(message).await.is_err() {
            break;
        }
    }
    Ok(())
}
