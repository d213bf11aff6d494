//! A colony as it may be in life: payloads of nodes that compute, wait or idle.
//!
//! No measurement of a real machine: numbers drawn so that each reading has the shape it tends to
//! have. Most nodes run jobs on all processors, some on a few, some none; memory is taken in steps
//! of what jobs ask for; heat and power follow the work; few wait for I/O.

use tidings_gossip::payload::NodeState;
use tidings_primitives::Chance;

/// Bytes of a payload: the default of the configuration.
pub const PAYLOAD_BYTES: usize = 64;

/// The payloads of `nodes` nodes, one behind the other; the same for the same random seed.
///
/// # Panics
/// Never: the readings fit.
pub fn payloads(nodes: usize, random_seed: u64) -> Vec<u8> {
    let mut chance = Chance::new(random_seed);
    let mut payloads = vec![0; nodes * PAYLOAD_BYTES];
    for payload in payloads.chunks_mut(PAYLOAD_BYTES) {
        state(&mut chance).encode(payload).expect("64 bytes hold the readings");
    }
    payloads
}

fn state(chance: &mut Chance) -> NodeState {
    let cores = 128;
    let busy_share = match chance.real() {
        draw if draw < 0.6 => 1.0 - 0.03 * chance.real(),
        draw if draw < 0.8 => chance.real(),
        _ => 0.01 * chance.real(),
    };
    let memory_gib = if chance.real() < 0.9 { 256.0 } else { 1024.0 };
    let taken = busy_share * (0.3 + 0.65 * chance.real());
    let waits_for_io = chance.real() < 0.1;
    NodeState {
        cores: Some(cores),
        load1: Some(f64::from(cores) * busy_share * (0.95 + 0.2 * chance.real())),
        cpu_busy_percent: Some(100.0 * busy_share),
        mem_total_bytes: Some(gib(memory_gib)),
        mem_available_bytes: Some(gib(memory_gib * (0.97 - taken))),
        temperature_c: Some(34.0 + 38.0 * busy_share + 8.0 * chance.real()),
        power_w: Some(95.0 + 240.0 * busy_share + 30.0 * chance.real()),
        psi_io_percent: Some(if waits_for_io { 40.0 * chance.real() } else { 0.0 }),
        ..NodeState::default()
    }
}

fn gib(gib: f64) -> u64 {
    (gib * f64::from(1 << 30)) as u64
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
