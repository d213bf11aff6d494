//! A leader: the first process of a task, with all that it starts in its group.
//!
//! Invariant: when a leader is gone from memory, its processes are gone or going: whatever ends it
//! in this program, an order, an error, the end of the runtime, kills the whole group. The group is
//! killed before its leader is waited for, so that its number cannot belong to another yet.

use std::io;
use std::sync::Arc;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use super::cgroup::Cgroup;
use super::guardian::Guardian;
use super::memory;
use super::system::{self, Reaped};

/// The first process of a task.
#[derive(Debug)]
pub(super) struct Leader {
    pid: Pid,
    cgroup: Option<Cgroup>,
    guardian: Option<Arc<Guardian>>,
    is_reaped: bool,
}

/// How a leader has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) reaped: Reaped,
    /// Whether the kernel has killed in its group, for want of memory.
    pub(super) was_out_of_memory: bool,
}

impl Leader {
    pub(super) fn new(pid: Pid, cgroup: Option<Cgroup>, guardian: Option<Arc<Guardian>>) -> Self {
        Self { pid, cgroup, guardian, is_reaped: false }
    }

    /// Its number.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether it has ended; it was not waited for.
    pub(super) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(rustix::process::waitid(WaitId::Pid(self.pid), options), Ok(None))
    }

    /// Asks all processes of the group to end.
    pub(super) fn terminate(&self) {
        // Whoever has ended already needs no signal.
        let _ = rustix::process::kill_process_group(self.pid, Signal::TERM);
    }

    /// Ends all of its processes.
    pub(super) fn kill(&self) {
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
    }

    /// Whether the kernel keeps its memory within its limit; otherwise it is to be measured.
    pub(super) fn is_limited(&self) -> bool {
        self.cgroup.as_ref().is_some_and(Cgroup::is_limited)
    }

    /// Its memory, in bytes, if it is beyond a limit.
    pub(super) fn memory_beyond(&self, limit_bytes: u64) -> Option<u64> {
        let processes = match &self.cgroup {
            Some(cgroup) => cgroup.processes(),
            None => memory::descendants(self.pid.as_raw_nonzero().get()),
        };
        memory::beyond(limit_bytes, &processes)
    }

    /// Waits for a leader that has ended, and ends what is left of its group.
    ///
    /// # Errors
    /// Something else has waited for it; how it ended is unknown.
    pub(super) fn reap(mut self) -> io::Result<Ended> {
        self.settle();
        let reaped = system::reap(self.pid, true);
        self.is_reaped = true;
        let mut reaped = reaped?.ok_or(io::ErrorKind::NotFound)?;
        let was_out_of_memory = self.cgroup.as_ref().is_some_and(Cgroup::was_out_of_memory);
        if let Some(cpu_us) = self.cgroup.as_ref().and_then(Cgroup::cpu_us) {
            reaped.cpu_us = reaped.cpu_us.max(cpu_us);
        }
        Ok(Ended { reaped, was_out_of_memory })
    }

    fn settle(&self) {
        self.kill();
        if let Some(guardian) = &self.guardian {
            guardian.forget(self.pid);
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        self.settle();
        let pid = self.pid;
        // It may take a moment to die, in which others need this thread.
        if !matches!(system::reap(pid, false), Ok(Some(_)) | Err(_)) {
            std::thread::spawn(move || system::reap(pid, true));
        }
    }
}

/// Tells when a process of this one has ended, without waiting for it.
#[derive(Debug)]
pub(super) enum Exit {
    /// By a descriptor: no thread and no signal is needed.
    Descriptor(AsyncFd<rustix::fd::OwnedFd>),
    /// By a thread that waits, before Linux 5.3.
    Thread(watch::Receiver<bool>),
}

impl Exit {
    /// Of a process that was started by this one and not waited for.
    ///
    /// # Errors
    /// No more descriptors, or no more threads, are possible.
    pub(super) fn of(pid: Pid) -> io::Result<Self> {
        match rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::NONBLOCK) {
            Ok(descriptor) => Ok(Self::Descriptor(system::readable(descriptor)?)),
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::INVAL) => Self::by_thread(pid),
            Err(error) => Err(error.into()),
        }
    }

    fn by_thread(pid: Pid) -> io::Result<Self> {
        let (sender, receiver) = watch::channel(false);
        let wait = move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let wait = || rustix::process::waitid(WaitId::Pid(pid), options);
            while let Err(rustix::io::Errno::INTR) = wait() {}
            sender.send_replace(true);
        };
        std::thread::Builder::new().name("tidings-wait".to_owned()).spawn(wait)?;
        Ok(Self::Thread(receiver))
    }

    /// Waits until it has ended. May be dropped at any time.
    pub(super) async fn wait(&mut self) {
        match self {
            Self::Descriptor(descriptor) => drop(descriptor.readable().await),
            // A sender that is gone has waited.
            Self::Thread(ended) => drop(ended.wait_for(|ended| *ended).await),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn start(script: &str) -> (Leader, std::process::Child) {
        let inherited = Vec::new();
        let preparation = system::Preparation { guardian: None, cgroup: None, inherited };
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let child = system::spawn(&mut command, preparation).unwrap();
        (Leader::new(Pid::from_child(&child), None, None), child)
    }

    #[tokio::test]
    async fn an_end_is_told_with_and_without_a_descriptor() {
        for by_thread in [false, true] {
            let (leader, _child) = start("exit 3");
            let exit = if by_thread { Exit::by_thread } else { Exit::of };
            exit(leader.pid()).unwrap().wait().await;
            assert_eq!(leader.reap().unwrap().reaped.status.code(), Some(3));
        }
    }

    #[tokio::test]
    async fn what_a_leader_leaves_is_killed() {
        let (leader, mut child) = start("sleep 1000 & exit 0");
        Exit::of(leader.pid()).unwrap().wait().await;
        assert!(leader.reap().unwrap().reaped.status.success());
        // Ends when nobody has the other end.
        std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    }

    #[test]
    fn a_leader_that_is_dropped_is_killed_with_its_group() {
        let (leader, mut child) = start("sleep 1000 & wait");
        drop(leader);
        std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    }
}
