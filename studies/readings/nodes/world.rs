//! Nodes in one process: virtual time, datagrams that take a while, clocks that agree.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use tidings_gossip::{
    Address, Config, Counters, Incarnation, Instant, KeyRing, Member, Node, Strategy, Window,
};
use tidings_primitives::Chance;
use tidings_sim::readings::Recording;

use crate::DATAGRAM_BYTES;
use crate::payloads::{Kind, Speaker};

const UNIT: Duration = Duration::from_millis(256);
/// How long a datagram takes.
const LATENCY: Duration = Duration::from_micros(200);
/// What clocks and timers that agree are apart, at most.
const LATENESS_MICROS: usize = 2_000;
/// Nodes whose vectors are looked at at a time, others each time, and how often in a unit.
const LOOKED_AT: usize = 64;
const LOOKS: u32 = 4;
/// What a node said is remembered for so many units.
const REMEMBERED: usize = 512;
/// Ages are counted in parts of a unit.
const PARTS: usize = 100;

/// What a row of the table is of.
pub(crate) struct Setting {
    pub(crate) kind: Kind,
    pub(crate) version: u8,
    pub(crate) nodes: usize,
    pub(crate) window: usize,
    pub(crate) lost_percent: f64,
    pub(crate) seed: u64,
}

/// What was counted.
#[derive(Clone, Default)]
pub(crate) struct Found {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    pub(crate) bases: u64,
    pub(crate) passed_over: u64,
    /// Pairs of nodes that were looked at, and those in which one knows the other.
    pub(crate) pairs: u64,
    pub(crate) known: u64,
    /// Entries by age, in parts of a unit.
    ages: Vec<u64>,
    /// By node: how many entries it was seen to hold, and how old they were together.
    held: Vec<(u64, u64)>,
    looks: usize,
}

impl Found {
    pub(crate) fn mean_units(&self) -> f64 {
        in_units(self.known, self.held.iter().map(|(_, micros)| micros).sum())
    }

    /// The average age at the node that holds the oldest entries.
    pub(crate) fn oldest_mean_units(&self) -> f64 {
        let means = self.held.iter().map(|&(entries, micros)| in_units(entries, micros));
        means.fold(0.0, f64::max)
    }

    pub(crate) fn quantile_units(&self, share: f64) -> f64 {
        let wanted = (share * self.known as f64).ceil() as u64;
        let mut seen = 0;
        let at = self.ages.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        at.map_or(f64::NAN, |at| (at + 1) as f64 / PARTS as f64)
    }

    fn add(&mut self, counters: &Counters) {
        self.bytes += counters.bytes_sent;
        self.entries += counters.entries_sent;
        self.bases += counters.bases_sent;
        self.passed_over += counters.entries_without_base + counters.entries_disagreed;
    }
}

/// The average of so many ages.
fn in_units(ages: u64, micros: u64) -> f64 {
    micros as f64 / ages.max(1) as f64 / UNIT.as_micros() as f64
}

struct Host<'a> {
    node: Node,
    speaker: Speaker<'a>,
    payload: Vec<u8>,
    /// What it said, by its sequences, the last at the end.
    said: VecDeque<(u32, Vec<u8>)>,
    /// By how much its clock is late.
    late: Duration,
    next_unit: u64,
}

/// What happens next: a node is due, or a datagram arrives.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Due(usize),
    Arrival { to: usize, from: usize, bytes: Vec<u8> },
}

pub(crate) struct World<'a> {
    hosts: Vec<Host<'a>>,
    events: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    numbered: u64,
    now: Instant,
    loss: f64,
    chance: Chance,
    found: Found,
    counting: bool,
}

impl<'a> World<'a> {
    pub(crate) fn new(recordings: &'a [Recording], setting: &Setting) -> Result<Self, String> {
        let mut chance = Chance::new(setting.seed ^ 0x6E6F_6465);
        let config = config(setting);
        let roster: Vec<Member> = (0..setting.nodes).map(member).collect();
        let keys = KeyRing::open(&config.cluster);
        let mut hosts = Vec::new();
        for (n, me) in roster.iter().enumerate() {
            let (life, seed) = (Incarnation::new(1), chance.bits());
            let made = Node::new(
                config.clone(),
                keys.clone(),
                me.clone(),
                &roster,
                life,
                seed,
                Instant::EPOCH,
            );
            let mut node = made.map_err(|error| error.to_string())?;
            let late = Duration::from_micros(chance.below(LATENESS_MICROS) as u64);
            // Its clock shows less than the true time.
            node.set_clock(Instant::EPOCH, -(late.as_micros() as i64));
            hosts.push(Host {
                node,
                speaker: Speaker::new(setting.kind, recordings, (n, setting.seed))?,
                payload: vec![0; setting.kind.payload_bytes()],
                said: VecDeque::new(),
                late,
                next_unit: 0,
            });
        }
        let mut world = Self {
            hosts,
            events: BinaryHeap::new(),
            numbered: 0,
            now: Instant::EPOCH,
            loss: setting.lost_percent / 100.0,
            chance,
            found: Found::default(),
            counting: false,
        };
        for n in 0..setting.nodes {
            world.await_due(n);
        }
        Ok(world)
    }

    /// Counts from now on.
    pub(crate) fn begin_counting(&mut self) {
        let mut before = Found::default();
        self.hosts.iter().for_each(|host| before.add(host.node.counters()));
        self.found = before;
        self.found.held = vec![(0, 0); self.hosts.len()];
        self.counting = true;
    }

    pub(crate) fn found(&self) -> Found {
        let mut now = Found::default();
        self.hosts.iter().for_each(|host| now.add(host.node.counters()));
        let before = &self.found;
        Found {
            bytes: now.bytes - before.bytes,
            entries: now.entries - before.entries,
            bases: now.bases - before.bases,
            passed_over: now.passed_over - before.passed_over,
            ..before.clone()
        }
    }

    /// Lets so many units pass.
    pub(crate) fn run(&mut self, units: u32) -> Result<(), String> {
        for _ in 0..units * LOOKS {
            // Not always at the same moment of the unit, yet evenly over many.
            let part = UNIT / LOOKS;
            let look = self.now + part.mul_f64(0.5 + self.chance.real() / 2.0);
            let end = self.now + part;
            self.run_to(look)?;
            if self.counting {
                self.look()?;
            }
            self.run_to(end)?;
        }
        Ok(())
    }

    fn run_to(&mut self, end: Instant) -> Result<(), String> {
        while self.events.peek().is_some_and(|next| next.0.0 <= end) {
            let Some(Reverse((at, _, event))) = self.events.pop() else { break };
            self.now = self.now.max(at);
            match event {
                Event::Due(n) if self.hosts[n].node.poll_timeout() <= self.now => {
                    self.wake(n)?;
                    self.send(n);
                    self.await_due(n);
                }
                Event::Due(n) => self.await_due(n),
                Event::Arrival { to, from, mut bytes } => {
                    self.hosts[to].node.handle_datagram(self.now, address(from), &mut bytes);
                    self.send(to);
                }
            }
        }
        self.now = end;
        Ok(())
    }

    fn wake(&mut self, n: usize) -> Result<(), String> {
        let (now, host) = (self.now, &mut self.hosts[n]);
        let shown = now.saturating_since(Instant::EPOCH + host.late);
        let unit = (shown.as_micros() / UNIT.as_micros()) as u64;
        if unit >= host.next_unit {
            host.speaker.say(&mut host.payload)?;
            host.node.publish(&host.payload).map_err(|error| error.to_string())?;
            host.next_unit = unit + 1;
        }
        host.node.handle_timeout(now);
        let Some(own) = host.node.entry(&name(n), now) else { return Ok(()) };
        let sequence = own.sequence.unwrap_or_default();
        if host.said.back().is_none_or(|(last, _)| *last < sequence) {
            if host.said.len() == REMEMBERED {
                host.said.pop_front();
            }
            host.said.push_back((sequence, own.payload.to_vec()));
        }
        Ok(())
    }

    fn await_due(&mut self, n: usize) {
        let at = self.hosts[n].node.poll_timeout().max(self.now);
        self.add(at, Event::Due(n));
    }

    fn add(&mut self, at: Instant, event: Event) {
        self.numbered += 1;
        self.events.push(Reverse((at, self.numbered, event)));
    }

    fn send(&mut self, from: usize) {
        let mut buffer = [0; DATAGRAM_BYTES];
        while let Some(out) = self.hosts[from].node.poll_transmit(self.now, &mut buffer) {
            if self.chance.happens(self.loss) {
                continue;
            }
            let bytes = buffer[..out.bytes].to_vec();
            let arrival = Event::Arrival { to: number(out.to), from, bytes };
            self.add(self.now + LATENCY, arrival);
        }
    }

    /// Looks at the vectors of some nodes: how old their entries are, and that they are true.
    fn look(&mut self) -> Result<(), String> {
        let step = (self.hosts.len() / LOOKED_AT).max(1);
        self.found.ages.resize(100 * PARTS, 0);
        let first = self.found.looks % step;
        self.found.looks += 1;
        for (place, holder) in self.hosts.iter().enumerate().skip(first).step_by(step) {
            for view in holder.node.entries(self.now) {
                let n = number(view.address);
                if view.name == holder.node.name() {
                    continue;
                }
                let host = &self.hosts[n];
                self.found.pairs += 1;
                let (Some(age), Some(sequence)) = (view.age, view.sequence) else { continue };
                let at = host.said.binary_search_by_key(&sequence, |(sequence, _)| *sequence);
                let said = at.ok().map(|at| &host.said[at].1[..]);
                if said.is_some_and(|said| said != view.payload) {
                    return Err(format!("node {n} never said what is held as its {sequence}"));
                }
                let micros = age.as_micros() as usize;
                let part = micros * PARTS / UNIT.as_micros() as usize;
                let last = self.found.ages.len() - 1;
                self.found.ages[part.min(last)] += 1;
                let (entries, together) = &mut self.found.held[place];
                (*entries, *together) = (*entries + 1, *together + micros as u64);
                self.found.known += 1;
            }
        }
        Ok(())
    }
}

fn config(setting: &Setting) -> Config {
    let mut config = Config::default();
    config.interval = UNIT;
    config.strategy = Strategy::Grid;
    config.window = Window::Entries(setting.window as u32);
    config.payload_bytes = setting.kind.payload_bytes() as u16;
    config.datagram_bytes = DATAGRAM_BYTES as u16;
    config.max_nodes = setting.nodes as u32;
    config.wire_version = setting.version;
    config.death_after = None;
    config
}

fn name(n: usize) -> String {
    format!("n{n:05}")
}

fn address(n: usize) -> Address {
    Address::from_bytes(&(n as u32).to_le_bytes()).expect("four bytes are an address")
}

fn number(address: Address) -> usize {
    let bytes = address.as_bytes().try_into().expect("every address has four bytes");
    u32::from_le_bytes(bytes) as usize
}

fn member(n: usize) -> Member {
    Member { name: name(n), address: address(n) }
}
