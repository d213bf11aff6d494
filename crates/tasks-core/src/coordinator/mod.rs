//! The coordinator of a part: the one that decides, and writes, what becomes of its tasks.
//!
//! A [`Coordinator`] does no input or output. Its driver has taken the role ([`crate::reign`]),
//! passes in time, requests, and the store's answers, and takes out transactions, reads and
//! messages:
//!
//! 1. *inputs*: [`Coordinator::handle_request`], [`Coordinator::handle_commit`],
//!    [`Coordinator::handle_read`], [`Coordinator::handle_gone`],
//!    [`Coordinator::handle_host_lost`], [`Coordinator::handle_process_ended`],
//!    [`Coordinator::handle_timeout`]; of one part of several also [`Coordinator::handle_inbox`];
//! 2. after any input call [`Coordinator::poll_read`], [`Coordinator::poll_commit`] and
//!    [`Coordinator::poll_message`] until each returns `None`;
//! 3. then sleep until [`Coordinator::poll_timeout`] or the next input.
//!
//! # How it works
//! A task is one record; each thing that happens to it is one change (`change.rs`) of that record.
//! What was requested while a commit is on its way is committed together by the next one: the more
//! is asked, the larger the groups. Nothing is said to anybody, and nothing altered here, before
//! the store has acknowledged it.
//!
//! Which task is next, who does which, who waits: all that lies in memory, and is read from the
//! store when a coordinator begins. When an answer of the store was lost it begins again.
//!
//! # Invariants
//! 1. Each commit names the revision at which this coordinator got its role. When another one takes
//!    it, that revision is gone: a coordinator that was replaced writes nothing, however late. Nor
//!    does a commit whose answer was lost, once all is read again (`fence.rs`).
//! 2. Each change of a task names the revision of its record. A completion counts only if its
//!    attempt is the last: however often a task runs, it ends once.
//! 3. Time and the loss of hosts decide when a task is given to another worker, never whether a
//!    result counts.
//! 4. Memory: some 100 bytes a task that has not ended, none for others but the last few thousand
//!    tries; some 150 for each output that stays on nodes and is read by one of them; some 50 for
//!    each session with room and each class (`rooms.rs`) of tasks that it could take; tuples, and
//!    who has large blobs, up to bounds (`spaces.rs`, `broadcasts.rs`), and the last statements of
//!    sessions; all queues of messages and requests are bounded by the peers' outstanding requests.
//!
//! Source: libFOX (FOX final report, §3.1), with leases, attempts and epochs, which it left open.
//! Why the index lies in memory and not in the store: docs/decisions/0022-tasks-as-records.md.

mod abroad;
mod acquiring;
mod apart;
mod askers;
mod assign;
mod beside;
mod broadcasting;
mod broadcasts;
mod change;
mod commit;
mod depots;
mod dividing;
mod edges;
mod effects;
mod end;
mod exchange;
mod explain;
mod fence;
mod fencing;
mod forget;
mod inbox;
mod inputs;
mod locality;
mod locating;
mod named;
mod near;
mod order;
mod outputs;
mod parked;
mod partial;
mod permits;
mod phi;
mod puts;
mod reading;
mod reads;
mod recent;
mod recovering;
mod recovery;
mod remaking;
mod requests;
mod rooms;
mod session;
mod sessions;
mod slots;
mod spaces;
mod stages;
mod statements;
mod step;
mod submit;
mod table;
mod ticket;
mod views;
mod waiting;
mod waits;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tidings_primitives::Instant;

pub use crate::counters::Counters;
use crate::detector::Detector;
use crate::hosts::Hosts;
use crate::id::{Epoch, Part, TaskId};
use crate::message::{Answer, Call, Message, Peer, Refusal, Request};
use crate::transaction::{Durability, Limits, Revision};

use askers::Askers;
use broadcasts::Broadcasts;
use change::Change;
use depots::Depots;
use edges::Edges;
use fencing::Fencing;
use inbox::Inbox;
use near::Near;
use outputs::Outputs;
use parked::{Obstacle, Parked};
use permits::Permits;
use phi::Patience;
use reading::Purpose;
pub use reading::{Read, Reply};
use recent::Recent;
use recovery::{Absent, Recovery};
use sessions::Sessions;
use spaces::Spaces;
use stages::Stages;
use table::Table;
pub use ticket::Ticket;
use waits::Waits;

/// What a coordinator is made with.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The part.
    pub part: Part,
    /// How many parts there are: their coordinators know each other by their inboxes alone.
    pub parts: u16,
    /// Its epoch.
    pub epoch: Epoch,
    /// The commit by which it got the role.
    pub role: Revision,
    /// What the store can carry.
    pub limits: Limits,
    /// The time after which a silent session has ended.
    pub session_ttl: Duration,
    /// What decides that a silent session has ended, within that time.
    pub detector: Detector,
    /// The time in which a worker whose connection has closed may come back.
    pub reconnect: Duration,
    /// The tasks of a queue that may wait or run; more are submitted when some have ended.
    pub queue_capacity: usize,
    /// The commits that may be on their way at a time.
    pub pipeline: usize,
    /// The bytes of payloads of waiting tasks that are kept in memory.
    pub cached_bytes: usize,
    /// The driver's clock: milliseconds since 1970 at its epoch.
    pub epoch_ms: u64,
}

impl Settings {
    /// Those of part 0 and its first coordinator over a store in the same memory, as programs
    /// that measure the coordinator alone have it: no limit is met before a million tasks.
    pub const fn in_memory() -> Self {
        Self {
            part: Part(0),
            parts: 1,
            epoch: Epoch(1),
            role: Revision(1),
            limits: Limits { operations: 10_000, bytes: 1 << 24, durability: Durability::Volatile },
            session_ttl: Duration::from_secs(3),
            detector: Detector::Session,
            reconnect: Duration::from_secs(1),
            queue_capacity: 1_000_000,
            pipeline: 1,
            cached_bytes: 1 << 24,
            epoch_ms: 0,
        }
    }

    fn patience(&self) -> Patience {
        Patience { detector: self.detector, term: self.session_ttl }
    }

    /// The time in which something of a session is heard three times.
    fn told_term(&self) -> Duration {
        self.detector.told_term(self.session_ttl)
    }
}

/// What a coordinator is up to.
#[derive(Debug)]
enum Phase {
    /// It reads what the part holds.
    Recovering(Box<Recovery>),
    /// It serves.
    Serving,
    /// Another one has the role.
    Deposed,
}

/// The coordinator of a part.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    now: Instant,
    phase: Phase,
    table: Table,
    sessions: Sessions,
    permits: Permits,
    spaces: Spaces,
    /// New tasks whose first commit is on its way.
    arriving: BTreeSet<TaskId>,
    /// Changes that are to be committed.
    staged: VecDeque<Change>,
    /// The commit that wrote the fence last, and whether it is to be written again.
    fence: Revision,
    fencing: Fencing,
    /// Those that are being committed; none where a recovery has begun since.
    in_flight: BTreeMap<Ticket, Vec<Change>>,
    /// What is too large for one commit.
    stages: Stages,
    /// Reads that are to be made, and those on their way.
    wanted: VecDeque<(Read, Purpose)>,
    reading: BTreeMap<Ticket, Purpose>,
    parked: Parked,
    waits: Waits,
    beside: Askers,
    absent: Absent,
    edges: Edges,
    inbox: Inbox,
    depots: Depots,
    broadcasts: Broadcasts,
    outputs: Outputs,
    near: Near,
    recent: Recent,
    messages: VecDeque<(Peer, Message)>,
    /// No commit before, since the store had no space or was not reached.
    hold_until: Option<Instant>,
    /// No read before, since the store was not reached.
    read_hold_until: Option<Instant>,
    /// The most changes of a group.
    group_limit: usize,
    last_ticket: u64,
    counters: Counters,
}

impl Coordinator {
    /// A coordinator that has just got its role, and begins by reading what the part holds.
    pub fn new(settings: Settings, now: Instant) -> Self {
        let mut coordinator = Self {
            settings,
            now,
            phase: Phase::Serving,
            table: Table::new(settings.cached_bytes),
            sessions: Sessions::default(),
            permits: Permits::default(),
            spaces: Spaces::default(),
            arriving: BTreeSet::new(),
            staged: VecDeque::new(),
            fence: settings.role,
            fencing: Fencing::No,
            in_flight: BTreeMap::new(),
            stages: Stages::default(),
            wanted: VecDeque::new(),
            reading: BTreeMap::new(),
            parked: Parked::default(),
            waits: Waits::default(),
            beside: Askers::default(),
            absent: Absent::default(),
            edges: Edges::default(),
            inbox: Inbox::default(),
            depots: Depots::default(),
            broadcasts: Broadcasts::default(),
            outputs: Outputs::default(),
            near: Near::default(),
            recent: Recent::new(settings.epoch),
            messages: VecDeque::new(),
            hold_until: None,
            read_hold_until: None,
            group_limit: usize::MAX,
            last_ticket: 0,
            counters: Counters::default(),
        };
        coordinator.recover();
        coordinator
    }

    /// Whether another coordinator has the role: this one is of no more use.
    pub fn is_deposed(&self) -> bool {
        matches!(self.phase, Phase::Deposed)
    }

    /// Whether it has read what the part holds.
    pub fn is_serving(&self) -> bool {
        matches!(self.phase, Phase::Serving)
    }

    /// Whether all that was asked of it is committed, as far as it changes the store.
    pub fn is_settled(&self) -> bool {
        self.is_serving() && self.staged.is_empty() && self.in_flight.is_empty()
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How many tasks have not ended.
    pub fn live(&self) -> usize {
        self.table.len()
    }

    /// A request of a peer.
    pub fn handle_request(&mut self, now: Instant, peer: Peer, call: Call, request: Request) {
        self.pass(now);
        match self.phase {
            Phase::Deposed => self.refuse(peer, call, Refusal::Elsewhere),
            Phase::Recovering(_) => self.parked.push(Obstacle::Recovery, (peer, call, request)),
            Phase::Serving => self.serve(peer, call, request),
        }
    }

    /// A peer's connection has closed. Its session lasts a little longer, for it may come back.
    pub fn handle_gone(&mut self, now: Instant, peer: Peer) {
        self.pass(now);
        self.sessions.shorten(peer, now + self.settings.reconnect);
        self.parked.forget(peer);
        self.waits.forget(peer);
        self.beside.forget(peer);
        self.broadcasts.forget(peer);
        self.forget_waits(peer);
    }

    /// A host is gone, as far as the detector of failures can tell: its sessions end now.
    pub fn handle_host_lost(&mut self, now: Instant, host: &str) {
        self.pass(now);
        for peer in self.sessions.on_host(host) {
            self.end_session(peer, "its host is gone");
        }
        self.lose_absent_on(host);
    }

    /// The process has ended that coordinated before, as far as can be told: what it had as a
    /// worker is not waited for. Its sessions have its name, or that and more behind a dash.
    pub fn handle_process_ended(&mut self, now: Instant, process: &str) {
        self.pass(now);
        self.lose_absent_of(process);
    }

    /// Hosts as a board shows them now; `None` if there is no board. They decide which session gets
    /// a task, and which tasks with a filter may go where; nothing else.
    pub fn handle_hosts(&mut self, now: Instant, hosts: Option<Hosts>) {
        self.pass(now);
        self.sessions.set_hosts(hosts.map(Arc::new));
    }

    /// The filters of tasks that have not ended, to be evaluated for
    /// [`Coordinator::handle_hosts`].
    pub fn filters(&self) -> BTreeSet<&str> {
        self.table.classes().filters().collect()
    }

    /// A number that is another one when there may be a filter that was not there before.
    pub fn filters_made(&self) -> u64 {
        self.table.classes().filters_made()
    }

    /// How many sessions are open.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// The time of [`Coordinator::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.pass(now);
        let has_passed = |until: &Instant| *until <= now;
        self.hold_until.take_if(|until| has_passed(until));
        self.read_hold_until.take_if(|until| has_passed(until));
        if !self.is_serving() {
            return;
        }
        for peer in self.sessions.ended(now) {
            self.end_session(peer, "it was silent");
        }
        self.lose_absent();
        self.end_waits();
        self.end_near(None);
        self.table.wake(self.now_ms());
        self.unpark();
    }

    /// When [`Coordinator::handle_timeout`] is to be called, unless there is an input before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let holds = match self.phase {
            Phase::Deposed => return None,
            Phase::Recovering(_) => {
                return [self.hold_until, self.read_hold_until].into_iter().flatten().min();
            }
            Phase::Serving => [self.hold_until, self.read_hold_until],
        };
        let due = self.table.next_due_ms().map(|due_ms| self.instant_of(due_ms));
        let waits = self.spaces.waiting.next_end();
        let others = [due, self.absent.until, self.next_session_end(), waits, self.near.next_end()];
        holds.into_iter().chain(others).flatten().min()
    }

    /// When the next session ends; but first a little before, so that the end itself is noticed by
    /// a driver that was not stopped just then ([`Coordinator::pass`]).
    fn next_session_end(&self) -> Option<Instant> {
        let end = self.sessions.next_end()?;
        let before = end - self.settings.told_term() / 8;
        Some(if self.now < before { before } else { end })
    }

    /// The next message to a peer.
    pub fn poll_message(&mut self) -> Option<(Peer, Message)> {
        self.messages.pop_front()
    }

    /// The present. If the driver is late for what it was to wake for, it was stopped: what peers
    /// said meanwhile is still to be read, so all have a new term. Since it is to wake an eighth of
    /// a session's time before a session ends, a stop that is not noticed leaves a sixteenth of it
    /// to read what was said.
    fn pass(&mut self, now: Instant) {
        let ttl = self.settings.session_ttl;
        let due = self.poll_timeout();
        let late = self.settings.told_term() / 16;
        if due.is_some_and(|due| now.saturating_since(due) > late) {
            self.sessions.renew_all(now, ttl);
            self.absent.renew(now + ttl);
        }
        self.now = self.now.max(now);
    }

    /// The present in milliseconds since 1970.
    fn now_ms(&self) -> u64 {
        self.settings.epoch_ms.saturating_add_signed(self.now.as_micros() / 1_000)
    }

    /// The instant at which so many milliseconds since 1970 have passed.
    fn instant_of(&self, ms: u64) -> Instant {
        Instant::EPOCH + Duration::from_millis(ms.saturating_sub(self.settings.epoch_ms))
    }

    fn next_ticket(&mut self) -> Ticket {
        self.last_ticket += 1;
        Ticket(self.last_ticket)
    }

    fn answer(&mut self, peer: Peer, call: Call, answer: Answer) {
        self.messages.push_back((peer, Message::Answer(call, answer)));
    }

    fn refuse(&mut self, peer: Peer, call: Call, refusal: Refusal) {
        self.counters.refused += 1;
        self.answer(peer, call, Answer::Refused(refusal));
    }
}
