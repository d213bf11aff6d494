//! No two datagrams are ever sealed with one nonce under one key: the seal would break.

mod cluster;

use std::collections::BTreeSet;

use cluster::{UNIT, address, config, member};
use tidings_gossip::{Address, Incarnation, Instant, Key, KeyRing, Member, Node};

fn keys(bytes: &[u8]) -> KeyRing {
    let keys: Vec<Key> = bytes.iter().map(|&byte| Key::from_bytes([byte; 32])).collect();
    KeyRing::new(&keys).expect("one key or two")
}

fn make(n: usize, roster: &[Member], life: u32, seed: u64) -> Node {
    let life = Incarnation::new(life);
    let mut config = config(64);
    config.datagram_bytes = 300;
    Node::new(config, keys(&[1, 2]), member(n), roster, life, seed, Instant::EPOCH)
        .expect("the configuration is valid")
}

/// All datagrams a node has to send, one by one.
fn sent(node: &mut Node, now: Instant) -> Vec<(Address, Vec<u8>)> {
    let (mut buffer, mut all) = (vec![0; 4096], Vec::new());
    while let Some(out) = node.poll_transmit(now, &mut buffer) {
        let pieces = buffer[..out.bytes].chunks(out.segment_bytes);
        all.extend(pieces.map(|piece| (out.to, piece.to_vec())));
    }
    all
}

/// The nonce is bytes 4 to 27 of the header; it must be new.
fn note(nonces: &mut BTreeSet<Vec<u8>>, sent: &[(Address, Vec<u8>)]) {
    for (_, datagram) in sent {
        assert!(nonces.insert(datagram[4..28].to_vec()), "a nonce came twice");
    }
}

/// Rounds of several datagrams, asks and answers, keys changed and changed back, a new incarnation
/// and a farewell; then other lives, one of them with the incarnation of the first.
#[test]
fn every_nonce_is_new_through_all_that_a_node_does() {
    let mut nonces = BTreeSet::new();
    let roster: Vec<Member> = (0..64).map(member).collect();
    for (life, seed) in [(1, 1), (1, 2), (2, 3)] {
        let (mut node, mut other) = (make(0, &roster, life, seed), make(1, &roster, 9, seed));
        for unit in 1..200 {
            let now = Instant::EPOCH + UNIT * unit;
            match unit {
                50 => node.set_keys(keys(&[2, 1])),
                100 => node.set_keys(keys(&[1, 2])),
                150 => node.set_roster(&roster[..40], now).expect("a shorter roster"),
                _ => {}
            }
            for n in [&mut node, &mut other] {
                n.handle_timeout(now);
            }
            for (_, mut datagram) in sent(&mut other, now) {
                node.handle_datagram(now, address(1), &mut datagram);
            }
            let all = sent(&mut node, now);
            note(&mut nonces, &all);
            for (_, mut datagram) in all {
                other.handle_datagram(now, address(0), &mut datagram);
            }
        }
        let now = Instant::EPOCH + UNIT * 200;
        node.leave(now);
        note(&mut nonces, &sent(&mut node, now));
    }
    assert!(nonces.len() > 600, "{} datagrams", nonces.len());
}
