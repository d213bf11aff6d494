//! Events: what happens to a process, for the task that runs its handlers.

use std::collections::BTreeMap;

use tidings_blocks::line::Numbered;
use tidings_blocks::record::Made;
use tidings_blocks::{BlockId, Node, View};
use tokio::sync::oneshot;

use crate::net::connect::{Reading, Writing};
use crate::net::endpoint::Endpoint;

/// What happens to a process.
pub(super) enum Event {
    /// A view, and where its nodes are.
    View(View, BTreeMap<Node, Endpoint>),
    /// It takes part no more.
    Shut,
    /// What the store has of a block.
    Found(BlockId, Option<Made>),
    /// A connection begins.
    Came(Node, Box<Streams>),
    /// Something has arrived by a connection.
    Arrived(Node, u64, Box<Numbered>),
    /// A connection has taken what it was given.
    Written(Node, u64),
    /// A connection has ended.
    Ended(Node, u64),
    /// It is to leave, and says when all that it says has arrived.
    Leave(oneshot::Sender<()>),
}

/// A connection with another process, and what ends with it.
pub(super) struct Streams {
    pub(super) reading: Reading,
    pub(super) writing: Writing,
    /// Dropped when it ends.
    pub(super) until: oneshot::Sender<()>,
}
