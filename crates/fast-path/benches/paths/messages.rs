//! What a message to another network namespace costs until its answer is there: by threads, and in
//! the soft interrupt; and what the program alone takes for a merge.
//!
//! There is no wire: a frame is handed to the other side on the caller's core. So the soft
//! interrupt of both sides runs inside the call that sends, and what is measured is the path of the
//! software.

#[path = "../../tests/active/veth.rs"]
mod veth;

use std::net::{SocketAddr, UdpSocket};

use tidings_fast_path::active::message::MOST_MERGED;
use tidings_fast_path::active::path::{Path, RingPath, SocketPath};
use tidings_fast_path::active::{ActiveError, Caller, Change, Responder, Session, Settings};
use tidings_fast_path::frame::Ends;
use tidings_fast_path::{Handover, Routine, Service};

use crate::clock::{Rows, timed};
use veth::{INTERFACE, Side, Wire, ends, settings};

const WORDS: usize = 4096;
const DATAGRAM: [u8; 44] = [7; 44];
const PLAIN: &str = "message: threads that spin";

/// All rows, on a thread of its own, which leaves this thread's network as it was.
pub(crate) fn rows(core: Option<usize>, count: usize, rows: &mut Rows) {
    std::thread::scope(|scope| scope.spawn(|| measure(core, count, rows)).join())
        .expect("it does not panic");
}

fn measure(core: Option<usize>, count: usize, rows: &mut Rows) {
    let Some(wire) = Wire::new() else {
        println!(
            "messages and frames: not to be had here: they take network namespaces, which take root"
        );
        return;
    };
    frames(&wire, count, rows);
    let there = settings(WORDS, core);
    let socket = |session: &Session, sleeps| {
        wire.on(Side::Here, || SocketPath::open(session, sleeps)).expect("a way")
    };
    let start = |start: fn(&Settings) -> Result<Responder, ActiveError>| {
        wire.on(Side::There, || start(&there)).expect("root may")
    };
    let spinning = start(Responder::spinning);
    let times = adds(&spinning, |session| socket(session, false), count);
    rows.add(PLAIN, &times, None);
    drop(spinning);
    let blocking = start(Responder::blocking);
    let times = adds(&blocking, |session| socket(session, true), count / 20 + 1);
    rows.add("message: threads that sleep", &times, Some(PLAIN));
    drop(blocking);
    let program = start(Responder::soft_interrupt);
    let times = adds(&program, |session| socket(session, false), count);
    rows.add("message: soft interrupt, and a socket", &times, Some(PLAIN));
    let ring = |session: &Session| {
        wire.on(Side::Here, || RingPath::open(session, INTERFACE, &ends())).expect("root may")
    };
    let times = adds(&program, ring, count);
    rows.add("message: soft interrupt, and a ring", &times, Some(PLAIN));
    alone(&program, count, rows);
}

/// Datagrams of 44 bytes to a socket over the wire that takes what it can: sent, and as frames, of
/// which the first routine has the ring of the interface and the second makes a call for each.
fn frames(wire: &Wire, count: usize, rows: &mut Rows) {
    let to = wire.on(Side::There, || UdpSocket::bind("10.77.0.1:0")).expect("a port");
    let SocketAddr::V4(address) = to.local_addr().expect("bound") else { return };
    let from = wire.on(Side::Here, || UdpSocket::bind("10.77.0.2:0")).expect("a port");
    from.connect(address).expect("a way");
    let plain = "frame: a datagram, sent";
    rows.add(plain, &timed(count, || drop(from.send(&DATAGRAM))), None);
    let ends = Ends { from: "10.77.0.2:4000".parse().expect("an address"), to: address, ..ends() };
    let made = || wire.on(Side::Here, || Routine::frame(INTERFACE, &ends)).expect("root may");
    let routines = [made(), made()];
    for routine in routines {
        let name = match routine.handover() {
            Some(Handover::Ring) => "frame: by a ring (AF_XDP)",
            _ => "frame: by a call (AF_PACKET)",
        };
        let mut post =
            Service::in_place("the caller is timed").post(2, vec![routine]).expect("a lane");
        let times = timed(count, || {
            let _ = post.fire(0, &DATAGRAM);
        });
        rows.add(name, &times, Some(plain));
    }
}

fn adds<P: Path>(responder: &Responder, way: impl FnOnce(&Session) -> P, count: usize) -> Vec<u64> {
    let session = responder.open().expect("a session");
    let mut caller = Caller::new(session, way(&session));
    timed(count, || {
        caller.call(0, Change::Add(1)).expect("it answers");
    })
}

/// What the program is run on, without a frame that came.
const ALONE: [&str; 4] = [
    "program: a frame that passes",
    "program: an addition",
    "program: a merge of 128 words, none raised",
    "program: a merge of 128 words, each raised",
];

/// The program by the kernel's clock, which is in all of these: what a frame that passes takes is
/// to be taken off.
fn alone(responder: &Responder, count: usize, rows: &mut Rows) {
    let session = responder.open().expect("a session");
    let from = Ends { to: responder.address(), ..ends() };
    let mut sequence = 0;
    for (kind, name) in ALONE.into_iter().enumerate() {
        let mut run = |round: u64| {
            sequence += 1;
            let height = if kind == 3 { round << 32 } else { 0 };
            let words: [u64; MOST_MERGED] = std::array::from_fn(|at| height | at as u64);
            let change = if kind < 2 { Change::Add(1) } else { Change::Merge(&words) };
            let mut frame = session.frame(&from, sequence, 0, change);
            if kind == 0 {
                frame[12] = 0xff; // of no kind that there is
            }
            u64::from(responder.try_frame(&mut frame).expect("it was loaded").1)
        };
        let times: Vec<u64> = (1..=count.max(1) as u64).map(&mut run).collect();
        rows.add(name, &times, None);
    }
}
