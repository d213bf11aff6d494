//! All colonies with real nodes: the core's own, with datagrams that arrive when they are sent.
//!
//! It exists to show that the compact mode is right, so it knows what that knows: loss and outages.
//! An address is a node's number in six bytes, as long as an IPv4 address with a port.

use core::cmp::Reverse;
use core::ops::ControlFlow;
use std::collections::BinaryHeap;
use std::time::Duration;

use tidings_gossip::{
    Address, ColonyConfig, ColonyId, Config, ConfigError, Event, Incarnation, Instant, KeyRing,
    Member, Node, Strategy,
};

use super::death_times::DeathTimes;
use super::state;
use super::tally::{Outcome, Traffic};
use super::world::World;
use crate::chance::{Chance, Purpose, lateness, stream, stream_seed};
use crate::deaths::Obituaries;
use crate::row::{self, START, UNIT};
use crate::sample;
use crate::trace::Trace;

/// A run under way.
pub(super) struct FullColonies<'a> {
    world: &'a World,
    nodes: Vec<Option<Node>>,
    lives: Vec<u32>,
    /// What each node has sent in the measured units, in its earlier lives.
    buried: Vec<Traffic>,
    /// What its counters said when the measured units began.
    before: Vec<Traffic>,
    timeouts: BinaryHeap<Reverse<(Instant, usize, u32)>>,
    actions: Vec<(i64, usize, bool)>,
    /// Who was declared dead, and whether it was.
    obituaries: Obituaries,
    /// What nodes that have crashed had counted.
    ended: DeathTimes,
    chance: Chance,
    /// Who says other readings, and which.
    news: Chance,
    buffer: Vec<u8>,
    trace: Trace,
}

impl<'a> FullColonies<'a> {
    /// All nodes up, at the time 0.
    pub(super) fn of(world: &'a World) -> Result<Self, ConfigError> {
        let nodes = world.scenario.nodes as usize;
        let both = |o: &super::uptime::Outage| {
            [(o.down, o.node as usize, false), (o.up, o.node as usize, true)]
        };
        let mut actions: Vec<_> = world.uptime.outages().iter().flat_map(both).collect();
        actions.sort_unstable();
        actions.reverse();
        let mut run = Self {
            world,
            nodes: Vec::new(),
            lives: vec![0; nodes],
            buried: vec![Traffic::default(); nodes],
            before: vec![Traffic::default(); nodes],
            timeouts: BinaryHeap::new(),
            actions,
            obituaries: Obituaries::default(),
            ended: DeathTimes::default(),
            chance: stream(world.scenario.seed, Purpose::Network),
            news: stream(world.scenario.seed, Purpose::Readings(u32::MAX)),
            buffer: vec![0; 1 << 16],
            trace: Trace::default(),
        };
        run.nodes.resize_with(nodes, || None);
        for node in 0..nodes {
            run.start(node, Instant::EPOCH)?;
        }
        Ok(run)
    }

    /// Runs to the last sample; `None` if it was broken off.
    pub(super) fn run(
        mut self,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Outcome>, ConfigError> {
        let scenario = &self.world.scenario;
        let colonies = self.world.colonies() as u32;
        let mut outcome = Outcome { colonies, ..Outcome::default() };
        for unit in 1..=scenario.all_units() {
            if unit == scenario.warmup_units + 1 {
                self.buried.fill(Traffic::default());
                self.before = (0..self.nodes.len()).map(|node| self.counted(node)).collect();
            }
            self.say_news();
            let now = START + sample::time(unit, UNIT);
            self.advance(now)?;
            if unit > scenario.warmup_units {
                self.sample(self.instant(now), &mut outcome);
            }
            // Whole units are counted, wherever in them the samples lie.
            self.advance(START + i64::from(unit) * UNIT)?;
            if go_on().is_break() {
                return Ok(None);
            }
        }
        for node in 0..self.nodes.len() {
            let sent = self.sent(node);
            outcome.traffic.datagrams += sent.datagrams;
            outcome.traffic.bytes += sent.bytes;
            outcome.traffic.calls += sent.calls;
            outcome.traffic.bytes_most = outcome.traffic.bytes_most.max(sent.bytes);
        }
        outcome.deaths = self.deaths();
        outcome.trace = self.trace.value();
        Ok(Some(outcome))
    }

    /// Some nodes have other readings from this unit on.
    fn say_news(&mut self) {
        let share = self.world.scenario.news_percent / 100.0;
        if share <= 0.0 {
            return;
        }
        let mut payload = vec![0; usize::from(self.world.scenario.payload_bytes)];
        for node in self.nodes.iter_mut().flatten() {
            if self.news.happens(share) {
                state::draw(&mut self.news, &mut payload);
                let published = node.publish(&payload);
                debug_assert!(published.is_ok(), "it is as long as payloads are");
            }
        }
    }

    /// The instant of a tick, on all clocks.
    fn instant(&self, tick: i64) -> Instant {
        let unit = i128::from(self.world.scenario.interval.as_micros());
        Instant::from_micros((i128::from(tick - START) * unit / i128::from(UNIT)) as i64)
    }

    fn advance(&mut self, end: i64) -> Result<(), ConfigError> {
        while let Some(&(at, node, starts)) = self.actions.last().filter(|(at, ..)| *at <= end) {
            self.actions.pop();
            self.wake_until(self.instant(at));
            if starts {
                self.obituaries.restarts(node, &self.lives_up());
                self.start(node, self.instant(at))?;
            } else {
                self.crash(node, at);
            }
        }
        self.wake_until(self.instant(end));
        Ok(())
    }

    fn crash(&mut self, n: usize, now: i64) {
        self.buried[n] = self.sent(n);
        self.before[n] = Traffic::default();
        let Some(node) = self.nodes[n].take() else { return };
        self.ended.suspicions += node.counters().suspicions;
        self.ended.probes += node.counters().probes_sent;
        // A node that outlived its death has a higher incarnation than it began with.
        self.lives[n] = node.incarnation().get();
        // Other colonies do not hear of it.
        let colony = self.world.nodes_of(self.colony_of(n));
        let mut lives = self.lives_up();
        for (other, life) in lives.iter_mut().enumerate() {
            *life = if colony.contains(&other) { *life } else { 0 };
        }
        self.obituaries.crashed(n, self.lives[n], now, lives);
    }

    /// The lives of all nodes, 0 of those that are down.
    fn lives_up(&self) -> Vec<u32> {
        let up = self.nodes.iter().map(Option::is_some);
        self.lives.iter().zip(up).map(|(&life, up)| if up { life } else { 0 }).collect()
    }

    fn colony_of(&self, n: usize) -> usize {
        let colonies = self.world.colonies();
        (0..colonies).find(|&colony| self.world.nodes_of(colony).contains(&n)).unwrap_or_default()
    }

    /// What became known of deaths.
    fn deaths(&self) -> DeathTimes {
        let mut times = DeathTimes::of(&self.obituaries, &self.lives_up(), &self.world.scenario);
        let counters = || self.nodes.iter().flatten().map(Node::counters);
        times.suspicions =
            self.ended.suspicions + counters().map(|counters| counters.suspicions).sum::<u64>();
        times.probes =
            self.ended.probes + counters().map(|counters| counters.probes_sent).sum::<u64>();
        times
    }

    fn wake_until(&mut self, end: Instant) {
        while let Some(&Reverse((due, n, life))) = self.timeouts.peek().filter(|r| r.0.0 <= end) {
            self.timeouts.pop();
            let Some(node) = self.nodes[n].as_mut().filter(|_| self.lives[n] == life) else {
                continue;
            };
            node.handle_timeout(due);
            self.sleep(n);
            self.flush(n, due);
        }
    }

    /// Notes when a node is woken next: a little late.
    fn sleep(&mut self, n: usize) {
        let Some(node) = self.nodes[n].as_ref() else { return };
        let unit = self.world.scenario.interval.as_micros() as i64;
        let due = node.poll_timeout().as_micros();
        let due = Instant::from_micros(due.saturating_add(lateness(n, due, unit)));
        self.timeouts.push(Reverse((due, n, self.lives[n])));
    }

    /// Delivers all that a node has to send, and what that makes others send.
    fn flush(&mut self, node: usize, now: Instant) {
        let mut senders = vec![node];
        let mut buffer = core::mem::take(&mut self.buffer);
        while let Some(from) = senders.pop() {
            let Some(node) = self.nodes[from].as_mut() else { continue };
            while let Some(event) = node.poll_event() {
                if let Event::Died(name, life) = event {
                    let dead = (named(&name), life.get());
                    let tick = tick(now, self.world.scenario.interval.as_micros());
                    self.obituaries.learnt(from, dead, tick);
                }
            }
            let Some(out) = node.poll_transmit(now, &mut buffer) else { continue };
            senders.push(from);
            let to = number(out.to);
            for datagram in buffer[..out.bytes].chunks_mut(out.segment_bytes) {
                let lost = self.chance.happens(self.world.scenario.loss);
                let Some(node) = self.nodes.get_mut(to).and_then(Option::as_mut) else { continue };
                if !lost {
                    self.trace.delivered(now.as_micros(), from, to, datagram);
                    node.handle_datagram(now, address(from), datagram);
                    senders.push(to);
                }
            }
        }
        self.buffer = buffer;
    }

    fn start(&mut self, n: usize, now: Instant) -> Result<(), ConfigError> {
        self.lives[n] += 1;
        let (life, scenario) = (self.lives[n], &self.world.scenario);
        let (colonies, own) = (self.world.colonies(), self.colony_of(n));
        let roster: Vec<Member> = self.world.nodes_of(own).map(member).collect();
        let config = self.config(n, own, roster.len());
        let keys = KeyRing::open(&config.cluster);
        let seed = stream_seed(scenario.seed, Purpose::Node(n as u32, life));
        let life = Incarnation::new(life);
        let mut node = Node::new(config, keys, member(n), &roster, life, seed, now)?;
        for other in (0..colonies).filter(|&other| other != own) {
            let first = self.world.nodes_of(other).start;
            node.introduce(colony_id(other), &[address(first), address(first + 1)]);
        }
        let mut payload = vec![0; usize::from(scenario.payload_bytes)];
        let mut chance = stream(scenario.seed, Purpose::Node(n as u32, u32::MAX));
        state::draw(&mut chance, &mut payload);
        let published = node.publish(&payload);
        debug_assert!(published.is_ok(), "it is as long as payloads are");
        // All wall clocks show the same.
        node.set_clock(now, now.as_micros());
        self.nodes[n] = Some(node);
        self.sleep(n);
        Ok(())
    }

    fn config(&self, n: usize, colony: usize, members: usize) -> Config {
        let scenario = &self.world.scenario;
        let mut config = Config::default();
        config.wire_version = scenario.wire_versions[n % scenario.wire_versions.len()];
        config.interval = Duration::from(scenario.interval);
        config.window = scenario.window;
        config.strategy = Strategy::Grid;
        config.payload_bytes = scenario.payload_bytes;
        config.catch_up = false;
        config.death_after = scenario.death_after();
        config.max_nodes = members as u32;
        config.datagram_bytes = scenario.datagram_bytes();
        config.forget_after = config.forget_after.max(config.interval * 8_000);
        let max_colonies = self.world.colonies() as u32;
        config.colony = Some(ColonyConfig { id: colony_id(colony), max_colonies });
        config
    }

    /// What a node's counters say in its present life.
    fn counted(&self, node: usize) -> Traffic {
        let counters = self.nodes[node].as_ref().map(|node| *node.counters()).unwrap_or_default();
        Traffic {
            datagrams: counters.datagrams_sent,
            bytes: counters.bytes_sent,
            calls: counters.calls_sent,
            ..Traffic::default()
        }
    }

    /// What a node has sent in the measured units so far.
    fn sent(&self, node: usize) -> Traffic {
        let (now, before, buried) = (self.counted(node), self.before[node], self.buried[node]);
        Traffic {
            datagrams: buried.datagrams + now.datagrams - before.datagrams,
            bytes: buried.bytes + now.bytes - before.bytes,
            calls: buried.calls + now.calls - before.calls,
            ..Traffic::default()
        }
    }

    fn sample(&self, now: Instant, outcome: &mut Outcome) {
        let unit = self.world.scenario.interval.as_micros();
        let tick = tick(now, unit);
        let unit = unit as f64;
        let birth = |age: Duration| {
            let ticks = age.as_micros() as f64 / unit * UNIT as f64;
            (tick - ticks as i64).max(1) as i32
        };
        outcome.lacking_entries = 0;
        outcome.lacking_aggregates = 0;
        for (holder, node) in self.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            outcome.node_units += 1;
            let mut births = Vec::new();
            for entry in node.entries(now) {
                let origin = number(entry.address);
                if origin != holder && self.nodes[origin].is_some() {
                    births.push(entry.age.map_or(0, birth));
                }
            }
            outcome.entries.add(row::sum(&births), tick);
            outcome.entries.count(&births, tick);
            outcome.lacking_entries += births.iter().filter(|&&birth| birth == 0).count() as u64;
            births.clear();
            for view in node.other_colonies(now) {
                births.push(view.age.map_or(0, birth));
                if view.age.is_some() {
                    outcome.aggregate_bytes.0 += view.aggregate_bytes().len() as u64;
                    outcome.aggregate_bytes.1 += 1;
                }
            }
            outcome.aggregates.add(row::sum(&births), tick);
            outcome.aggregates.count(&births, tick);
            outcome.lacking_aggregates += births.iter().filter(|&&birth| birth == 0).count() as u64;
        }
    }
}

/// The tick of an instant.
fn tick(now: Instant, unit_micros: u64) -> i64 {
    let micros = i128::from(now.as_micros()) * i128::from(UNIT);
    START + (micros / i128::from(unit_micros)) as i64
}

/// The number behind a name.
fn named(name: &str) -> usize {
    name[1..].parse().expect("names are n and a number")
}

fn colony_id(colony: usize) -> ColonyId {
    ColonyId(1 + colony as u32)
}

fn member(n: usize) -> Member {
    Member { name: format!("n{n:07}"), address: address(n) }
}

/// The address of node number `n`: six bytes.
fn address(n: usize) -> Address {
    let mut bytes = [0; 6];
    bytes[..4].copy_from_slice(&(n as u32).to_le_bytes());
    Address::from_bytes(&bytes).expect("six bytes are an address")
}

/// The number behind an address.
fn number(address: Address) -> usize {
    let bytes = address.as_bytes().first_chunk().expect("every address has six bytes");
    u32::from_le_bytes(*bytes) as usize
}
