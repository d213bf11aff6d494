//! Kept processes: a slot's runtimes, which wait for its next call.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Command, Stdio};

use tokio::net::UnixStream;

use crate::runtime::DESCRIPTOR;

use super::launcher::Launcher;
use super::link::Link;
use super::process::{Process, Start};

/// A slot's processes, by the names of their runtimes.
pub(super) type Runtimes = BTreeMap<String, Kept>;

/// A runtime process between, or in, calls.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) process: Process,
    pub(super) link: Link,
    /// The code that it has had, by hash.
    pub(super) known: BTreeSet<[u8; 32]>,
    /// Whether it has said that it takes calls.
    pub(super) is_ready: bool,
}

impl Kept {
    /// Starts a runtime process for a slot.
    ///
    /// # Errors
    /// It could not be started; nothing is left of it.
    pub(super) async fn start(
        launcher: &Launcher,
        argv: &[String],
        slot: u32,
        start: Start<'_>,
    ) -> io::Result<Self> {
        let (program, words) = argv.split_first().ok_or(io::ErrorKind::NotFound)?;
        let (here, there) = std::os::unix::net::UnixStream::pair()?;
        here.set_nonblocking(true)?;
        let there = OwnedFd::from(there);
        let mut command = Command::new(program);
        command.args(words).env(DESCRIPTOR, there.as_raw_fd().to_string());
        command.env("TIDINGS_SLOT", slot.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Start { inherited: Some(there), ..start };
        let process = Process::start(launcher, command, start).await?;
        let link = Link::new(UnixStream::from_std(here)?);
        Ok(Self { process, link, known: BTreeSet::new(), is_ready: false })
    }

    /// Whether it can be given a call, as far as is known.
    pub(super) fn is_alive(&self) -> bool {
        !self.process.leader.has_ended()
    }
}
