//! Time since the machine was started: `proc/uptime`.

use std::path::Path;

use procfs_core::FromRead;
use tidings_gossip::payload::NodeState;

use super::source::{LINE_BYTES, Pass, Source};

/// Seconds since the machine was started.
#[derive(Debug)]
pub(super) struct Uptime {
    uptime: Source,
}

impl Uptime {
    pub(super) fn new(proc: &Path) -> Self {
        Self { uptime: Source::new(proc.join("uptime")) }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        let parse = |text: &[u8]| procfs_core::Uptime::from_read(text).ok();
        let uptime = self.uptime.read(pass, LINE_BYTES, parse);
        state.uptime_s = uptime.map(|uptime| uptime.uptime as u64);
    }
}
