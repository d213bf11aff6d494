//! Frames over the wire, handed over by a ring or by calls: whole, in order, and none lost by us.

use std::net::UdpSocket;
use std::time::Duration;

use tidings_fast_path::{FireError, Handover, Progress, Routine, Service, Settings};

use crate::veth::{INTERFACE, Side, Wire, ends};

/// More than the ring has places for, and as many as the receiver's buffer takes.
const FRAMES: u64 = 200;
const ROUNDS: u64 = 6;

/// Fires frames as fast as the lane takes them, and reads them when all are sent.
fn in_order(service: &Service, routine: Routine, to: &UdpSocket) {
    let mut post = service.post(4, vec![routine]).expect("a lane");
    let mut bytes = [0; 64];
    for round in 0..ROUNDS {
        let mut last = None;
        for number in 0..FRAMES {
            let number = (round * FRAMES + number).to_le_bytes();
            last = loop {
                match post.fire(0, &number) {
                    Ok(ticket) => break Some(ticket),
                    Err(FireError::Full) => std::thread::yield_now(),
                    Err(other) => panic!("{other}"),
                }
            };
        }
        let last = post.wait(last.expect("some were fired"));
        assert!(matches!(last, Progress::Done(Ok(8))), "{last:?}");
        for number in 0..FRAMES {
            assert_eq!(to.recv(&mut bytes).expect("it came"), 8);
            assert_eq!(bytes[..8], (round * FRAMES + number).to_le_bytes());
        }
    }
    assert_eq!(post.failures().0, 0);
}

#[test]
fn frames_by_a_ring_and_by_calls_come_whole_and_in_order() {
    let Some(wire) = Wire::new() else { return };
    let to = wire.on(Side::There, || UdpSocket::bind("10.77.0.1:0")).expect("a port");
    to.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    let address = to.local_addr().expect("bound").to_string().parse().expect("of IPv4");
    let from = "10.77.0.2:4000".parse().expect("an address");
    let ends = tidings_fast_path::frame::Ends { from, to: address, ..ends() };
    let routine = || wire.on(Side::Here, || Routine::frame(INTERFACE, &ends)).expect("root may");
    let ring = routine();
    assert_eq!(ring.handover(), Some(Handover::Ring));
    let calls = routine();
    let Some(Handover::Call(why)) = calls.handover() else { panic!("one ring for a queue") };
    assert!(why.contains("AF_XDP"), "{why}");
    let settings = Settings { core: None, spins: 100 };
    let service = Service::start_anyway(settings).expect("a thread");
    in_order(&service, ring, &to);
    in_order(&service, calls, &to);
    in_order(&Service::in_place("the test asks for it"), routine(), &to);
}
