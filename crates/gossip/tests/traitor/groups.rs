//! Groups that the writer does not write, bit by bit: what they may make a node do, and what not.

use sha2::{Digest as _, Sha256};
use tidings_gossip::delta::{Bases, Step, decode};

use super::*;

/// Bits in the order in which they are read.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    /// The low `count` bits of a number.
    fn put(mut self, number: u64, count: u32) -> Self {
        self.0.extend((0..count).map(|bit| number >> bit & 1 == 1));
        self
    }

    /// A number in the code of an order.
    fn number(self, number: u64, order: u32) -> Self {
        let above = (number >> order) + 1;
        let length = above.ilog2();
        let ones = (1 << length) - 1;
        self.put(ones, length + 1).put(above & ones, length).put(number, order)
    }

    /// An entry's distance and code of its age, both the least of its group, and no change.
    fn same_as_its_base(self) -> Self {
        self.number(0, 0).number(0, 0).number(0, 0)
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| bits.iter().rev().fold(0, |sum, &bit| sum << 1 | u8::from(bit));
        self.0.chunks(8).map(byte).collect()
    }
}

/// A group by bases, of which none comes along.
fn group(kind: u8, count: u8, agreed: &[u8], bits: &Bits) -> Vec<u8> {
    let content = [agreed, &bits.bytes()].concat();
    let [low, high] = (content.len() as u16).to_le_bytes();
    [&[kind, low, high, count, 0, 0, 0, 0], &content[..]].concat()
}

/// What agreed groups say in front of their bits: where bases begin, of which names, and the least
/// distance.
fn agreed(names: &[Name], distance: u16) -> Vec<u8> {
    let mut said = b"tidings bases 1 ".to_vec();
    for name in names {
        said.extend(name.id.0.to_le_bytes());
        said.extend(&name.incarnation.get().to_le_bytes()[..3]);
        said.extend(&name.sequence.to_le_bytes()[..3]);
    }
    let first = names[0].id.0.to_le_bytes();
    [&first, &Sha256::digest(&said)[..8], &distance.to_le_bytes()[..]].concat()
}

fn with_preamble(count: u16, groups: &[u8]) -> Vec<u8> {
    let [low, high] = count.to_le_bytes();
    [&[1, 0, PAYLOAD_BYTES as u8, 0, low, high], groups].concat()
}

/// A group with one entry of node 2 by a step from one of its sequences, so much later.
fn step(from: u32, units: u64) -> Vec<u8> {
    let name = Bits::default().put(id(2).0.into(), 32).put(1, 24).put(from.into(), 24);
    group(5, 1, &[], &name.number(units - 1, 4).number(0, 0).same_as_its_base())
}

/// The same from the base that both hold.
fn agreed_step(from: u32, units: u64) -> Vec<u8> {
    let bits = Bits::default().number(0, 0).put(1, 1).number(units - 1, 4).number(0, 0);
    let name = base(2, 1, from, &[]).name;
    group(4, 1, &agreed(&[name], 0), &bits.same_as_its_base())
}

/// Node 1 sends this body; what the victim holds of node 2 afterwards.
fn receive(victim: &mut Node, body: &[u8]) -> Option<(u32, u32, u8)> {
    let counter = victim.counters().datagrams_received + 1;
    let mut datagram = sealed(Kind::Window, counter, body);
    victim.handle_datagram(Instant::EPOCH + UNIT, address(1), &mut datagram);
    held(victim)
}

/// A victim that holds a base of node 2, of this sequence.
fn with_base(sequence: u32) -> Node {
    let (mut victim, said) = (victim(3), [7; PAYLOAD_BYTES]);
    let told =
        body(|body| body.named([(item(base(2, 1, sequence, &said), 0, &said), true)].into_iter()));
    assert_eq!(receive(&mut victim, &told), Some((1, sequence, 7)));
    victim
}

/// In each of these datagrams news lies in front that would be taken were the rest of it sound.
#[test]
fn groups_that_promise_more_than_they_may_have_their_datagrams_dropped_as_a_whole() {
    let name = [base(2, 1, 7, &[]).name];
    let entry = |skipped| Bits::default().number(skipped, 0).same_as_its_base();
    let entries = |skipped, count| {
        let all = (0..count).flat_map(|_| entry(skipped).0);
        group(1, count, &agreed(&name, 3), &Bits(all.collect()))
    };
    let counted = |count: u8| group(1, count, &agreed(&name, 3), &entry(0));
    let mut without_payload = counted(1);
    without_payload[..5].copy_from_slice(&[0, 15, 0, 1, 200]);
    let bad = [
        ("more entries than its bits hold", 255, counted(255)),
        ("no entry", 1, counted(0)),
        ("more than the body states", 1, entries(0, 2)),
        ("fewer than the body states", 60_000, entries(0, 2)),
        ("whole ones that are not there", 255, vec![3, 255]),
        ("bases that are not there", 1, without_payload),
        ("a base too far behind", 1, entries(256, 1)),
        ("through more bases than 1,024", 5, entries(255, 5)),
    ];
    let news = step(7, 2);
    for (what, count, group) in bad {
        let mut victim = with_base(7);
        let before = *victim.counters();
        let body = with_preamble(1 + count, &[&news[..], &group].concat());
        assert_eq!(receive(&mut victim, &body), Some((1, 7, 7)), "{what}");
        let after = victim.counters();
        assert_eq!(after.dropped_malformed, 1, "{what}");
        let of = |counters: &Counters| (counters.entries_received, counters.bases_taken);
        assert_eq!(of(after), of(&before), "{what}");
    }
    // As far as a group may go: its form is sound, and nobody holds so many bases.
    let mut victim = with_base(7);
    let body = with_preamble(5, &[news, entries(255, 4)].concat());
    assert_eq!(receive(&mut victim, &body), Some((1, 9, 7)));
    let counters = victim.counters();
    assert_eq!((counters.dropped_malformed, counters.entries_disagreed), (0, 4));
}

/// From 7 to 9, and from there to 8: whatever way back there is, none of them is gone.
#[test]
fn steps_that_lead_in_a_circle_lower_nothing() {
    let mut victim = with_base(7);
    assert_eq!(receive(&mut victim, &with_preamble(1, &step(7, 2))), Some((1, 9, 7)));
    // Back to 8 where sequences would wrap, in their own bits and in those of a number.
    let back = [(1 << 24) - 1, (1 << 32) - 1];
    let mut malformed = 0;
    for units in back {
        for way in [step(9, units), agreed_step(9, units)] {
            malformed += 1;
            assert_eq!(receive(&mut victim, &with_preamble(1, &way)), Some((1, 9, 7)));
            assert_eq!(victim.counters().dropped_malformed, malformed, "{units}");
        }
    }
    // A group does not say where its steps begin, so the last sequence there is may be too far.
    let far = with_preamble(1, &agreed_step(9, Stamp::SEQUENCE_MAX.into()));
    assert_eq!(receive(&mut victim, &far), Some((1, 9, 7)));
    assert_eq!(victim.counters().entries_without_base, 1);
    // To 8 from where it came, and to 9 once more: no news.
    assert_eq!(receive(&mut victim, &with_preamble(1, &step(7, 1))), Some((1, 9, 7)));
    assert_eq!(victim.counters().entries_without_base, 2);
    let news = victim.counters().entries_news;
    assert_eq!(receive(&mut victim, &with_preamble(1, &step(7, 2))), Some((1, 9, 7)));
    assert_eq!(victim.counters().entries_news, news);
    assert_eq!(receive(&mut victim, &with_preamble(1, &agreed_step(9, 1))), Some((1, 10, 7)));
    assert_eq!(victim.counters().dropped_malformed, malformed);
}

/// Who holds a base of everybody, and counts how many it is asked for.
#[derive(Default)]
struct Everybody(std::cell::Cell<usize>);

impl Bases for Everybody {
    fn base(&self, id: NodeId) -> Option<Base<'_>> {
        let name = Name { id, incarnation: Incarnation::new(1), sequence: 7 };
        Some(Base { name, payload: &[7; PAYLOAD_BYTES] })
    }

    fn base_from(&self, id: NodeId) -> Option<Base<'_>> {
        self.0.set(self.0.get() + 1);
        self.base(id)
    }
}

/// The most entries and the longest walks that fit into the groups of a datagram of 1,452 bytes, as
/// docs/concepts/threats.md states them.
#[test]
fn a_datagram_of_an_mtu_costs_no_more_than_the_threats_say() {
    let room = 1_452 - frame_bytes(3);
    let names: Vec<Name> = (0..255)
        .map(|id| Name { id: NodeId(id), incarnation: Incarnation::new(1), sequence: 7 })
        .collect();
    // One entry of a group takes four bits, behind 22 bytes.
    let dense = |count: usize| {
        let all = (0..count).flat_map(|_| Bits::default().number(0, 0).same_as_its_base().0);
        group(1, count as u8, &agreed(&names[..count], 0), &Bits(all.collect()))
    };
    let far = |_| {
        let all = (0..4).flat_map(|_| Bits::default().number(254, 0).same_as_its_base().0);
        group(1, 4, &agreed(&names[..4], 0), &Bits(all.collect()))
    };
    let rest = 2 * (room - room / dense(255).len() * dense(255).len() - 22);
    let most = [vec![255; room / dense(255).len()], vec![rest]].concat();
    let entries: usize = most.iter().sum();
    let groups = most.into_iter().flat_map(dense).collect();
    let walks = room / far(0).len();
    let longest: Vec<u8> = (0..walks).flat_map(far).collect();
    let read = |count: usize, groups: Vec<u8>| {
        assert!(groups.len() <= room);
        let (bases, body) = (Everybody::default(), with_preamble(count as u16, &groups));
        let (_, mut entries, _) = decode(&body, FORMAT).expect("it is well formed");
        let mut payload = [0; PAYLOAD_BYTES];
        let steps = std::iter::from_fn(|| {
            let step = entries.next(&bases, &mut payload)?;
            Some(matches!(step, Step::Entry(_)))
        });
        (steps.filter(|is_entry| *is_entry).count(), bases.0.get())
    };
    assert_eq!(read(entries, groups), (2_353, 2_353));
    assert_eq!(read(4 * walks, longest), (0, 45 * 1_020));
}
