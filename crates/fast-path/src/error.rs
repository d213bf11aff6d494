//! What can go wrong, with what to do.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

use crate::lane::{MOST_LANES, MOST_LINES};

/// Why no service was started. Nothing is left running.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no core for it.
    #[error(
        "this process may use one core only, so no service runs beside its threads: let it use a \
         second one (taskset, the cpuset of its group), or have calls run in place"
    )]
    OneCore,
    /// The system does not say which cores this process may use.
    #[error("sched_getaffinity: {0}: allow that call, or have calls run in place")]
    Affinity(rustix::io::Errno),
    /// The core cannot be had.
    #[error(
        "core {core}: {source}: name a core that exists and that this process may use (taskset \
         -pc shows them)"
    )]
    Core {
        /// Which.
        core: usize,
        /// What the system says.
        source: io::Error,
    },
    /// There are no more threads.
    #[error("no thread for the service: {source}: raise the limit of threads (ulimit -u)")]
    Thread {
        /// What the system says.
        source: io::Error,
    },
    /// The thread's signals cannot be blocked.
    #[error("pthread_sigmask: {0}: allow that call, or have calls run in place")]
    Signals(io::Error),
    /// The thread ended at once.
    #[error("the service's thread ended at its start: have calls run in place, and report this")]
    Ended,
}

/// Why a caller got no lane. The service is as before.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaneError {
    /// No lane is like that.
    #[error("a lane of {lines} lines: take a power of two up to {MOST_LINES}")]
    Lines {
        /// How many were asked for.
        lines: usize,
    },
    /// The service has as many as it takes.
    #[error(
        "this service has {MOST_LANES} lanes: drop some, or start another service, on another core"
    )]
    TooMany,
    /// There is no memory for it.
    #[error("no memory for a lane: {source}: raise the limit of memory (ulimit -v)")]
    Memory {
        /// What the system says.
        source: io::Error,
    },
}

/// Why a call was not made ready. What it was to use is closed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CurryError {
    /// The address is of another family than the socket.
    #[error("the socket is of {ours}, the address {to} is not: bind the socket to that family")]
    Family {
        /// The family of the socket.
        ours: &'static str,
        /// Where it was to send.
        to: SocketAddr,
    },
    /// No address, and the socket is not connected.
    #[error("the socket is not connected ({source}): connect it, or give an address")]
    NotConnected {
        /// What the system says.
        source: io::Error,
    },
    /// What was given cannot be written.
    #[error("descriptor {descriptor} is not open for writing: open it so")]
    NotWritable {
        /// Which.
        descriptor: i32,
    },
    /// The buffer's size is none that can be sent.
    #[error("a buffer of {bytes} bytes in segments of {segment}: {remedy}")]
    Buffer {
        /// Its size.
        bytes: usize,
        /// The size of a segment.
        segment: usize,
        /// What would do.
        remedy: &'static str,
    },
    /// A frame that no interface sends.
    #[error("interface {interface}: {source}: {remedy}")]
    Interface {
        /// Its name.
        interface: String,
        /// What the system says.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// The system refuses.
    #[error("{call}: {source}")]
    System {
        /// The system call.
        call: &'static str,
        /// What it says.
        source: io::Error,
    },
}

/// Why a call was not fired. Nothing was.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FireError {
    /// All lines are in use: the service is behind.
    #[error("all lines of the lane are in use: wait for an earlier call, or take more lines")]
    Full,
    /// There is no such call.
    #[error("there is no routine {routine}: this post has {routines}")]
    NoRoutine {
        /// Which was fired.
        routine: usize,
        /// How many there are.
        routines: usize,
    },
    /// The bytes do not fit.
    #[error("{bytes} bytes for a routine that takes {most} at most: register a buffer for more")]
    TooLong {
        /// How many came.
        bytes: usize,
        /// How many may.
        most: usize,
    },
    /// The buffer is in use by an earlier call.
    #[error("the buffer of routine {routine} is in use: wait for its last call, or register two")]
    InUse {
        /// Which.
        routine: usize,
    },
    /// The service has ended.
    #[error("the service has ended: open a lane of another one; calls in place never end")]
    Ended,
}

/// Why a thread's calls are not dispatched. They are made as before.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// Another thread of this process is.
    #[error("another thread of this process is dispatched: end that first")]
    Taken,
    /// The kernel has no such thing.
    #[error("this kernel has no syscall user dispatch: take Linux 5.11 or later, on x86-64")]
    Unknown,
    /// The system refuses.
    #[error("{call}: {source}: allow that call")]
    System {
        /// The system call.
        call: &'static str,
        /// What it says.
        source: io::Error,
    },
}

/// Why a program was not run. This one goes on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// Its file cannot be read.
    #[error("{}: {source}: name a file that can be read", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is not a program, or for another machine.
    #[error("{}: {what}: name a program of this machine", file.display())]
    Foreign {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// There is no place for it in memory.
    #[error(
        "{}: {source}: no place for it in memory; one that may be anywhere (-pie) has more",
        file.display()
    )]
    Memory {
        /// Which.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The service takes no more.
    #[error("{source}")]
    Lane {
        /// Why.
        source: LaneError,
    },
    /// Its calls cannot be seen.
    #[error("{source}")]
    Dispatch {
        /// Why.
        source: DispatchError,
    },
}
