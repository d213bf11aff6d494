//! Where payloads and results are that are too long for a record.

use core::ops::Deref;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::output::Owner;
use tokio::sync::OnceCell;

use crate::blobs::{self, BlobError, Blobs, Handle, Mapped};
use crate::copying::{Copier, LARGE_BYTES, Serving};
use crate::member::Member;
use crate::net::depot::Depot;
use crate::net::peers::Peers;
use crate::replicas::Replicas;
use crate::session::Session;
use crate::store::address::Address;

use super::error::PayloadError;

/// Sessions for replicas that this process has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Where payloads and results go that are too long for a record. Its clones are the same place.
#[derive(Clone, Debug)]
pub struct Payloads(pub(super) Arc<Place>);

#[derive(Debug)]
pub(super) struct Place {
    /// The folder of the store; of one on another host, that of copies.
    folder: Option<PathBuf>,
    /// The folder, opened when it is first needed: a store without blobs has none.
    opened: Mutex<Option<Arc<Blobs>>>,
    /// Where the blobs are, if that is another host.
    depot: Option<Arc<Depot>>,
    /// Where outputs come from that stay on nodes.
    pub(super) nodes: Option<Nodes>,
}

/// Other nodes, and the folder of what is copied from them.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) peers: Arc<Peers>,
    copies: PathBuf,
    opened: Mutex<Option<Arc<Blobs>>>,
    /// This process, where it serves what it copies; it may have ended.
    member: Option<Weak<Member>>,
    /// What copies large blobs, once there was one; none if others cannot reach this host.
    serving: OnceCell<Option<Serving>>,
    /// The nodes on which blobs lie, if the store has no folder, once there was one.
    replicas: OnceCell<Replicas>,
}

/// A blob of an output.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) mapped: Mapped,
    pub(crate) path: PathBuf,
    /// The bytes that came from another node for it.
    pub(crate) moved_bytes: u64,
}

impl Payloads {
    /// Those of the store that a member uses. Copies of blobs from another host lie in `cache`.
    pub fn of(member: &Arc<Member>, cache: &Path) -> Self {
        Self::of_nodes(member, member.blobs(), cache)
    }

    /// The same, of a store whose blobs lie in another folder.
    pub(crate) fn of_nodes(member: &Arc<Member>, folder: Option<&Path>, cache: &Path) -> Self {
        let own = member.credentials();
        let (folder, depot) = match member.address() {
            Address::Tcp(at) => (Some(cache), Some(Arc::new(Depot::new(at.clone(), own.clone())))),
            _ => (folder, None),
        };
        // A folder that all hosts share has nothing that were copied to any.
        let serves = member.address().is_of_hosts() && (depot.is_some() || folder.is_none());
        let nodes = Nodes {
            peers: Arc::new(Peers::new(own.clone())),
            copies: folder.unwrap_or(cache).into(),
            opened: Mutex::default(),
            member: serves.then(|| Arc::downgrade(member)),
            serving: OnceCell::new(),
            replicas: OnceCell::new(),
        };
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
        Self::at(Some(cache.into()), Some(Arc::new(depot)), None)
    }

    fn at(folder: Option<PathBuf>, depot: Option<Arc<Depot>>, nodes: Option<Nodes>) -> Self {
        Self(Arc::new(Place { folder, opened: Mutex::default(), depot, nodes }))
    }

    /// Puts content that a task is going to name, and pins it for the task.
    ///
    /// # Errors
    /// There is no space for it, or no place.
    pub async fn put(&self, task: TaskId, content: Vec<u8>) -> Result<Handle, PayloadError> {
        if let Some(replicas) = self.replicas().await {
            return put_on(replicas, task, move || Ok(content)).await;
        }
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
        if let Some(replicas) = self.replicas().await {
            return put_on(replicas, task, move || map(&file)).await;
        }
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
        if let Some(replicas) = self.replicas().await {
            return Ok(replicas.pin(handle, tasks).await?);
        }
        let tasks = tasks.to_vec();
        self.work(handle.bytes, move |blobs| blobs.pin_for(&handle, &tasks)).await
    }

    /// Maps a blob; one of another host is copied here first.
    ///
    /// # Errors
    /// It is not there, or is damaged.
    pub async fn get(&self, handle: Handle) -> Result<Mapped, PayloadError> {
        if let Some(replicas) = self.replicas().await {
            return Ok(Box::pin(self.replica(replicas, handle)).await?.mapped);
        }
        let found = self.work(handle.bytes, move |blobs| blobs.get(&handle)).await;
        let (Err(PayloadError::Blob(BlobError::Missing { .. })), Some(depot)) =
            (&found, &self.0.depot)
        else {
            return found;
        };
        if let Some(copier) = self.copier(handle).await {
            copier.copy(handle, vec![Owner::Store]).await?;
        } else {
            let cache = self.work(handle.bytes, |blobs| Ok(blobs.clone())).await?;
            depot.fetch(handle, &cache).await?;
        }
        self.work(handle.bytes, move |blobs| blobs.get(&handle)).await
    }

    /// The nodes on which the blobs of this store lie, if it has no folder.
    async fn replicas(&self) -> Option<&Replicas> {
        let nodes = self.0.nodes.as_ref()?;
        if self.0.folder.is_some() || self.0.depot.is_some() {
            return None;
        }
        let member = nodes.member.as_ref()?.upgrade()?;
        let begin = async {
            let number = BEGUN.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-replicas-{number}", member.name());
            let (session, _notices) = Session::open(member.clone(), &name, member.host());
            Replicas::new(session, nodes.peers.clone())
        };
        Some(nodes.replicas.get_or_init(|| begin).await)
    }

    /// Maps a blob that lies on nodes; one that is not on this one is copied here first.
    async fn replica(&self, replicas: &Replicas, handle: Handle) -> Result<Brought, PayloadError> {
        if let Some(brought) = self.copied(handle).await {
            return Ok(brought);
        }
        let is_copied = match self.copier(handle).await {
            Some(copier) => copier.copy(handle, replicas.owners(handle).await?).await.is_ok(),
            None => false,
        };
        if !is_copied {
            let copies = self.copies(|blobs| Ok(blobs.clone())).await?;
            replicas.fetch(handle, &copies).await?;
        }
        self.among_copies(handle, handle.bytes).await
    }

    /// What copies a blob from other hosts, if that is large and they can reach this one.
    pub(super) async fn copier(&self, handle: Handle) -> Option<Arc<Copier>> {
        let nodes = self.0.nodes.as_ref().filter(|_| handle.bytes >= LARGE_BYTES)?;
        let member = nodes.member.as_ref()?.upgrade()?;
        // What is done once is large.
        let begin = Box::pin(async {
            let copies = self.copies(|blobs| Ok(blobs.clone())).await.ok()?;
            Serving::begin(&member, copies, nodes.peers.clone(), self.0.depot.clone()).await
        });
        let serving = nodes.serving.get_or_init(|| begin).await;
        serving.as_ref().map(|serving| serving.copier.clone())
    }

    /// Maps a blob, and tells its file: for other processes of this host.
    pub(super) async fn file(&self, handle: Handle) -> Result<Brought, PayloadError> {
        if let Some(replicas) = self.replicas().await {
            return Box::pin(self.replica(replicas, handle)).await;
        }
        let mapped = self.get(handle).await?;
        let path = self.work(handle.bytes, move |blobs| Ok(blobs.path(&handle))).await?;
        Ok(Brought { mapped, path, moved_bytes: 0 })
    }

    /// A blob that is among the copies already.
    pub(super) async fn copied(&self, handle: Handle) -> Option<Brought> {
        self.among_copies(handle, 0).await.ok()
    }

    /// A blob among the copies, for which so many bytes came from another node.
    pub(super) async fn among_copies(
        &self,
        handle: Handle,
        moved_bytes: u64,
    ) -> Result<Brought, PayloadError> {
        let found = move |blobs: &Arc<Blobs>| Ok((blobs.get(&handle)?, blobs.path(&handle)));
        let (mapped, path) = self.copies(found).await?;
        Ok(Brought { mapped, path, moved_bytes })
    }

    /// Works on the folder of copies beside the tasks of the runtime.
    pub(super) async fn copies<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<Blobs>) -> Result<T, BlobError> + Send + 'static,
    ) -> Result<T, PayloadError> {
        let place = self.0.clone();
        let work = move || match &place.nodes {
            Some(nodes) => Ok(work(&open(&nodes.opened, &nodes.copies, true)?)?),
            None => Err(PayloadError::NoPlace(0)),
        };
        crate::spawn::spawn_blocking(work).await.map_err(|_| PayloadError::Ending)?
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
        crate::spawn::spawn_blocking(work).await.map_err(|_| PayloadError::Ending)?
    }
}

impl Place {
    fn opened(&self) -> Result<Option<Arc<Blobs>>, BlobError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        open(&self.opened, folder, self.depot.is_some()).map(Some)
    }
}

/// Puts a content on nodes, which is read and hashed beside the tasks of the runtime.
async fn put_on<C: Deref<Target = [u8]> + Send + 'static>(
    replicas: &Replicas,
    task: TaskId,
    read: impl FnOnce() -> Result<C, BlobError> + Send + 'static,
) -> Result<Handle, PayloadError> {
    let hash = move || read().map(|content| (Handle::of(&content), content));
    let hashed = crate::spawn::spawn_blocking(hash).await.map_err(|_| PayloadError::Ending)?;
    let (handle, content) = hashed?;
    replicas.put(handle, &content, task).await?;
    Ok(handle)
}

/// A file that is to be put.
fn map(path: &Path) -> Result<Mapped, BlobError> {
    let failed = |error| BlobError::file(path, &error);
    Mapped::of(&File::open(path).map_err(failed)?).map_err(failed)
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
