//! What does a round cost, beside copying the same bytes?
//!
//! The paper's largest case: 8,192 nodes, entries of 1 KiB, a window of 20 % or 1,638 entries, in
//! datagrams of 1,452 bytes. A round is *build and encode* (renew the own entry, pick the newest,
//! write them) and *decode and merge* (read as many, four in five of them news as in life, and take
//! the news in).
//!
//! There are two references for each, both a memcpy of the same number of bytes. *memcpy* runs
//! between the window's buffer and memory as large as the vector, at another place each time: the
//! memory that a round must touch. *cached memcpy* runs between two buffers of the window's size,
//! again and again: what the caches can do at best, and more than any vector of 8 MiB can have.
//! Sealing is measured apart.
//!
//! Below a few hundred entries the numbers mean nothing: the clock's own cost shows.

use std::hint::black_box;
use std::io::Write as _;

use tidings_bench::steady::{BODY_BYTES, NEWS_SHARE, Received, Steady};
use tidings_bench::{Comparison, compare, pair};
use tidings_gossip::wire::{header, keys, window};
use tidings_gossip::{Incarnation, Instant, Key, KeyRing, NodeId};

const NODES: u32 = 8192;
const WINDOW: usize = 1638;
const REPETITIONS: usize = 400;

fn main() {
    // `cargo test` runs benches with `--test`: then one small pass is enough to keep this alive.
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let repetitions = if has("--test") { 3 } else { REPETITIONS };
    let mut all = Vec::new();
    for payload_bytes in [1024, 64] {
        for cached in [false, true] {
            all.push(build_and_encode(payload_bytes, cached, repetitions));
            all.push(decode_and_merge(payload_bytes, cached, NEWS_SHARE, repetitions));
        }
    }
    all.push(decode_and_merge(1024, false, 1.0, repetitions));
    all.push(sealing(repetitions));
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

/// The memory a copy works in: as large as the vector's payloads, or no larger than the window.
fn ground(payload_bytes: u16, cached: bool, bytes: usize) -> (Vec<u8>, &'static str) {
    let vector = NODES as usize * usize::from(payload_bytes);
    if cached { (vec![1; bytes], "cached memcpy") } else { (vec![1; vector.max(bytes)], "memcpy") }
}

/// The next piece of `bytes` of the ground, behind the last, from the start again at the end.
fn next_piece(at: &mut usize, ground: usize, bytes: usize) -> std::ops::Range<usize> {
    *at = if *at + 2 * bytes <= ground { *at + bytes } else { 0 };
    *at..*at + bytes
}

/// Bounds only what the project promises: entries of 1 KiB beside the memory they need.
fn bounded(comparison: Comparison, payload_bytes: u16, cached: bool) -> Comparison {
    if payload_bytes == 1024 && !cached { comparison.bound(2.0) } else { comparison }
}

/// Bytes of all the pieces' bodies of a window.
fn window_bytes(payload_bytes: u16) -> usize {
    let entry = window::Format { schema: 1, payload_bytes }.entry_bytes();
    let pieces = WINDOW.div_ceil((BODY_BYTES - window::PREAMBLE_BYTES) / entry);
    WINDOW * entry + pieces * window::PREAMBLE_BYTES
}

fn build_and_encode(payload_bytes: u16, cached: bool, repetitions: usize) -> Comparison {
    let mut steady = Steady::new(NODES, WINDOW, payload_bytes);
    let mut slots = Vec::with_capacity(NODES as usize);
    let bytes = window_bytes(payload_bytes);
    let mut sent = vec![0; bytes + BODY_BYTES];
    let (ground, reference) = ground(payload_bytes, cached, bytes);
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
    let question = format!("build and encode, {WINDOW} of {NODES} x {payload_bytes} B");
    let comparison = Comparison::of_pairs(&question, reference, &pairs[repetitions / 10..]);
    bounded(comparison, payload_bytes, cached)
}

/// Writes the bodies of a window's datagrams, one behind the other.
fn encode_all(steady: &Steady, slots: &[u32], sent: &mut [u8]) -> usize {
    let now = steady.vector.own().birth;
    let oldest = Instant::from_micros(i64::MIN);
    let (mut rest, mut at) = (slots, 0);
    while !rest.is_empty() {
        let body = &mut sent[at..at + BODY_BYTES];
        let (bytes, dealt_with) =
            window::encode(body, steady.format, &steady.vector, rest, (now, oldest));
        at += bytes;
        rest = &rest[dealt_with..];
    }
    at
}

fn decode_and_merge(
    payload_bytes: u16,
    cached: bool,
    news_share: f64,
    repetitions: usize,
) -> Comparison {
    let mut steady = Steady::new(NODES, WINDOW, payload_bytes);
    let bytes = window_bytes(payload_bytes);
    let (mut ground, reference) = ground(payload_bytes, cached, bytes);
    let mut at = 0;
    let mut received = Received::default();
    let mut pairs = Vec::new();
    for _ in 0..repetitions + repetitions / 10 {
        // Each repetition needs news of its own, made outside of what is timed.
        steady.pass();
        steady.receive(&mut received, news_share);
        let copy = || {
            let piece = next_piece(&mut at, ground.len(), bytes);
            black_box(&mut ground[piece]).copy_from_slice(black_box(&received.bytes[..bytes]));
        };
        let merge = || {
            black_box(steady.merge(&received));
        };
        pairs.push(pair(copy, merge));
    }
    let share = (news_share * 100.0) as u32;
    let question = format!("decode and merge, the same, {share} % news, {payload_bytes} B");
    let comparison = Comparison::of_pairs(&question, reference, &pairs[repetitions / 10..]);
    bounded(comparison, payload_bytes, cached || news_share > NEWS_SHARE)
}

/// What sealing a whole window costs beside copying it.
fn sealing(repetitions: usize) -> Comparison {
    let ring = KeyRing::new(&[Key::from_bytes([7; 32])]).expect("one key");
    let head = header::Header {
        kind: header::Kind::Window,
        cluster: 1,
        sender: NodeId(1),
        incarnation: Incarnation::new(1),
        key_id: 1,
        salt: 1,
        counter: 1,
    };
    let datagram = header::BYTES + keys::TAG_BYTES + window::PREAMBLE_BYTES + 1036;
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
    compare("seal, 1638 x 1 KiB", "cached memcpy", repetitions, copy, seal)
}

/// Picking the newest 1,638 of 65,536 beside picking them of 8,192.
fn selection(repetitions: usize) -> Comparison {
    let select = |nodes| {
        let steady = Steady::new(nodes, WINDOW, 0);
        let mut slots = Vec::with_capacity(2 * WINDOW + 4096);
        move || {
            slots.clear();
            steady.vector.newest(WINDOW, &mut slots);
            black_box(&slots);
        }
    };
    let question = "select 1638 of 65536";
    compare(question, "select 1638 of 8192", 10 * repetitions, select(8192), select(65_536))
        .bound(1.2)
}
