//! The release of the running kernel: `proc/sys/kernel/osrelease`.

use std::path::Path;

use tidings_gossip::payload::{KernelRelease, NodeState};

use super::source::{LINE_BYTES, Pass, Source, line};

/// The kernel's release. It cannot change while the machine runs, so it is read once.
#[derive(Debug)]
pub(super) struct Kernel {
    osrelease: Source,
    release: Option<KernelRelease>,
}

impl Kernel {
    pub(super) fn new(proc: &Path) -> Self {
        Self { osrelease: Source::new(proc.join("sys/kernel/osrelease")), release: None }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        self.release = self.release.or_else(|| {
            self.osrelease.read(pass, LINE_BYTES, |text| KernelRelease::parse(line(text)?))
        });
        state.kernel = self.release;
    }
}
