//! Load averages: `proc/loadavg`.

use std::path::Path;

use procfs_core::{FromRead, LoadAverage};
use tidings_gossip::payload::NodeState;

use super::source::{LINE_BYTES, Pass, Source};

/// The load averages over 1, 5 and 15 minutes.
#[derive(Debug)]
pub(super) struct Load {
    loadavg: Source,
}

impl Load {
    pub(super) fn new(proc: &Path) -> Self {
        Self { loadavg: Source::new(proc.join("loadavg")) }
    }

    pub(super) fn read(&mut self, pass: &mut Pass, state: &mut NodeState) {
        let load = self.loadavg.read(pass, LINE_BYTES, |text| LoadAverage::from_read(text).ok());
        state.load1 = load.as_ref().map(|load| hundredths(load.one));
        state.load5 = load.as_ref().map(|load| hundredths(load.five));
        state.load15 = load.as_ref().map(|load| hundredths(load.fifteen));
    }
}

/// The number in the file, with its two decimals, without the error of single precision.
pub(super) fn hundredths(number: f32) -> f64 {
    (f64::from(number) * 100.0).round() / 100.0
}
