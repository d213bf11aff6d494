//! A process with its pipes: input is written to it, and output read, while it is waited for.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio::net::unix::pipe::Sender;

use super::launcher::Launcher;
use super::leader::{Exit, Leader};
use super::output::Capture;

/// How long an output is waited for whose process has ended: others that have it open, and could
/// not be killed, do not keep the task.
const REST: Duration = Duration::from_secs(1);

/// A process that runs, and what is written to it and read from it.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) leader: Leader,
    pub(super) exit: Exit,
    pub(super) streams: Streams,
}

/// The pipes of a process.
#[derive(Debug)]
pub(super) struct Streams {
    stdin: Option<Feed>,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
}

/// What is written to a process.
#[derive(Debug)]
struct Feed {
    pipe: Sender,
    bytes: Vec<u8>,
    written: usize,
}

/// What a process is started with, beside its command.
#[derive(Debug, Default)]
pub(super) struct Start<'a> {
    /// Its standard input, if the command has a pipe for it.
    pub(super) stdin: Vec<u8>,
    /// Descriptors that it inherits.
    pub(super) inherited: Vec<OwnedFd>,
    /// The memory that it may have; 0: any.
    pub(super) memory_bytes: u64,
    /// Where long output is kept; none: its end only.
    pub(super) scratch: Option<&'a Path>,
}

impl Process {
    /// Starts a command, whose outputs are pipes.
    ///
    /// # Errors
    /// It could not be started; nothing is left of it.
    pub(super) async fn start(
        launcher: &Launcher,
        command: Command,
        start: Start<'_>,
    ) -> io::Result<Self> {
        let Start { stdin, inherited, memory_bytes, scratch } = start;
        let begun = launcher.start(command, inherited, memory_bytes).await?;
        let exit = Exit::of(begun.leader.pid())?;
        let stdin = match begun.stdin {
            Some(pipe) => {
                Some(Feed { pipe: Sender::from_owned_fd(pipe.into())?, bytes: stdin, written: 0 })
            }
            None => None,
        };
        let capture = |pipe: Option<OwnedFd>| {
            let pipe = pipe.ok_or(io::ErrorKind::InvalidInput)?;
            Capture::new(pipe, scratch.map(Path::to_owned))
        };
        let stdout = capture(begun.stdout.map(OwnedFd::from))?;
        let stderr = capture(begun.stderr.map(OwnedFd::from))?;
        Ok(Self { leader: begun.leader, exit, streams: Streams { stdin, stdout, stderr } })
    }
}

impl Streams {
    /// Waits until something can be read or written, and does. May be dropped at any time.
    pub(super) async fn pump(&mut self) {
        let feeding = async {
            match &mut self.stdin {
                Some(feed) => feed.step().await,
                None => core::future::pending().await,
            }
        };
        let is_fed = tokio::select! {
            is_fed = feeding => is_fed,
            () = self.stdout.pump() => false,
            () = self.stderr.pump() => false,
        };
        if is_fed {
            self.stdin = None;
        }
    }

    /// Waits until there is output to be read. May be dropped at any time.
    pub(super) async fn readable(&self) {
        tokio::select! {
            () = self.stdout.readable() => {}
            () = self.stderr.readable() => {}
        }
    }

    /// Reads some of the output that is there.
    pub(super) fn take_some(&mut self) {
        self.stdout.take_some();
        self.stderr.take_some();
    }

    /// Whether there is no room for all that comes.
    pub(super) fn are_short(&self) -> bool {
        self.stdout.is_short() || self.stderr.is_short()
    }

    /// Reads what is left once the process has ended.
    pub(super) async fn finish(&mut self) {
        self.stdin = None;
        let both = async { tokio::join!(self.stdout.finish(), self.stderr.finish()) };
        let _ = tokio::time::timeout(REST, both).await;
    }

    /// Reads what is there.
    pub(super) fn take_rest(&mut self) {
        self.stdout.take_rest();
        self.stderr.take_rest();
    }
}

impl Feed {
    /// Writes some of it. Returns whether that was the last of it, or nobody reads it.
    async fn step(&mut self) -> bool {
        if self.written < self.bytes.len() && self.pipe.writable().await.is_err() {
            return true;
        }
        match self.pipe.try_write(&self.bytes[self.written..]) {
            Ok(bytes) => self.written += bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(_) => return true,
        }
        self.written == self.bytes.len()
    }
}
