//! Hot spot: one master answers its workers one after the other; what counts is the latency that a
//! worker sees, mean over workers (figure 6 b of the paper).
//!
//! The master asks for the message of one worker after the other, and each moves when it has asked.
//! Whose message it takes first of those that wait is left to the library: here each order has its
//! reverse beside it, and the mean of both is what any order gives on average. Messages that are
//! buffered have moved before: all of them at once, over the few links that lead to the master.

use super::row::{Extent, Measured, Row, counts, sizes};
use crate::engine::{Arrival, Engine};
use crate::error::FlowsError;
use crate::machine::Machine;
use crate::phase::{self, Message};

/// The node of the master.
const MASTER: u32 = 0;

pub(super) fn run(
    machine: &Machine,
    extent: &Extent,
    row: &mut dyn FnMut(Row),
) -> Result<(), FlowsError> {
    let most = machine.processes() - 1;
    for count in counts(most) {
        let rank = |at: u32| 1 + (u64::from(at) * u64::from(most) / u64::from(count)) as u32;
        let nodes: Vec<u32> = (0..count).map(|at| machine.node_of(rank(at))).collect();
        for bytes in sizes(extent, 1) {
            let sum_s = if bytes < extent.buffered_below {
                buffered(machine, &nodes, bytes)?
            } else {
                let reversed: Vec<u32> = nodes.iter().rev().copied().collect();
                let there = asked_for(machine, &nodes, bytes);
                f64::midpoint(there, asked_for(machine, &reversed, bytes))
            };
            row(Row::Measured(Measured {
                test: "hotspot",
                variant: "mean of workers".to_owned(),
                bytes,
                count: u64::from(count),
                messages: 2,
                seconds: sum_s / (2.0 * f64::from(count)),
            }));
        }
    }
    Ok(())
}

/// The answers of the master, and when they are there: their sum is what counts.
struct Answers<'a> {
    machine: &'a Machine,
    engine: Engine,
    bytes: u64,
    sum_s: f64,
}

impl<'a> Answers<'a> {
    fn new(machine: &'a Machine, bytes: u64) -> Self {
        Self { machine, engine: Engine::new(&machine.capacities()), bytes, sum_s: 0.0 }
    }

    /// Lets a message begin; its number.
    fn begin(&mut self, at_s: f64, from: u32, to: u32) -> u32 {
        let path = self.machine.path(from, to);
        self.engine.begin(at_s + path.latency_s, self.bytes as f64, path.way())
    }

    /// Waits until a message has arrived; what arrives before are answers.
    fn wait(&mut self, message: u32) -> f64 {
        while let Some(arrival) = self.engine.next_arrival() {
            if arrival.message == message {
                return arrival.at_s;
            }
            self.answered(arrival);
        }
        f64::INFINITY
    }

    fn answered(&mut self, arrival: Arrival) {
        self.sum_s += arrival.at_s + self.machine.receive_s(self.bytes);
    }

    /// The sum of the times at which workers have their answers, when all have.
    fn end(mut self) -> f64 {
        while let Some(arrival) = self.engine.next_arrival() {
            self.answered(arrival);
        }
        self.sum_s
    }
}

fn asked_for(machine: &Machine, workers: &[u32], bytes: u64) -> f64 {
    let mut answers = Answers::new(machine, bytes);
    let mut free_s = 0.0;
    for &worker in workers {
        let request = answers.begin(free_s, worker, MASTER);
        free_s = answers.wait(request) + machine.receive_s(bytes);
        let answer = answers.begin(free_s, MASTER, worker);
        if machine.waits(bytes) {
            free_s = answers.wait(answer);
            answers.answered(Arrival { message: answer, at_s: free_s });
        }
    }
    answers.end()
}

fn buffered(machine: &Machine, workers: &[u32], bytes: u64) -> Result<f64, FlowsError> {
    let message = |&from: &u32| Message { from, to: MASTER, bytes, at_s: 0.0 };
    let messages: Vec<Message> = workers.iter().map(message).collect();
    let ends_s = phase::run(machine, &messages)?.ends_s;
    let mut arrivals: Vec<(f64, u32)> = ends_s.into_iter().zip(workers.iter().copied()).collect();
    arrivals.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut answers = Answers::new(machine, bytes);
    let mut free_s: f64 = 0.0;
    for (end_s, worker) in arrivals {
        free_s = free_s.max(end_s) + machine.receive_s(bytes);
        answers.begin(free_s, MASTER, worker);
    }
    Ok(answers.end())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{extent, rows, seconds};
    use super::super::{Extent, Trial};
    use crate::machine::tests::bluegene_p;

    #[test]
    fn the_latency_grows_with_the_workers_by_what_the_master_needs_for_each() {
        let machine = bluegene_p(&[8, 8, 8], 1);
        let rows = rows(Trial::Hotspot, &machine, &extent());
        let at = |bytes, workers| seconds(&rows, "hotspot", "mean of workers", bytes, workers);
        for bytes in [1, 1 << 20] {
            let growth = at(bytes, 256) / at(bytes, 128);
            assert!((1.9..2.05).contains(&growth), "{bytes}: {growth}");
        }
        // Half of the way there and back of all before, and one's own.
        let each_s = f64::from(1 << 20) / 425e6;
        let expected_s = 2.0 * each_s * 257.0 / 2.0 / 2.0;
        assert!((at(1 << 20, 256) / expected_s - 1.0).abs() < 0.01, "{}", at(1 << 20, 256));
    }

    #[test]
    fn one_worker_is_a_ping_pong() {
        let machine = bluegene_p(&[4, 4, 4], 2);
        let spot = rows(Trial::Hotspot, &machine, &extent());
        let inside = rows(Trial::Cores, &machine, &extent());
        let one = seconds(&spot, "hotspot", "mean of workers", 1, 1);
        let expected = seconds(&inside, "core-latency", "core 0 and core 1", 1, 0);
        assert!((one / expected - 1.0).abs() < 1e-9, "{one} and {expected}");
    }

    #[test]
    fn buffered_messages_cost_the_master_their_receipt_alone() {
        let machine = bluegene_p(&[8, 8, 8], 1);
        let extent = Extent { largest: 1, buffered_below: 1024, ..extent() };
        let rows = rows(Trial::Hotspot, &machine, &extent);
        let at = seconds(&rows, "hotspot", "mean of workers", 1, 511);
        let expected_s = machine.figures().receive_s * 512.0 / 4.0;
        assert!((at / expected_s - 1.0).abs() < 0.05, "{at} and {expected_s}");
    }
}
