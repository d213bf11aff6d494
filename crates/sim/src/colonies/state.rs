//! What nodes of a colony say of themselves: readings drawn so that an aggregate is as large as it
//! may be in life.
//!
//! No measurement of a real machine: most nodes run jobs on all processors, some on a few, some
//! none; heat and power follow the work, and few wait for I/O.

use core::time::Duration;

use tidings_gossip::Aggregate;
use tidings_gossip::aggregate::{Contribution, MAX_BYTES};
use tidings_gossip::payload::NodeState;

use crate::chance::{Chance, Purpose, stream};

/// Bytes of a payload that the readings take.
const STATE_BYTES: usize = 64;

/// A node's payload, in the first bytes of `payload`; those behind the readings stay as they are.
pub(super) fn draw(chance: &mut Chance, payload: &mut [u8]) {
    let cores = 128;
    let busy_share = match chance.real() {
        draw if draw < 0.6 => 1.0 - 0.03 * chance.real(),
        draw if draw < 0.8 => chance.real(),
        _ => 0.01 * chance.real(),
    };
    let memory_gib = if chance.real() < 0.9 { 256.0 } else { 1024.0 };
    let taken = busy_share * (0.3 + 0.65 * chance.real());
    let waits_for_io = chance.real() < 0.1;
    let gib = |gib: f64| (gib * f64::from(1 << 30)) as u64;
    let state = NodeState {
        cores: Some(cores),
        load1: Some(f64::from(cores) * busy_share * (0.95 + 0.2 * chance.real())),
        cpu_busy_percent: Some(100.0 * busy_share),
        mem_total_bytes: Some(gib(memory_gib)),
        mem_available_bytes: Some(gib(memory_gib * (0.97 - taken))),
        temperature_c: Some(34.0 + 38.0 * busy_share + 8.0 * chance.real()),
        power_w: Some(95.0 + 240.0 * busy_share + 30.0 * chance.real()),
        psi_io_percent: Some(if waits_for_io { 40.0 * chance.real() } else { 0.0 }),
        ..NodeState::default()
    };
    let written = state.encode(payload);
    debug_assert!(written.is_ok(), "a checked scenario has payloads that hold the readings");
}

/// Bytes of the aggregate of a colony of so many nodes, the mean of a few, rounded up.
pub(super) fn aggregate_bytes(members: usize, seed: u64) -> usize {
    const COLONIES: usize = 8;
    let all: usize = (0..COLONIES as u32)
        .map(|colony| {
            let mut chance = stream(seed, Purpose::Node(colony, u32::MAX));
            let mut payloads = vec![0; members * STATE_BYTES];
            let heard = payloads.chunks_mut(STATE_BYTES).enumerate().map(|(n, payload)| {
                draw(&mut chance, payload);
                let age = Duration::from_millis(2 * n as u64);
                Contribution::Alive { age, payload }
            });
            let aggregate = Aggregate::of(heard, Duration::from_secs(3600));
            aggregate.encode(&mut [0; MAX_BYTES]).unwrap_or(MAX_BYTES)
        })
        .sum();
    all.div_ceil(COLONIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bound of docs/decisions/0006-aggregates.md for a colony of 1,024 nodes.
    #[test]
    fn aggregates_are_as_large_as_they_may_be() {
        let bytes = [32, 1024, 2048].map(|members| aggregate_bytes(members, 7));
        assert!(bytes[1] <= 256 && bytes.is_sorted() && bytes[0] > 50, "{bytes:?}");
    }
}
