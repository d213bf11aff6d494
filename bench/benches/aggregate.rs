//! What does an aggregate cost, and how well does it fit?
//!
//! First the cost: to make the aggregate of a colony of 1,024 nodes from payloads of 64 bytes, to
//! encode and decode the aggregates of 1,000 colonies, and to merge them, each beside a memcpy of
//! the bytes that it reads. The colonies are drawn (`tidings_bench::colony`), not measured.
//!
//! Then the fit, which is no matter of time: bytes of an aggregate; for each reading the bins in
//! use and the worst error of a quantile from 1 to 99 %, beside the bytes that other sketches of
//! the same readings would take for their bins alone.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write as _;
use std::time::Duration;

use serde::Serialize;
use tidings_bench::colony::{PAYLOAD_BYTES, payloads};
use tidings_bench::{Comparison, compare};
use tidings_gossip::aggregate::{Aggregate, Contribution, MAX_BYTES, Reading};

const NODES: usize = 1024;
const COLONIES: usize = 1000;
const REPETITIONS: usize = 400;
const STALE_AFTER: Duration = Duration::from_secs(60);

fn main() {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let (repetitions, colonies) = if has("--bench") { (REPETITIONS, COLONIES) } else { (3, 10) };
    let aggregates: Vec<Aggregate> =
        (0..colonies).map(|seed| aggregate(&payloads(NODES, seed as u64))).collect();
    let mut lines = Vec::new();
    let mut add = |comparison: Comparison| {
        let json = serde_json::to_string(&comparison).unwrap_or_default();
        lines.push(if has("--json") { json } else { comparison.line() });
    };
    add(building(repetitions));
    add(encoding(&aggregates, repetitions));
    add(decoding(&aggregates, repetitions));
    add(merging(&aggregates, repetitions));
    let size = Size::of(&aggregates);
    lines.push(if has("--json") { json(&size) } else { size.line() });
    for fit in fits(0) {
        lines.push(if has("--json") { json(&fit) } else { fit.line() });
    }
    let mut out = std::io::stdout().lock();
    for line in lines {
        if writeln!(out, "{line}").is_err() {
            return;
        }
    }
}

fn json(of: &impl Serialize) -> String {
    serde_json::to_string(of).unwrap_or_default()
}

/// The aggregate of these payloads, with ages as a cluster of 256 ms has them.
fn aggregate(payloads: &[u8]) -> Aggregate {
    let contribution = |(at, payload)| {
        let age = Duration::from_micros(at as u64 * 7919 % 10_000_000);
        Contribution::Alive { age, payload }
    };
    Aggregate::of(payloads.chunks(PAYLOAD_BYTES).enumerate().map(contribution), STALE_AFTER)
}

fn building(repetitions: usize) -> Comparison {
    let payloads = payloads(NODES, 0);
    let mut copied = vec![0; payloads.len()];
    let copy = || black_box(&mut copied[..]).copy_from_slice(black_box(&payloads));
    let build = || {
        black_box(aggregate(black_box(&payloads)));
    };
    let question = format!("make from {NODES} entries of {PAYLOAD_BYTES} B");
    compare(&question, "memcpy", repetitions, copy, build)
}

fn encoded(aggregate: &Aggregate) -> Vec<u8> {
    let mut bytes = vec![0; MAX_BYTES];
    let written = aggregate.encode(&mut bytes).expect("a colony's aggregate can be sent");
    bytes.truncate(written);
    bytes
}

fn encoding(aggregates: &[Aggregate], repetitions: usize) -> Comparison {
    let from = memory(aggregates);
    let mut copied = from.clone();
    let copy = || black_box(&mut copied[..]).copy_from_slice(black_box(&from));
    let mut bytes = [0; MAX_BYTES];
    let encode = || {
        for aggregate in aggregates {
            black_box(aggregate.encode(&mut bytes)).expect("a colony's aggregate can be sent");
        }
    };
    let question = format!("encode {} aggregates", aggregates.len());
    compare(&question, "memcpy", repetitions, copy, encode)
}

fn decoding(aggregates: &[Aggregate], repetitions: usize) -> Comparison {
    let bytes: Vec<Vec<u8>> = aggregates.iter().map(encoded).collect();
    let from = bytes.concat();
    let mut copied = from.clone();
    let copy = || black_box(&mut copied[..]).copy_from_slice(black_box(&from));
    let decode = || {
        for bytes in &bytes {
            black_box(Aggregate::decode(bytes)).expect("what was encoded decodes");
        }
    };
    let question = format!("decode {} aggregates", aggregates.len());
    compare(&question, "memcpy", repetitions, copy, decode)
}

fn merging(aggregates: &[Aggregate], repetitions: usize) -> Comparison {
    let from = memory(aggregates);
    let mut copied = from.clone();
    let copy = || black_box(&mut copied[..]).copy_from_slice(black_box(&from));
    let merge = || {
        let mut all = Aggregate::default();
        for aggregate in aggregates {
            all.merge(aggregate);
        }
        black_box(all);
    };
    let question = format!("merge {} aggregates", aggregates.len());
    compare(&question, "memcpy", repetitions, copy, merge)
}

/// As many bytes as the aggregates take in memory.
fn memory(aggregates: &[Aggregate]) -> Vec<u8> {
    vec![1; size_of_val(aggregates)]
}

/// What an aggregate takes.
#[derive(Serialize)]
struct Size {
    aggregates: usize,
    memory_bytes: usize,
    /// On the wire: the smallest, the mean, the largest, and the most there can be.
    wire_bytes: [usize; 4],
}

impl Size {
    fn of(aggregates: &[Aggregate]) -> Self {
        let sizes: Vec<usize> = aggregates.iter().map(|one| encoded(one).len()).collect();
        let mean = sizes.iter().sum::<usize>() / sizes.len();
        let ends = [sizes.iter().min(), sizes.iter().max()].map(|end| end.copied().unwrap_or(0));
        Self {
            aggregates: aggregates.len(),
            memory_bytes: size_of::<Aggregate>(),
            wire_bytes: [ends[0], mean, ends[1], MAX_BYTES],
        }
    }

    fn line(&self) -> String {
        let [least, mean, most, bound] = self.wire_bytes;
        format!(
            "bytes of {} aggregates of {NODES} nodes: {least} to {most}, mean {mean}, never above \
             {bound}; in memory {}",
            self.aggregates, self.memory_bytes
        )
    }
}

/// How well a sketch of one reading fits, and what others would take.
#[derive(Serialize)]
struct Fit {
    reading: &'static str,
    bins: usize,
    /// The largest |estimate − exact| of the quantiles of 1 to 99 %, in the reading's unit.
    worst_error: f64,
    /// The same as a part of the range from smallest to largest reading.
    worst_error_of_range: f64,
    /// Bytes of the bins of DDSketch with relative errors of 1, 2, 5 and 10 %.
    ddsketch_bytes: [usize; 4],
}

impl Fit {
    fn line(&self) -> String {
        let [a, b, c, d] = self.ddsketch_bytes;
        format!(
            "{:<20} {:>2} bins, worst error of a quantile {:.3}, {:.1} % of the range; bins of \
             DDSketch with 1, 2, 5, 10 %: {a}, {b}, {c}, {d} bytes",
            self.reading,
            self.bins,
            self.worst_error,
            100.0 * self.worst_error_of_range,
        )
    }
}

fn fits(random_seed: u64) -> Vec<Fit> {
    let payloads = payloads(NODES, random_seed);
    let colony = aggregate(&payloads);
    let fit = |reading: Reading| {
        let summary = colony.summary(reading);
        let values = sorted_values(&payloads, reading);
        let range = values[NODES - 1] - values[0];
        let errors = (1..100).map(|percent| {
            let exact = values[(NODES * percent).div_ceil(100) - 1];
            (summary.quantile(percent as f64 / 100.0).unwrap_or(f64::NAN) - exact).abs()
        });
        let worst_error = errors.fold(0.0, f64::max);
        Fit {
            reading: reading.name(),
            bins: summary.histogram().count(),
            worst_error,
            worst_error_of_range: if range > 0.0 { worst_error / range } else { 0.0 },
            ddsketch_bytes: [0.01, 0.02, 0.05, 0.1].map(|error| ddsketch_bytes(&values, error)),
        }
    };
    Reading::ALL.map(fit).into()
}

/// Each node's reading, as aggregates of one node tell it, in ascending order.
fn sorted_values(payloads: &[u8], reading: Reading) -> Vec<f64> {
    let ones = payloads.chunks(PAYLOAD_BYTES).map(aggregate);
    let mut values: Vec<f64> = ones.filter_map(|one| one.summary(reading).min()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Bytes of the bins that are not empty: the distance to the last such, and the count, as varints.
fn ddsketch_bytes(values: &[f64], relative_error: f64) -> usize {
    let gamma = (1.0 + relative_error) / (1.0 - relative_error);
    let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
    for value in values {
        // DDSketch keeps zeros in a bin of their own.
        let bin = if *value > 0.0 { (value.ln() / gamma.ln()).ceil() as i32 } else { i32::MIN };
        *bins.entry(bin).or_default() += 1;
    }
    let varint = |value: u64| value.max(1).ilog2() as usize / 7 + 1;
    let distances = bins.keys().zip(bins.keys().skip(1)).map(|(a, b)| b.abs_diff(*a));
    let gaps: usize = distances.map(|gap| varint(u64::from(gap).min(1 << 13))).sum();
    let first = varint(1 << 13);
    first + gaps + bins.values().map(|&count| varint(count)).sum::<usize>()
}
