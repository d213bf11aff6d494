//! The guardian: a small process that kills what a worker leaves behind when it dies.
//!
//! A program that a worker starts asks the kernel to be killed with it, but what that program
//! starts in turn does not. So the guardian, a shell, knows the process group of each task and
//! waits for the end of a socket, which comes when the worker ends, in whatever way. It has a group
//! of its own and ignores the signals of a terminal, so that it is there to the last.
//!
//! Invariant: a group is known before its program begins, and forgotten before its number can go to
//! another.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::net::SendFlags;
use rustix::process::Pid;

use super::system;

/// What the shell does.
const SCRIPT: &str = include_str!("guardian.sh");

/// What watches over a worker.
#[derive(Debug)]
pub(super) struct Guardian {
    socket: Arc<UnixStream>,
    process: Option<Child>,
}

impl Guardian {
    /// Starts it, for process groups and, if there is one, this control group.
    ///
    /// # Errors
    /// There is no shell, or no more processes are possible.
    pub(super) fn begin(cgroup: Option<&Path>) -> io::Result<Self> {
        let (socket, other) = UnixStream::pair()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT, "tidings-guardian"]).args(cgroup).current_dir("/");
        command.stdin(OwnedFd::from(other)).stdout(Stdio::null()).stderr(Stdio::null());
        let process = command.process_group(0).spawn()?;
        Ok(Self { socket: Arc::new(socket), process: Some(process) })
    }

    /// To what a child makes itself known.
    pub(super) fn socket(&self) -> Arc<UnixStream> {
        self.socket.clone()
    }

    /// Forgets a group whose leader has ended and was not waited for yet.
    pub(super) fn forget(&self, group: Pid) {
        let mut buffer = [0; system::LINE_BYTES];
        let line = system::line(&mut buffer, b'-', group);
        // If it is gone there is nothing that could kill.
        let _ = rustix::net::send(self.socket.as_fd(), line, SendFlags::NOSIGNAL);
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Also where a copy of the socket still is.
        let _ = self.socket.shutdown(Shutdown::Both);
        if let Some(mut process) = self.process.take() {
            // It may have to wait for others to die.
            std::thread::spawn(move || process.wait());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::system::{Preparation, reap, spawn};
    use super::*;

    /// Starts a shell that starts another one in the same group; its number and what it prints.
    fn start(guardian: &Guardian) -> (Pid, Child) {
        let socket = Some(guardian.socket());
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo begun; wait"]).stdout(Stdio::piped());
        let preparation = Preparation { guardian: socket, cgroup: None, inherited: Vec::new() };
        let mut child = spawn(&mut command, preparation).unwrap();
        let mut begun = [0; 6];
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut begun).unwrap();
        (Pid::from_child(&child), child)
    }

    #[test]
    fn what_is_left_is_killed() {
        let guardian = Guardian::begin(None).unwrap();
        let ((first, mut one), (second, mut other)) = (start(&guardian), start(&guardian));
        rustix::process::kill_process_group(first, rustix::process::Signal::KILL).unwrap();
        guardian.forget(first);
        assert!(!reap(first, true).unwrap().unwrap().status.success());
        drop(guardian);
        // Ends when no process has the other end: the shell's child is gone as well.
        for child in [&mut one, &mut other] {
            let rest = io::read_to_string(child.stdout.take().unwrap()).unwrap();
            assert_eq!(rest, "");
        }
        assert!(!reap(second, true).unwrap().unwrap().status.success());
    }

    /// The script takes a number out of the middle, the beginning and the end of what it knows, and
    /// nothing of a number that has the same digits.
    #[test]
    fn what_was_forgotten_is_not_killed() {
        let guardian = Guardian::begin(None).unwrap();
        let (pid, mut child) = start(&guardian);
        let raw = pid.as_raw_nonzero().get();
        let similar = Pid::from_raw(raw / 10).unwrap();
        guardian.forget(similar);
        drop(guardian);
        let rest = io::read_to_string(child.stdout.take().unwrap()).unwrap();
        assert_eq!(rest, "");
        assert!(!reap(pid, true).unwrap().unwrap().status.success());
    }
}
