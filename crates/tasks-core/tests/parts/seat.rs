//! The seat of a part: its coordinator, a worker and a client who speak with it, and what follows
//! the inbox.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Settings};
use tidings_tasks_core::id::{Attempt, Epoch, Part, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::ledger::Ledger;
use tidings_tasks_core::message::{Call, Message, Peer, Request};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::transaction::{Durability, Limits, Revision};

pub(crate) const TTL: Duration = Duration::from_secs(3);
pub(crate) const WORKER: Peer = Peer(1);
pub(crate) const CLIENT: Peer = Peer(2);

/// A coordinator, and how far it has seen its inbox.
pub(crate) struct Reigning {
    pub(crate) number: u64,
    pub(crate) coordinator: Coordinator,
    pub(crate) seen: Revision,
}

/// A part.
pub(crate) struct Seat {
    pub(crate) part: Part,
    pub(crate) epoch: u64,
    pub(crate) reigning: Reigning,
    pub(crate) to: VecDeque<(Peer, Call, Request)>,
    pub(crate) from: VecDeque<(Peer, Message)>,
    /// The tries of the worker, and the report of each that is over.
    pub(crate) hand: BTreeMap<(TaskId, Attempt), Option<Request>>,
    /// What was asked and not answered, and of which try it is.
    pub(crate) calls: BTreeMap<Call, (Peer, Request)>,
}

/// Another coordinator takes a part.
pub(crate) fn reign(
    ledger: &mut Ledger,
    (part, parts): (Part, u16),
    (epoch, number): (u64, u64),
    operations: usize,
    now: Instant,
) -> Reigning {
    let name = format!("c{}.{epoch}", part.0);
    let candidate = Candidate { name, host: "h".to_owned(), address: String::new(), session: None };
    let seen = ledger.get(&keys::role(part));
    let (take, _) = reign::take(part, seen.as_ref(), &candidate).expect("a reign");
    let role = ledger.commit(&take).expect("nobody else wants it");
    let limits = Limits { operations, bytes: 1 << 24, durability: Durability::Synced };
    let settings = Settings {
        part,
        parts,
        epoch: Epoch(epoch),
        role,
        limits,
        session_ttl: TTL,
        pipeline: 3,
        ..Settings::in_memory()
    };
    Reigning { number, coordinator: Coordinator::new(settings, now), seen: role }
}

impl Seat {
    /// What the worker says first.
    pub(crate) fn join(&self) -> [Request; 2] {
        let holding = self.hand.keys().copied().collect();
        let (name, host) = (format!("w{}", self.part.0), "h".to_owned());
        let (queues, resources) = (Vec::new(), Vec::new());
        [
            Request::Join { name, host, holding },
            Request::Offer { queues, slots: 3, resources, ahead: 0, full: None },
        ]
    }
}
