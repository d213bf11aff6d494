//! The shared blobs that a process puts and gets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::output::{Depot, Owner, Reached, SharedBlob};
use tokio::task::JoinSet;

use super::error::ShareError;
use super::held::Held;
use super::holder::Holder;
use super::place::Passing;
use super::tending;
use crate::blobs::{BlobError, Blobs, Handle, Mapped};
use crate::copying::{Copier, CopyError, LARGE_BYTES};
use crate::depot::serving;
use crate::keeper::KeepError;
use crate::member::Member;
use crate::net::blobs::Holders;
use crate::net::depot::DepotError;
use crate::net::peers::Peers;
use crate::session::Session;
use crate::spawn::boxed;

/// Depots whose places are remembered.
const MAX_KNOWN: usize = 1_024;

/// The shared blobs of a store, as one process has them. Clones are the same. Dropped, it serves
/// what it has put no longer; other processes of its node may still do so.
#[derive(Clone, Debug)]
pub struct Handles(Arc<Opened>);

#[derive(Debug)]
struct Opened {
    session: Session,
    blobs: Arc<Blobs>,
    own: Depot,
    holder: Arc<Holder>,
    peers: Arc<Peers>,
    copier: Arc<Copier>,
    /// Where depots of others were reached.
    known: Mutex<BTreeMap<u64, Reached>>,
    /// It serves and tends.
    #[expect(dead_code, reason = "it is held, not read")]
    beside: JoinSet<()>,
    #[expect(dead_code, reason = "it is held, not read")]
    passing: Option<Passing>,
}

/// Where a blob of another depot is.
enum Found {
    Mapped(Mapped, PathBuf),
    /// Here, from this depot; from none, if another process of this host has copied it.
    Copied(Option<Depot>),
}

impl Handles {
    /// Begins to share blobs, in this folder of this host, which [`usual`](super::usual) names. The
    /// session says so to the coordinator: it has no other depot. Needs a runtime of tokio with
    /// time and I/O.
    ///
    /// # Errors
    /// The folder cannot be used, or no address listened at.
    pub async fn begin(
        member: &Member,
        session: &Session,
        host: &str,
        folder: &Path,
    ) -> Result<Self, ShareError> {
        let path = folder.to_owned();
        let open = move || {
            let blobs = Arc::new(Blobs::open_in_memory(&path)?);
            let holder = Arc::new(Holder::begin(blobs.clone())?);
            Ok((blobs.depot_id()?, blobs, holder))
        };
        let (id, blobs, holder) = blocking(open).await?;
        let own = Depot { id, host: host.to_owned() };
        let passing = Passing::of(member.address(), folder);
        let folder = Some(folder.display().to_string());
        let at = serving::usual(member).await;
        let (address, serving) = serving::begin(member, blobs.clone(), host, &at).await?;
        let reached = Reached { depot: own.clone(), address, folder };
        match session.ask(Request::Keep { reached }).await? {
            Answer::Done => {}
            other => return Err(ShareError::Answer(Box::new(other))),
        }
        let mut beside = JoinSet::new();
        beside.spawn(boxed(serving));
        beside.spawn(boxed(tending::tend(session.clone(), blobs.clone())));
        let peers = Arc::new(Peers::new(member.credentials().clone()));
        let (session, known) = (session.clone(), Mutex::default());
        let copier = Arc::new(Copier {
            session: session.clone(),
            own: own.id,
            blobs: blobs.clone(),
            peers: peers.clone(),
            store: None,
        });
        let opened = Opened { session, blobs, own, holder, peers, copier, known, beside, passing };
        Ok(Self(Arc::new(opened)))
    }

    /// The depot of this node.
    pub fn depot(&self) -> &Depot {
        &self.0.own
    }

    /// Puts bytes, which others get by the handle of what this returns. It is held until that is
    /// dropped. Blocks while the bytes are copied and hashed.
    ///
    /// # Errors
    /// There is no space.
    pub fn put(&self, content: &[u8]) -> Result<Held, ShareError> {
        let handle = self.0.blobs.put(content)?;
        self.own(handle, 0)
    }

    /// Gets a blob: of this host it is mapped, and nothing of it is read or copied; of another one
    /// it is fetched, unless it was before.
    ///
    /// # Errors
    /// It is gone, its host cannot be reached, or there is no space here for a copy.
    pub async fn get(&self, blob: &SharedBlob) -> Result<Held, ShareError> {
        let (handle, to) = (handle_of(blob), self.clone());
        let is_own = blob.depot.id == self.0.own.id;
        match blocking(move || Ok(to.own(handle, 0))).await? {
            Ok(held) => return Ok(Held { blob: blob.clone(), ..held }),
            Err(ShareError::Blob(BlobError::Missing { .. })) if is_own => {
                return Err(freed(blob));
            }
            Err(ShareError::Blob(BlobError::Missing { .. })) => {}
            Err(other) => return Err(other),
        }
        match self.find(blob, handle).await? {
            Found::Mapped(mapped, path) => {
                let (blob, from) = (blob.clone(), None);
                Ok(Held { blob, mapped, path, moved_bytes: 0, from, hold: None })
            }
            Found::Copied(from) => {
                let to = self.clone();
                let moved_bytes = if from.is_some() { handle.bytes } else { 0 };
                let held = blocking(move || Ok(to.own(handle, moved_bytes))).await??;
                Ok(Held { blob: blob.clone(), from, ..held })
            }
        }
    }

    /// Pins a blob for some tasks that are going to name it: it stays as long as they have records.
    ///
    /// # Errors
    /// It is gone, or its host cannot be reached.
    pub async fn pin(&self, blob: &SharedBlob, tasks: &[TaskId]) -> Result<(), ShareError> {
        let handle = handle_of(blob);
        if blob.depot.id == self.0.own.id {
            let (folder, tasks) = (self.0.blobs.clone(), tasks.to_vec());
            let pinned = blocking(move || folder.pin_for(&handle, &tasks)).await;
            return pinned.map_err(|error| match error {
                ShareError::Blob(BlobError::Missing { .. }) => freed(blob),
                other => other,
            });
        }
        let reached = self.locate(blob).await?;
        let pinned = self.0.peers.pin(&reached, handle, Holders::of(tasks)).await;
        pinned.map_err(|why| self.failed(blob, why))
    }

    /// Frees what nobody needs, without the [`GRACE`](super::GRACE), if no other process uses the
    /// folder: for one that is about to end, after which nobody would free it, nor serve it to
    /// those who have taken a tuple and have not got its blob yet. Beside others it frees nothing:
    /// they do, when the grace is over. Returns how many bytes that freed.
    ///
    /// # Errors
    /// The session has ended, or the folder cannot be used.
    pub async fn free(&self) -> Result<u64, ShareError> {
        let holder = self.0.holder.clone();
        if !blocking(move || Ok(holder.is_alone())).await? {
            return Ok(0);
        }
        let freed = tending::free_now(&self.0.session, &self.0.blobs).await;
        freed.map_err(|error| match error {
            KeepError::Blobs(error) => error.into(),
            KeepError::Store(_) | KeepError::Ending => ShareError::Ending,
        })
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Blobs {
        &self.0.blobs
    }

    /// Holds a blob of the own folder.
    pub(super) fn own(&self, handle: Handle, moved_bytes: u64) -> Result<Held, ShareError> {
        let hold = Some(self.0.holder.hold(handle)?);
        let mapped = self.0.blobs.map(&handle)?;
        let Handle { hash, bytes } = handle;
        let blob = SharedBlob { hash, bytes, depot: self.0.own.clone() };
        let (path, from) = (self.0.blobs.path(&handle), None);
        Ok(Held { blob, mapped, moved_bytes, from, path, hold })
    }

    /// Has a blob of another depot mapped, if that is of this host, or copies it here.
    async fn find(&self, blob: &SharedBlob, handle: Handle) -> Result<Found, ShareError> {
        if handle.bytes >= LARGE_BYTES && blob.depot.host != self.0.own.host {
            return self.copy(blob, handle).await;
        }
        // Where it was before may be wrong since; then it is asked for once more.
        if let Some(reached) = self.known(blob.depot.id) {
            if let Ok(found) = self.found_at(&reached, handle).await {
                return Ok(found);
            }
            self.forget(blob.depot.id);
        }
        let reached = self.locate(blob).await?;
        self.found_at(&reached, handle).await.map_err(|why| self.failed(blob, why))
    }

    /// Copies a large blob here from its owner, or another one that has copied it.
    async fn copy(&self, blob: &SharedBlob, handle: Handle) -> Result<Found, ShareError> {
        let copied = self.0.copier.copy(handle, vec![Owner::Depot(blob.depot.id)]).await;
        copied.map(Found::Copied).map_err(|error| match error {
            CopyError::Depot(DepotError::Nowhere(_)) => gone(blob),
            CopyError::Depot(why) => self.failed(blob, why),
            CopyError::Ended(error) => error.into(),
            CopyError::Answer(answer) => ShareError::Answer(answer),
            CopyError::Ending => ShareError::Ending,
        })
    }

    async fn found_at(&self, reached: &Reached, handle: Handle) -> Result<Found, DepotError> {
        if let Some(folder) = self.same_host(reached).await {
            let at = reached.address.clone();
            let map = move || Ok((folder.map(&handle)?, folder.path(&handle)));
            let mapped = crate::spawn::spawn_blocking(map).await;
            let mapped = mapped.unwrap_or_else(|error| Err(panicked(&error, &at)));
            return mapped.map(|(mapped, path)| Found::Mapped(mapped, path)).map_err(Into::into);
        }
        let from = core::slice::from_ref(reached);
        let fetched = self.0.peers.fetch(from, handle, &self.0.blobs).await;
        fetched.map(|()| Found::Copied(Some(reached.depot.clone())))
    }

    /// The folder of a depot, if it is of this host and this process may read it.
    async fn same_host(&self, reached: &Reached) -> Option<Blobs> {
        let folder = reached.folder.as_ref().filter(|_| reached.depot.host == self.0.own.host)?;
        let (folder, id) = (folder.clone(), reached.depot.id);
        let open = move || {
            let found = Blobs::open_others(Path::new(&folder)).ok()?;
            // A folder with that number is that depot, whatever hosts are called.
            (found.known_depot_id() == Some(id)).then_some(found)
        };
        crate::spawn::spawn_blocking(open).await.ok().flatten()
    }

    /// Where the depot of a blob is reached.
    async fn locate(&self, blob: &SharedBlob) -> Result<Reached, ShareError> {
        let depot = blob.depot.id;
        match self.0.session.ask(Request::Locate { depot }).await? {
            Answer::Located(Some(reached)) => {
                self.remember(reached.clone());
                Ok(reached)
            }
            Answer::Located(None) => Err(gone(blob)),
            other => Err(ShareError::Answer(Box::new(other))),
        }
    }

    fn failed(&self, blob: &SharedBlob, why: DepotError) -> ShareError {
        self.forget(blob.depot.id);
        match why {
            DepotError::Missing { .. } | DepotError::Blob(BlobError::Missing { .. }) => freed(blob),
            DepotError::Blob(error) => error.into(),
            why => ShareError::Fetch { host: blob.depot.host.clone(), why },
        }
    }

    fn known(&self, depot: u64) -> Option<Reached> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).get(&depot).cloned()
    }

    fn remember(&self, reached: Reached) {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MAX_KNOWN {
            known.clear();
        }
        known.insert(reached.depot.id, reached);
    }

    fn forget(&self, depot: u64) {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).remove(&depot);
    }
}

/// The content that a handle names.
fn handle_of(blob: &SharedBlob) -> Handle {
    Handle { hash: blob.hash, bytes: blob.bytes }
}

fn gone(blob: &SharedBlob) -> ShareError {
    let why = "no process of that node that shares blobs is there any more".to_owned();
    ShareError::Gone { blob: blob.clone(), why }
}

fn freed(blob: &SharedBlob) -> ShareError {
    let why = "it was freed there, since nobody held it and no tuple or task named it".to_owned();
    ShareError::Gone { blob: blob.clone(), why }
}

fn panicked(error: &tokio::task::JoinError, path: &str) -> BlobError {
    BlobError::File { path: path.into(), why: error.to_string() }
}

/// Does what waits for files beside the tasks of the runtime.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BlobError> + Send + 'static,
) -> Result<T, ShareError> {
    Ok(crate::spawn::spawn_blocking(work).await.map_err(|_| ShareError::Ending)??)
}
