//! Kept processes: a slot's runtimes, which wait for its next call.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::process::{Command, Stdio};

use tokio::net::UnixStream;

use crate::runtime::{AHEAD, DESCRIPTOR, SLOT};

use super::launcher::Launcher;
use super::link::Link;
use super::permits::Permits;
use super::process::{Process, Start};
use super::usage::Usage;

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
    /// How many calls it may have ahead, and which of them it may begin.
    pub(super) ahead: usize,
    pub(super) permits: Permits,
    /// Whether it may not have heard yet which of them were taken back.
    pub(super) is_behind: bool,
    /// What it says that its last call has taken, and whether it has ever said so.
    pub(super) spent: Option<Usage>,
    pub(super) says_spent: bool,
}

impl Kept {
    /// Starts a runtime process for a slot; without one it waits for it.
    ///
    /// # Errors
    /// It could not be started; nothing is left of it.
    pub(super) async fn start(
        launcher: &Launcher,
        argv: &[String],
        slot: Option<u32>,
        start: Start<'_>,
    ) -> io::Result<Self> {
        let (program, words) = argv.split_first().ok_or(io::ErrorKind::NotFound)?;
        let (here, there) = std::os::unix::net::UnixStream::pair()?;
        here.set_nonblocking(true)?;
        let there = OwnedFd::from(there);
        let (permits, permitted) = Permits::new()?;
        let mut command = Command::new(program);
        command.args(words).env(DESCRIPTOR, there.as_raw_fd().to_string());
        command.env(AHEAD, permitted.as_raw_fd().to_string());
        match slot {
            Some(slot) => command.env(SLOT, slot.to_string()),
            None => command.env_remove(SLOT),
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Start { inherited: vec![there, permitted], ..start };
        let process = Process::start(launcher, command, start).await?;
        let link = Link::new(UnixStream::from_std(here)?);
        Ok(Self {
            process,
            link,
            known: BTreeSet::new(),
            is_ready: false,
            ahead: 0,
            permits,
            is_behind: false,
            spent: None,
            says_spent: false,
        })
    }

    /// A call is about to begin: what the process has used before; none if it says itself what a
    /// call takes.
    pub(super) fn measure(&mut self) -> Option<Usage> {
        self.spent = None;
        let pid = self.pid();
        (!self.says_spent).then(|| {
            Usage::forget_peak(pid);
            Usage::of(pid)
        })
    }

    /// What a call has used that has ended; nothing if the process was to say it and has not.
    pub(super) fn used(&mut self, before: Option<Usage>) -> Usage {
        if let Some(spent) = self.spent.take() {
            self.says_spent = true;
            return spent;
        }
        before.map_or(Usage::default(), |before| {
            let Usage { cpu_us, peak_bytes } = Usage::of(self.pid());
            Usage { cpu_us: cpu_us.saturating_sub(before.cpu_us), peak_bytes }
        })
    }

    fn pid(&self) -> i32 {
        self.process.leader.pid().as_raw_nonzero().get()
    }

    /// Whether it can be given a call, as far as is known.
    pub(super) fn is_alive(&self) -> bool {
        !self.process.leader.has_ended()
    }
}
