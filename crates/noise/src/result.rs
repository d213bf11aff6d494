//! What is kept of a measurement: `noise.json` (docs/reference/noise.schema.json).

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::NoiseError;
use crate::counters::Counts;
use crate::histogram::Bucket;
use crate::source::{Kind, Source};

/// The version of the form.
pub const SCHEMA: &str = "tidings-lab-noise-1";
/// The file in a result's folder.
pub const FILE: &str = "noise.json";
/// The most bytes that a result is read of: some 100 probes with all they can have are 50 MB.
const MOST_BYTES: u64 = 256 << 20;

/// A measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// [`SCHEMA`].
    pub schema: String,
    /// `ftq`, `fwq` or `gaps`.
    pub method: String,
    /// The length of a quantum of fixed time.
    pub quantum_us: Option<f64>,
    /// The work of a quantum of fixed work.
    pub work_units: Option<u64>,
    /// What is taken at least in a gap.
    pub threshold_ns: u64,
    /// Whether each probe stayed on its core.
    pub pinned: bool,
    /// Where the threads that keep samples ran; `None` where only measured cores are allowed.
    pub keeper_cores: Option<String>,
    /// How long it was to be measured.
    pub asked_s: f64,
    /// How long it was.
    pub measured_s: f64,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether a hypervisor runs this machine.
    pub guest: bool,
    /// Who named the gaps.
    pub attribution: Attributed,
    /// Each probe.
    pub probes: Vec<Probe>,
    /// The sources by the numbers that the files of gaps have.
    pub sources: Vec<Source>,
}

/// Who named the gaps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Attributed {
    /// `osnoise`, `tracepoints` or `proc`.
    pub by: String,
    /// Why not by anything better.
    pub reason: Option<String>,
    /// The tracepoints.
    pub events: Vec<String>,
    /// How often events were lost because they came too fast.
    pub missed: u64,
}

/// What a probe saw.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// Its core; `None` where it was not pinned.
    pub core: Option<u32>,
    /// How long it ran.
    pub measured_s: f64,
    /// What was taken from it.
    pub lost_ns: u64,
    /// As a share of the time.
    pub lost_share: f64,
    /// What is named, as a share of what was taken.
    pub named_share: f64,
    /// What is not.
    pub unknown_share: f64,
    /// Ways into the kernel and out of it, part of what is named.
    pub edges_share: f64,
    /// Its gaps.
    pub gaps: Gaps,
    /// Work in a quantum of fixed time, or nanoseconds of one of fixed work.
    pub quanta: Spread,
    /// Units of work in a microsecond that was not taken.
    pub speed: Spread,
    /// What the kernel counted.
    pub kernel: Kernel,
    /// What the probe did to itself.
    pub own: Own,
    /// Who took the time, most first.
    pub sources: Vec<Taken>,
    /// How long gaps were.
    pub histogram: Vec<Bucket>,
    /// The same in stretches of time, for comparisons.
    pub windows: Vec<Window>,
    /// Its raw samples.
    pub files: [String; 2],
}

/// Gaps.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Gaps {
    /// How many.
    pub count: u64,
    /// In a second.
    pub per_s: f64,
    /// The median, to an eighth.
    pub median_ns: Option<u64>,
    /// 99 of 100 are shorter, to an eighth.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub longest_ns: u64,
}

/// How numbers scatter.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Standard deviation as a share of the mean.
    pub variation: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

/// What the kernel counted of a probe's thread, and of its core.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kernel {
    /// How long the thread waited for a core.
    pub waited_ns: u64,
    /// How often another took its core.
    pub preemptions: u64,
    /// Its page faults.
    pub faults: u64,
    /// What the hypervisor took, by its own account.
    pub steal_ns: u64,
    /// Interrupts of the core; empty where the probe was not pinned.
    pub interrupts: Counts,
    /// Soft interrupts of the core.
    pub softirqs: Counts,
}

/// What a probe did to itself.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Own {
    /// What a unit of work and the clock usually take.
    pub step_ns: u64,
    /// What it spent keeping samples, as a share of the time.
    pub share: f64,
    /// Samples that were not kept.
    pub dropped: u64,
}

/// What a source took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Taken {
    /// Of which kind.
    pub kind: Kind,
    /// Which.
    pub name: String,
    /// How much.
    pub lost_ns: u64,
    /// As a share of what was taken.
    pub share: f64,
    /// In how many gaps; `None` where it is known over the whole run only.
    pub gaps: Option<u64>,
    /// The most in one gap.
    pub longest_ns: Option<u64>,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// When it began, from the start.
    pub begin_s: f64,
    /// What was taken, as a share of it.
    pub lost_share: f64,
    /// Units of work in a microsecond that was not taken; `None` where all was.
    pub speed: Option<f64>,
}

impl Outcome {
    /// Reads the result in a folder.
    ///
    /// # Errors
    /// [`NoiseError::Result`].
    pub fn read(folder: &Path) -> Result<Self, NoiseError> {
        let path = folder.join(FILE);
        let refused = |reason: String| NoiseError::Result { path: path.clone(), reason };
        let size = fs::metadata(&path).map_err(|error| refused(error.to_string()))?.len();
        if size > MOST_BYTES {
            return Err(refused(format!("{size} bytes are more than a result has")));
        }
        let text = fs::read_to_string(&path).map_err(|error| refused(error.to_string()))?;
        let outcome: Self = serde_json::from_str(&text)
            .map_err(|error| refused(format!("not a result of `tidings lab noise`: {error}")))?;
        if outcome.schema != SCHEMA {
            return Err(refused(format!("schema {}, not {SCHEMA}", outcome.schema)));
        }
        Ok(outcome)
    }
}
