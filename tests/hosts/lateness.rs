//! Datagrams that come late, out of turn, and twice: a relay stands between the hosts.

use std::net::UdpSocket;
use std::time::Duration;

use tidings_experiment::agents::Site;
use tidings_experiment::hosts::{Conduct, Hosts};

use super::{HOSTS, all};

/// Rounds of 64 ms under each conduct.
const ROUNDS: u64 = 80;

/// Long enough for a loaded machine; what has not come by then is lost.
const PATIENCE: Duration = Duration::from_secs(60);

const LATE: Conduct = Conduct { delay_ms: 50, jitter_ms: 50, double_percent: 0 };
const DOUBLED: Conduct = Conduct { delay_ms: 0, jitter_ms: 0, double_percent: 20 };

#[test]
fn datagrams_that_come_late_and_out_of_turn_kill_nobody() {
    let site = Site::new(Hosts::relayed(HOSTS, 1), &[]);
    let before = site.hosts.relay().passed();
    assert_eq!((before.doubled, before.overtaken), (0, 0), "a relay is a switch until asked");
    site.hosts.relay().conduct(LATE);
    site.pass_rounds(1, ROUNDS);
    site.until_all_know(&all());
    let passed = site.hosts.relay().passed();
    assert!(passed.overtaken > (passed.frames - before.frames) / 4, "{passed:?}");
    assert_eq!((passed.doubled, passed.overflowed), (0, 0), "{passed:?}");
    site.hosts.relay().conduct(Conduct::default());
    site.until_all_know(&all());
    // The window of each sender reaches further back than frames were overtaken.
    assert_eq!(site.count(&all(), "dropped_replayed"), 0);
    site.assert_nobody_died(&all());
    site.assert_nothing_damaged(&all());
}

#[test]
fn datagrams_that_come_twice_are_taken_once() {
    let site = Site::new(Hosts::relayed(HOSTS, 2), &[]);
    assert_eq!(site.count(&all(), "dropped_replayed"), 0);
    site.hosts.relay().conduct(DOUBLED);
    site.pass_rounds(1, ROUNDS);
    site.until_all_know(&all());
    site.hosts.relay().conduct(Conduct::default());
    site.pass_rounds(1, 3);
    let (replayed, passed) = (site.count(&all(), "dropped_replayed"), site.hosts.relay().passed());
    assert!(replayed > 0 && passed.doubled > 0, "{replayed} {passed:?}");
    // Some of what came twice was no datagram: who asks where an address is (ARP).
    assert!(replayed <= passed.doubled, "{replayed} {passed:?}");
    assert!(replayed >= passed.doubled * 9 / 10, "{replayed} {passed:?}");
    site.assert_nobody_died(&all());
    site.assert_nothing_damaged(&all());
}

#[test]
fn all_at_once_and_loss_beside_it_kill_nobody() {
    let site = Site::new(Hosts::relayed(HOSTS, 3), &[]);
    site.hosts.relay().conduct(Conduct { double_percent: 20, ..LATE });
    for host in all() {
        site.hosts.lose(host, 10);
    }
    site.pass_rounds(1, ROUNDS);
    site.until_all_know(&all());
    site.hosts.relay().conduct(Conduct::default());
    site.hosts.heal();
    site.until_all_know(&all());
    site.assert_nobody_died(&all());
    site.assert_nothing_damaged(&all());
}

/// The relay itself, on two hosts without agents: what is counted is order and number, never time.
#[test]
fn a_relay_changes_order_and_number_and_loses_nothing() {
    // So few that the receiver's buffer holds all of them, however late it is given the processor.
    const DATAGRAMS: u32 = 100;
    let hosts = Hosts::relayed(2, 4);
    let bind = |host| {
        let address = (Hosts::address(host), 9_616);
        hosts.within(host, move || UdpSocket::bind(address).expect("nobody else is there"))
    };
    let (sender, receiver) = (bind(1), bind(2));
    receiver.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
    // The first datagram waits until the hosts know where each other are.
    let send = |number: u32| {
        sender.send_to(&number.to_le_bytes(), (Hosts::address(2), 9_616)).expect("there is a way");
    };
    let receive = || {
        let mut number = [0; 4];
        receiver.recv(&mut number).expect("nothing is lost");
        u32::from_le_bytes(number)
    };
    send(0);
    assert_eq!(receive(), 0);
    hosts.relay().conduct(LATE);
    (0..DATAGRAMS).for_each(send);
    let mut heard: Vec<u32> = (0..DATAGRAMS).map(|_| receive()).collect();
    assert!(!heard.is_sorted(), "{heard:?}");
    heard.sort_unstable();
    assert_eq!(heard, (0..DATAGRAMS).collect::<Vec<_>>());
    let twice = Conduct { double_percent: 100, ..Conduct::default() };
    hosts.relay().conduct(twice);
    for number in 0..DATAGRAMS {
        send(number);
        assert_eq!([receive(), receive()], [number; 2]);
    }
}
