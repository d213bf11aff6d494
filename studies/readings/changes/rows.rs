//! Rows of nodes, a relay that holds what they say, and a receiver that pulls one row after the
//! other.
//!
//! A pull says which bases the receiver holds, with a byte a node, which is counted here. The relay
//! sends each entry by that base, by a step from it if it is the one before, or with its base.

use tidings_gossip::age;
use tidings_gossip::delta::{Base, Bases, Body, Item, Name, Origin, Shelf, Step, Taken, decode};
use tidings_gossip::wire::OVERHEAD_BYTES;
use tidings_gossip::wire::window::{Format, Marks, PREAMBLE_BYTES};
use tidings_gossip::{Incarnation, Instant, NodeId, Stamp};
use tidings_primitives::Chance;
use tidings_sim::readings::Recording;

use crate::DATAGRAM_BYTES;
use crate::payloads::{Kind, Speaker};

/// Nodes of a row.
const ROW: usize = 32;
/// The unit of time in microseconds.
const UNIT: i64 = 256_000;
/// When a row is pulled after rounds begin, if they are common: an eighth of a unit.
const LOOK: i64 = UNIT / 8;
/// What clocks and timers that agree are apart.
const LATENESS: i64 = 2_000;

/// Bytes of a pull that says which bases there are, beside one a node.
const SAID_BYTES: u64 = 6;

/// Under which conditions rows are pulled.
#[derive(Clone, Copy)]
pub(crate) struct Condition {
    /// Whether rounds begin together.
    together: bool,
    /// Datagrams that are lost.
    pub(crate) lost_percent: f64,
}

impl Condition {
    pub(crate) const ALL: [Self; 3] = [
        Self { together: true, lost_percent: 0.0 },
        Self { together: true, lost_percent: 10.0 },
        Self { together: false, lost_percent: 0.0 },
    ];

    pub(crate) const fn clocks(self) -> &'static str {
        if self.together { "agree" } else { "none" }
    }
}

/// What a receiver's pulls took.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counted {
    /// Entries sent.
    pub(crate) entries: u64,
    /// Their bytes, with all that is not the frame of a datagram.
    pub(crate) bytes: u64,
    /// Bases that came along.
    pub(crate) bases: u64,
    /// Bases that came as steps from those before.
    pub(crate) steps: u64,
    /// Entries that say what their base says.
    pub(crate) confirmed: u64,
}

struct Node<'a> {
    speaker: Speaker<'a>,
    origin: Origin,
    stamp: Stamp,
    payload: Vec<u8>,
    born: i64,
    phase: i64,
    bases: u64,
    /// The base before the present one.
    before: Option<(Name, Vec<u8>)>,
}

impl Node<'_> {
    /// It says something, which may be a base.
    fn say(&mut self) {
        self.stamp = self.stamp.next().expect("a run is shorter than a life");
        self.speaker.say(&mut self.payload).expect("readings of recordings fit");
        let before = self.origin.base().map(|base| (base.name, base.payload.to_vec()));
        if self.origin.renew(self.stamp, &self.payload) {
            self.bases += 1;
            self.before = before;
        }
    }

    /// Its entry as the relay sends it to who holds this base.
    fn item(&self, now: Instant, held: Option<Name>) -> Item<'_> {
        let base = self.origin.base().expect("it has said something");
        let age = age::encode(now, Instant::from_micros(self.born));
        let before = self.before.as_ref().filter(|(name, _)| Some(*name) == held);
        let from = before.map(|(name, payload)| Base { name: *name, payload });
        Item { stamp: self.stamp, age, payload: &self.payload, base, from }
    }
}

/// The rows, and who pulls them.
pub(crate) struct Rows<'a> {
    nodes: Vec<Node<'a>>,
    receiver: Shelf,
    condition: Condition,
    format: Format,
    chance: Chance,
    counted: Counted,
    units: u64,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(
        kind: Kind,
        condition: Condition,
        recordings: &'a [Recording],
        nodes: usize,
        seed: u64,
    ) -> Result<Self, String> {
        let mut chance = Chance::new(seed);
        let payload_bytes = kind.payload_bytes();
        let node = |at: usize| {
            let phase = if condition.together { 0 } else { chance.below(UNIT as usize) as i64 };
            Ok(Node {
                speaker: Speaker::new(kind, recordings, (at, seed))?,
                origin: Origin::new(NodeId(at as u32), payload_bytes),
                stamp: Stamp::new(Incarnation::new(at as u32 / 7), 0),
                payload: vec![0; payload_bytes],
                born: 0,
                phase,
                bases: 0,
                before: None,
            })
        };
        Ok(Self {
            nodes: (0..nodes).map(node).collect::<Result<_, String>>()?,
            receiver: Shelf::new(nodes, payload_bytes),
            condition,
            format: Format { schema: 1, payload_bytes: payload_bytes as u16 },
            chance,
            counted: Counted::default(),
            units: 0,
        })
    }

    /// Runs so many units, of which the first eighth is not counted.
    pub(crate) fn run(&mut self, units: usize) {
        for unit in 0..units {
            if unit == units / 8 {
                self.counted = Counted::default();
                for node in &mut self.nodes {
                    node.bases = 0;
                }
                self.units = 0;
            }
            self.say(unit as i64 * UNIT);
            for first in (0..self.nodes.len()).step_by(ROW) {
                self.pull(first, unit as i64 * UNIT + LOOK);
            }
            self.units += 1;
        }
    }

    pub(crate) fn counted(&self) -> Counted {
        self.counted
    }

    /// Units from one base of a node to the next, on average.
    pub(crate) fn units_a_base(&self) -> f64 {
        let bases: u64 = self.nodes.iter().map(|node| node.bases).sum();
        (self.units * self.nodes.len() as u64) as f64 / bases as f64
    }

    /// Each node says something, and the relay hears it.
    fn say(&mut self, round: i64) {
        for node in &mut self.nodes {
            node.say();
            let late = self.chance.below(LATENESS as usize) as i64;
            let phase = if self.condition.together { late } else { node.phase - UNIT };
            node.born = round + phase;
        }
    }

    /// The receiver pulls a row, in as many datagrams as it takes.
    fn pull(&mut self, first: usize, now: i64) {
        let row = &self.nodes[first..self.nodes.len().min(first + ROW)];
        let now = Instant::from_micros(now);
        let (mut agreed, mut named, mut skipped) = (Vec::new(), Vec::new(), 0);
        for node in row {
            let id = node.origin.base().map(|base| base.name.id);
            let held = id.and_then(|id| self.receiver.base(id)).map(|base| base.name);
            let item = node.item(now, held);
            self.counted.confirmed += u64::from(item.payload == item.base.payload);
            if item.from.is_some() || held == Some(item.base.name) {
                self.counted.steps += u64::from(item.from.is_some());
                agreed.push((item, std::mem::take(&mut skipped)));
            } else {
                self.counted.bases += 1;
                named.push((item, true));
                skipped += u32::from(held.is_some());
            }
        }
        self.counted.entries += row.len() as u64;
        self.counted.bytes += SAID_BYTES + row.len() as u64;
        let sent = written(self.format, NodeId(first as u32), &agreed, &named);
        // The frame of the first datagram is that of any answer.
        let frames = (sent.len() - 1) * OVERHEAD_BYTES;
        let bytes: usize = sent.iter().map(|body| body.len() - PREAMBLE_BYTES).sum();
        self.counted.bytes += (bytes + frames) as u64;
        for body in sent {
            if !self.chance.happens(self.condition.lost_percent / 100.0) {
                self.arrive(&body);
            }
        }
    }

    fn arrive(&mut self, body: &[u8]) {
        let (_, mut entries, _) = decode(body, self.format).expect("it was written so");
        let mut payload = vec![0; entries.payload_bytes()];
        while let Some(step) = entries.next(&self.receiver, &mut payload) {
            match step {
                Step::Entry(said) => {
                    let node = &self.nodes[said.id.0 as usize];
                    assert_eq!(payload, node.payload, "it is what was said");
                    let said = entries.with_base(said);
                    assert_eq!(self.receiver.take(&said, &payload), Taken::News);
                }
                other => unreachable!("the relay knows all that is held: {other:?}"),
            }
        }
    }
}

/// The bodies that hold these entries.
fn written(
    format: Format,
    mut first: NodeId,
    mut agreed: &[(Item<'_>, u32)],
    mut named: &[(Item<'_>, bool)],
) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while !agreed.is_empty() || !named.is_empty() {
        let mut buffer = vec![0; DATAGRAM_BYTES - OVERHEAD_BYTES + PREAMBLE_BYTES];
        let mut body = Body::begin(&mut buffer, format, Marks::ANSWER).expect("there is room");
        let some = body.agreed(first, agreed.iter().copied());
        if let Some((last, _)) = some.checked_sub(1).map(|last| agreed[last]) {
            first = NodeId(last.base.name.id.0 + 1);
        }
        agreed = &agreed[some..];
        if agreed.is_empty() {
            named = &named[body.named(named.iter().copied())..];
        }
        let bytes = body.finish();
        buffer.truncate(bytes);
        bodies.push(buffer);
    }
    bodies
}
