//! Fans: one rank receives from its neighbours at once, or sends to them (figure 7 of the paper).

use super::row::{Extent, MESSAGES, Measured, Row, received, sizes};
use super::stream::{self, Stream};
use crate::engine::Engine;
use crate::machine::Machine;
use crate::shape::AXES;

/// Where sizes begin, and what the answer of a neighbour has.
const FROM_BYTES: u64 = 64;
const ANSWER_BYTES: u64 = 4;
/// Neighbours where the network has none.
const MOST_NEIGHBOURS: u32 = 6;

pub(super) fn run(machine: &Machine, extent: &Extent, row: &mut dyn FnMut(Row)) {
    let neighbours = neighbours(machine);
    for count in 1..=neighbours.len() {
        for bytes in sizes(extent, FROM_BYTES) {
            let near = &neighbours[..count];
            for (test, took_s) in [
                ("fan-out", fan_out(machine, near, bytes)),
                ("fan-in", fan_in(machine, near, bytes)),
            ] {
                row(Row::Measured(Measured {
                    test,
                    variant: "sum of neighbours".to_owned(),
                    bytes,
                    count: count as u64,
                    messages: MESSAGES,
                    seconds: took_s / f64::from(MESSAGES),
                }));
            }
        }
    }
}

/// Nodes one link away, two for each dimension; else those of the ranks that follow.
fn neighbours(machine: &Machine) -> Vec<u32> {
    let Some(torus) = machine.shape().torus() else {
        let last = MOST_NEIGHBOURS.min(machine.processes() - 1);
        return (1..=last).map(|rank| machine.node_of(rank)).collect();
    };
    let mut found = Vec::new();
    for axis in 0..AXES {
        for step in [1, -1] {
            let mut place = [0; AXES];
            place[axis] = step;
            let node = torus.node(place);
            if torus.hops(0, node) == 1 && !found.contains(&node) {
                found.push(node);
            }
        }
    }
    found
}

/// When messages of all these have arrived that begin at a time.
fn together(machine: &Machine, flows: &[Stream], bytes: u64, at_s: f64) -> Vec<f64> {
    let mut engine = Engine::new(&machine.capacities());
    for flow in flows {
        let path = machine.path(flow.from, flow.to);
        engine.begin(at_s + path.latency_s, bytes as f64, path.way());
    }
    let mut ends_s = vec![0.0; flows.len()];
    while let Some(arrival) = engine.next_arrival() {
        ends_s[arrival.message as usize] = arrival.at_s;
    }
    ends_s
}

fn fan_in(machine: &Machine, neighbours: &[u32], bytes: u64) -> f64 {
    let flows: Vec<Stream> = neighbours.iter().map(|&from| Stream { from, to: 0 }).collect();
    let each_s = machine.receive_s(bytes);
    let round = |at_s, _| received(together(machine, &flows, bytes, at_s), at_s, each_s);
    (0..MESSAGES).fold(0.0, round)
}

/// Until the middle has the answers of all, for which it asks one after the other.
fn fan_out(machine: &Machine, neighbours: &[u32], bytes: u64) -> f64 {
    let flows: Vec<Stream> = neighbours.iter().map(|&to| Stream { from: 0, to }).collect();
    let done_s = if machine.waits(bytes) {
        let round = |at_s: Vec<f64>, _| {
            let last_s = at_s.into_iter().fold(0.0, f64::max);
            together(machine, &flows, bytes, last_s)
        };
        (0..MESSAGES).fold(vec![0.0; flows.len()], round)
    } else {
        stream::run(machine, &flows, bytes, MESSAGES)
    };
    let answers = neighbours.iter().zip(done_s);
    answers.fold(0.0, |free_s: f64, (&node, done_s)| {
        free_s.max(done_s) + stream::one(machine, node, 0, ANSWER_BYTES)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Trial;
    use super::super::tests::{extent, rows, seconds};
    use crate::machine::tests::bluegene_p;

    #[test]
    fn six_neighbours_get_six_links_and_a_narrower_engine_bounds_what_arrives() {
        let mut machine = bluegene_p(&[4, 4, 4], 1);
        let rate = |machine: &_, test: &str| {
            let rows = rows(Trial::Fans, machine, &extent());
            6.0 * f64::from(1 << 20) / seconds(&rows, test, "sum of neighbours", 1 << 20, 6)
        };
        assert!((2.5e9..2.55e9).contains(&rate(&machine, "fan-out")));
        assert!((2.5e9..2.55e9).contains(&rate(&machine, "fan-in")));
        machine = machine.with_engines([18e9 / 8.0, 13e9 / 8.0]);
        let [out, into] = ["fan-out", "fan-in"].map(|test| 8.0 * rate(&machine, test));
        assert!((17.6e9..18e9).contains(&out) && (12.9e9..13e9).contains(&into), "{out} {into}");
    }
}
