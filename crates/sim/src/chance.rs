//! Chance: independent streams of random draws, all from one random seed.
//!
//! Each purpose (a node's life, the network, the clocks, the faults) draws from a stream of its
//! own, so that what one of them draws changes nothing for the others: with one seed, loss 0 and
//! loss 0.1 crash the same nodes at the same times.

pub use tidings_primitives::Chance;
pub(crate) use tidings_primitives::chance::mix;

/// What a stream is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The random seeds of nodes, by number and life.
    Node(u32, u32),
    /// What the network does to datagrams.
    Network,
    /// Offsets and drifts of clocks.
    Clocks,
    /// Which nodes fail, and when.
    Faults,
    /// What a node's machine does, by number.
    Readings(u32),
}

/// The stream of `seed` for `purpose`.
pub fn stream(seed: u64, purpose: Purpose) -> Chance {
    Chance::new(stream_seed(seed, purpose))
}

/// The seed that a stream starts from; for a node's life it is the seed given to the node.
pub fn stream_seed(seed: u64, purpose: Purpose) -> u64 {
    let tag = match purpose {
        Purpose::Network => 1,
        Purpose::Clocks => 2,
        Purpose::Faults => 3,
        // Lives are numbered from 1, and never as high as this.
        Purpose::Readings(node) => 1 << 63 | u64::from(node),
        Purpose::Node(node, life) => 4 + (u64::from(life) << 32 | u64::from(node)),
    };
    mix(seed ^ mix(tag))
}

/// How late a node's timer for the time `due` goes off: below 1/256 of the unit, a millisecond of
/// 256. Without it, nodes that go by common times would act at the very same moment.
pub(crate) fn lateness(node: usize, due: i64, unit: i64) -> i64 {
    (mix(mix(node as u64) ^ due as u64) % (unit as u64 / 256).max(1)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ() {
        let purposes = [
            Purpose::Network,
            Purpose::Clocks,
            Purpose::Faults,
            Purpose::Readings(0),
            Purpose::Readings(1),
            Purpose::Node(0, 1),
            Purpose::Node(1, 1),
            Purpose::Node(0, 2),
        ];
        let seeds: std::collections::BTreeSet<u64> =
            purposes.iter().map(|&purpose| stream_seed(7, purpose)).collect();
        assert_eq!(seeds.len(), purposes.len());
    }
}
