//! Probes and proofs that are not what they seem: each is dropped or comes to nothing.
//!
//! Who has no key achieves nothing. Who has it may lie about himself, and is not believed about
//! more than that: a proof is no larger than the probe, goes to where the prober is known to be,
//! and never brings back who is dead.

mod cluster;

use cluster::{UNIT, address, config, member, name};
use sha2::{Digest, Sha256};
use tidings_gossip::wire::header::{self, Header, Kind};
use tidings_gossip::wire::keys::TAG_BYTES;
use tidings_gossip::{
    Address, Config, EntryState, Event, Incarnation, Instant, Key, KeyRing, Member, Node, NodeId,
    Stamp,
};

const NODES: usize = 4;

const KEY: [u8; 32] = [7; 32];

fn keys() -> KeyRing {
    KeyRing::new(&[Key::from_bytes(KEY)]).expect("one key")
}

fn make(n: usize, roster: &[Member]) -> Node {
    let mut config: Config = config(NODES);
    config.death_after = Some(UNIT * 8);
    Node::new(config, keys(), member(n), roster, Incarnation::new(1), n as u64, Instant::EPOCH)
        .expect("the configuration is valid")
}

fn id(n: usize) -> NodeId {
    NodeId::of_name(&name(n), 0)
}

/// The node that is attacked, number 0 of four, and who seals with the cluster's key.
struct Attack {
    victim: Node,
    now: Instant,
    sealed: u64,
}

impl Attack {
    fn new(roster: bool) -> Self {
        let roster: Vec<Member> = (0..NODES * usize::from(roster)).map(member).collect();
        Self { victim: make(0, &roster), now: Instant::EPOCH + UNIT, sealed: 0 }
    }

    /// A datagram of node `sender` with the next number.
    fn datagram(&mut self, kind: Kind, sender: usize, body: &[u8]) -> Vec<u8> {
        self.sealed += 1;
        let head = Header {
            version: 1,
            kind,
            cluster: header::cluster_hash("tidings"),
            sender: id(sender),
            incarnation: Incarnation::new(1),
            key_id: Sha256::digest([b"tidings key id", &KEY[..]].concat())[0] % 255 + 1,
            salt: 7 + sender as u64,
            counter: self.sealed,
        };
        let mut datagram = head.to_bytes().to_vec();
        datagram.extend_from_slice(body);
        datagram.resize(datagram.len() + TAG_BYTES, 0);
        keys().seal(&mut datagram);
        datagram
    }

    /// Hands it in; returns the counter of what it was dropped for, if it was.
    fn feed(&mut self, datagram: &[u8]) -> Option<&'static str> {
        let dropped = |node: &Node| -> Vec<(&'static str, u64)> {
            let counters = node.counters().iter().map(|(name, _, value)| (name, value));
            counters.filter(|(name, _)| name.starts_with("dropped_")).collect()
        };
        let before = dropped(&self.victim);
        self.victim.handle_datagram(self.now, address(3), &mut datagram.to_vec());
        let after = dropped(&self.victim);
        before
            .iter()
            .zip(&after)
            .find(|(before, after)| before != after)
            .map(|(_, (name, _))| *name)
    }

    /// Datagrams of a kind that the victim has to send: where to, and how long.
    fn sends(&mut self, kind: Kind) -> Vec<(Address, usize)> {
        let mut buffer = vec![0; 65_507];
        let mut all = Vec::new();
        while let Some(out) = self.victim.poll_transmit(self.now, &mut buffer) {
            if buffer[3] == kind as u8 {
                all.push((out.to, out.bytes));
            }
        }
        all
    }

    fn state(&self, n: usize) -> Option<EntryState> {
        self.victim.entry(&name(n), self.now).map(|entry| entry.state)
    }

    /// Has the victim believe that node 1, which it has heard, is dead.
    fn kill_one(&mut self) {
        let news = self.datagram(Kind::Window, 1, &window(1, Stamp::new(Incarnation::new(1), 5)));
        assert_eq!(self.feed(&news), None);
        let end = self.now + UNIT * 40;
        while self.state(1) != Some(EntryState::Dead) {
            assert!(self.now < end, "a node that never answers dies");
            self.now = self.victim.poll_timeout();
            self.victim.handle_refused(self.now, address(1));
            self.victim.handle_timeout(self.now);
            self.sends(Kind::Window);
        }
        while self.victim.poll_event().is_some() {}
    }
}

fn entry(of: usize, stamp: Stamp) -> Vec<u8> {
    let stamp = (u64::from(stamp.incarnation().get()) << 24) | u64::from(stamp.sequence());
    [&id(of).0.to_le_bytes()[..], &stamp.to_le_bytes()[..6], &[0, 0], &[0xEE; 8]].concat()
}

fn window(of: usize, stamp: Stamp) -> Vec<u8> {
    [&[1, 0, 8, 0, 1, 0][..], &entry(of, stamp)].concat()
}

/// The body of a probe or a proof about `target`, with the entry of `of`.
fn body(for_another: bool, target: usize, of: usize, stamp: Stamp) -> Vec<u8> {
    let head = [1, u8::from(for_another), 8, 0];
    [&head[..], &id(target).0.to_le_bytes(), &[0; 6], &entry(of, stamp)].concat()
}

fn stamp(sequence: u32) -> Stamp {
    Stamp::new(Incarnation::new(1), sequence)
}

#[test]
fn a_proof_is_as_long_as_the_probe_and_goes_to_the_member() {
    let mut attack = Attack::new(true);
    let probe = attack.datagram(Kind::Probe, 1, &body(false, 0, 1, stamp(1)));
    // It arrives from the address of node 3.
    assert_eq!(attack.feed(&probe), None);
    assert_eq!(attack.sends(Kind::Proof), [(address(1), probe.len())]);
    assert_eq!(attack.feed(&probe), Some("dropped_replayed"));
    assert_eq!(attack.sends(Kind::Proof), []);
}

#[test]
fn who_asks_for_a_probe_of_another_gets_no_more_than_one() {
    let mut attack = Attack::new(true);
    let probe = attack.datagram(Kind::Probe, 1, &body(true, 2, 1, stamp(1)));
    assert_eq!(attack.feed(&probe), None);
    assert_eq!(attack.sends(Kind::Probe), [(address(2), probe.len())]);
    // Whoever is no member is not probed for anybody.
    let probe = attack.datagram(Kind::Probe, 1, &body(true, 77, 1, stamp(2)));
    assert_eq!(attack.feed(&probe), None);
    assert_eq!(attack.sends(Kind::Probe), []);
    // Nor is anybody without being asked to.
    let probe = attack.datagram(Kind::Probe, 1, &body(false, 2, 1, stamp(3)));
    assert_eq!(attack.feed(&probe), None);
    assert_eq!((attack.sends(Kind::Probe), attack.sends(Kind::Proof)), (vec![], vec![]));
}

#[test]
fn strangers_get_no_proof() {
    for (roster, counter) in [(true, Some("dropped_unknown_sender")), (false, None)] {
        let mut attack = Attack::new(roster);
        let probe = attack.datagram(Kind::Probe, 77, &body(false, 0, 77, stamp(1)));
        assert_eq!(attack.feed(&probe), counter);
        assert_eq!(attack.sends(Kind::Proof), []);
    }
}

#[test]
fn of_a_wrong_length_or_schema() {
    for kind in [Kind::Probe, Kind::Proof] {
        let mut attack = Attack::new(true);
        let good = body(false, usize::from(kind == Kind::Proof), 1, stamp(1));
        for len in 0..good.len() {
            let cut = attack.datagram(kind, 1, &good[..len]);
            assert_eq!(attack.feed(&cut), Some("dropped_malformed"), "{len}");
        }
        let longer = attack.datagram(kind, 1, &[&good[..], &[0]].concat());
        assert_eq!(attack.feed(&longer), Some("dropped_malformed"));
        for at in [0, 2] {
            let mut other = good.clone();
            other[at] += 1;
            let other = attack.datagram(kind, 1, &other);
            assert_eq!(attack.feed(&other), Some("dropped_schema"));
        }
        assert_eq!(attack.state(1), Some(EntryState::Unheard));
        let good = attack.datagram(kind, 1, &good);
        assert_eq!((attack.feed(&good), attack.state(1)), (None, Some(EntryState::Alive)));
    }
}

#[test]
fn with_the_entry_of_somebody_else() {
    let mut attack = Attack::new(true);
    let probe = attack.datagram(Kind::Probe, 1, &body(false, 0, 2, stamp(1)));
    assert_eq!(attack.feed(&probe), Some("dropped_malformed"));
    let proof = attack.datagram(Kind::Proof, 1, &body(false, 1, 2, stamp(1)));
    assert_eq!(attack.feed(&proof), Some("dropped_malformed"));
    assert_eq!([1, 2].map(|n| attack.state(n)), [Some(EntryState::Unheard); 2]);
}

/// A proof that was recorded while the node lived, and held back until it was dead.
#[test]
fn a_recorded_proof_brings_nobody_back() {
    let mut attack = Attack::new(true);
    let proof = attack.datagram(Kind::Proof, 1, &body(false, 1, 1, stamp(9)));
    let by_another = attack.datagram(Kind::Proof, 2, &body(false, 1, 1, stamp(9)));
    attack.kill_one();
    for recorded in [proof, by_another] {
        attack.feed(&recorded);
        assert_eq!(attack.state(1), Some(EntryState::Dead));
        let events: Vec<Event> = std::iter::from_fn(|| attack.victim.poll_event()).collect();
        let back =
            events.iter().any(|event| matches!(event, Event::Returned(who, _) if *who == name(1)));
        assert!(!back, "{events:?}");
    }
}

/// News of a life that is held as dead is answered by telling its node, a few times a unit.
#[test]
fn news_of_the_dead_cannot_be_made_into_a_flood() {
    let mut attack = Attack::new(true);
    attack.kill_one();
    let mut reported = 0;
    for sequence in 100..1100 {
        let news = attack.datagram(Kind::Window, 2, &window(1, stamp(sequence)));
        assert_eq!(attack.feed(&news), None);
        reported += attack.sends(Kind::Probe).len();
    }
    assert_eq!(reported, 16);
    assert_eq!(attack.state(1), Some(EntryState::Dead));
}

/// Each says something newer of the victim than it has said itself: an incarnation each, no more.
#[test]
fn what_others_hold_of_it_is_overtaken_once() {
    let mut attack = Attack::new(true);
    let mut lie = body(false, 0, 1, stamp(1));
    lie[8..14].copy_from_slice(&[0xF0, 0xFF, 0xFF, 4, 0, 0]);
    let probe = attack.datagram(Kind::Probe, 1, &lie);
    assert_eq!(attack.feed(&probe), None);
    assert_eq!(attack.victim.incarnation(), Incarnation::new(5));
    let again = attack.datagram(Kind::Probe, 1, &lie);
    assert_eq!(attack.feed(&again), None);
    assert_eq!(attack.victim.incarnation(), Incarnation::new(5));
    assert_eq!(attack.victim.counters().deaths_outlived, 1);
}
