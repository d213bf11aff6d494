//! Depots: the folder of blobs at the holder of a store, or of another node, from another host.
//!
//! What is asked of a holder outlives connections, as a session does: when the holder dies it is
//! asked again of whoever listens there next. Asking twice does no harm, since a blob is known by
//! its content. One connection is kept for the next question. It is another one than that of the
//! session, so that no heartbeat waits behind a large blob.

use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::TaskId;
use tokio::sync::Mutex;

use super::asking::{Connection, Ended, Job};
use super::blobs::{HELLO, Holders, MAX_TASKS};
use super::connect;
use super::endpoint::Endpoint;
use super::error::NetError;
use super::handshake::Credentials;
use crate::blobs::{BlobError, Blobs, Handle};
use crate::fabric::{self, Fabric};

/// The first wait before the holder is asked again; it doubles up to [`LONGEST_WAIT`].
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Where the blobs of a store are that another host holds; or outputs that stay on a node.
#[derive(Debug)]
pub struct Depot {
    at: Endpoint,
    own: Credentials,
    fabric: Option<Arc<Fabric>>,
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

impl DepotError {
    /// Whether it is this host that cannot have the copy, so that nothing is known of the depot.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Blob(BlobError::Full { .. }))
    }
}

impl Depot {
    /// The depot of the store that is served there.
    pub fn new(at: Endpoint, own: Credentials) -> Self {
        Self::over(at, own, fabric::of_process())
    }

    /// The same, whose memory is read by this fabric, if its owner has that, too.
    fn over(at: Endpoint, own: Credentials, fabric: Option<Arc<Fabric>>) -> Self {
        Self { at, own, fabric, idle: Mutex::default() }
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
        self.ask(handle, &Job::Send(content, handle, Holders::of(tasks))).await
    }

    /// Pins a blob there for some tasks.
    ///
    /// # Errors
    /// It is not there.
    pub async fn pin(&self, handle: Handle, tasks: &[TaskId]) -> Result<(), DepotError> {
        for tasks in tasks.chunks(MAX_TASKS) {
            self.ask(handle, &Job::Pin(handle, Holders::of(tasks))).await?;
        }
        Ok(())
    }

    /// As [`Depot::pin`], at a node that may be gone.
    pub(crate) async fn pin_once(&self, handle: Handle, of: Holders<'_>) -> Result<(), DepotError> {
        for tasks in of.tasks.chunks(MAX_TASKS) {
            self.ask_once(handle, &Job::Pin(handle, Holders { tasks, ..of })).await?;
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
        of: Holders<'_>,
    ) -> Result<(), DepotError> {
        self.ask_once(handle, &Job::Send(content, handle, of)).await
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
        let ends = connect::open(&self.at, &self.own, HELLO).await?;
        let is_secret = self.own.ring.is_secret();
        let mut connection = Connection::new(ends, is_secret, self.fabric.clone());
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

#[cfg(test)]
mod tests {
    use tidings_primitives::{Key, KeyRing};
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::super::blobs::{Ask, Say};
    use super::super::error::Failure;
    use super::super::{blobs, handshake};
    use super::*;
    use crate::frame;

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

    /// A peer that serves blobs of a folder in memory to one client, by this fabric, too.
    async fn serving(folder: Arc<Blobs>, fabric: Option<Arc<Fabric>>) -> Endpoint {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string().parse().unwrap();
        crate::spawn::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let ends = handshake::answer(stream.into_split(), &secret()).await.unwrap();
            let mut both = tokio::io::join(ends.0, ends.1);
            frame::wanted(&mut both, &[HELLO]).await.unwrap();
            let (reading, writing) = both.into_inner();
            let _ = blobs::serve(reading, writing, Some(&folder), fabric).await;
        });
        at
    }

    /// The memory of an owner is read, or comes over the connection where it cannot be read.
    #[tokio::test]
    async fn a_blob_is_read_from_the_memory_of_its_owner() {
        let place = tempfile::tempdir().unwrap();
        let open = |name| Arc::new(Blobs::open_in_memory(&place.path().join(name)).unwrap());
        let (theirs, mine) = (open("theirs"), open("mine"));
        let opened = || fabric::Fabric::open(&"trusted:tcp".parse().unwrap()).unwrap();
        let (owner, reader) = (opened(), opened());
        let pieces = || reader.pieces.load(core::sync::atomic::Ordering::Relaxed);
        for (number, fabrics) in [(0, Some(owner)), (1, None)] {
            let content: Vec<u8> = (0..3_000_001).map(|at| (at / 7 + number) as u8).collect();
            let handle = theirs.put(&content).unwrap();
            let before = pieces();
            let at = serving(theirs.clone(), fabrics.clone()).await;
            let depot = Depot::over(at, secret(), Some(reader.clone()));
            depot.fetch_once(handle, &mine).await.unwrap();
            assert!(*mine.map(&handle).unwrap() == content);
            assert_eq!(pieces() > before, fabrics.is_some());
            // What is gone, and what is short, are asked for over the same connection.
            let short = theirs.put(b"short").unwrap();
            depot.fetch_once(short, &mine).await.unwrap();
            let gone = depot.fetch_once(Handle::of(&content[1..]), &mine).await;
            assert!(matches!(gone, Err(DepotError::Missing { .. })), "{gone:?}");
        }
    }
}
