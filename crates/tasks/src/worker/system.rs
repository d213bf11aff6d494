//! The system calls for which the standard library has no safe form: what a child does between fork
//! and exec, and waiting with the resources that were used.
//!
//! A child asks to be killed when its parent dies, and makes itself known to the
//! [guardian](super::guardian), before it becomes the program. So there is no moment at which the
//! death of the worker could leave it behind.

#![allow(unsafe_code, reason = "fork, wait4, descriptors; each use says why it is sound")]

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;

use rustix::net::SendFlags;
use rustix::process::{Pid, Signal};
use tokio::io::unix::AsyncFd;

/// What a child does before it becomes its program.
#[derive(Debug)]
pub(super) struct Preparation {
    /// To whom it makes itself known.
    pub(super) guardian: Option<Arc<UnixStream>>,
    /// The `cgroup.procs` of its control group.
    pub(super) cgroup: Option<File>,
    /// Descriptors that the program inherits, by the numbers that they have here.
    pub(super) inherited: Vec<OwnedFd>,
}

/// What a process has used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reaped {
    pub(super) status: ExitStatus,
    /// Of itself and the processes that it has waited for.
    pub(super) cpu_us: u64,
    pub(super) max_rss_bytes: u64,
}

/// Starts a process in a process group of its own. It ends when the thread that starts it does.
///
/// # Errors
/// It could not be started; [`io::ErrorKind`] says why. No process is left.
pub(super) fn spawn(command: &mut Command, preparation: Preparation) -> io::Result<Child> {
    let parent = rustix::process::getpid();
    command.process_group(0);
    // SAFETY: between fork and exec `prepare` only makes system calls: it takes no lock and
    // allocates nothing, so it does not matter in what state other threads were.
    unsafe { command.pre_exec(move || prepare(&preparation, parent)) };
    command.spawn()
}

fn prepare(preparation: &Preparation, parent: Pid) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    if rustix::process::getppid() != Some(parent) {
        // It died before it could be asked.
        return Err(rustix::io::Errno::SRCH.into());
    }
    if let Some(guardian) = &preparation.guardian {
        let mut buffer = [0; LINE_BYTES];
        let line = line(&mut buffer, b'+', rustix::process::getpid());
        // If the guardian is gone, the signal that was asked for remains.
        let _ = rustix::net::send(guardian.as_fd(), line, SendFlags::NOSIGNAL);
    }
    if let Some(cgroup) = &preparation.cgroup {
        rustix::io::write(cgroup, b"0")?;
    }
    for inherited in &preparation.inherited {
        rustix::io::fcntl_setfd(inherited, rustix::io::FdFlags::empty())?;
    }
    Ok(())
}

/// A sign, a space, ten digits and the end of the line.
pub(super) const LINE_BYTES: usize = 13;

/// A line for the guardian, made without the allocator.
pub(super) fn line(buffer: &mut [u8; LINE_BYTES], sign: u8, pid: Pid) -> &[u8] {
    let mut number = pid.as_raw_nonzero().get().unsigned_abs();
    let mut start = LINE_BYTES - 1;
    buffer[start] = b'\n';
    while number > 0 {
        start -= 1;
        buffer[start] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    buffer[start - 1] = b' ';
    buffer[start - 2] = sign;
    &buffer[start - 2..]
}

/// Waits for a process of this one that has ended, or, with `block`, until it has.
///
/// # Errors
/// It is not to be had: something else has waited for it.
pub(super) fn reap(pid: Pid, block: bool) -> io::Result<Option<Reaped>> {
    let options = if block { 0 } else { libc::WNOHANG };
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    let reaped = loop {
        let raw = pid.as_raw_nonzero().get();
        // SAFETY: both pointers are to places of the right type that live during the call.
        let reaped = unsafe { libc::wait4(raw, &raw mut status, options, usage.as_mut_ptr()) };
        let error = io::Error::last_os_error();
        match reaped {
            -1 if error.kind() == io::ErrorKind::Interrupted => {}
            -1 => return Err(error),
            reaped => break reaped,
        }
    };
    if reaped == 0 {
        return Ok(None);
    }
    // SAFETY: all of it is numbers, for which zeros are valid, and the call has filled it in.
    let usage = unsafe { usage.assume_init() };
    let us = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    Ok(Some(Reaped {
        status: ExitStatus::from_raw(status),
        cpu_us: us(usage.ru_utime) + us(usage.ru_stime),
        max_rss_bytes: usage.ru_maxrss as u64 * 1_024,
    }))
}

/// A descriptor of which the runtime tells when it can be read.
///
/// # Errors
/// No more descriptors can be watched.
pub(super) fn readable(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: it is owned, so it is open and the same one until both are dropped together.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_sign_and_number() {
        let mut buffer = [0; LINE_BYTES];
        let pid = |raw| Pid::from_raw(raw).unwrap();
        assert_eq!(line(&mut buffer, b'+', pid(1)), b"+ 1\n");
        assert_eq!(line(&mut buffer, b'-', pid(i32::MAX)), b"- 2147483647\n");
    }

    #[test]
    #[allow(clippy::zombie_processes, reason = "it is waited for by `reap`")]
    fn what_was_used_is_known_once_a_process_has_ended() {
        let preparation = Preparation { guardian: None, cgroup: None, inherited: Vec::new() };
        let mut command = Command::new("sh");
        command.args(["-c", "i=0; while [ $i -lt 3000 ]; do i=$((i + 1)); done; exit 3"]);
        let child = spawn(&mut command, preparation).unwrap();
        let pid = Pid::from_child(&child);
        assert_eq!(rustix::process::getpgid(Some(pid)).unwrap(), pid);
        let reaped = reap(pid, true).unwrap().unwrap();
        assert_eq!(reaped.status.code(), Some(3));
        assert!(reaped.cpu_us > 0 && reaped.max_rss_bytes > 0, "{reaped:?}");
        assert!(reap(pid, true).is_err(), "it was waited for");
    }
}
