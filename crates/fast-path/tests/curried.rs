//! Curried calls as their callers see them, on real sockets: order, back-pressure,
//! results, and the same in place.

use std::io::Read;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use tidings_fast_path::frame::Ends;
use tidings_fast_path::{
    CurryError, FireError, INLINE_BYTES, Post, Progress, Routine, Service, Settings,
};

/// The service as a thread, also on one core, and in place: all tests hold for both.
fn both() -> [Service; 2] {
    let settings = Settings { core: None, spins: 100 };
    let thread = Service::start_anyway(settings).expect("a thread can be started");
    [thread, Service::in_place("the test asks for it")]
}

fn pair() -> (UdpSocket, UdpSocket, SocketAddr) {
    let from = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let to = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = to.local_addr().expect("bound");
    (from, to, address)
}

/// Fires again while the lane is full.
fn fire(post: &mut Post, routine: usize, bytes: &[u8]) -> tidings_fast_path::Ticket {
    loop {
        match post.fire(routine, bytes) {
            Ok(ticket) => return ticket,
            Err(FireError::Full) => std::thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    }
}

fn done(progress: Progress) -> usize {
    match progress {
        Progress::Done(Ok(taken)) => taken,
        other => panic!("not done: {other:?}"),
    }
}

#[test]
fn datagrams_arrive_whole_and_in_order() {
    for service in both() {
        let (from, to, address) = pair();
        let routine = Routine::datagram(from, Some(address)).expect("they fit");
        let mut post = service.post(8, vec![routine]).expect("a lane");
        for number in 0..100u64 {
            let ticket = fire(&mut post, 0, &number.to_le_bytes());
            assert_eq!(done(post.wait(ticket)), 8);
            let mut bytes = [0; 64];
            assert_eq!(to.recv(&mut bytes).expect("it arrived"), 8);
            assert_eq!(bytes[..8], number.to_le_bytes());
        }
    }
}

/// A stream takes some KiB, then nothing until somebody reads: the lane fills up, and no byte is
/// lost or doubled, nor out of order.
#[test]
fn a_full_stream_holds_the_caller_up_and_loses_nothing() {
    const CALLS: u32 = 20_000;
    for service in both() {
        let (reader, writer) = UnixStream::pair().expect("a pair");
        let routine = Routine::write(OwnedFd::from(writer)).expect("it is for writing");
        let mut post = service.post(4, vec![routine]).expect("a lane");
        let mut refused = 0;
        let mut reader = Some(reader);
        let mut reading = None;
        for number in 0..CALLS {
            let mut bytes = [7; INLINE_BYTES];
            bytes[..4].copy_from_slice(&number.to_le_bytes());
            while let Err(error) = post.fire(0, &bytes) {
                assert_eq!(error, FireError::Full);
                refused += 1;
                std::thread::yield_now();
                // Only when it is full does anybody read.
                if let Some(mut reader) = reader.take_if(|_| number > 100) {
                    reading = Some(std::thread::spawn(move || {
                        let mut all = vec![0; CALLS as usize * INLINE_BYTES];
                        reader.read_exact(&mut all).map(|()| all)
                    }));
                }
            }
        }
        assert!(refused > 0, "the stream was never full");
        let all = reading.expect("it was full").join().expect("no panic").expect("all bytes");
        for (number, call) in all.chunks(INLINE_BYTES).enumerate() {
            assert_eq!(call[..4], (number as u32).to_le_bytes());
            assert!(call[4..].iter().all(|&byte| byte == 7));
        }
        assert_eq!(post.failures().0, 0);
    }
}

#[test]
fn a_call_that_fails_says_how_and_is_counted() {
    for service in both() {
        let (reader, writer) = UnixStream::pair().expect("a pair");
        drop(reader);
        let routine = Routine::write(OwnedFd::from(writer)).expect("it is for writing");
        let mut post = service.post(2, vec![routine]).expect("a lane");
        let ticket = fire(&mut post, 0, b"to nobody");
        let Progress::Done(Err(error)) = post.wait(ticket) else { panic!("nobody reads it") };
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
        let (failures, last) = post.failures();
        assert_eq!((failures, last.map(|error| error.kind())), (1, Some(error.kind())));
    }
}

#[test]
fn a_buffer_becomes_datagrams_and_is_not_written_while_it_is_sent() {
    for service in both() {
        let (from, to, address) = pair();
        from.connect(address).expect("an address");
        let routine = Routine::bulk(from, None, 100, 250).expect("they fit");
        let mut post = service.post(2, vec![routine]).expect("a lane");
        for round in 0..10u8 {
            let filled = |buffer: &mut [u8]| {
                buffer.fill(round);
                buffer.len()
            };
            let ticket = post.fire_buffer(0, filled).expect("the last one is done");
            assert_eq!(done(post.wait(ticket)), 250);
            for length in [100, 100, 50] {
                let mut bytes = [0; 300];
                assert_eq!(to.recv(&mut bytes).expect("it arrived"), length);
                assert!(bytes[..length].iter().all(|&byte| byte == round));
            }
        }
        let error = post.fire_buffer(0, |buffer| buffer.len() + 1).expect_err("beyond its end");
        assert_eq!(error, FireError::TooLong { bytes: 251, most: 250 });
    }
}

#[test]
fn what_cannot_be_called_is_refused_when_it_is_made() {
    let (from, _, address) = pair();
    let six = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], address.port()));
    let clone = || from.try_clone().expect("a descriptor");
    assert!(matches!(Routine::datagram(clone(), Some(six)), Err(CurryError::Family { .. })));
    assert!(matches!(Routine::datagram(clone(), None), Err(CurryError::NotConnected { .. })));
    for (segment, bytes) in [(0, 10), (10, 0), (10, 641), (1_400, 65_001)] {
        let refused = Routine::bulk(clone(), Some(address), segment, bytes);
        assert!(matches!(refused, Err(CurryError::Buffer { .. })), "{segment} {bytes}");
    }
    let null = std::fs::File::open("/dev/null").expect("it is everywhere");
    assert!(matches!(Routine::write(null.into()), Err(CurryError::NotWritable { .. })));
}

#[test]
fn what_cannot_be_fired_is_refused_and_nothing_is_sent() {
    for service in both() {
        let (from, _to, address) = pair();
        let routine = Routine::datagram(from, Some(address)).expect("they fit");
        let mut post = service.post(2, vec![routine]).expect("a lane");
        let long = [0; INLINE_BYTES + 1];
        assert_eq!(
            post.fire(0, &long),
            Err(FireError::TooLong { bytes: INLINE_BYTES + 1, most: INLINE_BYTES })
        );
        assert_eq!(post.fire(1, b""), Err(FireError::NoRoutine { routine: 1, routines: 1 }));
        assert!(service.post(3, Vec::new()).is_err(), "three lines are no lane");
    }
}

#[test]
fn what_was_fired_before_the_service_ends_is_done_and_then_nothing_is_taken() {
    let [service, _] = both();
    let (mut reader, writer) = UnixStream::pair().expect("a pair");
    let routine = Routine::write(writer.into()).expect("it is for writing");
    let mut post = service.post(64, vec![routine]).expect("a lane");
    let tickets: Vec<_> = (0..64u8).map(|number| fire(&mut post, 0, &[number])).collect();
    drop(service);
    for ticket in tickets {
        assert_eq!(done(post.progress(ticket)), 1);
    }
    assert_eq!(post.fire(0, b"late"), Err(FireError::Ended));
    drop(post);
    let mut all = Vec::new();
    reader.read_to_end(&mut all).expect("the writer is closed");
    assert_eq!(all, (0..64).collect::<Vec<u8>>());
}

/// Threads come and go: their lanes are given again.
#[test]
fn lanes_that_were_left_are_given_again() {
    let [service, _] = both();
    for _ in 0..1_000 {
        let post = loop {
            match service.post(1, Vec::new()) {
                Ok(post) => break post,
                Err(tidings_fast_path::LaneError::TooMany) => std::thread::yield_now(),
                Err(other) => panic!("{other}"),
            }
        };
        drop(post);
    }
}

/// All frames of IPv4 that the interface `lo` gets from now on.
fn frames_of_lo() -> UdpSocket {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: opens a socket, which is ours, and is used for receiving bytes alone.
    let socket = unsafe {
        let of_ip = i32::from((libc::ETH_P_IP as u16).to_be());
        let opened = libc::socket(libc::AF_PACKET, kind, of_ip);
        assert!(opened >= 0, "{}", std::io::Error::last_os_error());
        UdpSocket::from_raw_fd(opened)
    };
    // One that does not come is a failure, not a wait for ever.
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a time");
    socket
}

/// Frames take a privilege: without it that is said, with it they are on the interface as made.
/// The host itself takes no frame of a loopback address for its own, so they are looked at there.
#[test]
fn a_frame_is_sent_as_it_was_made_or_the_privilege_is_named() {
    for service in both() {
        let from = "127.0.0.1:4321".parse().expect("an address");
        let ends = Ends { hardware: [[2; 6], [4; 6]], from, to: from };
        let routine = match Routine::frame("lo", &ends) {
            Ok(routine) => routine,
            Err(error) => {
                assert!(error.to_string().contains("CAP_NET_RAW"), "{error}");
                continue;
            }
        };
        let seen = frames_of_lo();
        let mut post = service.post(8, vec![routine]).expect("a lane");
        for length in [1, 17, INLINE_BYTES] {
            let ticket = fire(&mut post, 0, &vec![length as u8; length]);
            assert_eq!(done(post.wait(ticket)), length);
            let mut bytes = [0; 2048];
            while bytes[..12] != [[4; 6], [2; 6]].concat() {
                let count = seen.recv(&mut bytes).expect("it is there");
                bytes[count..].fill(0);
            }
            assert_eq!(bytes[36..38], 4321u16.to_be_bytes(), "the port of the receiver");
            assert_eq!(bytes[38..40], (8 + length as u16).to_be_bytes());
            assert!(bytes[42..42 + length].iter().all(|&byte| byte == length as u8));
        }
    }
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let any = "127.0.0.1:9".parse().expect("an address");
    let ends = Ends { hardware: [[0; 6]; 2], from: any, to: any };
    let error = Routine::frame("none-such", &ends).expect_err("nobody has it");
    assert!(error.to_string().contains("none-such"), "{error}");
}
