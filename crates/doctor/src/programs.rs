//! Programs and memory in the kernel, by bpf(2): each is loaded, run or attached, and unloaded.
//!
//! The programs are of two instructions, so that no compiler is needed: a number is returned. XDP
//! is attached to the loopback interface of a network namespace that this process makes and that
//! ends with it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::finding::Outcome;
use crate::network;
use crate::pages;
use crate::system::{Attributes, address, bpf, bpf_open};

/// Commands of bpf(2).
const MAP_CREATE: u32 = 0;
const PROG_LOAD: u32 = 5;
const PROG_TEST_RUN: u32 = 10;
const RAW_TRACEPOINT_OPEN: u32 = 17;
const LINK_CREATE: u32 = 28;

/// Kinds of programs and maps.
const SOCKET_FILTER: u32 = 1;
const XDP: u32 = 6;
const RAW_TRACEPOINT: u32 = 17;
const ARRAY: u32 = 2;
const ARENA: u32 = 33;
const MMAPABLE: u32 = 1 << 10;

/// Where a link attaches an XDP program, and that the driver need not know it.
const AT_XDP: u32 = 37;
const GENERIC: u32 = 1 << 1;

/// What an XDP program returns to drop a packet.
const DROP: u32 = 1;

/// The loopback interface, in every namespace.
const LOOPBACK_INDEX: u32 = 1;

const REMEDY: &str = "give CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN where this runs (systemd: \
    AmbientCapabilities=; a container: --cap-add), and lift a lockdown of the kernel";

/// A program that filters a socket: it is loaded and run on a packet of zeros.
pub(crate) fn filter() -> Outcome {
    match load(SOCKET_FILTER, 0).and_then(|program| run(&program)) {
        Ok(_) => Outcome::works("a program was verified, loaded and run"),
        Err(error) if classic_filter() => Outcome::degraded(
            format!("a program: {error}; only classic filters of sockets work"),
            REMEDY,
        ),
        Err(error) => Outcome::not(format!("a program: {error}"), REMEDY),
    }
}

/// A program in the soft interrupt: attached, it drops a datagram; detached, the next arrives.
pub(crate) fn xdp() -> Outcome {
    let loaded = load(XDP, DROP).and_then(|program| match run(&program)? {
        DROP => Ok(program),
        other => Err(io::Error::other(format!("it returned {other}"))),
    });
    let program = match loaded {
        Ok(program) => program,
        Err(error) => return Outcome::not(format!("a program: {error}"), REMEDY),
    };
    match drops(&program) {
        Ok(true) => Outcome::works("attached to a loopback, a program dropped a datagram"),
        Ok(false) => Outcome::not("a program was attached, and a datagram passed it", REMEDY),
        Err(error) => {
            let found = format!("a program runs in a test only; attaching it: {error}");
            Outcome::degraded(found, REMEDY)
        }
    }
}

/// Memory that programs in the kernel and this process share.
pub(crate) fn shared_map() -> Outcome {
    let page = pages::page_bytes();
    let arena = Attributes::new().with_u32(0, ARENA).with_u32(12, 1).with_u32(16, MMAPABLE);
    let array = Attributes::new().with_u32(0, ARRAY).with_u32(4, 4).with_u32(8, page as u32);
    let array = array.with_u32(12, 1).with_u32(16, MMAPABLE);
    match (map(arena), map(array)) {
        (Ok(()), _) => Outcome::works("an arena was mapped, written and read"),
        (Err(error), Ok(())) => Outcome::degraded(
            format!("an arena: {error}; arrays can be mapped, so programs cannot follow pointers"),
            "run Linux 6.9 or later",
        ),
        (_, Err(error)) => Outcome::not(format!("an array: {error}"), REMEDY),
    }
}

/// A program at each switch of tasks.
pub(crate) fn raw_tracepoint() -> Outcome {
    let name = c"sched_switch";
    let opened = load(RAW_TRACEPOINT, 0).and_then(|program| {
        let mut attributes = Attributes::new().with_u64(0, name.as_ptr() as u64);
        attributes = attributes.with_u32(8, program.as_raw_fd() as u32);
        // SAFETY: the name is a constant.
        unsafe { bpf_open(RAW_TRACEPOINT_OPEN, &mut attributes) }
    });
    match opened {
        Ok(_) => Outcome::works("a program was attached to sched_switch, and detached"),
        Err(error) => Outcome::not(
            format!("a program at sched_switch: {error}; differences of /proc/interrupts remain"),
            REMEDY,
        ),
    }
}

/// A program that returns a number.
fn load(kind: u32, returned: u32) -> io::Result<OwnedFd> {
    const MOVE: u64 = 0xb7;
    const EXIT: u64 = 0x95;
    let code = [MOVE | u64::from(returned) << 32, EXIT];
    let licence = c"GPL";
    let mut attributes = Attributes::new()
        .with_u32(0, kind)
        .with_u32(4, code.len() as u32)
        .with_u64(8, address(&code))
        .with_u64(16, licence.as_ptr() as u64);
    // SAFETY: two instructions, as is said, and a constant; both live until the call returns.
    unsafe { bpf_open(PROG_LOAD, &mut attributes) }
}

/// What a program returns for a packet of zeros.
fn run(program: &OwnedFd) -> io::Result<u32> {
    let packet = [0u8; 64];
    let mut attributes = Attributes::new()
        .with_u32(0, program.as_raw_fd() as u32)
        .with_u32(8, packet.len() as u32)
        .with_u64(16, address(&packet));
    // SAFETY: the packet is as long as is said; no room for an answer is named.
    unsafe { bpf(PROG_TEST_RUN, &mut attributes)? };
    Ok(attributes.u32(4))
}

/// Whether this program on a loopback keeps a datagram from arriving, and only while it is there.
fn drops(program: &OwnedFd) -> io::Result<bool> {
    network::enter_namespace()?;
    let mut attributes = Attributes::new()
        .with_u32(0, program.as_raw_fd() as u32)
        .with_u32(4, LOOPBACK_INDEX)
        .with_u32(8, AT_XDP)
        .with_u32(12, GENERIC);
    // SAFETY: the attributes name no memory.
    let link = unsafe { bpf_open(LINK_CREATE, &mut attributes)? };
    let while_attached = network::passes()?;
    drop(link);
    Ok(!while_attached && network::passes()?)
}

fn map(mut attributes: Attributes) -> io::Result<()> {
    // SAFETY: the attributes name no memory.
    let map = unsafe { bpf_open(MAP_CREATE, &mut attributes)? };
    pages::is_shared(map.as_fd())
}

/// Whether a socket takes a filter of the older form.
fn classic_filter() -> bool {
    let Ok(socket) = std::net::UdpSocket::bind("127.0.0.1:0") else { return false };
    let all = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0xffff }];
    let program = libc::sock_fprog { len: 1, filter: all.as_ptr().cast_mut() };
    let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
    crate::system::set_option(socket.as_fd(), level, name, &program).is_ok()
}
