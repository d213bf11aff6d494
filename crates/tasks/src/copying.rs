//! Copying: how a large blob comes to this host from others, down a tree of them.
//!
//! The coordinator names one that has the blob and is free; the copy is told to it, and served to
//! those who ask next. So each host fetches a blob once, and nobody sends it to all
//! ([`broadcast`](tidings_tasks_core::broadcast)). Whoever dies or says nothing is told as well,
//! and another one named.
//!
//! Invariant: what was named is told to have ended, as a copy or as none, by the process that
//! copies, also if whoever asked for it has given up; or its session ends.

use core::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use minicbor::bytes::ByteArray;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::output::{self, Owner, Reached, Source};
use tokio::task::JoinSet;

use crate::blobs::{Blobs, Handle};
use crate::depot::serving;
use crate::member::Member;
use crate::net::depot::{Depot, DepotError};
use crate::net::peers::Peers;
use crate::session::{Session, SessionEnded};
use crate::spawn::boxed;

/// Blobs of fewer bytes are fetched straight from whom they are known to be with: to ask would take
/// as long.
pub(crate) const LARGE_BYTES: u64 = 1 << 20;

/// Sessions for copies that this process has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// What copies blobs into a folder that is served to others, as the coordinator was told.
#[derive(Debug)]
pub(crate) struct Copier {
    /// It keeps the depot.
    pub(crate) session: Session,
    /// The number of the folder.
    pub(crate) own: u64,
    pub(crate) blobs: Arc<Blobs>,
    pub(crate) peers: Arc<Peers>,
    /// Whoever holds the store, if that is another host.
    pub(crate) store: Option<Arc<Depot>>,
}

/// A copier with a session of its own, and what serves its folder.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) copier: Arc<Copier>,
    #[expect(dead_code, reason = "it is held, not read")]
    beside: JoinSet<()>,
}

/// Why a blob was not copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// Nobody gave it, or it cannot be kept here: the last reason.
    #[error(transparent)]
    Depot(#[from] DepotError),
    /// The session has ended.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The coordinator has answered something else.
    #[error("the answer about a blob was {0:?}")]
    Answer(Box<Answer>),
    /// The process is ending.
    #[error("the runtime is ending")]
    Ending,
}

impl Serving {
    /// Begins to serve a folder of copies, and to say so. None if others cannot reach this host.
    pub(crate) async fn begin(
        member: &Arc<Member>,
        blobs: Arc<Blobs>,
        peers: Arc<Peers>,
        store: Option<Arc<Depot>>,
    ) -> Option<Self> {
        let host = member.host().to_owned();
        let at = serving::usual(member).await;
        let (address, serving) = serving::begin(member, blobs.clone(), &host, &at).await.ok()?;
        let folder = blobs.clone();
        let own = crate::spawn::spawn_blocking(move || folder.depot_id()).await.ok()?.ok()?;
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-copies-{number}", member.name());
        let (session, _notices) = Session::open(member.clone(), &name, &host);
        let depot = output::Depot { id: own, host };
        // Outputs are not to be copied there: it is gone with this process.
        let folder = Some(blobs.folder().display().to_string());
        let reached = Reached { depot, address, folder };
        let mut beside = JoinSet::new();
        beside.spawn(boxed(serving));
        match session.ask(Request::Keep { reached }).await {
            Ok(Answer::Done) => {
                let copier = Arc::new(Copier { session, own, blobs, peers, store });
                Some(Self { copier, beside })
            }
            _ => None,
        }
    }
}

impl Copier {
    /// Copies a blob here that these have, as far as is known. Returns the depot from which it
    /// came: none if it was whoever holds the store, or another process of this host.
    ///
    /// # Errors
    /// Nobody that is there gives it, or there is no space here.
    pub(crate) async fn copy(
        self: &Arc<Self>,
        handle: Handle,
        owners: Vec<Owner>,
    ) -> Result<Option<output::Depot>, CopyError> {
        let own = self.clone();
        // It comes to its end also if nobody waits for it any more: others may wait for the copy.
        let copying = crate::spawn::spawn(async move { own.run(handle, owners).await });
        match copying.await {
            Ok(copied) => copied,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(CopyError::Ending),
        }
    }

    async fn run(
        &self,
        handle: Handle,
        mut owners: Vec<Owner>,
    ) -> Result<Option<output::Depot>, CopyError> {
        let (mut failed, mut last) = (None, DepotError::Nowhere(handle));
        loop {
            let blob = ByteArray::from(handle.hash);
            let request = Request::Source { blob, owners: owners.clone(), failed };
            let source = match self.session.ask(request).await? {
                Answer::Source(source) => source,
                other => return Err(CopyError::Answer(Box::new(other))),
            };
            let (owner, fetched) = match source {
                Source::Nowhere => return Err(last.into()),
                Source::Here if self.has(handle).await => return Ok(None),
                Source::Here => (Owner::Depot(self.own), Err(DepotError::Nowhere(handle))),
                Source::Store => (Owner::Store, self.fetch_of_store(handle).await),
                Source::Depot(reached) => {
                    let owner = Owner::Depot(reached.depot.id);
                    let from = slice::from_ref(&reached);
                    let fetched = self.peers.fetch(from, handle, &self.blobs).await;
                    (owner, fetched.map(|()| Some(reached.depot)))
                }
            };
            match fetched {
                Ok(from) => {
                    self.tell(handle, true).await?;
                    return Ok(from);
                }
                Err(error @ DepotError::Blob(_)) => {
                    self.tell(handle, false).await?;
                    return Err(error.into());
                }
                Err(error) => last = error,
            }
            owners.retain(|one| *one != owner);
            failed = Some(owner);
        }
    }

    async fn fetch_of_store(&self, handle: Handle) -> Result<Option<output::Depot>, DepotError> {
        match &self.store {
            Some(store) => store.fetch(handle, &self.blobs).await.map(|()| None),
            None => Err(DepotError::Nowhere(handle)),
        }
    }

    async fn has(&self, handle: Handle) -> bool {
        let blobs = self.blobs.clone();
        crate::spawn::spawn_blocking(move || blobs.has(&handle)).await.is_ok_and(|has| has)
    }

    /// Tells how the copying has ended.
    async fn tell(&self, handle: Handle, is_there: bool) -> Result<(), CopyError> {
        let blob = ByteArray::from(handle.hash);
        self.session.ask(Request::Copied { blob, is_there }).await?;
        Ok(())
    }
}
