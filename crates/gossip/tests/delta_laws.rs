//! The laws of entries as changes by bases: whatever is lost, doubled or reordered, a receiver
//! holds what origins said, or less.
//!
//! Origins publish, relays forward what they hold, and receivers get any of the datagrams in any
//! order, some of them often. Beside each runs a receiver of whole entries.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tidings_gossip::delta::{Bases, Body, Item, Origin, Shelf, Step, Taken, decode};
use tidings_gossip::wire::window::{Format, Marks};
use tidings_gossip::{Incarnation, NodeId, Stamp};

const BYTES: usize = 20;
const FORMAT: Format = Format { schema: 1, payload_bytes: BYTES as u16 };
/// Nodes that publish, and those that hold what others say.
const ORIGINS: usize = 5;
const SHELVES: usize = 3;

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    /// An origin says something, perhaps the same, perhaps in a later life.
    Say { origin: usize, life: bool, changed: Vec<(usize, u8)> },
    /// An origin sends its entry.
    Push { origin: usize, with_base: bool },
    /// A holder sends entries that name their bases, or by bases that it hopes to agree on, or by
    /// steps from earlier ones.
    Forward { holder: usize, agreed: bool, with_base: bool, steps: bool, pass_over: u8 },
    /// A datagram arrives.
    Arrive { datagram: usize, holder: usize },
}

fn event() -> impl Strategy<Value = Event> {
    let changed = prop::collection::vec((0..BYTES, any::<u8>()), 0..4);
    prop_oneof![
        4 => (0..ORIGINS, prop::bool::weighted(0.1), changed)
            .prop_map(|(origin, life, changed)| Event::Say { origin, life, changed }),
        4 => (0..ORIGINS, any::<bool>())
            .prop_map(|(origin, with_base)| Event::Push { origin, with_base }),
        6 => (0..SHELVES, any::<bool>(), any::<bool>(), any::<bool>(), any::<u8>()).prop_map(
            |(holder, agreed, with_base, steps, pass_over)| Event::Forward {
                holder, agreed, with_base, steps, pass_over,
            },
        ),
        12 => (any::<usize>(), 0..SHELVES)
            .prop_map(|(datagram, holder)| Event::Arrive { datagram, holder }),
    ]
}

/// Entries as they are meant, without any bases.
type Whole = Vec<(NodeId, Stamp)>;

struct World {
    origins: Vec<(Origin, Stamp, [u8; BYTES])>,
    /// What each origin said under each stamp.
    said: BTreeMap<(NodeId, Stamp), [u8; BYTES]>,
    shelves: Vec<Shelf>,
    /// The same for receivers of whole entries, and the origins of which something was passed over.
    wholes: Vec<(BTreeMap<NodeId, Stamp>, Vec<NodeId>)>,
    datagrams: Vec<(Vec<u8>, Whole)>,
}

impl World {
    fn new() -> Self {
        let origin = |n: usize| {
            let id = NodeId(n as u32 * 1_000);
            (Origin::new(id, BYTES), Stamp::new(Incarnation::new(3), 0), [0; BYTES])
        };
        let mut world = Self {
            origins: (0..ORIGINS).map(origin).collect(),
            said: BTreeMap::new(),
            shelves: vec![Shelf::new(ORIGINS, BYTES); SHELVES],
            wholes: vec![(BTreeMap::new(), Vec::new()); SHELVES],
            datagrams: Vec::new(),
        };
        (0..ORIGINS).for_each(|origin| world.say(origin, false, &[]));
        world
    }

    fn say(&mut self, origin: usize, life: bool, changed: &[(usize, u8)]) {
        let (own, stamp, payload) = &mut self.origins[origin];
        *stamp = match stamp.incarnation().next() {
            Some(next) if life => Stamp::new(next, 0),
            _ => stamp.next().expect("a few units are no whole life"),
        };
        for &(at, byte) in changed {
            payload[at] = byte;
        }
        own.renew(*stamp, payload);
        let id = NodeId(origin as u32 * 1_000);
        self.said.insert((id, *stamp), *payload);
    }

    fn push(&mut self, origin: usize, with_base: bool) {
        let (own, stamp, payload) = &self.origins[origin];
        let base = own.base().expect("it has said something");
        let item = Item { stamp: *stamp, age: 0, payload, base, from: None };
        let mut buffer = [0; 600];
        let mut body = Body::begin(&mut buffer, FORMAT, Marks::NONE).expect("there is room");
        assert_eq!(body.named([(item, with_base)].into_iter()), 1);
        let bytes = body.finish();
        self.datagrams.push((buffer[..bytes].to_vec(), vec![(base.name.id, *stamp)]));
    }

    fn forward(
        &mut self,
        holder: usize,
        (agreed, with_base, steps): (bool, bool, bool),
        pass_over: u8,
    ) {
        let holder = &self.shelves[holder];
        let mut held = entries(holder);
        if steps {
            for item in &mut held {
                item.from = holder.base_before(item.base.name.id);
            }
            held.retain(|item| agreed || item.from.is_some());
        }
        let chosen = held.iter().enumerate().filter(|(at, _)| pass_over >> at & 1 == 0);
        let mut next = 0;
        let items: Vec<(Item<'_>, u32)> = chosen
            .map(|(at, &item)| {
                let skipped = at - core::mem::replace(&mut next, at + 1);
                (item, skipped as u32)
            })
            .collect();
        let mut buffer = [0; 600];
        let mut body = Body::begin(&mut buffer, FORMAT, Marks::NONE).expect("there is room");
        let written = if agreed {
            body.agreed(NodeId(0), items.iter().copied())
        } else {
            body.named(items.iter().map(|&(item, _)| (item, with_base && !steps)))
        };
        assert_eq!(written, items.len());
        let whole = items.iter().map(|(item, _)| (item.base.name.id, item.stamp)).collect();
        let bytes = body.finish();
        if bytes > 0 {
            self.datagrams.push((buffer[..bytes].to_vec(), whole));
        }
    }

    fn arrive(&mut self, datagram: usize, holder: usize) {
        let Some(at) = datagram.checked_rem(self.datagrams.len()) else { return };
        let (body, whole) = &self.datagrams[at];
        let (stamps, missed) = &mut self.wholes[holder];
        let holder = &mut self.shelves[holder];
        let (marks, mut entries, behind) = decode(body, FORMAT).expect("it was written so");
        assert!(marks == Marks::NONE && behind.is_empty());
        let mut payload = [0xEE; BYTES];
        let mut heard = 0;
        while let Some(step) = entries.next(holder, &mut payload) {
            match step {
                Step::Entry(said) => {
                    let said = entries.with_base(said);
                    assert_eq!(self.said.get(&(said.id, said.stamp)), Some(&payload), "invented");
                    assert_ne!(holder.take(&said, &payload), Taken::Full);
                    heard += 1;
                }
                Step::NoBase(id) => {
                    missed.push(id);
                    heard += 1;
                }
                Step::Whole(_) => unreachable!("nobody sends whole entries here"),
                Step::Disagreed(count) => {
                    missed.extend(whole.iter().map(|(id, _)| *id));
                    heard += usize::from(count);
                }
            }
        }
        assert_eq!(heard, whole.len());
        for &(id, stamp) in whole {
            let held = stamps.entry(id).or_insert(stamp);
            *held = stamp.max(*held);
        }
    }

    /// Each holds what its receiver of whole entries does, or an earlier truth where it had
    /// to pass something over.
    fn check(&self) {
        for (holder, (stamps, missed)) in self.shelves.iter().zip(&self.wholes) {
            for (&id, &newest) in stamps {
                let held = holder.get(id).map(|(stamp, _)| stamp);
                assert!(held <= Some(newest));
                assert!(missed.contains(&id) || held == Some(newest), "{id:?} was lowered");
            }
            for (id, (stamp, payload)) in (0..ORIGINS)
                .map(|n| NodeId(n as u32 * 1_000))
                .filter_map(|id| Some((id, holder.get(id)?)))
            {
                assert_eq!(self.said.get(&(id, stamp)).map(|said| &said[..]), Some(payload));
                for base in holder.base(id).into_iter().chain(holder.base_before(id)) {
                    let stamp = Stamp::new(base.name.incarnation, base.name.sequence);
                    let said = self.said.get(&(id, stamp));
                    assert_eq!(said.map(|said| &said[..]), Some(base.payload), "no base of its");
                }
            }
        }
    }
}

/// What a holder can forward, by id.
fn entries(holder: &Shelf) -> Vec<Item<'_>> {
    let (mut found, mut from) = (Vec::new(), NodeId(0));
    while let Some(base) = holder.base_from(from) {
        let (stamp, payload) = holder.get(base.name.id).expect("its base is held");
        found.push(Item { stamp, age: 100 + found.len() as u16, payload, base, from: None });
        from = NodeId(base.name.id.0 + 1);
    }
    found
}

proptest! {
    #[test]
    fn receivers_hold_what_was_said_or_less(
        events in prop::collection::vec(event(), 0..120),
    ) {
        let mut world = World::new();
        for event in events {
            match event {
                Event::Say { origin, life, changed } => world.say(origin, life, &changed),
                Event::Push { origin, with_base } => world.push(origin, with_base),
                Event::Forward { holder, agreed, with_base, steps, pass_over } => {
                    world.forward(holder, (agreed, with_base, steps), pass_over);
                }
                Event::Arrive { datagram, holder } => {
                    let held = |holder: &Shelf| -> Vec<_> {
                        entries(holder).iter().map(|item| (item.base.name.id, item.stamp)).collect()
                    };
                    let before = held(&world.shelves[holder]);
                    world.arrive(datagram, holder);
                    for (id, stamp) in before {
                        let now = world.shelves[holder].get(id).map(|(stamp, _)| stamp);
                        prop_assert!(now >= Some(stamp), "a stamp was lowered");
                    }
                    world.check();
                }
            }
        }
        // A base that comes along mends all.
        for origin in 0..ORIGINS {
            world.push(origin, true);
            let last = world.datagrams.len() - 1;
            for holder in 0..SHELVES {
                world.arrive(last, holder);
                let (_, stamp, payload) = &world.origins[origin];
                let held = world.shelves[holder].get(NodeId(origin as u32 * 1_000));
                prop_assert_eq!(held, Some((*stamp, &payload[..])));
            }
        }
    }

    /// Any bytes are refused as a whole, or give entries of bounded number by bases that are held.
    #[test]
    fn any_bytes_can_be_read(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        (schema, count) in (0u8..2, 0u8..4),
    ) {
        if let [s, _, low, high, c, c_high, ..] = &mut bytes[..] {
            (*s, *low, *high, *c, *c_high) = (schema, BYTES as u8, 0, count, 0);
        }
        let mut holder = Shelf::new(4, BYTES);
        if let Ok((_, mut entries, _)) = decode(&bytes, FORMAT) {
            let (mut payload, mut steps) = ([0; BYTES], 0);
            while let Some(step) = entries.next(&holder, &mut payload) {
                if let Step::Entry(said) = step {
                    let said = entries.with_base(said);
                    prop_assert!(said.stamp.sequence() >= said.base_sequence);
                    prop_assert!(said.base.is_some() || holder.base(said.id).is_some());
                    holder.take(&said, &payload);
                }
                steps += 1;
            }
            prop_assert!(steps <= usize::from(count));
        }
    }

    /// A body cut or changed anywhere is refused as a whole, or its bases are not those held.
    #[test]
    fn damage_invents_nothing(cut in 0usize..400, flip in (0usize..400, 0u8..8)) {
        let mut world = World::new();
        (0..ORIGINS).for_each(|origin| {
            world.push(origin, true);
            world.arrive(origin, 0);
            world.arrive(origin, 1);
        });
        (0..ORIGINS).for_each(|origin| world.say(origin, false, &[(3, 9)]));
        (0..ORIGINS).for_each(|origin| {
            world.push(origin, false);
            world.arrive(ORIGINS + origin, 0);
        });
        world.forward(0, (true, false, false), 0);
        let (body, _) = world.datagrams.last().expect("it was forwarded").clone();
        world.arrive(world.datagrams.len() - 1, 1);
        prop_assert!(world.wholes[1].1.is_empty(), "all agree on the bases");
        world.check();
        if cut < body.len() {
            prop_assert!(decode(&body[..cut], FORMAT).is_err());
        }
        let mut damaged = body;
        let (at, bit) = flip;
        // Behind the names is what the seal protects: here what names a base is damaged.
        let names = 6 + 8 + 12;
        if at < names {
            damaged[at] ^= 1 << bit;
            let (mut payload, holder) = ([0; BYTES], &world.shelves[1]);
            let Ok((_, mut entries, _)) = decode(&damaged, FORMAT) else { return Ok(()) };
            while let Some(step) = entries.next(holder, &mut payload) {
                let Step::Entry(said) = step else { continue };
                prop_assert!(at < 6 + 8, "{said:?} by bases that nobody holds");
            }
        }
    }
}
