//! The cables of hosts with links of their own, in the words of `ip`, `tc` and the delay line.
//!
//! A cable is a veth pair; one along which packets travel for a while has its ends on a
//! [`DelayLine`](super::delay_line::DelayLine) instead. Both kinds may lie side by side: what each
//! link is asked to be, [`Network`] says. Rate is a token bucket at each end.
//!
//! Invariants: each cable is of one kind, at both ends; each end has a card of its own name; of a
//! bounded link each end has one bucket.

use std::fmt::Write as _;

use tidings_flows::shape::Heading;

use super::delay_line::End;
use super::fabric::{CARD, address};
use super::network::Network;
use super::shape::{Cable, Shape, card};

/// Bytes that may wait at an end of a link.
const QUEUE_BYTES: u32 = 16 << 20;
/// The least that a token bucket holds, two full frames: fewer, and it would pass none.
const LEAST_BURST_BYTES: f64 = 3_028.0;
/// A bucket holds what the rate passes in this time, so that it is a rate at all times but shorter
/// ones.
const BURST_S: f64 = 1e-3;

/// What is to be laid between the hosts of a shape.
#[derive(Debug)]
pub(super) struct Cabling {
    pub(super) tag: String,
    pub(super) shape: Shape,
    pub(super) network: Network,
}

/// A cable as one of its hosts sees it.
struct Way {
    cable: Cable,
    own: Heading,
    neighbour: u32,
    back: Heading,
}

impl Cabling {
    /// The namespace of a host.
    pub(super) fn namespace(&self, host: u32) -> String {
        format!("{}-{host}", self.tag)
    }

    /// Whether packets travel along a cable for a while.
    pub(super) fn is_delayed(&self, cable: &Cable) -> bool {
        self.network.delay_us_of(cable) > 0.0
    }

    /// The ends of all cables with a delay, two and two.
    pub(super) fn delayed_ends(&self) -> Vec<End> {
        let delayed = self.shape.cables().into_iter().filter(|cable| self.is_delayed(cable));
        let ends = delayed.flat_map(|cable| cable.ends().map(|end| (cable, end)));
        let end = |(cable, (host, way))| End {
            namespace: self.namespace(host),
            card: card(way),
            delay_us: self.network.delay_us_of(&cable),
        };
        ends.map(end).collect()
    }

    /// What `ip` is told to lay all other cables.
    pub(super) fn pairs(&self) -> String {
        let mut lines = String::new();
        for cable in self.shape.cables().iter().filter(|cable| !self.is_delayed(cable)) {
            let [low, high] = cable.ends().map(|(host, way)| {
                let (card, namespace) = (card(way), self.namespace(host));
                format!("name {card} address {} netns {namespace}", hardware_address(host, way))
            });
            let _ = writeln!(lines, "link add {low} type veth peer {high}");
        }
        lines
    }

    /// The ways from a host along its cables.
    fn ways(&self, host: u32) -> Vec<Way> {
        let mut ways = Vec::new();
        for cable in self.shape.cables() {
            let [(low, up), (high, down)] = cable.ends();
            let from_low = Way { cable, own: up, neighbour: high, back: down };
            let from_high = Way { cable, own: down, neighbour: low, back: up };
            ways.extend((low == host).then_some(from_low));
            ways.extend((high == host).then_some(from_high));
        }
        ways
    }

    /// What `ip` is told in a host: its address, its cards and its ways to all others.
    pub(super) fn settings(&self, host: u32) -> String {
        let (own, ways) = (address(host), self.ways(host));
        let mut lines = format!(
            "link set lo up\nlink add {CARD} type veth peer name {CARD}-end\n\
             link set {CARD}-end addrgenmode none up\nlink set {CARD} addrgenmode none up\n\
             address add {own}/32 dev {CARD}\n"
        );
        for way in &ways {
            let card = card(way.own);
            let _ = writeln!(lines, "link set {card} gso_max_segs 1 addrgenmode none up");
            if !self.is_delayed(&way.cable) {
                let (to, far) = (address(way.neighbour), hardware_address(way.neighbour, way.back));
                let _ = writeln!(lines, "neighbour add {to} lladdr {far} dev {card} nud permanent");
            }
        }
        for other in 0..self.shape.hosts() {
            let Some(step) = self.shape.first_step(host, other) else { continue };
            let way = ways.iter().find(|way| way.own == step).expect("a step is along a cable");
            let by = if self.is_delayed(&way.cable) {
                String::new()
            } else {
                format!("via {} onlink ", address(way.neighbour))
            };
            let (to, card) = (address(other), card(step));
            let _ = writeln!(lines, "route add {to}/32 {by}dev {card} src {own}");
        }
        lines
    }

    /// What `tc` is told in a host: the rate at the host's end of each cable that has one.
    pub(super) fn buckets(&self, host: u32) -> String {
        let mut lines = String::new();
        for way in self.ways(host) {
            let Some(rate_mbit) = self.network.rate_of(&way.cable) else { continue };
            let (rate, burst, card) = (rate_mbit * 1e6, burst_bytes(rate_mbit), card(way.own));
            let bucket = format!("tbf rate {rate:.0} burst {burst:.0} limit {QUEUE_BYTES}");
            let _ = writeln!(lines, "qdisc add dev {card} root {bucket}");
        }
        lines
    }
}

/// What the bucket of a link holds.
pub(super) fn burst_bytes(rate_mbit: f64) -> f64 {
    (rate_mbit * 1e6 / 8.0 * BURST_S).max(LEAST_BURST_BYTES)
}

/// The hardware address of a card.
fn hardware_address(host: u32, way: Heading) -> String {
    let card = 2 * way.axis + usize::from(way.is_up);
    format!("02:00:0a:30:{:02x}:{card:02x}", host + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hosts::OwnLink;

    const SHAPES: [(&[u32], bool); 4] =
        [(&[4], false), (&[5], true), (&[2, 2, 2], true), (&[3, 2], false)];

    /// Hosts of a shape whose named links, by their numbers, have values of their own.
    fn cabling(
        shape: usize,
        of_all: &Network,
        own: &[(usize, Option<f64>, Option<f64>)],
    ) -> Cabling {
        let (lengths, is_torus) = SHAPES[shape];
        let shape = Shape::new(lengths, is_torus).expect("right lengths");
        let cables = shape.cables();
        let mut links: Vec<OwnLink> = Vec::new();
        for (at, rate_mbit, delay_us) in own.iter().copied() {
            let between = cables[at % cables.len()];
            if !links.iter().any(|other| between.joins(other.between)) {
                let between = [between.high, between.low];
                links.push(OwnLink { between, rate_mbit, delay_us });
            }
        }
        let network = Network { shape: Some(shape), links, ..of_all.clone() };
        Cabling { tag: "t".to_owned(), shape, network }
    }

    /// The rate that a host is told for a card.
    fn told(lines: &str, card: &str) -> Vec<f64> {
        let start = format!("qdisc add dev {card} root tbf rate ");
        let rate = |line: &str| line.strip_prefix(&start)?.split(' ').next()?.parse().ok();
        lines.lines().filter_map(rate).collect()
    }

    fn rate() -> impl Strategy<Value = Option<f64>> {
        proptest::option::of((1_u32..1_000).prop_map(f64::from))
    }

    fn delay() -> impl Strategy<Value = Option<f64>> {
        proptest::option::of((0_u32..3).prop_map(|own| 100.0 * f64::from(own)))
    }

    proptest! {
        /// Law: at both ends of each link the kernel is told the rate, and the line the delay, that
        /// are configured, and nothing else.
        #[test]
        fn both_ends_of_each_link_are_told_what_is_configured(
            shape in 0..SHAPES.len(),
            (rate_mbit, delay_us) in (rate(), delay()),
            own in proptest::collection::vec((0_usize..100, rate(), delay()), 0..6),
        ) {
            let of_all =
                Network { rate_mbit, delay_us: delay_us.unwrap_or_default(), ..Network::default() };
            let laid = cabling(shape, &of_all, &own);
            let (ends, pairs) = (laid.delayed_ends(), laid.pairs());
            let mut delayed = 0;
            for cable in laid.shape.cables() {
                let named = laid.network.links.iter().find(|own| cable.joins(own.between));
                let rate = named.and_then(|own| own.rate_mbit).or(rate_mbit);
                let delay = named.and_then(|own| own.delay_us).or(delay_us).unwrap_or_default();
                for (host, way) in cable.ends() {
                    let bits: Vec<f64> = rate.iter().map(|mbit| mbit * 1e6).collect();
                    prop_assert_eq!(told(&laid.buckets(host), &card(way)), bits);
                    let (namespace, card) = (laid.namespace(host), card(way));
                    let of_line = ends.iter().find(|end| {
                        end.namespace == namespace && end.card == card
                    });
                    let of_line = of_line.map_or(0.0, |end| end.delay_us);
                    prop_assert!((of_line - delay).abs() < 1e-9, "{cable:?}: {of_line}");
                    let pair = format!("name {card} address {} netns {namespace}\n",
                        hardware_address(host, way));
                    let is_pair = pairs.contains(pair.trim_end());
                    prop_assert_eq!(is_pair, delay == 0.0, "{:?}: {}", cable, pairs);
                    delayed += usize::from(delay > 0.0);
                }
            }
            prop_assert_eq!(ends.len(), delayed);
            let delays_us: Vec<_> = ends.iter().map(|end| end.delay_us.to_bits()).collect();
            prop_assert!(delays_us.chunks(2).all(|both| both[0] == both[1]));
        }
    }

    #[test]
    fn a_host_between_both_kinds_of_cable_is_told_of_each_in_its_way() {
        let laid = cabling(0, &Network::default(), &[(1, None, Some(500.0))]);
        let told = laid.settings(1);
        assert!(told.contains("neighbour add 10.48.0.1 "), "to the left by its address: {told}");
        assert!(!told.contains("neighbour add 10.48.0.3 "), "to the right there is none: {told}");
        assert!(told.contains("route add 10.48.0.1/32 via 10.48.0.1 onlink dev x-down "), "{told}");
        for right in ["10.48.0.3", "10.48.0.4"] {
            assert!(told.contains(&format!("route add {right}/32 dev x-up ")), "{told}");
        }
    }
}
