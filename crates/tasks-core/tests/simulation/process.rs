//! A process that coordinates the part while it has the role, and stands by otherwise.

use core::time::Duration;
use std::collections::VecDeque;

use tidings_primitives::Instant;
use tidings_tasks_core::coordinator::{Coordinator, Reply, Settings, Ticket};
use tidings_tasks_core::detector::Detector;
use tidings_tasks_core::hosts::Hosts;
use tidings_tasks_core::id::Epoch;
use tidings_tasks_core::message::{Call, Peer, Request};
use tidings_tasks_core::transaction::{CommitError, Durability, Limits, Revision, Session};

use crate::check::PART;

/// The time after which a silent session has ended.
pub(crate) const TTL: Duration = Duration::from_millis(900);

/// What reaches a process.
#[derive(Debug)]
pub(crate) enum Input {
    Committed(u64, Ticket, Result<Revision, CommitError>),
    Read(u64, Ticket, Reply),
    /// The answer to its attempt to get the role.
    Taken(Result<Revision, CommitError>, Epoch),
    Request(Peer, Call, Request),
    Gone(Peer),
    HostLost(String),
    Hosts(Option<Hosts>),
    Timeout,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Health {
    Up,
    Frozen,
    Down,
}

pub(crate) struct Process {
    pub(crate) health: Health,
    /// It rises with each start.
    pub(crate) life: u64,
    pub(crate) coordinator: Option<Coordinator>,
    /// It rises with each coordinator, so that answers to an earlier one are known.
    pub(crate) reign: u64,
    pub(crate) session: Option<Session>,
    pub(crate) is_taking: bool,
    /// What came while it was frozen.
    pub(crate) inbox: VecDeque<Input>,
    /// For when it is to be woken.
    pub(crate) alarm: Option<Instant>,
    /// How often it was called at one instant.
    pub(crate) calls_at: (Instant, u32),
}

/// Who coordinates next believes another detector: one that is often wrong too.
fn detector(epoch: Epoch) -> Detector {
    match epoch.0 % 4 {
        0 => Detector::Phi { threshold: 1.0, floor: Duration::from_millis(5) },
        1 => Detector::PHI,
        _ => Detector::Session,
    }
}

impl Process {
    pub(crate) fn new() -> Self {
        Self {
            health: Health::Up,
            life: 0,
            coordinator: None,
            reign: 0,
            session: None,
            is_taking: false,
            inbox: VecDeque::new(),
            alarm: None,
            calls_at: (Instant::EPOCH, 0),
        }
    }

    /// Begins to coordinate.
    pub(crate) fn reign(&mut self, now: Instant, epoch: Epoch, role: Revision, small: bool) {
        self.reign += 1;
        let operations = match (small, epoch.0 % 2) {
            (true, 0) => 9,
            (true, _) => 128,
            (false, _) => 5_000,
        };
        let limits = Limits { operations, bytes: 1 << 20, durability: Durability::Synced };
        let settings = Settings {
            part: PART,
            parts: 1,
            epoch,
            role,
            limits,
            session_ttl: TTL,
            detector: detector(epoch),
            reconnect: Duration::from_millis(300),
            queue_capacity: 40,
            pipeline: if small { 1 } else { 3 },
            cached_bytes: if small { 2_000 } else { 1 << 20 },
            epoch_ms: 0,
        };
        self.coordinator = Some(Coordinator::new(settings, now));
    }

    /// Hands an input to the coordinator.
    pub(crate) fn take(&mut self, now: Instant, input: Input) {
        if self.calls_at.0 != now {
            self.calls_at = (now, 0);
        }
        self.calls_at.1 += 1;
        assert!(self.calls_at.1 < 5_000, "a process turns without moving: {input:?}");
        let Some(coordinator) = &mut self.coordinator else { return };
        match input {
            Input::Committed(reign, ticket, answer) if reign == self.reign => {
                coordinator.handle_commit(now, ticket, answer);
            }
            Input::Read(reign, ticket, reply) if reign == self.reign => {
                coordinator.handle_read(now, ticket, reply);
            }
            Input::Request(peer, call, request) => {
                coordinator.handle_request(now, peer, call, request);
            }
            Input::Gone(peer) => coordinator.handle_gone(now, peer),
            Input::Hosts(hosts) => coordinator.handle_hosts(now, hosts),
            Input::HostLost(host) => coordinator.handle_host_lost(now, &host),
            Input::Timeout => {
                coordinator.handle_timeout(now);
                let next = coordinator.poll_timeout();
                assert!(next.is_none_or(|next| next > now), "it wakes for nothing at {next:?}");
            }
            Input::Committed(..) | Input::Read(..) | Input::Taken(..) => {}
        }
    }
}
