//! One or two flows, and several between two nodes: figures 2 to 6 a of the paper.

use super::row::{Extent, MESSAGES, Measured, Row, counts, sizes};
use super::stream::{self, Stream};
use crate::machine::Machine;
use crate::shape::Torus;

/// The sizes of messages over hops, and from which on bandwidth is measured.
const OVER_HOPS: [u64; 5] = [0, 64, 1024, 65_536, 1 << 20];
const BANDWIDTH_FROM: u64 = 65_536;
/// A ring of this length has three hops that go one way, a row that is not closed of that one.
const LEAST_RING: u32 = 6;
const LEAST_ROW: u32 = 4;
/// The most cores that the first is measured with, and the most streams at once.
const MOST_CORES: u32 = 8;
const MOST_STREAMS: u32 = 16;
/// Bytes of a local flow beside one that flows through.
const THROUGH_BYTES: u64 = 1 << 20;

type Rows<'a> = &'a mut dyn FnMut(Row);

/// The latency of one message, there and back.
fn latency(machine: &Machine, pair: Stream, label: (&'static str, &str, u64), bytes: u64) -> Row {
    Row::Measured(Measured {
        test: label.0,
        variant: label.1.to_owned(),
        bytes,
        count: label.2,
        messages: 2,
        seconds: stream::one(machine, pair.from, pair.to, bytes),
    })
}

/// What a message of a stream that has ended took.
fn a_message(label: (&'static str, &str, u64), bytes: u64, done_s: f64) -> Row {
    Row::Measured(Measured {
        test: label.0,
        variant: label.1.to_owned(),
        bytes,
        count: label.2,
        messages: MESSAGES,
        seconds: done_s / f64::from(MESSAGES),
    })
}

fn bandwidth(machine: &Machine, pair: Stream, label: (&'static str, &str, u64), bytes: u64) -> Row {
    a_message(label, bytes, stream::run(machine, &[pair], bytes, MESSAGES)[0])
}

fn skip(row: Rows<'_>, test: &'static str, reason: &str) {
    row(Row::Skipped { test, reason: reason.to_owned() });
}

pub(super) fn pair(machine: &Machine, extent: &Extent, row: Rows<'_>) {
    let pair = Stream { from: 0, to: 1 };
    for bytes in sizes(extent, 0) {
        row(latency(machine, pair, ("latency", "in cache", 0), bytes));
        if bytes >= 1 {
            row(bandwidth(machine, pair, ("bandwidth", "in cache", 0), bytes));
        }
    }
}

pub(super) fn cores(machine: &Machine, extent: &Extent, row: Rows<'_>) {
    if machine.cores() < 2 {
        skip(row, "core-latency", "needs 2 ranks on a node: say --cores");
    }
    let pair = Stream { from: 0, to: 0 };
    for core in 1..machine.cores().min(MOST_CORES + 1) {
        let variant = format!("core 0 and core {core}");
        for bytes in sizes(extent, 0) {
            row(latency(machine, pair, ("core-latency", &variant, 0), bytes));
            if bytes >= 1 {
                row(bandwidth(machine, pair, ("core-bandwidth", &variant, 0), bytes));
            }
        }
    }
}

/// The first node with one node at each distance there is.
pub(super) fn hops(machine: &Machine, extent: &Extent, row: Rows<'_>) {
    let mut nearest = std::collections::BTreeMap::new();
    for to in 1..machine.nodes() {
        nearest.entry(machine.path(0, to).hops).or_insert(to);
    }
    for (hops, to) in nearest {
        let (pair, count) = (Stream { from: 0, to }, u64::from(hops));
        for bytes in OVER_HOPS.into_iter().filter(|bytes| *bytes <= extent.largest) {
            row(latency(machine, pair, ("hops-latency", "idle network", count), bytes));
            if bytes >= BANDWIDTH_FROM {
                row(bandwidth(machine, pair, ("hops-bandwidth", "idle network", count), bytes));
            }
        }
    }
}

/// P0 sends to P2 through the node of P1, inside of which there is a flow, or from it to another.
pub(super) fn through(machine: &Machine, extent: &Extent, row: Rows<'_>) {
    let Some(torus) = machine.shape().torus() else {
        return skip(row, "through", "needs a torus");
    };
    let [x, y, _] = torus.lengths();
    if x < 4 || y < 3 || machine.cores() < 2 {
        let reason = "needs a ring of 4 nodes along X and of 3 along Y, and 2 ranks on a node";
        return skip(row, "through", reason);
    }
    let bytes = extent.largest.min(THROUGH_BYTES);
    let (middle, above) = (torus.node([1, 0, 0]), torus.node([1, 1, 0]));
    let passing = Stream { from: 0, to: torus.node([2, 0, 0]) };
    let locals = [
        (Stream { from: middle, to: middle }, "inside the node"),
        (Stream { from: middle, to: above }, "another link"),
    ];
    for (local, name) in locals {
        for (flows, with) in [(vec![local], "alone"), (vec![local, passing], "with flow-through")] {
            let done_s = stream::run(machine, &flows, bytes, MESSAGES)[0];
            row(a_message(("through", &format!("{name}, {with}"), 0), bytes, done_s));
        }
    }
}

pub(super) fn overlap(machine: &Machine, extent: &Extent, row: Rows<'_>) {
    let torus = machine.shape().torus();
    let least = |torus: &Torus| if torus.is_closed() { LEAST_RING } else { LEAST_ROW };
    if torus.is_some_and(|own| own.lengths()[0] < least(own)) || machine.nodes() < LEAST_ROW {
        let reason = "needs a ring of 6 nodes along X, on a mesh a row of 4, or else 4 nodes";
        return skip(row, "overlap", reason);
    }
    for bytes in sizes(extent, 1024) {
        for ends in [[3, 2], [2, 3]] {
            let flows = [0, 1].map(|at| Stream { from: at, to: ends[at as usize] });
            let names = [0, 1].map(|at| format!("P{at}-P{}", ends[at]));
            for at in 0..2 {
                let variant = format!("{}, no overlap", names[at]);
                row(bandwidth(machine, flows[at], ("overlap", &variant, 0), bytes));
            }
            let done_s = stream::run(machine, &flows, bytes, MESSAGES);
            for at in 0..2 {
                let variant = format!("{}, with {}", names[at], names[1 - at]);
                row(a_message(("overlap", &variant, 0), bytes, done_s[at]));
            }
        }
    }
}

pub(super) fn streams(machine: &Machine, extent: &Extent, row: Rows<'_>) {
    for count in counts(machine.cores().min(MOST_STREAMS)) {
        let flows = vec![Stream { from: 0, to: 1 }; count as usize];
        for bytes in sizes(extent, 1) {
            let done_s = stream::run(machine, &flows, bytes, MESSAGES);
            let longest_s = done_s.into_iter().fold(0.0, f64::max);
            row(a_message(("streams", "all streams", u64::from(count)), bytes, longest_s));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Trial;
    use super::super::tests::{extent, rows, seconds};
    use crate::machine::tests::bluegene_p;

    const LARGE: u64 = 1 << 20;

    #[test]
    fn a_neighbour_is_2_8_us_away_and_the_farthest_of_131072_cores_2_6_us_more() {
        let machine = bluegene_p(&[32, 32, 32], 4);
        let rows = rows(Trial::Hops, &machine, &extent());
        let at = |hops| seconds(&rows, "hops-latency", "idle network", 0, hops);
        assert!((at(1) - 2.8e-6).abs() < 1e-9, "{}", at(1));
        assert!((at(48) - at(1) - 2.6e-6).abs() < 1e-9, "{}", at(48));
        let bandwidth = |hops| seconds(&rows, "hops-bandwidth", "idle network", LARGE, hops);
        assert!(bandwidth(48) / bandwidth(1) < 1.01, "hops cost no bandwidth");
    }

    #[test]
    fn two_flows_over_one_link_have_half_of_it_each_while_both_last() {
        let machine = bluegene_p(&[8, 4, 4], 2);
        let rows = rows(Trial::Overlap, &machine, &extent());
        for (flow, other) in [("P0-P3", "P1-P2"), ("P1-P2", "P0-P3"), ("P0-P2", "P1-P3")] {
            let alone = seconds(&rows, "overlap", &format!("{flow}, no overlap"), LARGE, 0);
            let both = seconds(&rows, "overlap", &format!("{flow}, with {other}"), LARGE, 0);
            assert!((both / alone - 2.0).abs() < 0.01, "{flow}: {alone} and {both}");
        }
    }

    #[test]
    fn what_flows_through_leaves_the_node_its_engine_and_its_other_links() {
        let machine = bluegene_p(&[8, 4, 4], 2);
        let rows = rows(Trial::Through, &machine, &extent());
        for local in ["inside the node", "another link"] {
            let of = |with: &str| seconds(&rows, "through", &format!("{local}, {with}"), LARGE, 0);
            assert!((of("with flow-through") / of("alone") - 1.0).abs() < 1e-9, "{local}");
        }
        let inside = seconds(&rows, "through", "inside the node, alone", LARGE, 0);
        let link = seconds(&rows, "through", "another link, alone", LARGE, 0);
        assert!((link / inside - 6.0).abs() < 0.02, "{link} and {inside}");
    }
}
