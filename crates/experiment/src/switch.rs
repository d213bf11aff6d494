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
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::sync_channel;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sched::{CloneFlags, setns};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The longest frame.
const FRAME_BYTES: usize = 65_550;
/// Ports that are reported at one time.
const REPORTED: usize = 64;
/// What stands for the end of the switch where the number of a port would be.
const END: u64 = u64::MAX;

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
        let thread = thread::spawn(move || match plug().and_then(|ends| Ports::new(ends, ended)) {
            Ok(ports) => {
                let _ = reported.send(Ok(())); // nobody listens: the end comes at once
                run(ports);
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
    _ended: UnixStream,
    /// Knows which ends have something: asking each of hundreds would take longer than a packet.
    watch: OwnedFd,
}

impl Ports {
    fn new(ends: Vec<OwnedFd>, ended: UnixStream) -> io::Result<Self> {
        let watch = epoll::create(CreateFlags::CLOEXEC)?;
        for (port, end) in ends.iter().enumerate() {
            epoll::add(&watch, end, EventData::new_u64(port as u64), EventFlags::IN)?;
        }
        epoll::add(&watch, &ended, EventData::new_u64(END), EventFlags::IN)?;
        Ok(Self { ends, _ended: ended, watch })
    }

    /// A buffer that holds the longest frame.
    pub fn buffer() -> Vec<u8> {
        vec![0; FRAME_BYTES]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Ports where something is, after `wait` at the latest; `None` when the switch ends.
    pub fn ready(&self, wait: Option<Duration>) -> Option<Vec<usize>> {
        let timeout = wait.and_then(|wait| Timespec::try_from(wait).ok());
        // To the nanosecond, which older kernels have for poll alone.
        let mut polled = [PollFd::new(&self.watch, PollFlags::IN)];
        is_fine(poll(&mut polled, timeout.as_ref()))?;
        let mut events = Vec::with_capacity(REPORTED);
        let now = Timespec::default();
        is_fine(epoll::wait(&self.watch, spare_capacity(&mut events), Some(&now)))?;
        let of = |event: &Event| event.data.u64();
        let is_over = events.iter().any(|event| of(event) == END);
        // What else there is are the numbers of `new`.
        (!is_over).then(|| events.iter().map(|event| of(event) as usize).collect())
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

/// Whether a wait ended as it should, or by a signal: a shorter wait.
fn is_fine(waited: rustix::io::Result<usize>) -> Option<()> {
    matches!(waited, Ok(_) | Err(rustix::io::Errno::INTR)).then_some(())
}
