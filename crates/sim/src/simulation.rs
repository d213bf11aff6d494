//! The full simulation: real nodes, a virtual network, clocks and faults, one event at a time.
//!
//! The nodes are the very state machines of the core, driven through their public contract: woken
//! at their timeouts by their own clocks, handed datagrams, asked for what they send. Once a unit
//! of true time every vector is read: for the figures after the warm-up, for the checkers always.
//!
//! Invariants: a run is a function of its scenario; the nodes learn nothing but what a driver tells
//! them; memory is bounded by the nodes and the datagrams in flight.

use core::ops::ControlFlow;

use tidings_gossip::{ConfigError, Counters};

use crate::chance::lateness;
use crate::checker::age::AgeChecker;
use crate::checker::convergence::ConvergenceChecker;
use crate::checker::knowledge::KnowledgeChecker;
use crate::checker::{Claim, Findings};
use crate::deaths::{Deaths, Obituaries};
use crate::departed::Departed;
use crate::event_queue::EventQueue;
use crate::host::{Flight, Host, Settings, birth_micros, number, numbered};
use crate::network::Network;
use crate::plan::{Action, Plan};
use crate::report::{Outcome, Totals};
use crate::sample::{self, Row, Samples};
use crate::scenario::Scenario;
use crate::trace::Trace;

/// Bytes of a datagram that hold no entries, at most.
const FRAME_BYTES: usize = 128;

/// What is due.
enum Event {
    Act(Action),
    Wake {
        node: usize,
        life: u32,
    },
    Deliver(Flight),
    /// The first node hears that nobody listens where the second was.
    Refuse(usize, usize),
}

/// A run under way.
pub(crate) struct Simulation {
    settings: Settings,
    unit_micros: i64,
    hosts: Vec<Host>,
    network: Network,
    queue: EventQueue<Event>,
    buffer: Vec<u8>,
    now: i64,
    trace: Trace,
    messages: u64,
    /// What nodes had counted that are down.
    buried: Totals,
    ages: AgeChecker,
    knowledge: KnowledgeChecker,
    convergence: ConvergenceChecker,
    findings: Findings,
    obituaries: Obituaries,
}

impl Simulation {
    /// All nodes up, at the time 0, knowing nobody.
    pub(crate) fn of(scenario: &Scenario, plan: &Plan) -> Result<Self, ConfigError> {
        let nodes = scenario.cluster.nodes as usize;
        let versions = scenario.cluster.wire_versions.clone();
        let mut settings = Settings::of(scenario.config(), versions, nodes, scenario.seed)?;
        settings.members = scenario.members_at(-1.0) as usize;
        let datagram_bytes = usize::from(settings.config.datagram_bytes);
        let entry_bytes = usize::from(scenario.cluster.payload_bytes) + 12;
        let entries = (datagram_bytes.saturating_sub(FRAME_BYTES) / entry_bytes).max(1);
        let pieces = scenario.window_entries().div_ceil(entries) + 1;
        let mut simulation = Self {
            unit_micros: scenario.cluster.interval.as_micros() as i64,
            hosts: plan.clocks.iter().map(|&clock| Host::with_clock(clock)).collect(),
            network: Network::of(scenario, &plan.partitions),
            queue: EventQueue::empty(),
            buffer: vec![0; pieces * datagram_bytes],
            now: 0,
            trace: Trace::default(),
            messages: 0,
            buried: Totals::default(),
            ages: AgeChecker::of(scenario.cluster.nodes, scenario.clocks.drift_ppm),
            knowledge: KnowledgeChecker::of(nodes),
            convergence: ConvergenceChecker::default(),
            findings: Findings::default(),
            obituaries: Obituaries::with_room(plan.crashes()),
            settings,
        };
        for &(micros, action) in &plan.actions {
            simulation.queue.push(micros, Event::Act(action));
        }
        for node in 0..simulation.settings.members {
            simulation.start(node)?;
        }
        Ok(simulation)
    }

    /// Runs to the last sample, or until `progress` breaks it off.
    pub(crate) fn run(
        mut self,
        scenario: &Scenario,
        progress: &mut dyn FnMut(u32, u32) -> ControlFlow<()>,
    ) -> Result<Outcome, ConfigError> {
        let mut samples = Samples::default();
        let mut before = Totals::default();
        let mut units_measured = 0;
        for unit in 1..=scenario.all_units() {
            if unit == scenario.warmup_units + 1 {
                before = self.totals();
            }
            self.advance(sample::time(unit, self.unit_micros))?;
            let measured = unit > scenario.warmup_units;
            if unit % scenario.sample_every == 0 {
                self.sample(unit, measured.then_some(&mut samples));
            }
            // Whole units are counted, wherever in them the samples lie.
            self.advance(i64::from(unit) * self.unit_micros)?;
            units_measured += u32::from(measured);
            if progress(unit, scenario.all_units()).is_break() {
                break;
            }
        }
        self.findings.excess_requests = self.totals().excess;
        let totals = if units_measured > 0 { self.totals().since(&before) } else { before };
        Ok(Outcome {
            samples,
            units_measured,
            totals,
            nodes_up: self.hosts.iter().filter(|host| host.is_up()).count() as u32,
            never_heard_pairs: self.convergence.lacking_pairs(),
            first_full_view_units: self.convergence.first_full_units(),
            fates: Some(self.network.fates),
            departed: self.departed(),
            deaths: scenario.config().death_after.map(|_| self.deaths()),
            findings: Some(self.findings),
            trace: self.trace,
        })
    }

    /// The life that each node has; 0 where it is down.
    fn lives(&self) -> Vec<u32> {
        self.hosts.iter().map(|host| if host.node.is_some() { host.life } else { 0 }).collect()
    }

    /// What became known of deaths.
    fn deaths(&self) -> Deaths {
        let totals = self.totals();
        Deaths {
            suspicions: totals.suspicions,
            suspicions_cleared: totals.suspicions_cleared,
            probes: totals.probes,
            ..self.obituaries.sum(&self.lives())
        }
    }

    /// What the nodes that are up hold of those that are down, now.
    fn departed(&self) -> Vec<Departed> {
        let mut ages = vec![Vec::new(); self.hosts.len()];
        for host in self.hosts.iter().filter(|host| host.is_up()) {
            let node = host.node.iter();
            for entry in node.flat_map(|node| node.entries(host.clock.read(self.now))) {
                let age = entry.age.map(|age| age.as_micros() as f64 / self.unit_micros as f64);
                ages[number(entry.address)].extend(age);
            }
        }
        let of = |(origin, ages): (usize, Vec<f64>)| {
            let gone = self.hosts[origin].node.is_none();
            gone.then(|| Departed::of(origin as u32, ages.into_iter()))
        };
        ages.into_iter().enumerate().filter_map(of).collect()
    }

    /// Does everything that is due up to `end`.
    fn advance(&mut self, end: i64) -> Result<(), ConfigError> {
        while let Some((micros, event)) = self.queue.pop_until(end) {
            self.now = self.now.max(micros);
            match event {
                Event::Act(action) => self.act(action)?,
                Event::Wake { node, life } => self.wake(node, life),
                Event::Deliver(flight) => self.deliver(flight),
                Event::Refuse(to, by) => {
                    if self.hosts[to].is_up() {
                        self.hosts[to].refused(self.now, by);
                        self.settle(to);
                    }
                }
            }
        }
        self.now = end;
        Ok(())
    }

    fn act(&mut self, action: Action) -> Result<(), ConfigError> {
        match action {
            Action::Crash(node) => {
                let host = &mut self.hosts[node as usize];
                let incarnation = host.node.as_ref().map(|node| node.incarnation().get());
                if let Some(counters) = host.crash() {
                    add(&mut self.buried, &counters);
                }
                if let Some(incarnation) = incarnation {
                    let lives = self.lives();
                    self.obituaries.crashed(node as usize, incarnation, self.now, lives);
                }
            }
            Action::Restart(node) => {
                let member = (node as usize) < self.settings.members;
                if member && self.hosts[node as usize].node.is_none() {
                    let lives = self.lives();
                    self.obituaries.restarts(node as usize, &lives);
                    self.knowledge.restarted(node as usize);
                    self.start(node as usize)?;
                }
            }
            Action::Pause(node) => {
                let host = &mut self.hosts[node as usize];
                host.paused = host.node.is_some();
            }
            Action::Resume(node) => self.resume(node as usize),
            Action::Cut(partition) => self.network.set_partition(partition, true),
            Action::Heal(partition) => self.network.set_partition(partition, false),
            Action::Grow(members) => self.grow(members as usize)?,
        }
        Ok(())
    }

    /// Makes the first `members` nodes the cluster: tells those that run, starts those that come.
    fn grow(&mut self, members: usize) -> Result<(), ConfigError> {
        let before = std::mem::replace(&mut self.settings.members, members);
        for host in &mut self.hosts[..before] {
            host.meet(&self.settings, self.now)?;
        }
        (before..members).try_for_each(|node| self.start(node))
    }

    fn start(&mut self, node: usize) -> Result<(), ConfigError> {
        self.hosts[node].start(&self.settings, node, self.now)?;
        self.settle(node);
        Ok(())
    }

    /// A node that stood still reads what came meanwhile, then does what is due.
    fn resume(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        if !std::mem::take(&mut host.paused) {
            return;
        }
        let backlog = std::mem::take(&mut host.backlog);
        for flight in backlog {
            self.deliver(flight);
        }
        self.hosts[node].wake(self.now);
        self.settle(node);
    }

    fn wake(&mut self, node: usize, life: u32) {
        let host = &mut self.hosts[node];
        if host.life != life || host.wake_micros != Some(self.now) {
            return;
        }
        host.wake_micros = None;
        if host.is_up() {
            host.wake(self.now);
            self.settle(node);
        }
    }

    fn deliver(&mut self, mut flight: Flight) {
        let host = &mut self.hosts[flight.to];
        if host.paused {
            self.network.fates.nobody_there += u64::from(!host.keep(flight));
            return;
        }
        if host.node.is_none() {
            self.network.fates.nobody_there += 1;
            if let Some(arrival) = self.network.refuse(self.now, (flight.to, flight.from)) {
                self.queue.push(arrival, Event::Refuse(flight.from, flight.to));
            }
            return;
        }
        self.network.fates.delivered += 1;
        self.trace.delivered(self.now, flight.from, flight.to, &flight.bytes);
        self.ages.travelled(self.now - flight.sent_micros);
        host.receive(self.now, &mut flight);
        self.settle(flight.to);
    }

    /// After any input: sends what the node has to send and notes when it wants to be woken.
    fn settle(&mut self, node: usize) {
        while let Some((name, incarnation)) = self.hosts[node].poll_death() {
            let dead = (numbered(&name), incarnation);
            self.obituaries.learnt(node, dead, self.now);
        }
        while let Some(out) = self.hosts[node].poll_transmit(self.now, &mut self.buffer) {
            self.messages += 1;
            let to = number(out.to);
            for datagram in self.buffer[..out.bytes].chunks(out.segment_bytes) {
                for arrival in self.network.send(self.now, (node, to), datagram.len()) {
                    let Some(arrival) = arrival else { continue };
                    let (sent_micros, bytes) = (self.now, datagram.to_vec());
                    let flight = Flight { from: node, to, sent_micros, bytes };
                    self.queue.push(arrival, Event::Deliver(flight));
                }
            }
        }
        let (host, unit) = (&mut self.hosts[node], self.unit_micros);
        let due = host.timeout_micros();
        let Some(timeout) = due.map(|due| due.saturating_add(lateness(node, due, unit))) else {
            return;
        };
        let timeout = timeout.max(self.now);
        if host.wake_micros != Some(timeout) {
            host.wake_micros = Some(timeout);
            self.queue.push(timeout, Event::Wake { node, life: host.life });
        }
    }

    /// Reads every vector: for the checkers, and for the figures where `samples` are given.
    fn sample(&mut self, unit: u32, mut samples: Option<&mut Samples>) {
        let up: Vec<bool> = self.hosts.iter().map(Host::is_up).collect();
        let unit_micros = self.unit_micros as f64;
        let mut lacking_pairs = 0;
        for (holder, host) in self.hosts.iter().enumerate() {
            let Some(node) = host.node.as_ref().filter(|_| up[holder]) else { continue };
            let (mut row, mut lacking) = (Row::default(), 0);
            for entry in node.entries(host.clock.read(self.now)) {
                let origin = number(entry.address);
                if origin == holder {
                    continue;
                }
                let Some(age) = entry.age else {
                    lacking += u64::from(up[origin]);
                    continue;
                };
                let claim = Claim {
                    pair: (holder, origin),
                    stamp: (entry.incarnation, entry.sequence.unwrap_or(0)),
                    age_micros: age.as_micros() as i64,
                    // What a dead node said last is older than the entry.
                    true_age_micros: (entry.payload_age == entry.age)
                        .then(|| birth_micros(entry.payload).map(|birth| self.now - birth))
                        .flatten(),
                };
                self.ages.check(&claim, &mut self.findings);
                self.knowledge.check(&claim, &mut self.findings);
                if let Some(samples) = samples.as_deref_mut().filter(|_| up[origin]) {
                    row.add(claim.age_micros as f64 / unit_micros, samples);
                }
            }
            if let Some(samples) = samples.as_deref_mut() {
                samples.add(row);
                samples.lack(lacking);
            }
            lacking_pairs += lacking;
        }
        self.convergence.sampled(unit, lacking_pairs);
    }

    /// What all nodes have done so far, those that are down included.
    fn totals(&self) -> Totals {
        let mut totals = Totals { messages: self.messages, ..self.buried };
        let nodes = self.hosts.iter().filter_map(|host| host.node.as_ref());
        nodes.for_each(|node| add(&mut totals, node.counters()));
        totals
    }
}

fn add(totals: &mut Totals, counters: &Counters) {
    totals.datagrams += counters.datagrams_sent;
    totals.bytes += counters.bytes_sent;
    totals.entries_sent += counters.entries_sent;
    totals.entries_received += counters.entries_received;
    totals.entries_news += counters.entries_news;
    totals.suspicions += counters.suspicions;
    totals.suspicions_cleared += counters.suspicions_cleared;
    totals.probes += counters.probes_sent;
    totals.excess += counters.dropped_excess;
}
