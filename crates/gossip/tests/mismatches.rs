//! Nodes that are configured differently: each side notices, few rejects are sent, none is believed
//! that nobody can have caused, and nothing else follows from one.

mod cluster;
mod pair;

use cluster::{UNIT, address, config, member};
use pair::{NOW, Pair, body, datagram_of, id, keys, make, pair, stamp};
use tidings_gossip::mismatch::{Difference, ROWS, Side};
use tidings_gossip::wire::header::Kind;
use tidings_gossip::wire::reject;
use tidings_gossip::{Address, Event, Heard, Incarnation, Instant, Node};

/// What the node has to send that is no more than rejects.
fn rejects(node: &mut Node, now: Instant) -> Vec<(Address, Vec<u8>)> {
    let mut buffer = vec![0; 65_507];
    let mut sent = Vec::new();
    while let Some(out) = node.poll_transmit(now, &mut buffer) {
        if reject::is_reject(&buffer[..out.bytes]) {
            sent.push((out.to, buffer[..out.bytes].to_vec()));
        }
    }
    sent
}

fn seen(node: &Node, now: Instant) -> Vec<(Difference, Side, Address, u64)> {
    let rows = node.mismatches(now);
    rows.map(|row| (row.difference, row.side, row.address, row.count)).collect()
}

fn events(node: &mut Node) -> usize {
    std::iter::from_fn(|| node.poll_event())
        .filter(|event| matches!(event, Event::Mismatch(..)))
        .count()
}

/// Two nodes of which the second seals with another key.
fn strangers() -> Pair {
    let config = config(3);
    Pair {
        victim: make(&config, 0, keys(1), 1),
        sender: make(&config, 1, keys(2), 1),
        keys: keys(1),
    }
}

#[test]
fn both_sides_of_another_key_learn_of_it_once() {
    let mut pair = strangers();
    let datagram = datagram_of(&mut pair.sender);
    for _ in 0..5 {
        pair.feed(&datagram);
    }
    assert_eq!(seen(&pair.victim, NOW), [(Difference::Key, Side::Here, address(1), 5)]);
    assert_eq!(events(&mut pair.victim), 1, "however often");
    let sent = rejects(&mut pair.victim, NOW);
    let [(to, reject)] = &sent[..] else { panic!("one reject: {sent:?}") };
    assert_eq!((*to, reject.len() < datagram.len()), (address(1), true));
    pair.sender.handle_datagram(NOW, address(0), &mut reject.clone());
    assert_eq!(seen(&pair.sender, NOW), [(Difference::Key, Side::There, address(0), 1)]);
    assert_eq!(events(&mut pair.sender), 1);
    assert_eq!(rejects(&mut pair.sender, NOW), [], "a reject is not answered");
    let later = NOW + tidings_gossip::mismatch::PRESENT;
    assert_eq!(seen(&pair.victim, later), [], "it is over");
}

#[test]
fn each_difference_has_its_name() {
    let mut pair = pair();
    let window = body(&[(id(1), stamp(1, 3), 0)]);
    let good = pair.sealed(&window, |_| {});
    let mut version = good.clone();
    version[2] = 9;
    let schema = pair.sealed(&[&[1, 0, 9, 0][..], &window[4..]].concat(), |head| head.counter = 2);
    let mut seal = good.clone();
    *seal.last_mut().expect("it has a tag") ^= 1;
    let cases = [
        (version, Difference::Version),
        (pair.sealed(&window, |head| head.cluster ^= 1), Difference::Cluster),
        (pair.sealed(&window, |head| head.key_id ^= 1), Difference::Key),
        (schema, Difference::Payload),
        (pair.sealed(&window, |head| head.sender.0 ^= 1), Difference::Roster),
        (pair.sealed(&window, |head| head.sender.0 = id(0)), Difference::Name),
        (seal, Difference::Seal),
    ];
    for (at, (datagram, difference)) in cases.into_iter().enumerate() {
        pair.feed(&datagram);
        let all = seen(&pair.victim, NOW);
        assert_eq!(all.len(), at + 1, "{difference:?}");
        assert!(all.contains(&(difference, Side::Here, address(1), 1)), "{difference:?}: {all:?}");
    }
    pair.victim.believe_up_to(Incarnation::new(50));
    pair.feed(&pair.sealed(&window, |head| head.incarnation = Incarnation::new(51)));
    let clock = (Difference::Clock, Side::Here, address(1), 1);
    assert!(seen(&pair.victim, NOW).contains(&clock));
}

#[test]
fn what_a_node_sent_itself_is_no_mismatch() {
    let mut pair = pair();
    let mut own = vec![0; 65_507];
    pair.sender.handle_timeout(NOW);
    let out = pair.sender.poll_transmit(NOW, &mut own).expect("a round");
    let mut echo = own[..out.bytes].to_vec();
    pair.sender.handle_datagram(NOW, address(2), &mut echo);
    assert_eq!(seen(&pair.sender, NOW), []);
    // What an earlier life sent arrives late, from the address of both.
    let mut life = make(&config(3), 1, keys(1), 2);
    life.handle_datagram(NOW, address(1), &mut own[..out.bytes].to_vec());
    assert_eq!(seen(&life, NOW), []);
}

#[test]
fn who_has_seen_nothing_cannot_forge_a_reject() {
    let mut pair = strangers();
    let datagram = datagram_of(&mut pair.sender);
    pair.feed(&datagram);
    let (_, true_one) = rejects(&mut pair.victim, NOW).pop().expect("one");
    let mut forged = true_one.clone();
    forged[16] ^= 1; // the salt
    let mut ahead = true_one.clone();
    ahead[25] = 1; // the number of a datagram that was not made yet
    let mut odd = true_one.clone();
    odd[28] = 99;
    let short = true_one[..reject::BYTES - 1].to_vec();
    for mut bytes in [forged, ahead, odd, short] {
        pair.sender.handle_datagram(NOW, address(0), &mut bytes);
    }
    assert_eq!(pair.sender.counters().dropped_reject, 4);
    assert_eq!(seen(&pair.sender, NOW), []);
}

/// A flood from ever other addresses has few answers, none larger than what came.
#[test]
fn a_flood_is_answered_by_few_rejects_and_fills_no_memory() {
    let mut pair = strangers();
    let datagram = datagram_of(&mut pair.sender);
    let (mut sent, mut now) = (0, NOW);
    for number in 0..20_000_u32 {
        let from = Address::from_bytes(&number.to_le_bytes()).expect("short");
        pair.victim.handle_datagram(now, from, &mut datagram.clone());
        sent += rejects(&mut pair.victim, now).iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        now = now + UNIT / 1000;
    }
    assert!(seen(&pair.victim, now).len() <= ROWS);
    assert!(sent <= (16 + 4 * 21) * reject::BYTES, "{sent} bytes in 20 units");
    assert!(sent > 0);
    let received = 20_000 * datagram.len();
    assert!(sent * 100 < received);
}

/// A node with which nobody shares a roster, and a checker with this key.
fn checked(key: u8) -> (Node, Heard) {
    checked_by(key, tidings_gossip::Checker::LEAST_BYTES)
}

/// The same with a check of so many bytes.
fn checked_by(key: u8, bytes: usize) -> (Node, Heard) {
    let config = config(3);
    let alone = |n: usize, key: u8| {
        Node::new(config.clone(), keys(key), member(n), &[], Incarnation::new(1), n as u64, NOW)
            .expect("valid")
    };
    let (mut there, mut here) = (alone(0, 1), alone(1, key));
    there.set_clock(NOW, 1_800_000_000_000_000);
    let mut checker = here.checker();
    let mut datagram = vec![0; bytes];
    checker.write(77, &mut datagram);
    there.handle_datagram(NOW, address(1), &mut datagram);
    let mut buffer = vec![0; 65_507];
    let heard = loop {
        let out = there.poll_transmit(NOW, &mut buffer).expect("something comes back");
        if let Some(heard) = checker.read(&mut buffer[..out.bytes].to_vec()) {
            assert!(out.bytes <= datagram.len(), "nobody has more sent than he sends");
            break heard;
        }
    };
    assert_eq!(checker.read(&mut b"Tg\x01\x0c and nothing more that counts".to_vec()), None);
    (there, heard)
}

#[test]
fn a_check_is_answered_or_rejected_and_makes_nobody_a_member() {
    let (there, heard) = checked(1);
    let Heard::Answer(answer) = heard else { panic!("the keys are the same: {heard:?}") };
    assert_eq!((answer.token, answer.members, answer.from), (77, 1, address(1)));
    assert_eq!(answer.wall_micros, Some(1_800_000_000_000_000));
    assert_eq!(there.members(), 1);
    let (there, heard) = checked(2);
    let Heard::Reject(reject) = heard else { panic!("the keys differ: {heard:?}") };
    assert_eq!((reject.difference, there.members()), (Difference::Key, 1));
}

#[test]
fn a_check_with_room_is_answered_with_the_keys() {
    let (there, heard) = checked_by(1, tidings_gossip::Checker::LEAST_BYTES_WITH_KEYS);
    let Heard::Answer(answer) = heard else { panic!("the keys are the same: {heard:?}") };
    assert_eq!(answer.keys.fingerprints(), there.key_fingerprints());
    assert_eq!(answer.keys.fingerprints().len(), 1);
    let Heard::Answer(answer) = checked(1).1 else { panic!("the keys are the same") };
    assert_eq!(answer.keys.fingerprints(), [], "no room");
}

/// Recorded checks get so many answers and no more.
#[test]
fn checks_are_answered_at_a_pace() {
    let mut there = make(&config(3), 0, keys(1), 1);
    let mut checker = make(&config(3), 1, keys(1), 1).checker();
    let mut recorded = vec![0; tidings_gossip::Checker::LEAST_BYTES];
    checker.write(1, &mut recorded);
    let (mut buffer, mut answers) = (vec![0; 65_507], 0);
    for _ in 0..1000 {
        there.handle_datagram(NOW, address(2), &mut recorded.clone());
        while let Some(out) = there.poll_transmit(NOW, &mut buffer) {
            answers += usize::from(buffer[3] == Kind::Checked as u8);
            assert!(out.bytes <= recorded.len() || buffer[3] != Kind::Checked as u8);
        }
    }
    assert_eq!(answers, 256);
    assert_eq!(there.counters().dropped_excess, 1000 - 256);
}
