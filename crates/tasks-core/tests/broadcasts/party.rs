//! Parties: a host with a depot and a worker, in one of its lives, or the client.

use std::collections::BTreeMap;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Call, Peer, Request};
use tidings_tasks_core::output::{Depot, Owner, Reached};
use tidings_tasks_core::outstanding::Outstanding;

use crate::uplink::Uplink;

/// What a host copies.
#[derive(Clone, Debug)]
pub(crate) enum Copying {
    /// It has asked from where.
    Asks(Call),
    /// From one, by the transfer of this number.
    From(Owner, u64),
}

/// A try in hand.
#[derive(Clone, Debug)]
pub(crate) struct Hand {
    pub(crate) attempt: Attempt,
    /// What the inputs of a node came to, as far as they have ended.
    pub(crate) inputs: Vec<Option<f64>>,
}

/// A host, or the client.
#[derive(Debug)]
pub(crate) struct Party {
    pub(crate) number: usize,
    /// Which of its lives this is; also the number of its depot.
    pub(crate) life: u64,
    pub(crate) peer: Peer,
    pub(crate) is_up: bool,
    /// Whether it has the blob, behind how many others.
    pub(crate) depth: Option<usize>,
    pub(crate) copying: Option<Copying>,
    pub(crate) uplink: Uplink,
    /// What was not answered.
    pub(crate) outstanding: Outstanding,
    pub(crate) hands: BTreeMap<TaskId, Hand>,
    /// Which input of which node a request waits for.
    pub(crate) waits: BTreeMap<Call, (TaskId, usize)>,
}

impl Party {
    pub(crate) fn new(number: usize, life: u64) -> Self {
        Self {
            number,
            life,
            peer: Peer(0),
            is_up: true,
            depth: None,
            copying: None,
            uplink: Uplink::default(),
            outstanding: Outstanding::default(),
            hands: BTreeMap::new(),
            waits: BTreeMap::new(),
        }
    }

    pub(crate) fn host(&self) -> String {
        format!("h{}", self.number)
    }

    /// What it says first on a new connection.
    pub(crate) fn greetings(&self) -> [Request; 2] {
        let holding = self.hands.iter().map(|(task, hand)| (*task, hand.attempt)).collect();
        let (name, host) = (format!("w{}.{}", self.number, self.life), self.host());
        let depot = Depot { id: self.life, host: host.clone() };
        let reached = Reached { depot, address: format!("{host}:1"), folder: None };
        [Request::Join { name, host, holding }, Request::Keep { reached }]
    }
}
