//! The frame of a switch in user space: the ends of its cables, and the thread that reads them.
//!
//! Kernels without netem can neither delay nor double what passes through them. So the ends of all
//! cables in a network namespace are opened as packet sockets, and a thread there hands what
//! arrives at one to another. What it does with a frame meanwhile is its own matter: the campaigns'
//! delay line holds each equally long, the relay of the tests also doubles and mixes.
//!
//! Invariant: the thread has ended when its [`Switch`] is dropped.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::ifaddrs::getifaddrs;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send, socket,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Destination, source and kind: what every frame begins with.
pub const ETHERNET_BYTES: usize = 14;

/// The longest frame.
const FRAME_BYTES: usize = 65_550;

/// A switch that runs; it ends when dropped.
#[derive(Debug)]
pub struct Switch {
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Switch {
    /// Has a thread `run` in the network namespace `namespace`, with a port on each of the
    /// interfaces `names` there, until dropped: [`Ports::ready`] tells it of the end.
    ///
    /// # Errors
    /// What the system says, if there is no such namespace or it refuses packet sockets.
    pub fn start(
        namespace: &str,
        names: Vec<String>,
        run: impl FnOnce(Ports) + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = UnixStream::pair()?;
        let namespace = File::open(format!("/run/netns/{namespace}"))?;
        let (told, begun) = sync_channel(1);
        let thread = thread::spawn(move || {
            // A thread may be in another network than its process.
            let entered = setns(namespace, CloneFlags::CLONE_NEWNET).map_err(io::Error::from);
            match entered.and_then(|()| names.iter().map(|name| open(name)).collect()) {
                Ok(sockets) => {
                    let _ = told.send(Ok(())); // nobody listens: the end comes at once
                    run(Ports { sockets, ended });
                }
                Err(error) => drop(told.send(Err(error))),
            }
        });
        let switch = Self { end: Some(end), thread: Some(thread) };
        begun.recv().unwrap_or_else(|_| Err(io::Error::other("the switch ended at once")))?;
        Ok(switch)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // it has nothing to say
        }
    }
}

/// A packet socket on an interface of this thread's network.
fn open(name: &str) -> io::Result<OwnedFd> {
    let link = getifaddrs()?
        .filter(|interface| interface.interface_name == name)
        .find_map(|interface| interface.address?.as_link_addr().copied());
    let link: LinkAddr = link.ok_or_else(|| io::Error::other(format!("no interface {name}")))?;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let (family, protocol) = (AddressFamily::Packet, SockProtocol::EthAll);
    let socket = socket(family, SockType::Raw, flags, protocol)?;
    bind(socket.as_raw_fd(), &link)?;
    Ok(socket)
}

/// The ends of all cables, as packet sockets, by number.
#[derive(Debug)]
pub struct Ports {
    sockets: Vec<OwnedFd>,
    ended: UnixStream,
}

impl Ports {
    /// A buffer that holds the longest frame.
    pub fn buffer() -> Vec<u8> {
        vec![0; FRAME_BYTES]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sockets.len()
    }

    /// The ports where something is, after `wait` at the latest; `None` when the switch ends.
    pub fn ready(&self, wait: Option<Duration>) -> Option<Vec<usize>> {
        let sources = self.sockets.iter().map(AsFd::as_fd).chain([self.ended.as_fd()]);
        let mut polled: Vec<PollFd<'_>> =
            sources.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN)).collect();
        let timeout = wait.and_then(|wait| Timespec::try_from(wait).ok());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
        let ready = (0..polled.len()).filter(|&at| !polled[at].revents().is_empty());
        let ready: Vec<usize> = ready.collect();
        (!ready.contains(&self.count())).then_some(ready)
    }

    /// The next frame that has arrived at a port, in `buffer`; `None` if there is none. Shorter
    /// ones than a frame's head are no frames, and passed over.
    pub fn receive<'a>(&self, port: usize, buffer: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let socket = self.sockets[port].as_raw_fd();
        loop {
            let bytes = recv(socket, buffer, MsgFlags::MSG_DONTWAIT).ok()?;
            if (ETHERNET_BYTES..=buffer.len()).contains(&bytes) {
                return Some(&mut buffer[..bytes]);
            }
        }
    }

    /// Sends a frame out of a port; whether there was room in its cable.
    pub fn send(&self, port: usize, frame: &[u8]) -> bool {
        send(self.sockets[port].as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT).is_ok()
    }
}
