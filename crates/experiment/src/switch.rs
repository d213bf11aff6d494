//! The frame of a switch in user space: the ends of its cables, and the thread that reads them.
//!
//! Kernels without netem can neither delay nor double what passes through them. So a thread reads
//! what hosts send at one end, and writes it to another. What an end is, and what happens to a
//! frame meanwhile, is its user's matter: the campaigns' delay line has a TUN device in each host
//! and holds every packet equally long; the relay of the tests has packet sockets on cables, and
//! also doubles and mixes.
//!
//! Invariant: the thread has ended, and all ends are closed, when its [`Switch`] is dropped.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The longest frame.
const FRAME_BYTES: usize = 65_550;

/// A switch that runs; it ends when dropped.
#[derive(Debug)]
pub struct Switch {
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Switch {
    /// Has a thread `plug` in ends, which do not block, and `run` with them until dropped:
    /// [`Ports::ready`] tells it of the end.
    ///
    /// # Errors
    /// What `plug` says.
    pub fn start(
        plug: impl FnOnce() -> io::Result<Vec<OwnedFd>> + Send + 'static,
        run: impl FnOnce(Ports) + Send + 'static,
    ) -> io::Result<Self> {
        let (end, ended) = UnixStream::pair()?;
        let (reported, begun) = sync_channel(1);
        let thread = thread::spawn(move || match plug() {
            Ok(ends) => {
                let _ = reported.send(Ok(())); // nobody listens: the end comes at once
                run(Ports { ends, ended });
            }
            Err(error) => drop(reported.send(Err(error))),
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

/// Takes this thread, which may be in another network than its process, to the network namespace of
/// that name.
///
/// # Errors
/// What the system says, if there is no such namespace or this is not root.
pub fn enter(namespace: &str) -> io::Result<()> {
    let namespace = File::open(format!("/run/netns/{namespace}"))?;
    Ok(setns(namespace, CloneFlags::CLONE_NEWNET)?)
}

/// Does something in the network namespace of that name, such as opening a socket: by a thread of
/// its own, which cannot come back.
///
/// # Errors
/// As of [`enter`], and what `act` says.
///
/// # Panics
/// If `act` does.
pub fn within<T: Send>(
    namespace: &str,
    act: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let acting = scope.spawn(move || enter(namespace).and_then(|()| act()));
        acting.join().expect("what is done there does not panic")
    })
}

/// The ends of all cables, by number.
#[derive(Debug)]
pub struct Ports {
    ends: Vec<OwnedFd>,
    ended: UnixStream,
}

impl Ports {
    /// A buffer that holds the longest frame.
    pub fn buffer() -> Vec<u8> {
        vec![0; FRAME_BYTES]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The ports where something is, after `wait` at the latest; `None` when the switch ends.
    pub fn ready(&self, wait: Option<Duration>) -> Option<Vec<usize>> {
        let sources = self.ends.iter().map(AsFd::as_fd).chain([self.ended.as_fd()]);
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

    /// The next frame that has arrived at a port, in `buffer`; `None` if there is none.
    pub fn receive<'a>(&self, port: usize, buffer: &'a mut [u8]) -> Option<&'a mut [u8]> {
        let bytes = rustix::io::read(&self.ends[port], &mut *buffer).ok()?;
        Some(&mut buffer[..bytes])
    }

    /// Sends a frame out of a port; whether there was room in its cable.
    pub fn send(&self, port: usize, frame: &[u8]) -> bool {
        rustix::io::write(&self.ends[port], frame).is_ok()
    }
}
