//! The virtual network: what becomes of a datagram between two nodes.
//!
//! In the order of what happens to it: it waits for those its sender sent before (bandwidth), is
//! dropped if it is too large (MTU) or cut off (partition), may be lost, then travels for a drawn
//! latency, may be held back so that others overtake it, and may arrive twice. Every fate is
//! counted. A datagram's contents are never changed: that is the matter of the core's own tests.

use serde::Serialize;

use crate::chance::{Chance, Purpose, stream};
use crate::plan::Partition;
use crate::scenario::{self, Scenario};

/// Bytes of the IP and UDP headers, which the MTU and the bandwidth count too.
const HEADER_BYTES: u64 = 28;

/// What became of the datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Fates {
    /// Handed to the network.
    pub sent: u64,
    /// Arrivals, second ones of duplicated datagrams among them.
    pub delivered: u64,
    /// Lost at random.
    pub lost: u64,
    /// Held up by a partition for good.
    pub cut: u64,
    /// Arrived twice.
    pub duplicated: u64,
    /// Held back.
    pub reordered: u64,
    /// Larger than the MTU.
    pub too_large: u64,
    /// Found the sender's queue full.
    pub queue_full: u64,
    /// Came to a node that was down, or found the socket buffer of a paused one full.
    pub nobody_there: u64,
}

/// When a datagram arrives: not at all, once or twice; microseconds of true time.
pub type Arrivals = [Option<i64>; 2];

/// The paths between all nodes.
#[derive(Clone, Debug)]
pub struct Network {
    parameters: scenario::Network,
    chance: Chance,
    /// When each node has sent all that it queued.
    free_at: Vec<i64>,
    /// Each partition: whether it is in force, and which nodes it cuts off.
    partitions: Vec<(bool, bool, Vec<bool>)>,
    /// What became of the datagrams.
    pub fates: Fates,
}

impl Network {
    /// The network of a checked scenario.
    pub fn of(scenario: &Scenario, partitions: &[Partition]) -> Self {
        let nodes = scenario.cluster.nodes as usize;
        let sides = partitions.iter().map(|Partition { nodes: cut_off, one_way }| {
            let mut side = vec![false; nodes];
            for &node in cut_off {
                side[node as usize] = true;
            }
            (false, *one_way, side)
        });
        Self {
            parameters: scenario.network.clone(),
            chance: stream(scenario.seed, Purpose::Network),
            free_at: vec![0; nodes],
            partitions: sides.collect(),
            fates: Fates::default(),
        }
    }

    /// Puts a partition into force, or ends it.
    pub fn set_partition(&mut self, number: u32, in_force: bool) {
        self.partitions[number as usize].0 = in_force;
    }

    /// Whether a partition holds up what `from` sends to `to`.
    #[inline]
    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        self.partitions.iter().any(|(in_force, one_way, side)| {
            *in_force && side[from] != side[to] && (!one_way || side[from])
        })
    }

    /// Sends a datagram of `bytes` at `now` and draws its fate.
    pub fn send(&mut self, now: i64, (from, to): (usize, usize), bytes: usize) -> Arrivals {
        self.fates.sent += 1;
        let bytes = bytes as u64 + HEADER_BYTES;
        let Some(departure) = self.queue(now, from, bytes) else {
            self.fates.queue_full += 1;
            return [None; 2];
        };
        if bytes > u64::from(self.parameters.mtu_bytes) {
            self.fates.too_large += 1;
            return [None; 2];
        }
        if self.is_cut(from, to) {
            self.fates.cut += 1;
            return [None; 2];
        }
        if self.is_lost() {
            return [None; 2];
        }
        let first = departure + self.travel_micros();
        let twice = self.chance.happens(self.parameters.duplication);
        self.fates.duplicated += u64::from(twice);
        [Some(first), twice.then(|| departure + self.travel_micros())]
    }

    /// When word that nobody listens at `from` reaches `to`; `None` if nothing is said, or lost.
    pub fn refuse(&mut self, now: i64, (from, to): (usize, usize)) -> Option<i64> {
        let said = self.parameters.refuses && !self.is_cut(from, to);
        let lost = said && self.chance.happens(self.parameters.loss);
        (said && !lost).then(|| now + self.travel_micros())
    }

    /// Draws whether the next message is lost, and counts it.
    #[inline]
    pub fn is_lost(&mut self) -> bool {
        let lost = self.chance.happens(self.parameters.loss);
        self.fates.lost += u64::from(lost);
        lost
    }

    /// When the datagram has left its sender; `None` if there is no room for it.
    fn queue(&mut self, now: i64, from: usize, bytes: u64) -> Option<i64> {
        let rate = self.parameters.bandwidth_bytes_s;
        if rate == 0 {
            return Some(now);
        }
        let waits_micros = (self.free_at[from] - now).max(0);
        let queued = waits_micros as u128 * u128::from(rate) / 1_000_000;
        if queued + u128::from(bytes) > u128::from(self.parameters.queue_bytes) {
            return None;
        }
        let sending_micros = (bytes * 1_000_000).div_ceil(rate) as i64;
        self.free_at[from] = now + waits_micros + sending_micros;
        Some(self.free_at[from])
    }

    fn travel_micros(&mut self) -> i64 {
        let travel = self.parameters.latency.draw_micros(&mut self.chance);
        let held_back = self.chance.happens(self.parameters.reordering);
        self.fates.reordered += u64::from(held_back);
        let delay = self.parameters.reorder_delay.as_micros();
        let delay = if held_back { self.chance.below(delay as usize + 1) as u64 } else { 0 };
        (travel + delay) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::span::Span;

    fn network(change: impl FnOnce(&mut scenario::Network)) -> Network {
        let mut scenario = Scenario::default();
        scenario.cluster.nodes = 4;
        change(&mut scenario.network);
        let two_way = Partition { nodes: vec![0, 1], one_way: false };
        let one_way = Partition { nodes: vec![0], one_way: true };
        Network::of(&scenario, &[two_way, one_way])
    }

    #[test]
    fn by_default_everything_arrives_at_once() {
        let mut network = network(|_| {});
        assert_eq!(network.send(7, (0, 1), 1000), [Some(7), None]);
        assert_eq!(network.fates, Fates { sent: 1, ..Fates::default() });
    }

    #[test]
    fn each_fate_is_counted() {
        let mut network = network(|n| {
            (n.loss, n.duplication, n.reordering) = (0.25, 0.5, 0.5);
            n.reorder_delay = Span::from_micros(100);
        });
        let arrivals: Vec<i64> =
            (0..1000).flat_map(|_| network.send(0, (0, 1), 100)).flatten().collect();
        let fates = network.fates;
        // Binomial: 250 ± 14 lost; the bounds are seven standard deviations away.
        assert!((150..350).contains(&fates.lost), "{fates:?}");
        assert_eq!(arrivals.len() as u64, 1000 - fates.lost + fates.duplicated);
        assert!(fates.reordered > 0 && arrivals.iter().any(|&at| at > 0));
        assert!(arrivals.iter().all(|at| (0..=100).contains(at)));
    }

    #[test]
    fn what_exceeds_the_mtu_never_arrives() {
        let mut network = network(|n| n.mtu_bytes = 1500);
        assert_eq!(network.send(0, (0, 1), 1472), [Some(0), None]);
        assert_eq!(network.send(0, (0, 1), 1473), [None; 2]);
        assert_eq!(network.fates.too_large, 1);
    }

    #[test]
    fn a_narrow_path_queues_then_drops() {
        let mut network = network(|n| {
            (n.mtu_bytes, n.queue_bytes, n.bandwidth_bytes_s) = (1500, 2500, 1_000_000);
        });
        let sent: Vec<Arrivals> = (0..4).map(|_| network.send(0, (0, 1), 972)).collect();
        assert_eq!(sent[..2], [[Some(1000), None], [Some(2000), None]]);
        assert_eq!(sent[2..], [[None; 2]; 2]);
        assert_eq!(network.fates.queue_full, 2);
        assert_eq!(network.send(0, (1, 2), 972), [Some(1000), None]);
    }

    #[test]
    fn partitions_cut_both_ways_or_one() {
        let mut network = network(|_| {});
        assert!(!network.is_cut(0, 2));
        network.set_partition(0, true);
        assert!(network.is_cut(0, 2) && network.is_cut(2, 0) && !network.is_cut(0, 1));
        network.set_partition(0, false);
        network.set_partition(1, true);
        assert!(network.is_cut(0, 2) && !network.is_cut(2, 0));
    }
}
