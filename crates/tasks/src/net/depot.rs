//! Depots: the folder of blobs at the holder of a store, or of another node, from another host.
//!
//! What is asked of a holder outlives connections, as a session does: when the holder dies it is
//! asked again of whoever listens there next. Asking twice does no harm, since a blob is known by
//! its content. One connection is kept for the next question. It is another one than that of the
//! session, so that no heartbeat waits behind a large blob.

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::TaskId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Mutex, mpsc};

use super::blobs::{Ask, BATCH_BYTES, HELLO, MAX_TASKS, PIECE_BYTES, Say, send};
use super::connect::{self, Reading, Writing};
use super::endpoint::Endpoint;
use super::error::{Failure, NetError};
use super::handshake::Credentials;
use crate::blobs::{BlobError, Blobs, Handle, Incoming, Source};
use crate::frame;

/// The first wait before the holder is asked again; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The time in which a piece comes that was asked for; longer for a blob whose hash is checked
/// first by whoever sends it, which reads so many bytes in a microsecond.
const SILENCE: Duration = Duration::from_secs(5);
const CHECKED_BYTES: u64 = 100;

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
    /// It has no space.
    #[error("tcp://{at} has {why}")]
    Full {
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
    reading: Reading,
    writing: Writing,
    buffer: Vec<u8>,
    /// Whether the key with which it is sealed is a secret.
    is_secret: bool,
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
    Full(String),
    Here(BlobError),
}

impl DepotError {
    /// Whether it is this host that cannot have the copy, so that nothing is known of the depot.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Blob(BlobError::Full { .. }))
    }
}

impl Depot {
    /// The depot of the store that is served there.
    pub fn new(at: Endpoint, own: Credentials) -> Self {
        Self { at, own, idle: Mutex::default() }
    }

    /// Copies a blob into a folder here. Its hash is checked, unless that is in memory and the key
    /// a secret.
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
            Ended::Full(why) => Err(DepotError::Full { at: self.at.clone(), why }),
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
        let is_secret = self.own.ring.is_secret();
        let mut connection = Connection { reading, writing, buffer: Vec::new(), is_secret };
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
        let checked = Duration::from_micros(handle.bytes / CHECKED_BYTES);
        match within(SILENCE + checked, self.hear()).await? {
            Say::Comes => {}
            Say::Done => return Err(unexpected("an end before the content")),
            other => return end(other),
        }
        let (full, coming) = mpsc::channel(PIECES);
        let (written, empty) = mpsc::channel(PIECES);
        let is_proven = self.is_secret && into.is_in_memory();
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
        tasks: &[TaskId],
    ) -> Result<Ended, Failure> {
        send(&mut self.writing, &Ask::Put(handle, tasks.to_vec())).await?;
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
        Say::Go | Say::Comes => Err(unexpected("another answer")),
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

#[cfg(test)]
mod tests {
    use tidings_primitives::{Key, KeyRing};
    use tokio::net::TcpListener;

    use super::super::handshake;
    use super::*;

    const CONTENT: &[u8] = b"these bytes";
    const OTHER: &[u8] = b"other bytes";

    fn own(ring: KeyRing) -> Credentials {
        Credentials { ring, cluster: "test".into() }
    }

    fn secret() -> Credentials {
        own(KeyRing::new(&[Key::from_bytes([7; 32])]).unwrap())
    }

    fn framed(say: &Say) -> Vec<u8> {
        let mut buffer = Vec::new();
        frame::append(&mut buffer, say).unwrap();
        buffer
    }

    /// A peer that says this to the first who asks for a blob, and hangs up.
    async fn peer(own: Credentials, says: Vec<u8>) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string().parse().unwrap();
        crate::spawn::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (reading, writing) = handshake::answer(stream.into_split(), &own).await.unwrap();
            let mut both = tokio::io::join(reading, writing);
            frame::wanted(&mut both, &[HELLO]).await.unwrap();
            let asked: Option<Ask> = frame::read(&mut both, &mut Vec::new()).await.unwrap();
            assert_eq!(asked, Some(Ask::Get(Handle::of(CONTENT))));
            both.write_all(&says).await.unwrap();
            both.flush().await.unwrap();
        });
        at
    }

    /// What a folder in memory has of a peer that says this.
    async fn fetched(own: Credentials, says: &[&[u8]]) -> Result<Vec<u8>, DepotError> {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Arc::new(Blobs::open_in_memory(&folder.path().join("b")).unwrap());
        let at = peer(own.clone(), says.concat()).await;
        let ended = Depot::new(at, own).fetch_once(Handle::of(CONTENT), &blobs).await;
        let left = std::fs::read_dir(blobs.folder().join("new")).unwrap().count();
        assert_eq!((left, blobs.has(&Handle::of(CONTENT))), (0, ended.is_ok()));
        ended.map(|()| blobs.map(&Handle::of(CONTENT)).unwrap().to_vec())
    }

    #[tokio::test]
    async fn a_peer_that_does_not_keep_to_the_protocol_gives_nothing() {
        let [comes, done, go] = [Say::Comes, Say::Done, Say::Go].map(|say| framed(&say));
        let whole = [&comes[..], CONTENT, &done];
        assert_eq!(fetched(secret(), &whole).await.unwrap(), CONTENT);
        let wrong: [&[&[u8]]; 6] = [
            &[&done],
            &[&go],
            &[&comes, &CONTENT[1..], &done],
            &[&comes, CONTENT, b"more", &done],
            &[&comes, CONTENT, &comes],
            &[b"\xff\xff\xff\xff"],
        ];
        for says in wrong {
            let error = fetched(secret(), says).await.unwrap_err();
            let DepotError::Net(failure) = &error else { panic!("{error:?}") };
            let is_cut = matches!(failure.why, Failure::Unreachable(_));
            let is_wrong = matches!(failure.why, Failure::Protocol(_));
            assert!(is_cut || is_wrong, "{says:?}: {error}");
        }
    }

    #[tokio::test]
    async fn a_peer_that_dies_in_the_middle_gives_nothing() {
        let comes = framed(&Say::Comes);
        let some: [&[&[u8]]; 4] = [&[], &[&comes], &[&comes, &CONTENT[..5]], &[&comes, CONTENT]];
        for says in some {
            let error = fetched(secret(), says).await.unwrap_err();
            let DepotError::Net(failure) = &error else { panic!("{error:?}") };
            assert!(matches!(failure.why, Failure::Unreachable(_)), "{error}");
        }
    }

    /// Without a secret anybody of this host may answer in the owner's place.
    #[tokio::test]
    async fn the_hash_is_checked_of_what_anybody_may_have_sent() {
        let [comes, done] = [Say::Comes, Say::Done].map(|say| framed(&say));
        let says = [&comes[..], OTHER, &done];
        let error = fetched(own(KeyRing::open("test")), &says).await.unwrap_err();
        let DepotError::Net(failure) = &error else { panic!("{error:?}") };
        assert!(matches!(failure.why, Failure::Protocol(_)), "{error}");
        // A holder of the key is believed as its neighbours believe it, who map its file.
        assert_eq!(fetched(secret(), &says).await.unwrap(), OTHER);
    }

    /// What is kept on disks is checked, whoever has sent it.
    #[tokio::test]
    async fn the_hash_is_checked_of_what_is_kept_on_disks() {
        let [comes, done] = [Say::Comes, Say::Done].map(|say| framed(&say));
        let folder = tempfile::tempdir().unwrap();
        let blobs = Arc::new(Blobs::open(&folder.path().join("b")).unwrap());
        let at = peer(secret(), [&comes[..], OTHER, &done].concat()).await;
        let ended = Depot::new(at, secret()).fetch_once(Handle::of(CONTENT), &blobs).await;
        assert!(matches!(ended, Err(DepotError::Net(_))), "{ended:?}");
        assert!(!blobs.has(&Handle::of(CONTENT)));
    }
}
