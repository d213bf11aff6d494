//! A colony as it may be in life: payloads of nodes that compute, wait or idle.
//!
//! No measurement of a real machine: numbers drawn so that each reading has the shape it tends to
//! have. Most nodes run jobs on all processors, some on a few, some none; memory is taken in steps
//! of what jobs ask for; heat and power follow the work; few wait for I/O.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::SplitMix64;
use tidings_gossip::payload::NodeState;

/// Bytes of a payload: the default of the configuration.
pub const PAYLOAD_BYTES: usize = 64;

/// The payloads of `nodes` nodes, one behind the other; the same for the same random seed.
///
/// # Panics
/// Never: the readings fit.
pub fn payloads(nodes: usize, random_seed: u64) -> Vec<u8> {
    let mut chance = Chance(SplitMix64::seed_from_u64(random_seed));
    let mut payloads = vec![0; nodes * PAYLOAD_BYTES];
    for payload in payloads.chunks_mut(PAYLOAD_BYTES) {
        state(&mut chance).encode(payload).expect("64 bytes hold the readings");
    }
    payloads
}

fn state(chance: &mut Chance) -> NodeState {
    let cores = 128;
    let busy_share = match chance.share() {
        draw if draw < 0.6 => 1.0 - 0.03 * chance.share(),
        draw if draw < 0.8 => chance.share(),
        _ => 0.01 * chance.share(),
    };
    let memory_gib = if chance.share() < 0.9 { 256.0 } else { 1024.0 };
    let taken = busy_share * (0.3 + 0.65 * chance.share());
    let waits_for_io = chance.share() < 0.1;
    NodeState {
        cores: Some(cores),
        load1: Some(f64::from(cores) * busy_share * (0.95 + 0.2 * chance.share())),
        cpu_busy_percent: Some(100.0 * busy_share),
        mem_total_bytes: Some(gib(memory_gib)),
        mem_available_bytes: Some(gib(memory_gib * (0.97 - taken))),
        temperature_c: Some(34.0 + 38.0 * busy_share + 8.0 * chance.share()),
        power_w: Some(95.0 + 240.0 * busy_share + 30.0 * chance.share()),
        psi_io_percent: Some(if waits_for_io { 40.0 * chance.share() } else { 0.0 }),
        ..NodeState::default()
    }
}

fn gib(gib: f64) -> u64 {
    (gib * f64::from(1 << 30)) as u64
}

/// Draws shares of 1.
struct Chance(SplitMix64);

impl Chance {
    fn share(&mut self) -> f64 {
        f64::from(self.0.next_u32()) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidings_gossip::aggregate::{Aggregate, Contribution, MAX_BYTES};

    use super::*;

    /// The bound that docs/decisions/0006-aggregates.md asks of a colony of 1,024 nodes.
    #[test]
    fn the_aggregate_of_a_colony_takes_at_most_256_bytes() {
        for random_seed in 0..20 {
            let colony = payloads(1024, random_seed);
            let heard = colony.chunks(PAYLOAD_BYTES).map(|payload| {
                let age = Duration::from_millis(u64::from(payload[16]) * 10);
                Contribution::Alive { age, payload }
            });
            let bytes = Aggregate::of(heard, Duration::from_secs(60)).encode(&mut [0; MAX_BYTES]);
            assert!(bytes.is_ok_and(|bytes| bytes <= 256), "{bytes:?} of seed {random_seed}");
        }
    }

    #[test]
    fn a_colony_is_the_same_each_time_and_its_nodes_differ() {
        let colony = payloads(16, 1);
        assert_eq!(colony, payloads(16, 1));
        assert_ne!(colony, payloads(16, 2));
        assert_ne!(colony[..PAYLOAD_BYTES], colony[PAYLOAD_BYTES..2 * PAYLOAD_BYTES]);
    }
}
