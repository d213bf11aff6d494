//! The watch: a thread that sleeps until another worker's process has ended.
//!
//! The kernel says so by a descriptor of the process, which can be read when it has ended, however
//! it ended. So there are no heartbeats, nobody looks now and then, and a process that is stopped
//! or slow is never taken for one that has ended.
//!
//! A number may be that of another process by now. The descriptor is opened first and the process
//! compared with the identity in the seat then: if that is still the same, so is the descriptor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};

use crate::identity::Identity;
use crate::memory::Memory;

/// A thread that watches, until this is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches the processes of all workers but this one's own. Who has ended before is gone when
    /// this returns.
    pub(crate) fn begin(memory: &Arc<Memory>, me: u32, own: Identity) -> io::Result<Self> {
        let mut watched = Vec::new();
        for worker in 0..memory.workers() {
            let Some(identity) = memory.identity(worker).filter(|other| *other != own) else {
                continue;
            };
            match open(identity)? {
                Some(descriptor) => watched.push((worker, descriptor)),
                None => memory.depart(worker),
            }
        }
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let (memory, until) = (Arc::clone(memory), Arc::clone(&stop));
        let watch = move || watch(&memory, me, watched, &until);
        let thread = std::thread::Builder::new().name("steal-watch".to_owned()).spawn(watch)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // A counter that is 0 takes one.
        let told = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take().filter(|_| told.is_ok()) {
            let _ = thread.join(); // a panic in it was reported when it happened
        }
    }
}

/// A descriptor of a process; `None` if it has ended.
fn open(identity: Identity) -> io::Result<Option<OwnedFd>> {
    let Some(pid) = identity.number() else { return Ok(None) };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => Ok(identity.lives().then_some(descriptor)),
        Err(Errno::SRCH) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn watch(memory: &Memory, me: u32, mut watched: Vec<(u32, OwnedFd)>, stop: &OwnedFd) {
    while !watched.is_empty() {
        let all = watched.iter().map(|(_, descriptor)| descriptor).chain([stop]);
        let mut polled: Vec<_> =
            all.map(|descriptor| PollFd::new(descriptor, PollFlags::IN)).collect();
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            // The kernel has no memory for it now.
            Err(_) => std::thread::yield_now(),
        }
        let ended: Vec<bool> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        if ended.last() == Some(&true) {
            return;
        }
        let mut ended = ended.into_iter();
        watched.retain(|(worker, _)| {
            let has_ended = ended.next() == Some(true);
            if has_ended {
                memory.depart(*worker);
                memory.tell(*worker, me);
            }
            !has_ended
        });
    }
}
