//! One question to a depot, over a connection: what is said, and the bytes that come or go.
//!
//! What comes is written to the folder by a thread of its own, piece by piece, while the next one
//! is on its way. Of an owner that lets its memory be read, it is read there
//! ([`fabric`](crate::fabric)); if that goes wrong, it comes over the connection all the same.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::blobs::{Ask, BATCH_BYTES, Holders, PIECE_BYTES, Say, send};
use super::connect::{Reading, Writing};
use super::error::Failure;
use crate::blobs::{BlobError, Blobs, Handle, Incoming, Source};
use crate::fabric::{Fabric, FabricError, Place};
use crate::frame;

/// The time in which a piece comes that was asked for; longer for a blob whose hash is checked
/// first by whoever sends it, which reads so many bytes in a microsecond.
const SILENCE: Duration = Duration::from_secs(5);
const CHECKED_BYTES: u64 = 100;

/// Pieces that have come and wait to be written.
const PIECES: usize = 8;

/// A blob that is shorter than this is not worth the questions that a one-sided read takes.
const LEAST_BYTES: u64 = 256 << 10;

/// What is asked.
pub(super) enum Job<'a> {
    Fetch(&'a Arc<Blobs>, Handle),
    Send(&'a [u8], Handle, Holders<'a>),
    Pin(Handle, Holders<'a>),
}

/// A connection with a depot.
pub(super) struct Connection {
    reading: Reading,
    writing: Writing,
    buffer: Vec<u8>,
    /// Whether the key with which it is sealed is a secret.
    is_secret: bool,
    /// By which the memory of the owner may be read.
    fabric: Option<Arc<Fabric>>,
}

impl core::fmt::Debug for Connection {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Connection")
    }
}

/// How an attempt has ended that was answered, or that nobody can do better.
pub(super) enum Ended {
    Done,
    Missing,
    Refused(String),
    Full(String),
    Here(BlobError),
}

impl Connection {
    pub(super) fn new(
        (reading, writing): (Reading, Writing),
        is_secret: bool,
        fabric: Option<Arc<Fabric>>,
    ) -> Self {
        Self { reading, writing, buffer: Vec::new(), is_secret, fabric }
    }

    pub(super) async fn ask(&mut self, job: &Job<'_>) -> Result<Ended, Failure> {
        match *job {
            Job::Fetch(into, handle) => self.fetch(into, handle).await,
            Job::Send(content, handle, of) => self.send(content, handle, of).await,
            Job::Pin(handle, of) => {
                let pin = Ask::Pin(handle, of.tasks.to_vec(), of.is_replica);
                send(&mut self.writing, &pin).await?;
                end(self.hear().await?)
            }
        }
    }

    async fn fetch(&mut self, into: &Arc<Blobs>, handle: Handle) -> Result<Ended, Failure> {
        // What a fabric reads is proven by its hash alone.
        let is_read = handle.bytes >= LEAST_BYTES && !handle.is_drawn();
        let fabric = self.fabric.clone().filter(|_| is_read);
        let Some(fabric) = fabric.filter(|fabric| fabric.is_well()) else {
            return self.get(into, handle).await;
        };
        let provider = fabric.provider().to_owned();
        send(&mut self.writing, &Ask::Reach(handle, provider)).await?;
        match self.answer(handle).await? {
            Say::Comes => self.come(into, handle).await,
            Say::Lies { name, key, address } => {
                let place = Place { name, key, address };
                // Rare, and not in each future that fetches.
                Box::pin(self.reach(fabric, place, into, handle)).await
            }
            other => end(other),
        }
    }

    /// Reads the memory of the owner.
    async fn reach(
        &mut self,
        fabric: Arc<Fabric>,
        from: Place,
        into: &Arc<Blobs>,
        handle: Handle,
    ) -> Result<Ended, Failure> {
        let folder = into.clone();
        let read = here(move || read(&fabric, &from, handle, &folder)).await;
        send(&mut self.writing, &Ask::Taken).await?;
        match within(SILENCE, self.hear()).await? {
            Say::Done => {}
            _ => return Err(unexpected("something else behind what was read")),
        }
        match read {
            Ok(Some(incoming)) => finish(incoming).await,
            Ok(None) => {
                // Once is enough: this connection is as good as another.
                self.fabric = None;
                self.get(into, handle).await
            }
            Err(error) => Ok(Ended::Here(error)),
        }
    }

    async fn get(&mut self, into: &Arc<Blobs>, handle: Handle) -> Result<Ended, Failure> {
        send(&mut self.writing, &Ask::Get(handle)).await?;
        match self.answer(handle).await? {
            Say::Comes => self.come(into, handle).await,
            other => end(other),
        }
    }

    /// What is said to one who wants a content.
    async fn answer(&mut self, handle: Handle) -> Result<Say, Failure> {
        let checked = Duration::from_micros(handle.bytes / CHECKED_BYTES);
        match within(SILENCE + checked, self.hear()).await? {
            Say::Done => Err(unexpected("an end before the content")),
            said => Ok(said),
        }
    }

    /// Writes a content that comes over the connection.
    async fn come(&mut self, into: &Arc<Blobs>, handle: Handle) -> Result<Ended, Failure> {
        let (full, coming) = mpsc::channel(PIECES);
        let (written, empty) = mpsc::channel(PIECES);
        let is_proven = self.is_secret && (into.is_in_memory() || handle.is_drawn());
        let from = if is_proven { Source::Proven } else { Source::Any };
        let into = into.clone();
        let writing = here(move || write(into.incoming(handle, from)?, coming, &written));
        // Dropped, whichever of both ends first, a channel ends the other.
        let (heard, incoming) = tokio::join!(self.content(handle.bytes, full, empty), writing);
        heard?;
        match incoming {
            Ok(incoming) => finish(incoming).await,
            Err(error) => Ok(Ended::Here(error)),
        }
    }

    /// Passes on a content of so many bytes in pieces, to its end, or until nobody takes them any
    /// more; then the connection is of no use.
    async fn content(
        &mut self,
        bytes: u64,
        full: mpsc::Sender<Vec<u8>>,
        mut empty: mpsc::Receiver<Vec<u8>>,
    ) -> Result<(), Failure> {
        let mut left = bytes;
        while left > 0 {
            let mut piece = empty.try_recv().unwrap_or_else(|_| vec![0; PIECE_BYTES]);
            piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
            let read = async { Ok(self.reading.read_exact(&mut piece).await?) };
            within(SILENCE, read).await?;
            left -= piece.len() as u64;
            if full.send(piece).await.is_err() {
                return Ok(());
            }
        }
        match within(SILENCE, self.hear()).await? {
            Say::Done => Ok(()),
            _ => Err(unexpected("something else behind the content")),
        }
    }

    async fn send(
        &mut self,
        content: &[u8],
        handle: Handle,
        of: Holders<'_>,
    ) -> Result<Ended, Failure> {
        let put = Ask::Put(handle, of.tasks.to_vec(), of.is_replica);
        send(&mut self.writing, &put).await?;
        let mut batches = content.chunks(BATCH_BYTES as usize);
        loop {
            match self.hear().await? {
                Say::Go => {
                    let batch = batches.next().ok_or_else(|| unexpected("too many goes"))?;
                    self.writing.write_all(batch).await?;
                    self.writing.flush().await?;
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

/// What comes from a depot, if it comes in time: one that is stopped keeps its connections.
async fn within<T>(
    patience: Duration,
    coming: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::time::timeout(patience, coming).await.map_err(|_| Failure::Silent)?
}

fn end(said: Say) -> Result<Ended, Failure> {
    match said {
        Say::Done => Ok(Ended::Done),
        Say::Missing => Ok(Ended::Missing),
        Say::Refused(why) => Ok(Ended::Refused(why)),
        Say::Full(why) => Ok(Ended::Full(why)),
        Say::Go | Say::Comes | Say::Lies { .. } => Err(unexpected("another answer")),
    }
}

fn unexpected(what: &str) -> Failure {
    Failure::Protocol(format!("{what} has come"))
}

/// Writes the pieces that come, beside whoever gets them from the network, and gives them back.
fn write(
    mut incoming: Incoming,
    mut coming: mpsc::Receiver<Vec<u8>>,
    written: &mpsc::Sender<Vec<u8>>,
) -> Result<Incoming, BlobError> {
    while let Some(piece) = coming.blocking_recv() {
        incoming.write(&piece)?;
        // Whoever gets them has all already, or has enough of them.
        let _ = written.try_send(piece);
    }
    Ok(incoming)
}

/// Reads a blob from the memory of its owner into a file; none if it cannot be read there.
fn read(
    fabric: &Fabric,
    from: &Place,
    handle: Handle,
    into: &Arc<Blobs>,
) -> Result<Option<Incoming>, BlobError> {
    // Nothing of it is sealed, so nothing is proven.
    let mut incoming = into.incoming(handle, Source::Any)?;
    let take = |piece: &[u8]| incoming.write(piece).map_err(Unread::Here);
    match fabric.read(from, handle.bytes, take) {
        Ok(()) => Ok(Some(incoming)),
        Err(Unread::Here(error)) => Err(error),
        Err(Unread::There(_)) => Ok(None),
    }
}

/// Why a blob was not read.
enum Unread {
    Here(BlobError),
    There(
        #[expect(dead_code, reason = "the connection is tried next, whatever it was")] FabricError,
    ),
}

impl From<FabricError> for Unread {
    fn from(error: FabricError) -> Self {
        Self::There(error)
    }
}

async fn finish(incoming: Incoming) -> Result<Ended, Failure> {
    match here(move || incoming.finish()).await {
        Ok(()) => Ok(Ended::Done),
        // Another content was sent than the one that was asked for.
        Err(BlobError::Damaged { why, .. }) => Err(Failure::Protocol(why)),
        Err(error) => Ok(Ended::Here(error)),
    }
}

/// Does what waits for the disk beside the tasks of the runtime.
async fn here<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BlobError> + Send + 'static,
) -> Result<T, BlobError> {
    match crate::spawn::spawn_blocking(work).await {
        Ok(done) => done,
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}
