//! Memory and swap: `proc/meminfo`.

use std::path::Path;

use procfs_core::{FromRead, Meminfo};
use tidings_gossip::payload::NodeState;

use super::source::{MAX_BYTES, Pass, Source};

/// Memory and swap, total and in use.
#[derive(Debug)]
pub(super) struct Memory {
    meminfo: Source,
}

impl Memory {
    pub(super) fn new(proc: &Path) -> Self {
        Self { meminfo: Source::new(proc.join("meminfo")) }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        let parse = |text: &[u8]| Meminfo::from_read(text).ok();
        let Some(memory) = self.meminfo.read(pass, MAX_BYTES, parse) else {
            return;
        };
        state.mem_total_bytes = Some(memory.mem_total);
        state.mem_available_bytes = memory.mem_available;
        state.swap_total_bytes = Some(memory.swap_total);
        state.swap_used_bytes = memory.swap_total.checked_sub(memory.swap_free);
    }
}
