//! Mending: a node's replicas are copied to those nodes that are to have them now.
//!
//! When nodes come or go, other nodes are the first ones for some blobs. Each node that has such a
//! blob sees to it that the first ones have it: it pins it there, and sends it if it is missing.
//! They do so one after the other, by their places in the order, so that the first one that has it
//! sends it, and the others find it there. What is on more nodes than it needs stays there until
//! its tasks are forgotten.
//!
//! A node without replicas asks nobody: it waits until it is sent one.
//!
//! Invariant: once no node has come or gone for some passes, and none was full or out of reach,
//! each blob that some node has is on the first ones in its order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::output::Reached;

use super::{COPIES, Deed, Nodes, ReplicaError, Replicas, ids, order};
use crate::blobs::{Blobs, Handle};
use crate::keeper;
use crate::net::depot::DepotError;

/// The time from one look at the nodes to the next.
const PERIOD: Duration = Duration::from_secs(5);

/// The longest time, if something could not be copied at the last ones.
const LONGEST: Duration = Duration::from_secs(600);

/// The time from one pass to the next.
const PASS: Duration = Duration::from_secs(1);

/// A node's replicas.
pub(crate) struct Mender {
    replicas: Replicas,
    blobs: Arc<Blobs>,
    /// The number of the own depot.
    own: u64,
    /// The nodes as they were at the last look.
    nodes: Nodes,
    progress: Progress,
}

/// Which nodes are known to have which blobs, and what is to be seen to yet.
#[derive(Debug, Default)]
struct Progress {
    known: BTreeSet<([u8; 32], u64)>,
    /// The pass that is to be made next; [`COPIES`]: none.
    pass: usize,
}

impl Mender {
    pub(crate) fn new(replicas: Replicas, blobs: Arc<Blobs>, own: u64) -> Self {
        Self { replicas, blobs, own, nodes: Nodes::default(), progress: Progress::default() }
    }

    /// Copies replicas to where they are to be, from time to time, for ever.
    pub(crate) async fn run(mut self) {
        let mut wait = PERIOD;
        loop {
            if self.held(true).await.is_empty() {
                self.begin_anew().await;
            }
            tokio::time::sleep(wait).await;
            wait = match self.look().await {
                Ok(()) if self.progress.pass < COPIES => PASS,
                Ok(()) => PERIOD,
                // What is left is done later: a node may be full, or gone.
                Err(_) => (2 * wait).min(LONGEST),
            };
        }
    }

    /// Waits for a first replica. Whoever sends it sends it to all who are to have it, by a list of
    /// nodes that may be older than that of the next look: so it is seen to as if nodes had come.
    async fn begin_anew(&mut self) {
        self.blobs.until_replica().await;
        self.progress = Progress::anew();
    }

    /// Makes the next pass, if nodes have come or gone.
    async fn look(&mut self) -> Result<(), ReplicaError> {
        let nodes = self.replicas.nodes().await?;
        if !ids(&self.nodes).eq(ids(&nodes)) {
            self.progress.change(&nodes);
            self.nodes = nodes;
        }
        if self.progress.pass == COPIES {
            return Ok(());
        }
        let mut last = None;
        for (handle, tasks) in self.held(false).await {
            for to in self.progress.targets(&self.nodes, &handle, self.own) {
                match self.copy(&to, handle, &tasks).await {
                    Ok(()) => self.progress.has(&handle, to.depot.id),
                    Err(error) => last = Some(error),
                }
            }
        }
        if let Some(error) = last {
            return Err(error.into());
        }
        self.progress.pass += 1;
        Ok(())
    }

    async fn copy(&self, to: &Reached, handle: Handle, tasks: &[TaskId]) -> Result<(), DepotError> {
        match self.replicas.ask(to, Deed::Pin, handle, tasks).await {
            Err(DepotError::Missing { .. }) => {}
            other => return other,
        }
        let blobs = self.blobs.clone();
        let read = crate::spawn::spawn_blocking(move || blobs.get(&handle)).await;
        // What is damaged or gone here is not sent: others have it.
        let Ok(Ok(content)) = read else { return Ok(()) };
        // A blob is put for few tasks at a time, and pinned for any number.
        let first = &tasks[..tasks.len().min(1)];
        self.replicas.ask(to, Deed::Put(&content), handle, first).await?;
        self.replicas.ask(to, Deed::Pin, handle, tasks).await
    }

    /// The replicas that are here, or the first of them.
    async fn held(&self, first: bool) -> Vec<(Handle, Vec<TaskId>)> {
        let blobs = self.blobs.clone();
        keeper::blocking(move || blobs.replicas(first)).await.unwrap_or_default()
    }
}

impl Progress {
    /// Of a node that has just got a replica after none.
    fn anew() -> Self {
        Self::default()
    }

    /// Other nodes are there now: one that has gone may come back without what it had.
    fn change(&mut self, nodes: &[Reached]) {
        for (blob, id) in core::mem::take(&mut self.known) {
            if nodes.binary_search_by_key(&id, |node| node.depot.id).is_ok() {
                self.known.insert((blob, id));
            }
        }
        self.pass = 0;
    }

    /// A node has a blob.
    fn has(&mut self, blob: &Handle, id: u64) {
        self.known.insert((blob.hash, id));
    }

    /// The nodes at which this one is to see to a blob that it has in this pass.
    fn targets(&self, nodes: &[Reached], blob: &Handle, own: u64) -> Vec<Reached> {
        let order = order(nodes, blob);
        let place = order.iter().position(|node| node.depot.id == own).unwrap_or(COPIES);
        if place.min(COPIES - 1) > self.pass {
            return Vec::new();
        }
        let is_known = |id: u64| id == own || self.known.contains(&(blob.hash, id));
        let first = order.into_iter().take(COPIES);
        first.filter(|node| !is_known(node.depot.id)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tidings_tasks_core::output::Depot;

    use super::*;

    fn nodes(ids: impl IntoIterator<Item = u64>) -> Vec<Reached> {
        let node = |id: u64| Reached {
            depot: Depot { id, host: format!("n{id}") },
            address: format!("n{id}:1"),
            folder: None,
        };
        ids.into_iter().map(node).collect()
    }

    fn first(nodes: &[Reached], blob: &Handle) -> BTreeSet<u64> {
        order(nodes, blob).iter().take(COPIES).map(|node| node.depot.id).collect()
    }

    /// Nodes, each with what it knows of one blob if it has that.
    struct World {
        nodes: Vec<Reached>,
        have: BTreeMap<u64, Progress>,
        sent: usize,
    }

    impl World {
        fn change(&mut self, gone: u64, new: u64) {
            self.nodes.retain(|node| node.depot.id != gone);
            self.nodes.extend(nodes([new]));
            self.have.remove(&gone);
            self.have.values_mut().for_each(|progress| progress.change(&self.nodes));
        }

        /// All that have the blob make a pass.
        fn pass(&mut self, blob: &Handle) {
            for own in self.have.keys().copied().collect::<Vec<u64>>() {
                for to in self.have[&own].targets(&self.nodes, blob, own) {
                    let to = to.depot.id;
                    if !self.have.contains_key(&to) {
                        self.sent += 1;
                        self.have.insert(to, Progress::anew());
                    }
                    self.have.get_mut(&own).unwrap().has(blob, to);
                }
                self.have.get_mut(&own).unwrap().pass += 1;
            }
        }
    }

    /// Also where a node dies that was to send it, and so soon that no pass was made.
    #[test]
    fn a_blob_that_any_node_has_comes_to_the_first_ones() {
        for number in 0..200_u64 {
            let blob = Handle::of(&number.to_le_bytes());
            let nodes = nodes(1..=6);
            let have = first(&nodes, &blob).into_iter().map(|id| (id, Progress::default()));
            let mut world = World { have: have.collect(), nodes, sent: 0 };
            for change in 0..30_u64 {
                let gone = (number + 7 * change) as usize % world.nodes.len();
                let gone = world.nodes[gone].depot.id;
                if world.have.len() == 1 && world.have.contains_key(&gone) {
                    continue; // nobody would have it
                }
                world.change(gone, 7 + change);
                for _ in 0..[0, 1, 3][change as usize % 3] {
                    world.pass(&blob);
                }
                if change % 3 == 2 {
                    let have: BTreeSet<u64> = world.have.keys().copied().collect();
                    assert!(first(&world.nodes, &blob).is_subset(&have), "{change}: {have:?}");
                }
            }
            assert!(world.sent < 60, "{} copies for 30 changes", world.sent);
        }
    }

    /// The sender's list was a second old, and those who got it know of the node by now.
    #[test]
    fn a_node_that_came_while_a_first_blob_was_sent_gets_it() {
        let blob = Handle::of(b"abc");
        let have = [1, 2].map(|id| (id, Progress::anew()));
        let mut world = World { have: have.into(), nodes: nodes(1..=3), sent: 0 };
        for _ in 0..COPIES {
            world.pass(&blob);
        }
        assert_eq!((world.have.len(), world.sent), (3, 1));
    }

    #[test]
    fn the_first_one_that_has_it_sends_it_and_the_others_ask() {
        let (blob, all) = (Handle::of(b"abc"), nodes(1..=6));
        let order: Vec<u64> = order(&all, &blob).iter().map(|node| node.depot.id).collect();
        let asked = |own, pass| {
            let progress = Progress { pass, ..Progress::default() };
            progress.targets(&all, &blob, own).len()
        };
        assert_eq!([0, 1, 5].map(|place| asked(order[place], 0)), [COPIES - 1, 0, 0]);
        assert_eq!([0, 1, 5].map(|place| asked(order[place], 1)), [COPIES - 1, COPIES - 1, 0]);
        assert_eq!(asked(order[5], 2), COPIES);
    }
}
