//! Pressure stall: `proc/pressure/{cpu,memory,io}`, the share of the last 10 s in which some task
//! waited. Absent before Linux 4.20 and where PSI is turned off.

use std::path::Path;

use procfs_core::parse_pressure_record;
use tidings_gossip::payload::NodeState;

use super::load::hundredths;
use super::source::{LINE_BYTES, Pass, Source, line};

/// Pressure on processors, memory and I/O.
#[derive(Debug)]
pub(super) struct Pressure {
    cpu: Source,
    memory: Source,
    io: Source,
}

impl Pressure {
    pub(super) fn new(proc: &Path) -> Self {
        let source = |name| Source::new(proc.join("pressure").join(name));
        Self { cpu: source("cpu"), memory: source("memory"), io: source("io") }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        state.psi_cpu_percent = self.cpu.read(pass, LINE_BYTES, some_avg10);
        state.psi_memory_percent = self.memory.read(pass, LINE_BYTES, some_avg10);
        state.psi_io_percent = self.io.read(pass, LINE_BYTES, some_avg10);
    }
}

fn some_avg10(text: &[u8]) -> Option<f64> {
    let some = line(text).filter(|line| line.starts_with("some"))?;
    parse_pressure_record(some).ok().map(|record| hundredths(record.avg10))
}
