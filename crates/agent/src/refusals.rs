//! Refusals: reports of other hosts about datagrams to ports without a listener.
//!
//! A host without a process on a port answers a datagram with "port unreachable" (ICMP). The kernel
//! puts such answers, with the destination of the datagram, into the error queue of the socket that
//! sent it, if requested (`IP_RECVERR`), and reports the first of them as the error of the next
//! call on that socket. So a node learns within a round trip that another's process has ended.
//!
//! Anybody on the path can forge such an answer: it is only a reason to probe.

use std::io;
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt,
    sockopt::{Ipv4RecvErr, Ipv6RecvErr},
};

/// Room for what the kernel reports of one datagram.
const CONTROL_BYTES: usize = 512;
/// Answers read at once; the rest wait for the next time.
const MOST: usize = 64;

/// Asks the kernel to keep these answers.
pub(crate) fn ask_for(socket: &impl AsFd, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        setsockopt(socket, Ipv6RecvErr, &true)?;
    }
    // On an IPv6 socket this concerns the IPv4 addresses that it reaches.
    match setsockopt(socket, Ipv4RecvErr, &true) {
        Err(_) if ipv6 => Ok(()),
        set => Ok(set?),
    }
}

/// Whether an error of a call on the socket is about a datagram sent before, not about the call.
pub(crate) fn is_about_earlier(error: &io::Error) -> bool {
    let known = [Errno::ECONNREFUSED, Errno::EHOSTUNREACH, Errno::ENETUNREACH, Errno::EHOSTDOWN];
    error.raw_os_error().is_some_and(|number| known.contains(&Errno::from_raw(number)))
}

/// Reads these answers, and passes on the addresses without a listener.
pub(crate) fn take(socket: &impl AsRawFd, mut each: impl FnMut(SocketAddr)) {
    // The error comes after other control messages that the socket reports.
    let mut control = [0; CONTROL_BYTES];
    for _ in 0..MOST {
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let fd = socket.as_raw_fd();
        // The bytes of the datagram that came back do not matter.
        let Ok(message) = recvmsg::<SockaddrStorage>(fd, &mut [], Some(&mut control), flags) else {
            return;
        };
        let to = message.address.as_ref().and_then(address);
        let refused = |message: ControlMessageOwned| match message {
            ControlMessageOwned::Ipv4RecvErr(error, _)
            | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                error.ee_errno == Errno::ECONNREFUSED as u32
            }
            _ => false,
        };
        if message.cmsgs().is_ok_and(|mut messages| messages.any(refused)) {
            to.into_iter().for_each(&mut each);
        }
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(address) = storage.as_sockaddr_in() {
        return Some(SocketAddrV4::from(*address).into());
    }
    let address = SocketAddrV6::from(*storage.as_sockaddr_in6()?);
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    /// On loopback the answer is there when the sending call returns.
    #[test]
    fn a_closed_port_is_named_and_an_open_one_is_not() {
        for (own, ipv6) in [("127.0.0.1:0", false), ("[::]:0", true)] {
            let Ok(socket) = UdpSocket::bind(own) else { continue };
            ask_for(&socket, ipv6).expect("the kernel has it");
            let _more = quinn_udp::UdpSocketState::new((&socket).into()).expect("a socket");
            let open = UdpSocket::bind("127.0.0.1:0").expect("a free port");
            let there = open.local_addr().expect("bound");
            let gone = {
                let closed = UdpSocket::bind("127.0.0.1:0").expect("a free port");
                closed.local_addr().expect("bound")
            };
            let mapped = "::ffff:127.0.0.1".parse().expect("an address");
            let seen = |to: SocketAddr| if ipv6 { SocketAddr::new(mapped, to.port()) } else { to };
            socket.send_to(b"x", seen(there)).expect("sent");
            socket.send_to(b"x", seen(gone)).expect("sent");
            let mut refused = Vec::new();
            take(&socket, |address| refused.push(address));
            assert_eq!(refused, [gone]);
            take(&socket, |address| refused.push(address));
            assert_eq!(refused.len(), 1, "each is reported once");
        }
    }
}
