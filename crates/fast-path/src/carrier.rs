//! What brings frames to an interface: rings that are shared with the kernel (AF_XDP), or a socket
//! to which each is handed (AF_PACKET), past the interface's queue in both cases.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::kernel::packet_socket;
use crate::xdp_socket::XdpSocket;

/// How frames are handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handover {
    /// By a ring (AF_XDP).
    Ring,
    /// By a call each (AF_PACKET), for the reason given.
    Call(String),
}

/// An interface that takes frames.
#[derive(Debug)]
pub(crate) enum Carrier {
    Ring(Box<XdpSocket>),
    Call(OwnedFd, String),
}

impl Carrier {
    /// To the interface with this number: by a ring where that can be, and else by calls.
    pub(crate) fn best(interface: u32) -> io::Result<Self> {
        match XdpSocket::open(interface) {
            Ok(socket) => Ok(Self::Ring(Box::new(socket))),
            Err(error) => Self::call(interface, &format!("AF_XDP: {error}")),
        }
    }

    /// By calls.
    pub(crate) fn call(interface: u32, why: &str) -> io::Result<Self> {
        Ok(Self::Call(packet_socket(interface)?, why.to_owned()))
    }

    pub(crate) fn handover(&self) -> Handover {
        match self {
            Self::Ring(_) => Handover::Ring,
            Self::Call(_, why) => Handover::Call(why.clone()),
        }
    }

    /// Sends a frame. After [`Errno::AGAIN`] it is to be called with the same frame again.
    #[inline]
    pub(crate) fn send(&mut self, frame: &[u8]) -> Result<(), Errno> {
        match self {
            Self::Ring(socket) => socket.send(frame),
            Self::Call(socket, _) => send(&*socket, frame, SendFlags::DONTWAIT).map(drop),
        }
    }
}
