//! The target `delta`: the input is read as a body of entries as changes by bases, and as what
//! origins say and which of their datagrams arrive where.

use std::collections::BTreeMap;

use tidings_gossip::delta::{Base, Bases, Body, Item, Name, Origin, Said, Shelf, Step, decode};
use tidings_gossip::wire::window::{Format, Marks};
use tidings_gossip::{Incarnation, NodeId, Stamp};

const BYTES: usize = 4;
const FORMAT: Format = Format { schema: 1, payload_bytes: BYTES as u16 };
const ORIGINS: u32 = 3;
/// Receivers; the first one forwards what it holds.
const SHELVES: usize = 2;

/// Any bytes are refused as a whole, or give no more entries than they state, each by a base that
/// came along or is held. Whatever is said, forwarded, lost, doubled and reordered: what is held is
/// what its origin said, and no stamp is lowered.
pub fn delta(bytes: &[u8]) {
    read(bytes);
    let mut talk = Talk::new();
    bytes.chunks_exact(2).take(400).for_each(|step| talk.step(step[0], step[1]));
}

fn read(bytes: &[u8]) {
    let mut holder = Shelf::new(4, BYTES);
    for (id, life, sequence, payload) in [(10, 5, 100, [1; BYTES]), (30, 6, 7, [0, 0, 1, 0])] {
        let stamp = Stamp::new(Incarnation::new(life), sequence);
        let base = Some(&payload[..]);
        let said = Said {
            id: NodeId(id),
            stamp,
            age_micros: 0,
            base_sequence: sequence,
            base,
            steps: false,
        };
        holder.take(&said, &payload);
    }
    let Ok((_, mut entries, behind)) = decode(bytes, FORMAT) else { return };
    let stated = usize::from(u16::from_le_bytes([bytes[4], bytes[5]]));
    assert!(behind.len() < bytes.len());
    let (mut payload, mut heard) = ([0; BYTES], 0);
    while let Some(step) = entries.next(&holder, &mut payload) {
        heard += match step {
            Step::Entry(said) => {
                let life = said.stamp.incarnation();
                let is_held = holder.base(said.id).is_some_and(|base| {
                    base.name.incarnation == life && base.name.sequence == said.base_sequence
                });
                let said = entries.with_base(said);
                assert!(said.base.is_some() || is_held, "an entry by no base");
                assert!(said.stamp.sequence() >= said.base_sequence);
                holder.take(&said, &payload);
                1
            }
            Step::Whole(_) | Step::NoBase(_) => 1,
            Step::Disagreed(count) => usize::from(count),
        };
    }
    assert_eq!(heard, stated, "entries that were neither given nor reported");
}

struct Talk {
    origins: Vec<(Origin, Stamp, [u8; BYTES])>,
    said: BTreeMap<(NodeId, Stamp), [u8; BYTES]>,
    shelves: Vec<Shelf>,
    bodies: Vec<Vec<u8>>,
}

impl Talk {
    fn new() -> Self {
        let stamp = Stamp::new(Incarnation::new(1), 0);
        let origins = (0..ORIGINS).map(|id| (Origin::new(NodeId(id), BYTES), stamp, [0; BYTES]));
        let mut talk = Self {
            origins: origins.collect(),
            said: BTreeMap::new(),
            shelves: vec![Shelf::new(ORIGINS as usize, BYTES); SHELVES],
            bodies: Vec::new(),
        };
        (0..ORIGINS as usize).for_each(|origin| talk.say(origin, false, 0));
        talk
    }

    fn step(&mut self, what: u8, which: u8) {
        let origin = usize::from(which) % ORIGINS as usize;
        match what % 8 {
            0 => self.say(origin, which > 250, 0),
            1 => self.say(origin, false, which),
            2 | 3 => self.push(origin, what % 8 == 3),
            4 | 5 => self.forward(what % 8 == 5, what >= 128, which),
            _ => self.arrive(usize::from(which / 2), usize::from(which) % SHELVES),
        }
    }

    fn say(&mut self, origin: usize, restarts: bool, change: u8) {
        let (own, stamp, payload) = &mut self.origins[origin];
        let next = stamp.incarnation().next().filter(|_| restarts);
        *stamp =
            next.map_or_else(|| stamp.next().expect("a talk is short"), |life| Stamp::new(life, 0));
        payload[usize::from(change) % BYTES] = change;
        own.renew(*stamp, payload);
        self.said.insert((NodeId(origin as u32), *stamp), *payload);
    }

    fn push(&mut self, origin: usize, with_base: bool) {
        let (own, stamp, payload) = &self.origins[origin];
        let base = own.base().expect("it has said something");
        let item = Item { stamp: *stamp, age: 3, payload, base, from: None };
        self.bodies.push(body(|body| body.named([(item, with_base)].into_iter())));
    }

    fn forward(&mut self, agreed: bool, steps: bool, first: u8) {
        let holder = &self.shelves[0];
        let first = NodeId(u32::from(first) % ORIGINS);
        let held = (first.0..ORIGINS).filter_map(|id| {
            let (base, (stamp, payload)) = (holder.base(NodeId(id))?, holder.get(NodeId(id))?);
            let from = holder.base_before(NodeId(id)).filter(|_| steps);
            Some(Item { stamp, age: id as u16, payload, base, from })
        });
        let written = body(|body| {
            if agreed {
                body.agreed(first, held.map(|item| (item, 0)))
            } else {
                let wanted = held.filter(|item| item.from.is_some() == steps);
                body.named(wanted.map(|item| (item, false)))
            }
        });
        if !written.is_empty() {
            self.bodies.push(written);
        }
    }

    fn arrive(&mut self, body: usize, holder: usize) {
        let Some(at) = body.checked_rem(self.bodies.len()) else { return };
        let holder = &mut self.shelves[holder];
        let (_, mut entries, _) = decode(&self.bodies[at], FORMAT).expect("it was written so");
        let mut payload = [0xA5; BYTES];
        while let Some(step) = entries.next(holder, &mut payload) {
            let Step::Entry(said) = step else { continue };
            let said = entries.with_base(said);
            assert_eq!(self.said.get(&(said.id, said.stamp)), Some(&payload), "it was invented");
            let before = holder.get(said.id).map(|(stamp, _)| stamp);
            holder.take(&said, &payload);
            let held = holder.get(said.id).expect("there is room for all");
            assert!(Some(held.0) >= before, "a stamp was lowered");
            assert_eq!(self.said.get(&(said.id, held.0)).map(|said| &said[..]), Some(held.1));
            let Base { name: Name { sequence, .. }, .. } =
                holder.base(said.id).expect("it has one");
            assert!(sequence <= held.0.sequence());
        }
    }
}

fn body(fill: impl FnOnce(&mut Body<'_>) -> usize) -> Vec<u8> {
    let mut buffer = vec![0; 300];
    let mut body = Body::begin(&mut buffer, FORMAT, Marks::NONE).expect("there is room");
    fill(&mut body);
    let bytes = body.finish();
    buffer.truncate(bytes);
    buffer
}
