//! A node: a worker with slots and a depot. It reads the inputs of a try one by one, then completes
//! it; what it cannot have it says.

use std::collections::BTreeMap;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Call, Peer, Request};
use tidings_tasks_core::output::{Depot, Reached};
use tidings_tasks_core::retry::Cause;

/// A try in hand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hand {
    /// What it has read, in order; the next input is that behind them.
    pub(crate) read: Vec<u64>,
    /// Whether it has asked for something and waits.
    pub(crate) waits: bool,
    /// Whether its end was said.
    pub(crate) is_over: bool,
}

/// A node, in one of its lives.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) peer: Peer,
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) depot: u64,
    pub(crate) is_up: bool,
    /// The outputs in its depot.
    pub(crate) content: BTreeMap<TaskId, u64>,
    pub(crate) hand: BTreeMap<(TaskId, Attempt), Hand>,
    /// What was not answered, and for which try it is.
    pub(crate) calls: BTreeMap<Call, (Request, Option<(TaskId, Attempt)>)>,
}

impl Node {
    pub(crate) fn new(number: u64, life: u64, peer: Peer) -> Self {
        Self {
            peer,
            name: format!("w{number}.{life}"),
            host: format!("h{number}.{life}"),
            depot: life,
            is_up: true,
            content: BTreeMap::new(),
            hand: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    pub(crate) fn depot(&self) -> Depot {
        Depot { id: self.depot, host: self.host.clone() }
    }

    /// What it says first on a new connection.
    pub(crate) fn join(&self) -> Request {
        let holding = self.hand.keys().copied().collect();
        let (name, host) = (self.name.clone(), self.host.clone());
        Request::Join { name, host, holding }
    }

    /// What it says once it has a session.
    pub(crate) fn offers(&self) -> [Request; 2] {
        let (queues, resources) = (Vec::new(), Vec::new());
        let reached = Reached { depot: self.depot(), address: self.name.clone(), folder: None };
        [
            Request::Offer { queues, slots: 2, resources, ahead: 0, full: None },
            Request::Keep { reached },
        ]
    }

    /// Whether one of its tries has not read all.
    pub(crate) fn reads(&self, inputs: impl Fn(TaskId) -> usize) -> bool {
        let mut hands = self.hand.iter().filter(|(_, hand)| !hand.is_over);
        hands.any(|((task, _), hand)| hand.read.len() < inputs(*task))
    }
}

/// A try has failed.
pub(crate) fn failure((task, attempt): (TaskId, Attempt), cause: Cause) -> Request {
    let text = format!("{cause:?}");
    Request::Fail { task, attempt, cause, text, detail: Vec::new() }
}
