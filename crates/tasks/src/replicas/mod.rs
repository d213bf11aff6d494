//! Replicas: blobs of a store that has no folder lie on its nodes, each on several.
//!
//! An etcd holds records, and its hosts may share no file system. So a blob is sent to those nodes
//! whose numbers, mixed with its hash, are largest, and whoever reads it asks the nodes in that
//! order. Nobody writes down where a blob lies: all compute it from the list of nodes that are
//! there. A node that comes or goes changes the places of few blobs, which [`mending`] copies.
//!
//! Invariants: a blob that was put is durable on [`COPIES`] nodes of different hosts, or on all
//! that take it if those are fewer; on a node that has it, it is mapped and not fetched.
//!
//! Source: Thaler and Ravishankar, *Using name-based mappings to increase hit rates*, IEEE/ACM
//! Transactions on Networking 6, 1998 (rendezvous hashing).

pub(crate) mod mending;
mod order;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::output::{MAX_NODES, Owner, Reached, digest};
use tokio::time::{Instant, timeout};

use crate::blobs::{Blobs, Handle};
use crate::net::blobs::Holders;
use crate::net::depot::DepotError;
use crate::net::peers::Peers;
use crate::session::{Session, SessionEnded};

use order::order;

/// The nodes, of different hosts, that are to have a blob.
pub(crate) const COPIES: usize = 3;

/// The nodes that are asked for a blob, or to take one, before the list of them is read again.
const ASKED: usize = 16;

/// How long a list of nodes is believed.
const FRESH: Duration = Duration::from_secs(1);

/// How long a blob is looked for, and nodes are waited for that take it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The wait before nodes are asked again.
const WAIT: Duration = Duration::from_millis(200);

/// How long a node may take for so many bytes a microsecond, and beside them.
const SILENCE: Duration = Duration::from_secs(5);
const SENT_BYTES: u64 = 10;

/// The nodes of a store, as one process puts and gets blobs there.
#[derive(Debug)]
pub(crate) struct Replicas {
    session: Session,
    peers: Arc<Peers>,
    known: Mutex<Option<(Instant, Nodes)>>,
}

/// The nodes of a store, in the order of their numbers.
type Nodes = Arc<Vec<Reached>>;

fn ids(nodes: &[Reached]) -> impl Iterator<Item = u64> {
    nodes.iter().map(|node| node.depot.id)
}

/// Why a blob was not put on nodes, or not got from there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplicaError {
    /// No node takes it, or none has it: the last reason.
    #[error(transparent)]
    Depot(#[from] DepotError),
    /// There is no node.
    #[error("no node is there that keeps blobs")]
    Nobody,
    /// The session has ended.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The coordinator has answered something else.
    #[error("the answer about nodes was {0:?}")]
    Answer(Box<Answer>),
}

/// What nodes are asked to do with a blob.
#[derive(Clone, Copy)]
enum Deed<'a> {
    Put(&'a [u8]),
    Pin,
}

impl Replicas {
    pub(crate) fn new(session: Session, peers: Arc<Peers>) -> Self {
        Self { session, peers, known: Mutex::default() }
    }

    /// Sends a content to the nodes that are to have it, pinned there for a task.
    ///
    /// # Errors
    /// No node takes it.
    pub(crate) async fn put(
        &self,
        handle: Handle,
        content: &[u8],
        task: TaskId,
    ) -> Result<(), ReplicaError> {
        self.at_several(Deed::Put(content), handle, &[task]).await
    }

    /// Pins a blob for some tasks on the nodes that have it.
    ///
    /// # Errors
    /// No node has it.
    pub(crate) async fn pin(&self, handle: Handle, tasks: &[TaskId]) -> Result<(), ReplicaError> {
        self.at_several(Deed::Pin, handle, tasks).await
    }

    /// Copies a blob here from a node that has it.
    ///
    /// # Errors
    /// No node that is there has it, or there is no space here.
    pub(crate) async fn fetch(
        &self,
        handle: Handle,
        into: &Arc<Blobs>,
    ) -> Result<(), ReplicaError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let nodes = self.nodes().await?;
            let from: Vec<Reached> =
                order(&nodes, &handle).into_iter().take(ASKED).cloned().collect();
            match self.peers.fetch(&from, handle, into).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_here() => return Err(error.into()),
                Err(error) => self.again(error.into(), until).await?,
            }
        }
    }

    /// Those who are to have a blob, as a copier is told.
    pub(crate) async fn owners(&self, handle: Handle) -> Result<Vec<Owner>, ReplicaError> {
        let nodes = self.nodes().await?;
        let first = order(&nodes, &handle).into_iter().take(COPIES);
        Ok(first.map(|node| Owner::Depot(node.depot.id)).collect())
    }

    /// The nodes that are there, as of a second ago at most.
    async fn nodes(&self) -> Result<Nodes, ReplicaError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let before = match known {
            Some((at, nodes)) if at.elapsed() < FRESH => return Ok(nodes),
            Some((_, nodes)) => nodes,
            None => Nodes::default(),
        };
        let nodes = self.ask_for_nodes(before).await?;
        let known = Some((Instant::now(), nodes.clone()));
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(nodes)
    }

    async fn ask_for_nodes(&self, before: Nodes) -> Result<Nodes, ReplicaError> {
        let mut nodes: Vec<Reached> = Vec::new();
        let mut known = (!before.is_empty()).then(|| digest(ids(&before)));
        loop {
            let after = nodes.last().map(|node| node.depot.id);
            match self.session.ask(Request::Nodes { after, known: known.take() }).await? {
                Answer::Done => return Ok(before),
                Answer::Depots(some) => {
                    let is_last = some.len() < MAX_NODES;
                    // What goes backwards would never end.
                    let count = nodes.len();
                    nodes.extend(some.into_iter().filter(|node| Some(node.depot.id) > after));
                    if is_last || nodes.len() == count {
                        return Ok(Arc::new(nodes));
                    }
                }
                other => return Err(ReplicaError::Answer(Box::new(other))),
            }
        }
    }

    /// Has something done by as many nodes as are to have a blob, those first that are.
    async fn at_several(
        &self,
        deed: Deed<'_>,
        handle: Handle,
        tasks: &[TaskId],
    ) -> Result<(), ReplicaError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let nodes = self.nodes().await?;
            let (mut done, mut last) = (0, ReplicaError::Nobody);
            for node in order(&nodes, &handle).into_iter().take(ASKED) {
                match self.ask(node, deed, handle, tasks).await {
                    Ok(()) => done += 1,
                    Err(error) => last = error.into(),
                }
                if done == COPIES {
                    break;
                }
            }
            if done > 0 {
                return Ok(());
            }
            self.again(last, until).await?;
        }
    }

    /// Has something done by one node, if it does not take too long: it may be stopped.
    async fn ask(
        &self,
        node: &Reached,
        deed: Deed<'_>,
        handle: Handle,
        tasks: &[TaskId],
    ) -> Result<(), DepotError> {
        let of = Holders { tasks, is_replica: true };
        let within = SILENCE + Duration::from_micros(handle.bytes / SENT_BYTES);
        let asked = async {
            match deed {
                Deed::Put(content) => self.peers.send(node, content, handle, of).await,
                Deed::Pin => self.peers.pin(node, handle, of).await,
            }
        };
        timeout(within, asked).await.unwrap_or(Err(DepotError::Nowhere(handle)))
    }

    /// Waits before nodes are asked again, if there is time for that.
    async fn again(&self, error: ReplicaError, until: Instant) -> Result<(), ReplicaError> {
        if Instant::now() > until {
            return Err(error);
        }
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
        tokio::time::sleep(WAIT).await;
        Ok(())
    }
}
