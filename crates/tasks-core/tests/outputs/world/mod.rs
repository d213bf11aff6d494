//! The world: what happens in which order.

mod deeds;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tidings_primitives::{Chance, Instant};
use tidings_tasks_core::coordinator::{Coordinator, Read, Reply, Settings};
use tidings_tasks_core::id::{Attempt, Epoch, TaskId};
use tidings_tasks_core::keys;
use tidings_tasks_core::message::{Answer, Call, Message, Peer, Refusal, Request};
use tidings_tasks_core::output::{Kept, Reached};
use tidings_tasks_core::record::{Finished, Outcome};
use tidings_tasks_core::reign::{self, Candidate};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::transaction::{CommitError, Durability, Limits};

use crate::checked::{Checked, PART};
use crate::graph::{Graph, combined};
use crate::node::{Hand, Node, failure};
use crate::oracle;

const NODES: u64 = 4;
const TTL: Duration = Duration::from_secs(3);
/// The steps in which something may go wrong, and those after which all must have ended.
const FAULTS: u32 = 1_500;
const STEPS: u32 = 60_000;
const CLIENT: u64 = 1 << 40;

/// What has happened in all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) tasks: u64,
    pub(crate) deaths: u64,
    pub(crate) reigns: u64,
    pub(crate) unknown: u64,
    pub(crate) suspected: u64,
    /// Outputs that were made again in calm worlds, and of those the oracle's; and in wild ones.
    pub(crate) remade_calm: u64,
    pub(crate) oracle: u64,
    pub(crate) remade_wild: u64,
    /// Tries that found an input gone, and outputs that a client could not have.
    pub(crate) gone: u64,
    pub(crate) demanded: u64,
    /// Values that were read from another node, and copies.
    pub(crate) fetched: u64,
    pub(crate) copies: u64,
    pub(crate) effects: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { tasks, deaths, reigns, unknown, suspected, .. } = other;
        self.tasks += tasks;
        self.deaths += deaths;
        self.reigns += reigns;
        self.unknown += unknown;
        self.suspected += suspected;
        self.remade_calm += other.remade_calm;
        self.oracle += other.oracle;
        self.remade_wild += other.remade_wild;
        self.gone += other.gone;
        self.demanded += other.demanded;
        self.fetched += other.fetched;
        self.copies += other.copies;
        self.effects += other.effects;
    }

    pub(crate) fn reached_everything(&self) -> bool {
        let Self { deaths, unknown, suspected, oracle, remade_wild, gone, .. } = *self;
        let more = [self.demanded, self.fetched, self.copies, self.effects, self.reigns];
        [deaths, unknown, suspected, oracle, remade_wild, gone].iter().chain(&more).all(|n| *n > 0)
    }
}

pub(crate) struct World {
    chance: Chance,
    is_calm: bool,
    now: Instant,
    graph: Graph,
    store: Checked,
    coordinator: Coordinator,
    epoch: u64,
    nodes: Vec<Node>,
    last: u64,
    to: VecDeque<(Peer, Call, Request)>,
    from: VecDeque<(Peer, Message)>,
    beat: Instant,
    /// Depots that were wrongly taken as gone, and outputs that a client wants again.
    suspected: BTreeSet<u64>,
    wanted: BTreeSet<TaskId>,
    asked: BTreeMap<Call, TaskId>,
    submitted: bool,
    /// What is done again, in the order of commits.
    again: Vec<TaskId>,
    totals: Totals,
}

fn reign(store: &mut Checked, epoch: u64) -> Settings {
    let name = format!("c{epoch}");
    let candidate = Candidate { name, host: "h".to_owned(), address: String::new(), session: None };
    let seen = store.ledger.get(&keys::role(PART));
    let (take, _) = reign::take(PART, seen.as_ref(), &candidate).expect("a reign");
    let role = store.ledger.commit(&take).expect("nobody else wants it");
    let limits = Limits { operations: 128, bytes: 1 << 24, durability: Durability::Synced };
    Settings {
        epoch: Epoch(epoch),
        role,
        limits,
        session_ttl: TTL,
        detector: tidings_tasks_core::detector::Detector::Session,
        pipeline: 3,
        ..Settings::in_memory()
    }
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let (graph, mut store) = (Graph::new(&mut chance), Checked::default());
        let settings = reign(&mut store, 1);
        let now = Instant::EPOCH;
        let mut world = Self {
            chance,
            is_calm: seed % 2 == 0,
            now,
            graph,
            store,
            coordinator: Coordinator::new(settings, now),
            epoch: 1,
            nodes: Vec::new(),
            last: 0,
            to: VecDeque::new(),
            from: VecDeque::new(),
            beat: now,
            suspected: BTreeSet::new(),
            wanted: BTreeSet::new(),
            asked: BTreeMap::new(),
            submitted: false,
            again: Vec::new(),
            totals: Totals::default(),
        };
        for number in 0..NODES {
            let node = Node::new(number, world.number(), Peer(0));
            world.nodes.push(node);
            world.connect(number as usize);
        }
        world
    }

    pub(crate) fn run(mut self) -> Totals {
        let mut steps = 0;
        while !self.is_over() {
            steps += 1;
            assert!(
                steps < STEPS,
                "{} tasks do not end: {:?}",
                self.coordinator.live(),
                self.nodes
            );
            self.step(steps < FAULTS);
        }
        self.check();
        self.totals
    }

    fn is_over(&self) -> bool {
        let is_idle = self.coordinator.is_settled() && self.coordinator.live() == 0;
        is_idle && self.graph.tasks.keys().all(|id| self.store.finished(*id).is_some())
    }

    fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    fn step(&mut self, may_fail: bool) {
        let time = 1 + self.chance.below(30) as u64;
        self.pass(Duration::from_millis(time));
        match self.chance.below(100) {
            0..30 => self.coordinate(1),
            30..55 => self.deliver(),
            55..95 => {
                let at = self.chance.below(self.nodes.len());
                self.work(at);
            }
            _ if may_fail => self.fault(),
            _ => {}
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        if self.coordinator.poll_timeout().is_some_and(|due| due <= self.now) {
            self.coordinator.handle_timeout(self.now);
        }
        if self.now.saturating_since(self.beat) > TTL / 6 {
            self.beat = self.now;
            for at in 0..self.nodes.len() {
                if self.nodes[at].is_up {
                    self.send(at, Request::Heartbeat, None);
                }
            }
            if !self.submitted && self.now > Instant::EPOCH + TTL * 2 {
                self.submitted = true;
                self.client(Request::Submit { tasks: self.graph.submissions() });
            }
        }
    }

    fn client(&mut self, request: Request) -> Call {
        let call = Call(self.number());
        self.to.push_back((Peer(CLIENT), call, request));
        call
    }

    fn send(&mut self, at: usize, request: Request, of: Option<(TaskId, Attempt)>) {
        let call = Call(self.number());
        let node = &mut self.nodes[at];
        if of.is_some() {
            node.calls.insert(call, (request.clone(), of));
        }
        self.to.push_back((node.peer, call, request));
    }

    fn connect(&mut self, at: usize) {
        let peer = Peer(self.number());
        self.nodes[at].peer = peer;
        self.send(at, self.nodes[at].join(), None);
    }

    /// A node has a session.
    fn joined(&mut self, at: usize) {
        let (node, peer) = (&self.nodes[at], self.nodes[at].peer);
        let again: Vec<_> =
            node.calls.iter().map(|(call, (one, _))| (*call, one.clone())).collect();
        for request in node.offers() {
            self.send(at, request, None);
        }
        self.to.extend(again.into_iter().map(|(call, request)| (peer, call, request)));
    }

    /// Requests reach the coordinator, and messages the nodes.
    fn deliver(&mut self) {
        for _ in 0..self.chance.below(16) {
            if let Some((peer, call, request)) = self.to.pop_front() {
                self.coordinator.handle_request(self.now, peer, call, request);
            }
        }
        self.take_messages();
        for _ in 0..self.chance.below(16) {
            let Some((peer, message)) = self.from.pop_front() else { break };
            self.hear(peer, message);
        }
    }

    /// Messages are on their way. A node whose session ends is taken as dead from then on, also if
    /// it was silent since messages are slow.
    fn take_messages(&mut self) {
        while let Some((peer, message)) = self.coordinator.poll_message() {
            let of = self.nodes.iter().find(|node| node.peer == peer);
            if let Some(node) = of.filter(|_| message == Message::Ended) {
                self.suspected.insert(node.depot);
            }
            self.from.push_back((peer, message));
        }
    }

    /// Reads and commits of the coordinator, so many rounds of them.
    fn coordinate(&mut self, rounds: u32) {
        for _ in 0..rounds {
            while let Some((ticket, read)) = self.coordinator.poll_read() {
                let ledger = &self.store.ledger;
                let reply = match read {
                    Read::Get(keys) => {
                        Reply::Records(keys.iter().filter_map(|key| ledger.get(key)).collect())
                    }
                    Read::Scan { from, end, limit } => {
                        Reply::Page(ledger.scan(&from, end.as_ref(), limit))
                    }
                };
                self.coordinator.handle_read(self.now, ticket, reply);
            }
            let commit = self.coordinator.poll_commit();
            self.take_messages();
            let Some((ticket, transaction)) = commit else { return };
            let fails = !self.is_calm && self.chance.happens(0.01);
            let is_before = self.chance.happens(0.5);
            let answer = if fails && is_before {
                Err(CommitError::Unknown)
            } else {
                let before = self.needs();
                let done = self.store.commit(&transaction);
                let done = done.map(|(revision, ends)| (revision, self.check_again(ends, &before)));
                done.map(|(revision, ())| revision)
            };
            self.totals.unknown += u64::from(fails);
            let answer = if fails { Err(CommitError::Unknown) } else { answer };
            self.coordinator.handle_commit(self.now, ticket, answer);
        }
    }

    /// What is needed before a commit.
    fn needs(&self) -> BTreeSet<TaskId> {
        let all = self.graph.tasks.keys().copied();
        all.filter(|id| oracle::is_needed(&self.store, &self.graph, &self.nodes, *id)).collect()
    }

    /// What is done again is lost, and needed.
    fn check_again(&mut self, ends: Vec<(TaskId, Finished)>, needed: &BTreeSet<TaskId>) {
        for (id, finished) in ends {
            let mut depots = finished.kept.iter().flat_map(|kept| &kept.depots);
            let was_suspected = depots.any(|depot| self.suspected.contains(&depot.id));
            let is_lost = oracle::is_lost(&self.nodes, id, &finished);
            assert!(is_lost || was_suspected, "{id} is there, and is done again");
            let is_wanted = self.wanted.remove(&id);
            assert!(is_wanted || needed.contains(&id), "nobody needs {id}, and it is done again");
            self.again.push(id);
            let count = if self.is_calm {
                &mut self.totals.remade_calm
            } else {
                &mut self.totals.remade_wild
            };
            *count += 1;
        }
    }

    fn fault(&mut self) {
        let at = self.chance.below(self.nodes.len());
        match self.chance.below(if self.is_calm { 3 } else { 12 }) {
            0 | 1 if self.is_calm => self.die_calmly(at),
            2 if self.is_calm => {}
            0..4 => self.die(at),
            4 => self.succeed(),
            5 | 6 => {
                let node = &self.nodes[at];
                self.totals.suspected += 1;
                self.suspected.insert(node.depot);
                self.coordinator.handle_host_lost(self.now, &node.host);
            }
            7 => {
                let peer = self.nodes[at].peer;
                self.coordinator.handle_gone(self.now, peer);
                self.connect(at);
            }
            _ => {
                let task = self.graph.pick(&mut self.chance);
                let call = self.client(Request::Fetch { task });
                self.asked.insert(call, task);
            }
        }
    }

    /// A node dies with what it has, and another begins in its place.
    fn die(&mut self, at: usize) {
        self.totals.deaths += 1;
        let life = self.number();
        let old = core::mem::replace(&mut self.nodes[at], Node::new(at as u64, life, Peer(0)));
        match self.chance.below(3) {
            0 => self.coordinator.handle_host_lost(self.now, &old.host),
            1 => self.coordinator.handle_gone(self.now, old.peer),
            _ => {} // it is silent
        }
        self.connect(at);
    }

    /// A node dies while nothing is on its way and all have read what they read.
    fn die_calmly(&mut self, at: usize) {
        for _ in 0..200 {
            self.pass(Duration::from_millis(1));
            self.deliver();
            self.coordinate(9);
        }
        let inputs = |id| self.graph.inputs(id).len();
        let waits = |node: &Node| node.reads(inputs) || !node.calls.is_empty();
        if self.nodes.iter().any(waits) || !self.to.is_empty() || !self.from.is_empty() {
            return;
        }
        let (before, life) = (self.again.len(), self.number());
        let old = core::mem::replace(&mut self.nodes[at], Node::new(at as u64, life, Peer(0)));
        let expected = oracle::all(&self.store, &self.graph, &self.nodes);
        self.totals.deaths += 1;
        self.totals.oracle += expected.len() as u64;
        self.coordinator.handle_host_lost(self.now, &old.host);
        self.coordinate(100);
        let again: BTreeSet<TaskId> = self.again[before..].iter().copied().collect();
        assert_eq!(again, expected, "what was made again, and what the oracle says");
        self.connect(at);
    }

    /// Another coordinator takes the role.
    fn succeed(&mut self) {
        self.totals.reigns += 1;
        self.epoch += 1;
        let settings = reign(&mut self.store, self.epoch);
        self.coordinator = Coordinator::new(settings, self.now);
        self.to.clear();
        self.from.clear();
        self.asked.clear();
        if self.submitted {
            self.client(Request::Submit { tasks: self.graph.submissions() });
        }
        for at in 0..self.nodes.len() {
            self.connect(at);
        }
    }

    /// All is done, and what is left of it is right.
    fn check(&mut self) {
        let mut effects = 0;
        for (id, task) in &self.graph.tasks {
            let finished = self.store.finished(*id).expect("it has ended");
            let Outcome::Done(result) = &finished.outcome else { panic!("{id}: {finished:?}") };
            if finished.kept.is_none() {
                assert_eq!(**result, task.value.to_be_bytes());
            }
            let mut values = self.nodes.iter().filter_map(|node| node.content.get(id));
            assert!(values.all(|value| *value == task.value));
            let children = self.graph.children(*id);
            let is_done = |id| self.store.finished(id).is_some();
            assert!(children.iter().all(|child| is_done(child.id)), "the children of {id}");
            effects += 1 + children.len();
        }
        assert_eq!(self.store.effects(), effects);
        self.totals.tasks += self.graph.tasks.len() as u64;
        self.totals.effects += effects as u64;
    }
}
