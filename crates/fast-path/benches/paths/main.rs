//! What do the fast paths cost beside the plain ones?
//!
//! With a word after `--` it measures one group: `message`, with frames, or `dispatch`, the calls
//! of code that knows nothing of this.
//!
//! Each repetition has all paths in turn, so that what else the machine does meets all of them; a
//! row is the median over the repetitions of the median, and of the 99th percentile, within each.
//! `cargo bench -p tidings-fast-path`; with `cargo test` each path runs a few times. Caller and
//! service are bound to two cores; where there is one, the service's paths run in place, which the
//! first line says, and their ratios say what that is worth.
//!
//! - `send`: a datagram of 44 bytes to a socket of this machine that takes what it can. *caller* is
//!   the time until the caller goes on, *done* that until the kernel has the datagram;
//! - `bulk`: 32 datagrams of 1,200 bytes, by one call and one by one;
//! - `call`: getppid, and a write of 64 bytes to /dev/null; getppid of code that knows nothing of
//!   this, dispatched, and beside it answered by a supervisor of seccomp;
//! - `message`: to a responder in another network namespace and back, an addition; and the program
//!   that does it, run alone by the kernel;
//! - `frame`: the same datagram over that wire, sent and as a frame that is made but for its bytes;
//! - `space`: to attach it in a fresh process, beside a mapping of as much memory anywhere; to read
//!   a cell of 64 bytes beside as many bytes that nobody changes, while its writer in another
//!   process does nothing, and while it writes without a pause;
//! - `pages`: to fill 64 MiB, and a million additions at random places in it, on small and on large
//!   pages; and how much of it the kernel put on large ones.

mod clock;
mod memory;
mod messages;
#[cfg(target_arch = "x86_64")]
mod unmodified;

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::AsFd;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tidings_fast_path::{FireError, Post, Routine, Service, Settings, Way};

use crate::clock::{Rows, SERVICE_CORE, timed};

const DATAGRAM: [u8; 44] = [7; 44];
const SEGMENT: usize = 1_200;
const SEGMENTS: usize = 32;

/// How much is measured.
#[derive(Clone, Copy)]
struct Sizes {
    repetitions: usize,
    calls: usize,
}

fn main() {
    if memory::is_a_process_of_the_group() {
        return;
    }
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let full = std::env::args().any(|argument| argument == "--bench");
    let sizes = if full {
        Sizes { repetitions: 15, calls: 20_000 }
    } else {
        Sizes { repetitions: 1, calls: 20 }
    };
    let core = cores();
    #[cfg(target_arch = "x86_64")]
    if unmodified::is_measured_here(core) {
        return;
    }
    let mut rows = Rows::default();
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    for repetition in 0..sizes.repetitions {
        // Before this process has a service, which would share its core with theirs.
        #[cfg(target_arch = "x86_64")]
        if only.as_deref() != Some("message") {
            unmodified::calls(core, sizes.calls / 10, &mut rows);
        }
        if only.as_deref() != Some("dispatch") {
            messages::rows(core, sizes.calls, &mut rows);
        }
        match only.as_deref() {
            Some("message") => {}
            Some("dispatch") => plain_call(sizes.calls, &mut rows),
            _ => served(core, repetition == 0, full, sizes.calls, &mut rows),
        }
    }
    print!("{rows}");
}

/// What a service is needed for, or is beside.
fn served(core: Option<usize>, first: bool, full: bool, count: usize, rows: &mut Rows) {
    let service = Service::best(Settings { core, spins: 10_000 });
    if first {
        match service.way() {
            Way::Shipped => println!("calls are shipped to a core of their own"),
            Way::InPlace(why) => println!("calls run in place: {why}"),
        }
    }
    sends(&service, count, rows);
    bulks(&service, count / 20 + 1, rows);
    calls(&service, count, rows);
    memory::spaces(count, rows);
    memory::pages(&service, if full { 64 << 20 } else { 4 << 20 }, rows);
}

/// Binds this thread to the last core that it may use; the first is for the service.
fn cores() -> Option<usize> {
    let all = match std::env::var(SERVICE_CORE) {
        // A process that this one started has one core only, and the same service core.
        Ok(first) => return first.parse().ok(),
        Err(_) => sched_getaffinity(None).ok()?,
    };
    let mut allowed = (0..CpuSet::MAX_CPU).filter(|&core| all.is_set(core));
    let first = allowed.next()?;
    let last = allowed.next_back()?;
    let mut own = CpuSet::new();
    own.set(last);
    sched_setaffinity(None, &own).ok()?;
    (first != last).then_some(first)
}

/// A socket that is connected to one that nobody reads: what comes is dropped when it is full.
fn connected() -> (UdpSocket, UdpSocket) {
    let to = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let from = UdpSocket::bind("127.0.0.1:0").expect("a port");
    from.connect(to.local_addr().expect("bound")).expect("an address");
    (from, to)
}

fn sends(service: &Service, count: usize, rows: &mut Rows) {
    let (from, _to) = connected();
    let plain = timed(count, || drop(from.send(&DATAGRAM)));
    rows.add("send, plain", &plain, None);
    let routine = Routine::datagram(from, None).expect("they fit");
    let mut post = service.post(256, vec![routine]).expect("a lane");
    let done = timed(count, || {
        let ticket = post.fire(0, &DATAGRAM).expect("the last one is done");
        let _ = post.wait(ticket);
    });
    rows.add("send, curried: done", &done, Some("send, plain"));
    rows.add("send, curried: caller", &fired(&mut post, count), Some("send, plain"));
}

/// The time of the caller alone, in rounds that the lane has room for.
fn fired(post: &mut Post, count: usize) -> Vec<u64> {
    let mut all = Vec::with_capacity(count);
    let mut last = None;
    while all.len() < count {
        all.extend(timed(32, || match post.fire(0, &DATAGRAM) {
            Ok(ticket) => last = Some(ticket),
            Err(FireError::Full) => {}
            Err(other) => panic!("{other}"),
        }));
        if let Some(ticket) = last {
            let _ = post.wait(ticket);
        }
    }
    all
}

fn bulks(service: &Service, count: usize, rows: &mut Rows) {
    let (from, _to) = connected();
    let bytes = [7; SEGMENT];
    let plain = timed(count, || {
        for _ in 0..SEGMENTS {
            drop(from.send(&bytes));
        }
    });
    rows.add("bulk, 32 plain sends", &plain, None);
    let routine = Routine::bulk(from, None, SEGMENT as u16, SEGMENT * SEGMENTS).expect("they fit");
    let mut post = service.post(2, vec![routine]).expect("a lane");
    let whole = timed(count, || {
        let ticket = post.fire_buffer(0, |buffer| buffer.len()).expect("the last one is done");
        let _ = post.wait(ticket);
    });
    rows.add("bulk, one curried call: done", &whole, Some("bulk, 32 plain sends"));
}

fn plain_call(count: usize, rows: &mut Rows) {
    let plain = timed(count, || {
        std::hint::black_box(rustix::process::getppid());
    });
    rows.add("getppid, plain", &plain, None);
}

fn calls(service: &Service, count: usize, rows: &mut Rows) {
    plain_call(count, rows);
    let mut shipper = service.shipper().expect("a lane");
    let times = timed(count, || {
        std::hint::black_box(shipper.parent());
    });
    rows.add("getppid, shipped", &times, Some("getppid, plain"));
    let null = File::options().write(true).open("/dev/null").expect("it is everywhere");
    let bytes = [7; 64];
    let plain = timed(count, || {
        let _ = rustix::io::write(&null, &bytes);
    });
    rows.add("write, plain", &plain, None);
    let times = timed(count, || drop(shipper.write(null.as_fd(), &bytes)));
    rows.add("write, shipped", &times, Some("write, plain"));
}
