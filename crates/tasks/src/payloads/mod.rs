//! Payloads and results of any length, for those who submit tasks and those who do them.
//!
//! A record takes 16 KiB. What is longer is put as a blob, pinned under its task, and the record
//! gets a *stand-in*: [`MARK`] and the blob's handle in CBOR. No work and no report begins with the
//! mark, since no item in CBOR does; other bytes that happen to begin with it are made a blob too.
//! So a payload with the mark is a stand-in, and one without is itself.
//!
//! Invariant: a stand-in is sent only when its blob is durable and pinned. While a submission
//! waits, its pins are renewed, so that no wait is too long for the grace.

mod nodes;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, MAX_INLINE_BYTES, Request, Submission};

use crate::blobs::{self, BlobError, Blobs, Handle, Mapped};
use crate::member::Member;
use crate::net::depot::{Depot, DepotError};
use crate::session::{Session, SessionEnded};
use crate::store::address::Address;

pub(crate) use nodes::Brought;
use nodes::Nodes;

/// What a stand-in begins with.
pub const MARK: &[u8] = b"\xffblob";

/// The bytes of all payloads of one submission; of more, those above [`SHORT_BYTES`] are put as
/// blobs, so that any submission fits into a frame.
const SUBMISSION_BYTES: usize = 4 << 20;
const SHORT_BYTES: usize = 4_096;

/// The time after which the pins of a submission that waits are renewed.
const RENEWAL: Duration = Duration::from_secs(blobs::GRACE.as_secs() / 6);

/// Why a payload or result was not put or not read.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// The folder of blobs says so.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The other host that has the blobs says so.
    #[error(transparent)]
    Depot(#[from] DepotError),
    /// The store has no place for it. Nothing was submitted.
    #[error(
        "{0} bytes, and a record takes {MAX_INLINE_BYTES}: this store has no place for more; name \
         a folder that all hosts share with --blobs, or use file:PATH"
    )]
    NoPlace(u64),
    /// What stands in for a blob is damaged, or of a later version.
    #[error("what stands in for a blob cannot be read: {0}")]
    StandIn(String),
    /// The session has ended. Whether anything was submitted is unknown.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The process is ending. Nothing was submitted.
    #[error("the runtime is ending")]
    Ending,
    /// An output that stays on nodes is lost, and is made again.
    #[error("its output was lost with its node, and is made again: ask later")]
    Again,
    /// What nobody is answered who asks for a result.
    #[error("the coordinator said {0:?}")]
    Answer(Box<Answer>),
}

/// Where payloads and results go that are too long for a record. Its clones are the same place.
#[derive(Clone, Debug)]
pub struct Payloads(Arc<Place>);

#[derive(Debug)]
struct Place {
    /// The folder of the store; of one on another host, that of copies.
    folder: Option<PathBuf>,
    /// The folder, opened when it is first needed: a store without blobs has none.
    opened: Mutex<Option<Arc<Blobs>>>,
    /// Where the blobs are, if that is another host.
    depot: Option<Depot>,
    /// Where outputs come from that stay on nodes.
    nodes: Option<Nodes>,
}

impl Payloads {
    /// Those of the store that a member uses. Copies of blobs from another host lie in `cache`.
    pub fn of(member: &Member, cache: &Path) -> Self {
        Self::of_nodes(member, member.blobs(), cache)
    }

    /// The same, of a store whose blobs lie in another folder.
    pub(crate) fn of_nodes(member: &Member, folder: Option<&Path>, cache: &Path) -> Self {
        let own = member.credentials();
        let (folder, depot) = match member.address() {
            Address::Tcp(at) => (Some(cache), Some(Depot::new(at.clone(), own.clone()))),
            _ => (folder, None),
        };
        let copies = folder.unwrap_or(cache).into();
        let nodes = Nodes::new(own.clone(), copies);
        Self::at(folder.map(Into::into), depot, Some(nodes))
    }

    /// In the folder beside the store in this file.
    pub fn beside(file: &Path) -> Self {
        Self::at(Some(blobs::beside(file)), None, None)
    }

    /// In a folder of this choice, which all who use the store can reach.
    pub fn in_folder(folder: &Path) -> Self {
        Self::at(Some(folder.into()), None, None)
    }

    /// Nowhere: what is too long for a record is refused.
    pub fn nowhere() -> Self {
        Self::at(None, None, None)
    }

    /// On another host. Copies lie in the folder `cache`, which processes of this host may share;
    /// what nobody has needed for the grace is removed when one of them begins to use it.
    pub fn away(depot: Depot, cache: &Path) -> Self {
        Self::at(Some(cache.into()), Some(depot), None)
    }

    fn at(folder: Option<PathBuf>, depot: Option<Depot>, nodes: Option<Nodes>) -> Self {
        Self(Arc::new(Place { folder, opened: Mutex::default(), depot, nodes }))
    }

    /// Puts content that a task is going to name, and pins it for the task.
    ///
    /// # Errors
    /// There is no space for it, or no place.
    pub async fn put(&self, task: TaskId, content: Vec<u8>) -> Result<Handle, PayloadError> {
        let bytes = content.len() as u64;
        let handle = self.work(bytes, move |blobs| blobs.put(&content)).await?;
        self.hand_over(handle, task).await
    }

    /// Puts a copy of a file that a task is going to name, and pins it for the task.
    ///
    /// # Errors
    /// It cannot be read, or there is no space for it, or no place.
    pub async fn put_file(&self, task: TaskId, file: &Path) -> Result<Handle, PayloadError> {
        let file = file.to_owned();
        let bytes = std::fs::metadata(&file).map_or(0, |found| found.len());
        let handle = self.work(bytes, move |blobs| blobs.put_file(&file)).await?;
        self.hand_over(handle, task).await
    }

    /// Pins what was put here, where its task's record is.
    async fn hand_over(&self, handle: Handle, task: TaskId) -> Result<Handle, PayloadError> {
        match &self.0.depot {
            None => self.pin(handle, &[task]).await?,
            Some(depot) => {
                let copy = self.work(handle.bytes, move |blobs| blobs.get(&handle)).await?;
                depot.send(&copy, handle, &[task]).await?;
            }
        }
        Ok(handle)
    }

    /// Pins a blob for some tasks that are going to name it. The disk is waited for once.
    ///
    /// # Errors
    /// It is not there, or there is no place for blobs.
    pub async fn pin(&self, handle: Handle, tasks: &[TaskId]) -> Result<(), PayloadError> {
        if let Some(depot) = &self.0.depot {
            return Ok(depot.pin(handle, tasks).await?);
        }
        let holders: Vec<String> = tasks.iter().copied().map(blobs::holder_of).collect();
        self.work(handle.bytes, move |blobs| {
            let holders: Vec<&str> = holders.iter().map(String::as_str).collect();
            blobs.pin_for(&handle, &holders)
        })
        .await
    }

    /// Maps a blob; one of another host is copied here first.
    ///
    /// # Errors
    /// It is not there, or is damaged.
    pub async fn get(&self, handle: Handle) -> Result<Mapped, PayloadError> {
        let found = self.work(handle.bytes, move |blobs| blobs.get(&handle)).await;
        if let (Err(PayloadError::NoPlace(_)), Some(brought)) = (&found, self.copied(handle).await)
        {
            return Ok(brought.mapped);
        }
        let (Err(PayloadError::Blob(BlobError::Missing { .. })), Some(depot)) =
            (&found, &self.0.depot)
        else {
            return found;
        };
        let cache = self.work(handle.bytes, |blobs| Ok(blobs.clone())).await?;
        depot.fetch(handle, &cache).await?;
        self.work(handle.bytes, move |blobs| blobs.get(&handle)).await
    }

    /// Maps a blob, and tells its file: for other processes of this host.
    pub(crate) async fn file(&self, handle: Handle) -> Result<(Mapped, PathBuf), PayloadError> {
        let mapped = self.get(handle).await?;
        let path = self.work(handle.bytes, move |blobs| Ok(blobs.path(&handle))).await?;
        Ok((mapped, path))
    }

    /// The bytes for a record of a task: themselves if they are short enough, else a stand-in for
    /// the blob that they are put as.
    ///
    /// # Errors
    /// There is no space for the blob, or no place.
    pub async fn shorten(&self, task: TaskId, bytes: Vec<u8>) -> Result<Vec<u8>, PayloadError> {
        self.shorten_to(MAX_INLINE_BYTES, task, bytes).await
    }

    async fn shorten_to(
        &self,
        most: usize,
        task: TaskId,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, PayloadError> {
        if bytes.len() <= most && !bytes.starts_with(MARK) {
            return Ok(bytes);
        }
        let handle = self.put(task, bytes).await?;
        Ok([MARK, &tidings_tasks_core::record::encode(&handle)].concat())
    }

    /// The bytes that a record of a task stands for.
    ///
    /// # Errors
    /// They are a blob that is not there, or is damaged.
    pub async fn whole(&self, bytes: Vec<u8>) -> Result<Vec<u8>, PayloadError> {
        match stand_in(&bytes)? {
            None => Ok(bytes),
            Some(handle) => Ok(self.get(handle).await?.to_vec()),
        }
    }

    /// Submits tasks whose payloads have any length. `named` are blobs, put before, that all of
    /// them name within their payloads. When this returns without an error all are there.
    ///
    /// # Errors
    /// There is no space or no place for what is long, or the session has ended.
    pub async fn submit(
        &self,
        session: &Session,
        mut tasks: Vec<Submission>,
        named: &[Handle],
    ) -> Result<Answer, PayloadError> {
        let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
        let mut pins: Vec<(Handle, Vec<TaskId>)> =
            named.iter().map(|handle| (*handle, ids.clone())).collect();
        self.pin_all(&pins).await?;
        let bytes: usize = tasks.iter().map(|task| task.payload.len()).sum();
        let most = if bytes > SUBMISSION_BYTES { SHORT_BYTES } else { MAX_INLINE_BYTES };
        for task in &mut tasks {
            let payload = core::mem::take(&mut task.payload);
            task.payload = self.shorten_to(most, task.id, payload).await?;
            pins.extend(stand_in(&task.payload)?.map(|handle| (handle, vec![task.id])));
        }
        let asked = session.ask(Request::Submit { tasks });
        Ok(self.renewing(&pins, asked).await??)
    }

    /// Waits for the end of a task. A result is whole, whatever its length.
    ///
    /// # Errors
    /// The result is not there any more, or the session has ended.
    pub async fn outcome(&self, session: &Session, task: TaskId) -> Result<Answer, PayloadError> {
        match session.ask(Request::Wait { task }).await? {
            Answer::Outcome(finished) => {
                let finished = self.result(session, task, *finished, false).await?;
                Ok(Answer::Outcome(Box::new(finished)))
            }
            other => Ok(other),
        }
    }

    /// Renews pins as long as something waits.
    async fn renewing<T>(
        &self,
        pins: &[(Handle, Vec<TaskId>)],
        waits: impl Future<Output = T>,
    ) -> Result<T, PayloadError> {
        let mut waits = core::pin::pin!(waits);
        loop {
            tokio::select! {
                done = &mut waits => return Ok(done),
                () = tokio::time::sleep(RENEWAL), if !pins.is_empty() => {
                    self.pin_all(pins).await?;
                }
            }
        }
    }

    async fn pin_all(&self, pins: &[(Handle, Vec<TaskId>)]) -> Result<(), PayloadError> {
        for (handle, tasks) in pins {
            self.pin(*handle, tasks).await?;
        }
        Ok(())
    }

    /// Works on the folder beside the tasks of the runtime.
    async fn work<T: Send + 'static>(
        &self,
        bytes: u64,
        work: impl FnOnce(&Arc<Blobs>) -> Result<T, BlobError> + Send + 'static,
    ) -> Result<T, PayloadError> {
        let place = self.0.clone();
        let work = move || match place.opened()? {
            Some(blobs) => work(&blobs).map_err(PayloadError::Blob),
            None => Err(PayloadError::NoPlace(bytes)),
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| PayloadError::Ending)?
    }
}

impl Place {
    fn opened(&self) -> Result<Option<Arc<Blobs>>, BlobError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        open(&self.opened, folder, self.depot.is_some()).map(Some)
    }
}

/// A folder, opened when it is first needed, of copies perhaps.
fn open(
    opened: &Mutex<Option<Arc<Blobs>>>,
    folder: &Path,
    has_copies: bool,
) -> Result<Arc<Blobs>, BlobError> {
    let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(blobs) = &*opened {
        return Ok(blobs.clone());
    }
    let blobs = Arc::new(Blobs::open(folder)?);
    if has_copies {
        // What cannot be freed now may be the next time.
        let _ = blobs.collect(blobs::GRACE);
    }
    *opened = Some(blobs.clone());
    Ok(blobs)
}

/// The blob that these bytes stand for, if they are a stand-in.
pub(crate) fn stand_in(bytes: &[u8]) -> Result<Option<Handle>, PayloadError> {
    let handle = bytes.strip_prefix(MARK).map(minicbor::decode);
    handle.transpose().map_err(|error| PayloadError::StandIn(error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn payloads() -> (tempfile::TempDir, Payloads) {
        let folder = tempfile::tempdir().unwrap();
        let payloads = Payloads::beside(&folder.path().join("store"));
        (folder, payloads)
    }

    #[tokio::test]
    async fn what_is_long_is_put_and_the_rest_stays() {
        let (folder, payloads) = payloads();
        let task = TaskId::of("task", 1);
        let short = payloads.shorten(task, vec![1; MAX_INLINE_BYTES]).await.unwrap();
        assert_eq!(short, vec![1; MAX_INLINE_BYTES]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "no folder unasked");
        // Bytes that look like a stand-in come back as they are, however short.
        for content in [vec![2; MAX_INLINE_BYTES + 1], MARK.to_vec(), [MARK, b"x"].concat()] {
            let short = payloads.shorten(task, content.clone()).await.unwrap();
            assert!(short.len() < 64 && short != content);
            assert_eq!(payloads.whole(short).await.unwrap(), content);
        }
        assert_eq!(payloads.whole(b"abc".to_vec()).await.unwrap(), b"abc");
        let error = payloads.whole(MARK.to_vec()).await.unwrap_err();
        assert!(matches!(error, PayloadError::StandIn(_)), "{error}");
    }

    #[tokio::test]
    async fn a_store_without_a_folder_says_what_to_do() {
        let payloads = Payloads::nowhere();
        let error = payloads.shorten(TaskId::of("task", 1), vec![0; 20_000]).await.unwrap_err();
        assert!(error.to_string().contains("use file:PATH"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn pins_of_what_waits_are_renewed() {
        let (folder, payloads) = payloads();
        let task = TaskId::of("task", 1);
        let handle = payloads.put(task, vec![1; 20_000]).await.unwrap();
        let blobs = Blobs::open(&blobs::beside(&folder.path().join("store"))).unwrap();
        let pins = blobs.folder().join("pins");
        let pins = std::fs::read_dir(pins).unwrap().next().unwrap().unwrap().path();
        let pin = std::fs::File::open(pins.join(blobs::holder_of(task))).unwrap();
        pin.set_modified(SystemTime::now() - 2 * blobs::GRACE).unwrap();
        assert_eq!(blobs.holders(blobs::GRACE).unwrap().len(), 1);
        let held = [(handle, vec![task])];
        let renewed = payloads.renewing(&held, async {
            while !blobs.holders(blobs::GRACE).unwrap().is_empty() {
                tokio::time::sleep(RENEWAL / 4).await;
            }
        });
        renewed.await.unwrap();
    }
}
