//! What does a round cost, beside copying the same bytes?
//!
//! The paper's largest case: 8,192 nodes, entries of 1 KiB, a window of 20 % or 1,638 entries. A
//! round is *build and encode* (renew the own entry, pick the newest, write them) and *decode and
//! merge* (read as many, four in five of them news as in life, and take the news in). Datagrams
//! have 65,507 bytes, the most that loopback carries (over MPI, as in the paper, a window is one
//! message), or 1,452 bytes as over Ethernet, where each holds one such entry.
//!
//! There are two references, both a memcpy of the same number of bytes. *memcpy* runs between the
//! window's buffer and memory as large as the vector, at another place each time: the memory that
//! a round must touch. *cached memcpy* runs between two buffers of the window's size, again and
//! again: what the caches can do at best. Sealing is measured apart.
//!
//! Below a few hundred entries the numbers mean nothing: the clock's own cost shows.

use std::hint::black_box;
use std::io::Write as _;
use std::ops::Range;

use tidings_bench::steady::{NEWS_SHARE, Received, Steady, body_bytes};
use tidings_bench::{Comparison, compare, pair};
use tidings_gossip::wire::window::{Marks, Piece};
use tidings_gossip::wire::{header, keys, window};
use tidings_gossip::{Incarnation, Instant, Key, KeyRing, NodeId, Signer};
use tidings_primitives::CachedRing;

const NODES: u32 = 8192;
const WINDOW: usize = 1638;
const REPETITIONS: usize = 400;

/// The paper's case as it is promised: within twice the time of a memcpy.
const PROMISED: Case = Case {
    payload_bytes: 1024,
    datagram_bytes: 65_507,
    cached: false,
    news_share: NEWS_SHARE,
    bound: Some(2.0),
};

/// One setting in which a round is measured.
#[derive(Clone, Copy)]
struct Case {
    payload_bytes: u16,
    datagram_bytes: usize,
    /// Whether the reference stays in its cache.
    cached: bool,
    news_share: f64,
    bound: Option<f64>,
}

fn main() {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let repetitions = if has("--bench") { REPETITIONS } else { 3 };
    let free = Case { bound: None, ..PROMISED };
    let ethernet = Case { datagram_bytes: 1452, ..free };
    let mut all = Vec::new();
    for case in [PROMISED, Case { cached: true, ..free }, ethernet] {
        all.push(build_and_encode(case, repetitions));
        all.push(decode_and_merge(case, repetitions));
    }
    all.push(decode_and_merge(Case { news_share: 1.0, ..free }, repetitions));
    all.push(build_and_encode(Case { payload_bytes: 64, ..ethernet }, repetitions));
    all.push(decode_and_merge(Case { payload_bytes: 64, ..ethernet }, repetitions));
    all.push(sealing(repetitions));
    all.extend(signing(repetitions));
    all.push(selection(repetitions));
    let mut out = std::io::stdout().lock();
    for comparison in &all {
        let json = || serde_json::to_string(comparison).unwrap_or_default();
        let line = if has("--json") { json() } else { comparison.line() };
        if writeln!(out, "{line}").is_err() {
            return;
        }
    }
}

impl Case {
    fn steady(self) -> Steady {
        Steady::new(NODES, WINDOW, self.payload_bytes, self.datagram_bytes)
    }

    /// Bytes of all the bodies of a window.
    fn window_bytes(self) -> usize {
        let format = window::Format { schema: 1, payload_bytes: self.payload_bytes };
        let datagrams = WINDOW.div_ceil(format.entries_in(body_bytes(self.datagram_bytes)));
        WINDOW * format.entry_bytes() + datagrams * window::PREAMBLE_BYTES
    }

    /// The memory a copy works in: as large as the vector's payloads, or as the window.
    fn ground(self) -> Vec<u8> {
        let vector = NODES as usize * usize::from(self.payload_bytes);
        vec![1; if self.cached { self.window_bytes() } else { vector.max(self.window_bytes()) }]
    }

    /// What the timed pairs say, those of the warm-up left out.
    fn comparison(
        self,
        what: &str,
        pairs: &[(std::time::Duration, std::time::Duration)],
    ) -> Comparison {
        let Self { payload_bytes, datagram_bytes, .. } = self;
        let question =
            format!("{what}, entries of {payload_bytes} B, datagrams of {datagram_bytes} B");
        let reference = if self.cached { "cached memcpy" } else { "memcpy" };
        let comparison = Comparison::of_pairs(&question, reference, &pairs[pairs.len() / 11..]);
        self.bound.map_or(comparison.clone(), |bound| comparison.bound(bound))
    }
}

/// The next piece of `bytes` of the ground, behind the last, from the start again at the end.
fn next_piece(at: &mut usize, ground: usize, bytes: usize) -> Range<usize> {
    *at = if *at + 2 * bytes <= ground { *at + bytes } else { 0 };
    *at..*at + bytes
}

fn build_and_encode(case: Case, repetitions: usize) -> Comparison {
    let mut steady = case.steady();
    let mut slots = Vec::with_capacity(NODES as usize);
    let (bytes, ground) = (case.window_bytes(), case.ground());
    let mut sent = vec![0; bytes + steady.body_bytes];
    let (mut at, mut copied) = (0, vec![0; bytes]);
    let mut received = Received::default();
    let mut pairs = Vec::new();
    for _ in 0..repetitions + repetitions / 10 {
        steady.receive(&mut received, NEWS_SHARE);
        steady.merge(&received);
        let copy = || {
            let piece = next_piece(&mut at, ground.len(), bytes);
            black_box(&mut copied[..]).copy_from_slice(black_box(&ground[piece]));
        };
        let round = || {
            steady.pass();
            slots.clear();
            steady.vector.newest(WINDOW, &mut slots);
            black_box(encode_all(&steady, &slots, &mut sent));
        };
        pairs.push(pair(copy, round));
    }
    case.comparison("build and encode", &pairs)
}

/// Writes the bodies of a window's datagrams, one behind the other.
fn encode_all(steady: &Steady, slots: &[u32], sent: &mut [u8]) -> usize {
    let now = steady.vector.own().birth;
    let oldest = Instant::from_micros(i64::MIN);
    let piece = Piece { format: steady.format, marks: Marks::NONE, now, oldest };
    let (mut rest, mut at) = (slots, 0);
    while !rest.is_empty() {
        let body = &mut sent[at..at + steady.body_bytes];
        let (bytes, dealt_with) = window::encode(body, piece, &steady.vector, rest);
        at += bytes;
        rest = &rest[dealt_with..];
    }
    at
}

fn decode_and_merge(case: Case, repetitions: usize) -> Comparison {
    let mut steady = case.steady();
    let (bytes, mut ground) = (case.window_bytes(), case.ground());
    let mut at = 0;
    let mut received = Received::default();
    let mut pairs = Vec::new();
    for _ in 0..repetitions + repetitions / 10 {
        // Each repetition needs news of its own, made outside of what is timed.
        steady.pass();
        steady.receive(&mut received, case.news_share);
        let copy = || {
            let piece = next_piece(&mut at, ground.len(), bytes);
            black_box(&mut ground[piece]).copy_from_slice(black_box(&received.bytes[..bytes]));
        };
        let merge = || {
            black_box(steady.merge(&received));
        };
        pairs.push(pair(copy, merge));
    }
    let share = (case.news_share * 100.0) as u32;
    case.comparison(&format!("decode and merge, {share} % news"), &pairs)
}

fn window_head() -> header::Header {
    header::Header {
        version: 1,
        kind: header::Kind::Window,
        cluster: 1,
        sender: NodeId(1),
        incarnation: Incarnation::new(1),
        key_id: 1,
        salt: 1,
        counter: 1,
    }
}

/// What sealing a whole window costs beside copying it.
fn sealing(repetitions: usize) -> Comparison {
    let mut ring =
        CachedRing::new(KeyRing::new(&[Key::from_bytes([7; 32])]).expect("one key is a ring"));
    let head = window_head();
    let datagram = header::BYTES + window::PREAMBLE_BYTES + 1036 + keys::TAG_BYTES;
    let mut buffer = vec![0; WINDOW * datagram];
    let seal = move || {
        for one in buffer.chunks_mut(datagram) {
            one[..header::BYTES].copy_from_slice(&head.to_bytes());
            ring.seal(one);
        }
        black_box(&buffer);
    };
    let (from, mut to) = (vec![1; WINDOW * datagram], vec![0; WINDOW * datagram]);
    let copy = move || black_box(&mut to[..]).copy_from_slice(black_box(&from));
    let question = format!("seal, {WINDOW} datagrams of {datagram} B");
    compare(&question, "cached memcpy", repetitions, copy, seal)
}

/// Signing 128 bytes, once a unit, and verifying them, once for each entry that is news, beside
/// sealing a datagram of Ethernet.
fn signing(repetitions: usize) -> [Comparison; 2] {
    const BATCH: usize = 16;
    let seal = || {
        let ring = KeyRing::new(&[Key::from_bytes([7; 32])]).expect("one key is a ring");
        let mut datagram = vec![0; 1452];
        datagram[..header::BYTES].copy_from_slice(&window_head().to_bytes());
        move || {
            for _ in 0..BATCH {
                ring.seal(&mut datagram);
            }
            black_box(&datagram);
        }
    };
    let (signer, text) = (Signer::from_bytes([7; 32]), [1; 128]);
    let (public, signature) = (signer.public(), signer.sign(&text));
    let sign = move || {
        for _ in 0..BATCH {
            black_box(signer.sign(black_box(&text)));
        }
    };
    let verify = move || {
        let holds = (0..BATCH).all(|_| public.has_signed(black_box(&text), &signature));
        assert!(holds, "it was signed so");
    };
    let reference = "seal a datagram of 1452 B";
    [
        compare("sign an entry of 128 B", reference, repetitions, seal(), sign),
        compare("verify an entry of 128 B", reference, repetitions, seal(), verify),
    ]
}

/// Picking the newest 1,638 of 65,536 beside picking them of 8,192.
fn selection(repetitions: usize) -> Comparison {
    let select = |nodes| {
        let steady = Steady::new(nodes, WINDOW, 0, 1452);
        let mut slots = Vec::with_capacity(2 * WINDOW + 4096);
        move || {
            slots.clear();
            steady.vector.newest(WINDOW, &mut slots);
            black_box(&slots);
        }
    };
    let (reference, run) = (select(8192), select(65_536));
    compare("select 1638 of 65536", "select 1638 of 8192", 10 * repetitions, reference, run)
        .bound(1.2)
}
