//! Bad pulls: floods, ranges that make no sense, bodies that are not well formed.

mod cluster;
mod pair;

use cluster::address;
use pair::{NOW, id, pair};
use tidings_gossip::wire::header::Kind;

/// A pull of the ids of a range, in the format of the tests' clusters.
fn pull(first: u32, last: u32, age: u16) -> Vec<u8> {
    let mut body = vec![1, 0, 8, 0];
    body.extend_from_slice(&first.to_le_bytes());
    body.extend_from_slice(&last.to_le_bytes());
    body.extend_from_slice(&age.to_le_bytes());
    body.extend_from_slice(&[0, 0]);
    body
}

/// However many pulls of whatever ranges come at once: a bounded number is answered, the rest
/// counted.
#[test]
fn pulls_in_a_flood_and_of_senseless_ranges() {
    let mut pair = pair();
    let ranges = [[0, u32::MAX], [u32::MAX, 0], [5, 5], [id(0), id(0)]];
    for at in 0..200u64 {
        let [first, last] = ranges[at as usize % ranges.len()];
        let datagram = pair.sealed(&pull(first, last, at as u16 * 300), |head| {
            (head.kind, head.counter) = (Kind::Pull, at + 1);
        });
        pair.victim.handle_datagram(NOW, address(77), &mut datagram.clone());
    }
    let mut buffer = vec![0; 65_507];
    let mut windows = 0;
    while let Some(out) = pair.victim.poll_transmit(NOW, &mut buffer) {
        assert_eq!((out.to, buffer[3]), (address(1), Kind::Window as u8), "not to the forger");
        windows += 1;
    }
    let counters = *pair.victim.counters();
    // A member's share is 64 at once; half of these are about ranges that this node is not in.
    assert_eq!((windows, counters.pulls_answered), (32, 32));
    assert_eq!((counters.dropped_misdirected, counters.dropped_excess), (32, 200 - 64));
}

#[test]
fn pulls_that_are_not_well_formed() {
    let mut pair = pair();
    for (at, cut) in (1..=16).enumerate() {
        let body = &pull(0, u32::MAX, 0)[..16 - cut];
        let datagram = pair.sealed(body, |head| {
            (head.kind, head.counter) = (Kind::Pull, at as u64 + 1);
        });
        pair.is_dropped(&datagram, "dropped_malformed");
    }
    let mut schema = pull(0, 9, 0);
    schema[0] = 9;
    let datagram = pair.sealed(&schema, |head| (head.kind, head.counter) = (Kind::Pull, 99));
    pair.is_dropped(&datagram, "dropped_schema");
}
