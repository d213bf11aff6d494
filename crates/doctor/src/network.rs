//! Sockets, namespaces and interfaces. What needs an interface makes a namespace first, which ends
//! with the process.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};

use crate::finding::Outcome;
use crate::system::{interface_request, named_interface, send, set_option, socket};

/// Bytes of a segment, and how many are sent by one call.
const SEGMENT_BYTES: u16 = 64;
const SEGMENTS: usize = 8;

/// How long a datagram may take over loopback.
const ARRIVAL: Duration = Duration::from_millis(500);

/// What the agent asks of the kernel for its socket, unless configured otherwise.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Requests to devices.
const SET_FLAGS: libc::c_ulong = 0x8914;
const TUN_SET_INTERFACE: libc::c_ulong = 0x4004_54ca;

const NAMESPACE_REMEDY: &str = "run as root, or give CAP_SYS_ADMIN (a container: --cap-add), or \
    allow unprivileged user namespaces (sysctl user.max_user_namespaces, \
    kernel.apparmor_restrict_unprivileged_userns=0)";

/// One call sends several datagrams, and they arrive as such.
pub(crate) fn segmentation() -> Outcome {
    match arrived_segments() {
        Ok(SEGMENTS) => Outcome::works(format!("{SEGMENTS} datagrams arrived of one call")),
        Ok(count) => Outcome::not(
            format!("{count} of {SEGMENTS} datagrams arrived of one call"),
            "look for a filter on loopback",
        ),
        Err(error) => Outcome::degraded(
            format!("UDP_SEGMENT: {error}; each datagram takes a call"),
            "run Linux 4.18 or later, or leave the sandbox that hides this option",
        ),
    }
}

/// The kernel may hand over several datagrams at once.
pub(crate) fn coalescing() -> Outcome {
    let socket = UdpSocket::bind("127.0.0.1:0");
    let set = socket.and_then(|socket| Ok(setsockopt(&socket, sockopt::UdpGroSegment, &true)?));
    match set {
        Ok(()) => Outcome::works("a socket takes several datagrams at once"),
        Err(error) => Outcome::degraded(
            format!("UDP_GRO: {error}; each datagram is received by itself"),
            "run Linux 5.0 or later, or leave the sandbox that hides this option",
        ),
    }
}

/// Whether the kernel grants the buffer that the agent asks for.
pub(crate) fn buffers() -> Outcome {
    let granted = UdpSocket::bind("127.0.0.1:0").and_then(|socket| {
        setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER_BYTES)?;
        // The kernel doubles what is asked, for its own records.
        Ok(getsockopt(&socket, sockopt::RcvBuf)? / 2)
    });
    match granted {
        Ok(bytes) if bytes >= RECEIVE_BUFFER_BYTES => {
            Outcome::works(format!("{bytes} bytes for received datagrams"))
        }
        Ok(bytes) => Outcome::degraded(
            format!("{bytes} of {RECEIVE_BUFFER_BYTES} bytes for received datagrams"),
            format!("sysctl net.core.rmem_max={RECEIVE_BUFFER_BYTES}"),
        ),
        Err(error) => Outcome::not(format!("a socket: {error}"), "allow sockets of UDP"),
    }
}

/// A namespace with a loopback over which a datagram passes.
pub(crate) fn namespace() -> Outcome {
    let privileged = unshare(CloneFlags::CLONE_NEWNET);
    let entered = privileged.map_err(io::Error::from).or_else(|_| enter_as_user());
    match entered.and_then(|()| raise_loopback()).and_then(|()| passes()) {
        Ok(true) if privileged.is_ok() => Outcome::works("a datagram passed in a namespace"),
        Ok(true) => Outcome::degraded(
            "only within a user namespace: emulated hosts of one user, none that others join",
            NAMESPACE_REMEDY,
        ),
        Ok(false) => Outcome::not("no datagram passed in a namespace", NAMESPACE_REMEDY),
        Err(error) => Outcome::not(format!("a namespace: {error}"), NAMESPACE_REMEDY),
    }
}

/// An interface of which a process is the wire.
pub(crate) fn tap() -> Outcome {
    let made = enter_namespace().and_then(|()| {
        let device = std::fs::File::options().read(true).write(true).open("/dev/net/tun")?;
        let mut request = named_interface("doctor", libc::IFF_TAP | libc::IFF_NO_PI);
        // SAFETY: this request is about an `ifreq`.
        unsafe { interface_request(device.as_fd(), TUN_SET_INTERFACE, &mut request) }
    });
    match made {
        Ok(()) => Outcome::works("an interface was made in a namespace"),
        Err(error) => Outcome::not(
            format!("an interface: {error}"),
            "give the device (a container: --device /dev/net/tun) and CAP_NET_ADMIN",
        ),
    }
}

/// A pair of interfaces.
pub(crate) fn veth() -> Outcome {
    match enter_namespace().and_then(|()| make_pair()) {
        Ok(()) => Outcome::works("a pair of interfaces was made in a namespace"),
        Err(error) => {
            Outcome::not(format!("a pair: {error}"), "give CAP_NET_ADMIN, and load the module veth")
        }
    }
}

/// A socket that sends frames as they are.
pub(crate) fn packet() -> Outcome {
    let every = i32::from((libc::ETH_P_ALL as u16).to_be());
    match socket(libc::AF_PACKET, libc::SOCK_RAW, every) {
        Ok(_) => Outcome::works("a socket for frames was opened"),
        Err(error) => Outcome::not(format!("a socket for frames: {error}"), "give CAP_NET_RAW"),
    }
}

/// A socket whose frames lie in memory that the kernel shares.
pub(crate) fn xdp_socket() -> Outcome {
    match enter_namespace().and_then(|()| bind_shared_frames()) {
        Ok(()) => Outcome::works("rings were bound to a loopback, in copy mode"),
        Err(error) => {
            let remedy = "give CAP_NET_RAW and CAP_NET_ADMIN, and a limit of locked memory \
                (ulimit -l) of 64 MiB; the kernel needs CONFIG_XDP_SOCKETS";
            Outcome::not(format!("rings of frames: {error}"), remedy)
        }
    }
}

/// A network namespace for this process alone, with a loopback that is up.
pub(crate) fn enter_namespace() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(io::Error::from).or_else(|_| enter_as_user())?;
    raise_loopback()
}

/// Whether a datagram from this process arrives over loopback.
pub(crate) fn passes() -> io::Result<bool> {
    let (from, to) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    to.set_read_timeout(Some(ARRIVAL))?;
    from.send_to(b"doctor", to.local_addr()?)?;
    match to.recv(&mut [0; 16]) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}

fn enter_as_user() -> io::Result<()> {
    Ok(unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)?)
}

fn raise_loopback() -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let mut request = named_interface("lo", libc::IFF_UP | libc::IFF_RUNNING);
    // SAFETY: this request is about an `ifreq`.
    unsafe { interface_request(socket.as_fd(), SET_FLAGS, &mut request) }
}

/// How many datagrams arrive of one call that sends [`SEGMENTS`].
fn arrived_segments() -> io::Result<usize> {
    let (from, to) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    setsockopt(&from, sockopt::UdpGsoSegment, &i32::from(SEGMENT_BYTES))?;
    to.set_read_timeout(Some(ARRIVAL))?;
    from.send_to(&[7; SEGMENT_BYTES as usize * SEGMENTS], to.local_addr()?)?;
    let (mut count, mut datagram) = (0, [0; 2048]);
    while count < SEGMENTS {
        match to.recv(&mut datagram) {
            Ok(bytes) if bytes == usize::from(SEGMENT_BYTES) => count += 1,
            Ok(_) => return Ok(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(count),
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// A pair of interfaces, by netlink; the second gets its name from the kernel.
fn make_pair() -> io::Result<()> {
    let attribute = |kind: u16, value: &[u8]| {
        let mut bytes = (value.len() as u16 + 4).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let mut body = vec![0; 16]; // an interface that the kernel numbers
    body.extend(attribute(libc::IFLA_IFNAME, b"doctor0\0"));
    let kind = attribute(libc::IFLA_INFO_KIND, b"veth\0");
    body.extend(attribute(libc::IFLA_LINKINFO, &kind));
    let flags = libc::NLM_F_REQUEST | libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut message = (body.len() as u32 + 16).to_ne_bytes().to_vec();
    message.extend(libc::RTM_NEWLINK.to_ne_bytes());
    message.extend((flags as u16).to_ne_bytes());
    message.extend([0; 8]); // the number of the request, and of the port
    message.extend(body);
    let netlink = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
    send(netlink.as_fd(), &message)?;
    let mut answer = [0; 256];
    let count = rustix::io::read(&netlink, &mut answer)?;
    let code = answer.get(16..20).filter(|_| count >= 20).ok_or(io::ErrorKind::UnexpectedEof)?;
    match i32::from_ne_bytes(code.try_into().expect("four bytes")) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(-code)),
    }
}

/// Registers memory for frames, makes the rings, and binds them to the loopback.
fn bind_shared_frames() -> io::Result<()> {
    const FRAMES: u64 = 16;
    const FRAME_BYTES: u64 = 4096;
    let memory = crate::pages::Pages::anonymous((FRAMES * FRAME_BYTES) as usize)?;
    let xdp = socket(libc::AF_XDP, libc::SOCK_RAW, 0)?;
    let area = libc::xdp_umem_reg_v1 {
        addr: memory.address(),
        len: FRAMES * FRAME_BYTES,
        chunk_size: FRAME_BYTES as u32,
        headroom: 0,
    };
    set_option(xdp.as_fd(), libc::SOL_XDP, libc::XDP_UMEM_REG, &area)?;
    for ring in [libc::XDP_UMEM_FILL_RING, libc::XDP_UMEM_COMPLETION_RING, libc::XDP_TX_RING] {
        set_option(xdp.as_fd(), libc::SOL_XDP, ring, &(FRAMES as u32))?;
    }
    tidings_fast_path::bind_xdp(&xdp, 1)
}
