//! What do changes by bases cost, beside copying the entries that they stand for?
//!
//! A node of 1,024 answers pulls of all rows of 32: it writes each entry by a base that both hold,
//! in datagrams of Ethernet, and another node reads them and takes them in, all of them news. Of a
//! payload of 64 bytes three words differ from the base, of one of 1 KiB twelve: what recorded
//! readings come to. Sealing is measured apart, and which form an entry has is decided before.
//!
//! The reference is a memcpy of the whole entries, between memory as large as the vector and a
//! buffer of the rows' size, as in `round`.

use std::hint::black_box;
use std::io::Write as _;

use tidings_bench::steady::{UNIT_MICROS, body_bytes};
use tidings_bench::{Comparison, compare};
use tidings_gossip::age;
use tidings_gossip::delta::{Base, Bases, Body, Item, Name, Said, Shelf, Step, decode};
use tidings_gossip::merge::Arrival;
use tidings_gossip::vector::Vector;
use tidings_gossip::wire::window::{Format, Marks};
use tidings_gossip::{Incarnation, Instant, NodeId, Stamp};
use tidings_primitives::Chance;

const NODES: usize = 1024;
const ROW: usize = 32;
const REPETITIONS: usize = 400;
const LIFE: Incarnation = Incarnation::new(1);
const DATAGRAM_BYTES: usize = 1452;

fn main() {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let repetitions = if has("--bench") { REPETITIONS } else { 3 };
    let mut out = std::io::stdout().lock();
    for (payload_bytes, words) in [(1024, 12), (64, 3)] {
        for comparison in
            [written(payload_bytes, words, repetitions), read(payload_bytes, words, repetitions)]
        {
            let json = || serde_json::to_string(&comparison).unwrap_or_default();
            let line = if has("--json") { json() } else { comparison.line() };
            if writeln!(out, "{line}").is_err() {
                return;
            }
        }
    }
}

/// What one node holds of all others: entries and their bases.
struct Holder {
    format: Format,
    bases: Vec<u8>,
    payloads: Vec<u8>,
    words: usize,
    sequence: u32,
    chance: Chance,
}

impl Holder {
    fn new(payload_bytes: usize, words: usize) -> Self {
        let mut chance = Chance::new(1);
        let bases: Vec<u8> = (0..NODES * payload_bytes).map(|_| chance.bits() as u8).collect();
        let payloads = bases.clone();
        let format = Format { schema: 1, payload_bytes: payload_bytes as u16 };
        Self { format, bases, payloads, words, sequence: 1, chance }
    }

    fn now(&self) -> Instant {
        Instant::from_micros(i64::from(self.sequence) * UNIT_MICROS)
    }

    /// All nodes say something: as their bases, but for some words.
    fn pass(&mut self) {
        self.sequence += 1;
        let bytes = usize::from(self.format.payload_bytes);
        for (payload, base) in self.payloads.chunks_mut(bytes).zip(self.bases.chunks(bytes)) {
            payload.copy_from_slice(base);
            for _ in 0..self.words {
                let at = 2 * self.chance.below(bytes / 2);
                let word = u16::from_le_bytes([payload[at], payload[at + 1]]);
                let steps = 16 * (1 + self.chance.below(7) as u16);
                payload[at..at + 2].copy_from_slice(&word.wrapping_add(steps).to_le_bytes());
            }
        }
    }

    fn base(&self, at: usize) -> Base<'_> {
        let bytes = usize::from(self.format.payload_bytes);
        let name = Name { id: NodeId(at as u32), incarnation: LIFE, sequence: 1 };
        Base { name, payload: &self.bases[at * bytes..(at + 1) * bytes] }
    }

    fn item(&self, at: usize, now: Instant) -> Item<'_> {
        let bytes = usize::from(self.format.payload_bytes);
        let born = now.before((at as u64 * 7_919) % UNIT_MICROS as u64);
        Item {
            stamp: Stamp::new(LIFE, self.sequence),
            age: age::encode(now, born),
            payload: &self.payloads[at * bytes..(at + 1) * bytes],
            base: self.base(at),
            from: None,
        }
    }

    /// Writes all rows, one body behind the other; `lengths` has what each took.
    fn write(&self, sent: &mut [u8], lengths: &mut Vec<usize>) {
        let (now, mut at) = (self.now(), 0);
        lengths.clear();
        for first in (0..NODES).step_by(ROW) {
            let (mut next, end) = (first, first + ROW);
            while next < end {
                let room = &mut sent[at..at + body_bytes(DATAGRAM_BYTES)];
                let mut body = Body::begin(room, self.format, Marks::ANSWER).expect("it is long");
                let items = (next..end).map(|at| (self.item(at, now), 0));
                next += body.agreed(NodeId(next as u32), items);
                let bytes = body.finish();
                lengths.push(bytes);
                at += bytes;
            }
        }
    }

    /// The bytes of all entries, if they were whole.
    fn whole_bytes(&self) -> usize {
        NODES * self.format.entry_bytes()
    }

    /// Room for all bodies, however long.
    fn room(&self) -> Vec<u8> {
        vec![0; 2 * self.whole_bytes() + DATAGRAM_BYTES]
    }
}

fn written(payload_bytes: usize, words: usize, repetitions: usize) -> Comparison {
    let mut holder = Holder::new(payload_bytes, words);
    let (mut sent, mut lengths) = (holder.room(), Vec::with_capacity(NODES));
    let (ground, mut copied) = (vec![1; holder.whole_bytes()], vec![0; holder.whole_bytes()]);
    holder.pass();
    let copy = move || black_box(&mut copied[..]).copy_from_slice(black_box(&ground));
    let write = move || {
        holder.write(&mut sent, &mut lengths);
        black_box(&sent);
    };
    let question = format!("write changes for {NODES} entries of {payload_bytes} B");
    compare(&question, "memcpy", repetitions, copy, write)
}

fn read(payload_bytes: usize, words: usize, repetitions: usize) -> Comparison {
    let mut holder = Holder::new(payload_bytes, words);
    let shelf = shelf(&holder, payload_bytes);
    let own = (NodeId(u32::MAX), Stamp::new(LIFE, 0));
    let mut vector = Vector::new(NODES + 1, payload_bytes, UNIT_MICROS as u64, own, Instant::EPOCH);
    let (mut sent, mut lengths) = (holder.room(), Vec::with_capacity(NODES));
    let (ground, mut copied) = (vec![1; holder.whole_bytes()], vec![0; holder.whole_bytes()]);
    let mut pairs = Vec::new();
    let mut room = vec![0; payload_bytes];
    for _ in 0..repetitions + repetitions / 10 {
        // Each repetition needs news of its own, made outside of what is timed.
        holder.pass();
        holder.write(&mut sent, &mut lengths);
        vector.advance(holder.now());
        let copy = || black_box(&mut copied[..]).copy_from_slice(black_box(&ground));
        let merge = || {
            let (mut at, mut news) = (0, 0);
            for (number, &bytes) in lengths.iter().enumerate() {
                let datagram = holder.sequence << 12 | number as u32 | 1 << 31;
                news += take_in(
                    &mut vector,
                    &shelf,
                    &holder,
                    &sent[at..at + bytes],
                    datagram,
                    &mut room,
                );
                at += bytes;
            }
            assert_eq!(news, NODES);
        };
        pairs.push(tidings_bench::pair(copy, merge));
    }
    let question = format!("read and merge changes of {NODES} entries of {payload_bytes} B");
    Comparison::of_pairs(&question, "memcpy", &pairs[pairs.len() / 11..])
}

/// A receiver that holds all bases.
fn shelf(holder: &Holder, payload_bytes: usize) -> Shelf {
    let mut shelf = Shelf::new(NODES, payload_bytes);
    for at in 0..NODES {
        let base = holder.base(at);
        let said = Said {
            id: base.name.id,
            stamp: Stamp::new(LIFE, base.name.sequence),
            age_micros: 0,
            base_sequence: base.name.sequence,
            base: Some(base.payload),
            steps: false,
        };
        shelf.take(&said, base.payload);
    }
    assert!(shelf.base(NodeId(NODES as u32 - 1)).is_some());
    shelf
}

/// Reads a body and takes its entries in; gives how many there were.
fn take_in(
    vector: &mut Vector,
    shelf: &Shelf,
    holder: &Holder,
    body: &[u8],
    datagram: u32,
    room: &mut [u8],
) -> usize {
    let (_, mut entries, _) = decode(body, holder.format).expect("it was written just now");
    let mut count = 0;
    while let Some(Step::Entry(said)) = entries.next(shelf, room) {
        let birth = holder.now().before(said.age_micros);
        let Said { id, stamp, .. } = said;
        let arrival = Arrival { datagram, id, stamp, birth, payload: room };
        black_box(vector.merge(&arrival, |_| true));
        count += 1;
    }
    count
}
