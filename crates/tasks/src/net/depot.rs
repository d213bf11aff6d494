//! Depots: the folder of blobs at the holder of a store, or of another node, from another host.
//!
//! What is asked of a holder outlives connections, as a session does: when the holder dies it is
//! asked again of whoever listens there next. Asking twice does no harm, since a blob is known by
//! its content. One connection is kept for the next question. It is another one than that of the
//! session, so that no heartbeat waits behind a large blob.

use std::sync::Arc;
use std::time::Duration;

use minicbor::bytes::ByteVec;
use tidings_tasks_core::id::TaskId;
use tokio::io::BufReader;
use tokio::sync::{Mutex, mpsc};

use super::blobs::{Ask, BATCH_BYTES, HELLO, MAX_TASKS, PIECE_BYTES, Say, send};
use super::connect::{self, Reading, Writing};
use super::endpoint::Endpoint;
use super::error::{Failure, NetError};
use super::handshake::Credentials;
use crate::blobs::{BlobError, Blobs, Draft, Handle};
use crate::frame;

/// The first wait before the holder is asked again; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Pieces that have come and wait to be written.
const PIECES: usize = 8;

/// Where the blobs of a store are that another host holds; or outputs that stay on a node.
#[derive(Debug)]
pub struct Depot {
    at: Endpoint,
    own: Credentials,
    idle: Mutex<Option<Connection>>,
}

/// Why a depot did not do something.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DepotError {
    /// It has no such blob.
    #[error(
        "{handle} is not at tcp://{at}: nobody put it there, or it was collected since no task \
         names it; submit what needs it again"
    )]
    Missing {
        /// Which.
        handle: Handle,
        /// Where.
        at: Endpoint,
    },
    /// No node that is there has it.
    #[error("{0} is on no node that is there")]
    Nowhere(Handle),
    /// It refuses.
    #[error("tcp://{at} refuses: {why}")]
    Refused {
        /// Where.
        at: Endpoint,
        /// In its words.
        why: String,
    },
    /// It cannot be spoken with, and waiting does not help.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The copy here cannot be made or read.
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// What is asked.
enum Job<'a> {
    Fetch(&'a Arc<Blobs>, Handle),
    Send(&'a [u8], Handle, &'a [TaskId]),
    Pin(Handle, &'a [TaskId]),
}

struct Connection {
    reading: BufReader<Reading>,
    writing: Writing,
    buffer: Vec<u8>,
}

impl core::fmt::Debug for Connection {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Connection")
    }
}

/// How an attempt has ended that was answered, or that nobody can do better.
enum Ended {
    Done,
    Missing,
    Refused(String),
    Here(BlobError),
}

impl Depot {
    /// The depot of the store that is served there.
    pub fn new(at: Endpoint, own: Credentials) -> Self {
        Self { at, own, idle: Mutex::default() }
    }

    /// Copies a blob into a folder here, its hash checked.
    ///
    /// # Errors
    /// It is not there, or there is no space here.
    pub async fn fetch(&self, handle: Handle, into: &Arc<Blobs>) -> Result<(), DepotError> {
        self.ask(handle, &Job::Fetch(into, handle)).await
    }

    /// Puts a content there, unless it is there already, and pins it for some tasks.
    ///
    /// # Errors
    /// There is no space for it there.
    pub async fn send(
        &self,
        content: &[u8],
        handle: Handle,
        tasks: &[TaskId],
    ) -> Result<(), DepotError> {
        self.ask(handle, &Job::Send(content, handle, tasks)).await
    }

    /// Pins a blob there for some tasks.
    ///
    /// # Errors
    /// It is not there.
    pub async fn pin(&self, handle: Handle, tasks: &[TaskId]) -> Result<(), DepotError> {
        for tasks in tasks.chunks(MAX_TASKS) {
            self.ask(handle, &Job::Pin(handle, tasks)).await?;
        }
        Ok(())
    }

    /// As [`Depot::pin`], at a node that may be gone.
    pub(crate) async fn pin_once(
        &self,
        handle: Handle,
        tasks: &[TaskId],
    ) -> Result<(), DepotError> {
        for tasks in tasks.chunks(MAX_TASKS) {
            self.ask_once(handle, &Job::Pin(handle, tasks)).await?;
        }
        Ok(())
    }

    /// As [`Depot::fetch`], of a node that may be gone: it is asked once.
    pub(crate) async fn fetch_once(
        &self,
        handle: Handle,
        into: &Arc<Blobs>,
    ) -> Result<(), DepotError> {
        self.ask_once(handle, &Job::Fetch(into, handle)).await
    }

    /// As [`Depot::send`], to a node that may be gone.
    pub(crate) async fn send_once(
        &self,
        content: &[u8],
        handle: Handle,
        tasks: &[TaskId],
    ) -> Result<(), DepotError> {
        self.ask_once(handle, &Job::Send(content, handle, tasks)).await
    }

    /// Asks until there is an answer.
    async fn ask(&self, handle: Handle, job: &Job<'_>) -> Result<(), DepotError> {
        let mut wait = FIRST_WAIT;
        loop {
            match self.ask_once(handle, job).await {
                Err(DepotError::Net(failure)) if failure.why.is_passing() => {}
                ended => return ended,
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn ask_once(&self, handle: Handle, job: &Job<'_>) -> Result<(), DepotError> {
        match self.attempt(job).await? {
            Ended::Done => Ok(()),
            Ended::Missing => Err(DepotError::Missing { handle, at: self.at.clone() }),
            Ended::Refused(why) => Err(DepotError::Refused { at: self.at.clone(), why }),
            Ended::Here(error) => Err(error.into()),
        }
    }

    async fn attempt(&self, job: &Job<'_>) -> Result<Ended, NetError> {
        let kept = self.idle.lock().await.take();
        if let Some(mut connection) = kept {
            // One that was kept may have ended since: then another is tried at once.
            if let Ok(ended) = connection.ask(job).await {
                return Ok(self.keep(connection, ended).await);
            }
        }
        let (reading, writing) = connect::open(&self.at, &self.own, HELLO).await?;
        let reading = BufReader::new(reading);
        let mut connection = Connection { reading, writing, buffer: Vec::new() };
        match connection.ask(job).await {
            Ok(ended) => Ok(self.keep(connection, ended).await),
            Err(failure) => Err(failure.of(format!("tcp://{}", self.at))),
        }
    }

    /// Keeps a connection whose question was answered to its end.
    async fn keep(&self, connection: Connection, ended: Ended) -> Ended {
        if !matches!(ended, Ended::Here(_)) {
            *self.idle.lock().await = Some(connection);
        }
        ended
    }
}

impl Connection {
    async fn ask(&mut self, job: &Job<'_>) -> Result<Ended, Failure> {
        match *job {
            Job::Fetch(into, handle) => self.fetch(into, handle).await,
            Job::Send(content, handle, tasks) => self.send(content, handle, tasks).await,
            Job::Pin(handle, tasks) => {
                send(&mut self.writing, &Ask::Pin(handle, tasks.to_vec())).await?;
                end(self.hear().await?)
            }
        }
    }

    async fn fetch(&mut self, into: &Arc<Blobs>, handle: Handle) -> Result<Ended, Failure> {
        send(&mut self.writing, &Ask::Get(handle)).await?;
        let (pieces, coming) = mpsc::channel(PIECES);
        let into = into.clone();
        let writing = here(move || write(into.draft()?, coming));
        // Dropped, whichever of both ends first, the channel ends the other.
        let (heard, written) = tokio::join!(self.pieces(handle.bytes, pieces), writing);
        match (heard?, written) {
            (_, Err(error)) => Ok(Ended::Here(error)),
            (Ended::Done, Ok(draft)) => finish(draft, handle).await,
            (other, Ok(_)) => Ok(other),
        }
    }

    /// Passes on the pieces of so many bytes, and tells how the answer has ended. It is of no use
    /// when nobody takes them any more.
    async fn pieces(
        &mut self,
        bytes: u64,
        pieces: mpsc::Sender<ByteVec>,
    ) -> Result<Ended, Failure> {
        let mut left = bytes;
        loop {
            let piece = match self.hear().await? {
                Say::Piece(piece) if !piece.is_empty() && piece.len() as u64 <= left => piece,
                Say::Piece(_) => return Err(unexpected("a piece of another length")),
                Say::Done if left == 0 => return Ok(Ended::Done),
                other => return end(other).map_err(|_| unexpected("an end before the end")),
            };
            left -= piece.len() as u64;
            if pieces.send(piece).await.is_err() {
                return Ok(Ended::Done);
            }
        }
    }

    async fn send(
        &mut self,
        content: &[u8],
        handle: Handle,
        tasks: &[TaskId],
    ) -> Result<Ended, Failure> {
        send(&mut self.writing, &Ask::Put(handle, tasks.to_vec())).await?;
        let mut batches = content.chunks(BATCH_BYTES as usize);
        loop {
            match self.hear().await? {
                Say::Go => {
                    let batch = batches.next().ok_or_else(|| unexpected("too many goes"))?;
                    for piece in batch.chunks(PIECE_BYTES) {
                        send(&mut self.writing, &Ask::Piece(piece.to_vec().into())).await?;
                    }
                }
                other => return end(other),
            }
        }
    }

    async fn hear(&mut self) -> Result<Say, Failure> {
        let heard = frame::read(&mut self.reading, &mut self.buffer).await?;
        heard.ok_or_else(|| Failure::Unreachable("the connection has ended".into()))
    }
}

fn end(said: Say) -> Result<Ended, Failure> {
    match said {
        Say::Done => Ok(Ended::Done),
        Say::Missing => Ok(Ended::Missing),
        Say::Refused(why) => Ok(Ended::Refused(why)),
        Say::Go | Say::Piece(_) => Err(unexpected("another answer")),
    }
}

fn unexpected(what: &str) -> Failure {
    Failure::Protocol(format!("{what} has come"))
}

/// Writes and hashes the pieces that come, beside whoever gets them from the network.
fn write(mut draft: Draft, mut coming: mpsc::Receiver<ByteVec>) -> Result<Draft, BlobError> {
    while let Some(piece) = coming.blocking_recv() {
        draft.write(&piece)?;
    }
    Ok(draft)
}

async fn finish(draft: Draft, handle: Handle) -> Result<Ended, Failure> {
    match here(move || draft.finish_as(&handle)).await {
        Ok(()) => Ok(Ended::Done),
        // Its hash is checked there before it is sent.
        Err(BlobError::Damaged { why, .. }) => Err(Failure::Protocol(why)),
        Err(error) => Ok(Ended::Here(error)),
    }
}

/// Does what waits for the disk beside the tasks of the runtime.
async fn here<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BlobError> + Send + 'static,
) -> Result<T, BlobError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}
