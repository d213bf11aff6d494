//! Blobs over a connection: what is said, and the side of the one that has the folder.
//!
//! The client asks one thing at a time. A content goes as it is, behind the frame that announces
//! it: its handle has said how long it is. It is read in pieces, so that no side holds more than
//! some of them beyond what is mapped. Whoever gets a content checks its hash before it has a name,
//! unless it comes from memory into memory, sealed with the cluster's key (`Source::Proven`).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use minicbor::{Decode, Encode};
use tidings_tasks_core::id::TaskId;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::blobs::{BlobError, Blobs, Handle, Source};
use crate::fabric::{Fabric, Place};
use crate::frame;

/// The first frame in both directions, of those that pass blobs.
pub(super) const HELLO: &str = "tidings-blobs 2";

/// Bytes that are read or sent at a time.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// Bytes that are put at a time: before each batch the client hears whether to go on.
pub(super) const BATCH_BYTES: u64 = 4 << 20;

/// Tasks for which a blob is pinned at a time.
pub(super) const MAX_TASKS: usize = 1_000;

/// What a client reads of memory in a microsecond, at least.
const READ_BYTES: u64 = 100;

/// The time after which a client that says or takes nothing is let go.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a client asks.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub(super) enum Ask {
    /// The content: [`Say::Comes`], the bytes and [`Say::Done`] are the answer.
    #[n(0)]
    Get(#[n(0)] Handle),
    /// That it is there, pinned for these tasks: bytes follow each [`Say::Go`].
    #[n(1)]
    Put(#[n(0)] Handle, #[n(1)] Vec<TaskId>, #[cbor(n(2), default)] bool),
    /// That it is pinned for these tasks; as a replica, if that is said.
    #[n(2)]
    Pin(#[n(0)] Handle, #[n(1)] Vec<TaskId>, #[cbor(n(2), default)] bool),
    /// The content, or where its bytes lie for one-sided reads by this provider of libfabric:
    /// [`Say::Lies`] is the answer to that, and after [`Ask::Taken`] [`Say::Done`].
    #[n(3)]
    Reach(#[n(0)] Handle, #[n(1)] String),
    /// The bytes were read, or will not be.
    #[n(4)]
    Taken,
}

/// For whom a blob is pinned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holders<'a> {
    pub(crate) tasks: &'a [TaskId],
    /// Whether it is a [replica](crate::replicas).
    pub(crate) is_replica: bool,
}

impl<'a> Holders<'a> {
    pub(crate) fn of(tasks: &'a [TaskId]) -> Self {
        Self { tasks, is_replica: false }
    }
}

/// What is said to a client.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub(super) enum Say {
    /// All bytes of what it wants follow, as they are.
    #[n(0)]
    Comes,
    /// Send the next [`BATCH_BYTES`], or all that is left, as they are.
    #[n(1)]
    Go,
    /// It is done, and durable.
    #[n(2)]
    Done,
    /// The blob is not here.
    #[n(3)]
    Missing,
    /// It is not done, for this reason.
    #[n(4)]
    Refused(#[n(0)] String),
    /// There is no space for it here, in these words.
    #[n(5)]
    Full(#[n(0)] String),
    /// The bytes lie there until [`Ask::Taken`].
    #[n(6)]
    Lies {
        /// The address of the owner's endpoint.
        #[cbor(n(0), with = "minicbor::bytes")]
        name: Vec<u8>,
        /// The key of the region.
        #[n(1)]
        key: u64,
        /// Where in the region they begin.
        #[n(2)]
        address: u64,
    },
}

impl From<BlobError> for Say {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Missing { .. } => Self::Missing,
            BlobError::Full { .. } => Self::Full(error.to_string()),
            other => Self::Refused(other.to_string()),
        }
    }
}

/// Sends one frame.
pub(super) async fn send(
    writing: &mut (impl AsyncWrite + Unpin),
    what: &impl Encode<()>,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    frame::append(&mut buffer, what)?;
    writing.write_all(&buffer).await?;
    writing.flush().await
}

/// Serves a client until it goes.
pub(super) async fn serve<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin>(
    reading: R,
    writing: W,
    blobs: Option<&Arc<Blobs>>,
    fabric: Option<Arc<Fabric>>,
) -> io::Result<()> {
    let mut client = Client { reading, writing, buffer: Vec::new(), fabric };
    while let Some(ask) = client.hear().await? {
        let Some(blobs) = blobs else {
            client.say(&Say::Refused("this store keeps no blobs; use file:PATH".into())).await?;
            continue;
        };
        match client.serve(ask, blobs).await {
            Ok(()) => {}
            Err(Trouble::Blob(error)) => client.say(&error.into()).await?,
            Err(Trouble::Gone(error)) => return Err(error),
        }
    }
    Ok(())
}

/// Why something was not done.
enum Trouble {
    /// The client is told, and may ask for something else.
    Blob(BlobError),
    /// There is no client any more, or one that does not keep to the protocol.
    Gone(io::Error),
}

impl From<BlobError> for Trouble {
    fn from(error: BlobError) -> Self {
        Self::Blob(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

struct Client<R, W> {
    reading: R,
    writing: W,
    buffer: Vec<u8>,
    /// By which its blobs are read, too.
    fabric: Option<Arc<Fabric>>,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin> Client<R, W> {
    async fn hear(&mut self) -> io::Result<Option<Ask>> {
        let heard = frame::read(&mut self.reading, &mut self.buffer);
        tokio::time::timeout(PATIENCE, heard).await?
    }

    async fn say(&mut self, what: &Say) -> io::Result<()> {
        tokio::time::timeout(PATIENCE, send(&mut self.writing, what)).await?
    }

    async fn serve(&mut self, ask: Ask, blobs: &Arc<Blobs>) -> Result<(), Trouble> {
        match ask {
            Ask::Get(handle) => self.give(blobs, handle).await?,
            Ask::Put(handle, tasks, is_replica) => {
                self.take(blobs, handle, Holders { tasks: &tasks, is_replica }).await?;
            }
            Ask::Pin(handle, tasks, is_replica) => {
                pin(blobs, handle, Holders { tasks: &tasks, is_replica }).await?;
            }
            Ask::Reach(handle, provider) => self.expose(blobs, handle, &provider).await?,
            // It was not read: nothing is exposed.
            Ask::Taken => return Ok(()),
        }
        Ok(self.say(&Say::Done).await?)
    }

    async fn give(&mut self, blobs: &Arc<Blobs>, handle: Handle) -> Result<(), Trouble> {
        let blobs = blobs.clone();
        let mapped = blocking(move || blobs.lend(&handle)).await?;
        self.say(&Say::Comes).await?;
        for piece in mapped.chunks(PIECE_BYTES) {
            let sent = self.writing.write_all(piece);
            tokio::time::timeout(PATIENCE, sent).await.map_err(io::Error::from)??;
        }
        Ok(())
    }

    /// Lets a blob be read until the client has taken it, or gives it, if it cannot.
    async fn expose(
        &mut self,
        blobs: &Arc<Blobs>,
        handle: Handle,
        provider: &str,
    ) -> Result<(), Trouble> {
        let fabric = self.fabric.clone().filter(|fabric| fabric.provider() == provider);
        let Some(fabric) = fabric.filter(|_| handle.bytes > 0) else {
            return self.give(blobs, handle).await;
        };
        let (blobs_here, exposing) = (blobs.clone(), fabric.clone());
        let exposed = blocking(move || Ok(exposing.expose(blobs_here.lend(&handle)?))).await?;
        let Ok(region) = exposed else {
            return self.give(blobs, handle).await;
        };
        let Place { name, key, address } = region.place();
        self.say(&Say::Lies { name, key, address }).await?;
        let patience = PATIENCE + Duration::from_micros(handle.bytes / READ_BYTES);
        let heard = frame::read(&mut self.reading, &mut self.buffer);
        let taken = tokio::time::timeout(patience, driven(&fabric, heard)).await;
        // From now on it is read no more, whatever was said.
        drop(region);
        match taken.map_err(io::Error::from)?? {
            Some(Ask::Taken) => Ok(()),
            _ => Err(Trouble::Gone(io::ErrorKind::InvalidData.into())),
        }
    }

    async fn take(
        &mut self,
        blobs: &Arc<Blobs>,
        handle: Handle,
        holders: Holders<'_>,
    ) -> Result<(), Trouble> {
        // What is there is only pinned, which fails if it is not.
        match pin(blobs, handle, holders).await {
            Err(Trouble::Blob(BlobError::Missing { .. })) => {}
            other => return other,
        }
        let folder = blobs.clone();
        let mut incoming = blocking(move || folder.incoming(handle, Source::Any)).await?;
        let mut left = handle.bytes;
        while left > 0 {
            self.say(&Say::Go).await?;
            let batch = self.batch(left.min(BATCH_BYTES)).await?;
            left -= batch.len() as u64;
            incoming = blocking(move || incoming.write(&batch).map(|()| incoming)).await?;
        }
        blocking(move || incoming.finish()).await?;
        pin(blobs, handle, holders).await
    }

    /// So many bytes, as they come.
    async fn batch(&mut self, bytes: u64) -> io::Result<Vec<u8>> {
        let mut batch = Vec::new();
        while (batch.len() as u64) < bytes {
            let piece = (bytes - batch.len() as u64).min(PIECE_BYTES as u64);
            let mut piecewise = (&mut self.reading).take(piece);
            let read = piecewise.read_to_end(&mut batch);
            if (tokio::time::timeout(PATIENCE, read).await?? as u64) < piece {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(batch)
    }
}

/// Waits for something, and makes progress with what others read meanwhile.
async fn driven<T>(fabric: &Fabric, waited: impl Future<Output = T>) -> T {
    let mut waited = core::pin::pin!(waited);
    loop {
        let again = async {
            if fabric.is_driven() {
                fabric.drive();
                tokio::task::yield_now().await;
            } else {
                core::future::pending::<()>().await;
            }
        };
        tokio::select! {
            biased;
            done = &mut waited => return done,
            () = again => {}
        }
    }
}

async fn pin(blobs: &Arc<Blobs>, handle: Handle, of: Holders<'_>) -> Result<(), Trouble> {
    if of.tasks.len() > MAX_TASKS {
        return Err(unasked("too many tasks").into());
    }
    let (blobs, tasks, is_replica) = (blobs.clone(), of.tasks.to_vec(), of.is_replica);
    let pin = move || {
        if is_replica { blobs.pin_replica(&handle, &tasks) } else { blobs.pin_for(&handle, &tasks) }
    };
    Ok(blocking(pin).await?)
}

fn unasked(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the client has sent {what}"))
}

/// Does what waits for the disk beside the tasks of the runtime.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BlobError> + Send + 'static,
) -> Result<T, BlobError> {
    match crate::spawn::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(BlobError::File { path: PathBuf::new(), why: error.to_string() }),
    }
}
