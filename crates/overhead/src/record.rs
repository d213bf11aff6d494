//! The record of a run: one line of a campaign's journal, `runs.jsonl`.
//!
//! The fields are those of docs/reference/lab.md. What was not measured is `null`, never 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidings_experiment::conduct::Noted;
use tidings_experiment::outcome::Outcome;
use tidings_experiment::pressure::Disturbance;

use crate::campaign::Doing;

/// The version of this schema. Fields are added within a version, never renamed or removed.
pub const SCHEMA: &str = "tidings-lab-overhead-1";

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its place in the plan.
    pub index: u32,
    /// Its repetition, from 1; 0 warmed up.
    #[serde(rename = "lap")]
    pub repetition: u32,
    /// The application's name.
    pub application: String,
    /// How many nodes.
    pub nodes: u32,
    /// How many ranks, hidden ones included.
    pub ranks: u32,
    /// How many of them were hidden.
    pub hidden: u32,
    /// What these did: `arm`, and for gossip `interval_ms`, `window`, `entry_bytes`.
    #[serde(flatten)]
    pub doing: Doing,
    /// Whether this is a run of the baseline.
    pub baseline: bool,
    /// Whether it is the second such run of its repetition.
    pub again: bool,
    /// The seed of gossip.
    pub seed: u64,
    /// When it was started (UTC).
    pub started: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The launcher's exit status; none if a signal ended it.
    pub exit_code: Option<i32>,
    /// What went wrong, with the last words of the program.
    pub message: Option<String>,
    /// The time that counts.
    pub seconds: Option<f64>,
    /// Seconds of its phases.
    pub phases: BTreeMap<String, f64>,
    /// Further figures of the application.
    pub figures: BTreeMap<String, f64>,
    /// From the launcher's start to its end, by this machine's clock.
    pub wall_s: f64,
    /// How this machine was meanwhile.
    #[serde(flatten)]
    pub disturbance: Disturbance,
    /// What the shim measured (TIDINGS_TIMES).
    pub times: Option<Value>,
    /// What gossip reported (TIDINGS_REPORT).
    pub gossip: Option<Value>,
}

impl Record {
    /// A number of the shim's or of gossip's report.
    fn figure(report: Option<&Value>, key: &str) -> Option<f64> {
        report?.get(key)?.as_f64()
    }

    /// Share of the time in MPI, mean over ranks.
    pub fn mpi_share(&self) -> Option<f64> {
        Self::figure(self.times.as_ref(), "mpi_share")
    }

    /// A figure of gossip's report.
    pub fn gossip(&self, key: &str) -> Option<f64> {
        Self::figure(self.gossip.as_ref(), key)
    }
}

impl Noted for Record {
    fn index(&self) -> u32 {
        self.index
    }

    fn outcome(&self) -> Outcome {
        self.outcome
    }

    fn message(&self) -> &str {
        self.message.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run that took so long.
    pub(crate) fn record(index: u32, repetition: u32, doing: Doing, seconds: f64) -> Record {
        Record {
            index,
            repetition,
            application: "spin".to_owned(),
            nodes: 2,
            ranks: 4,
            hidden: 2,
            baseline: doing == Doing::Asleep,
            doing,
            again: false,
            seed: 1,
            started: "2026-11-22T00:00:00Z".to_owned(),
            outcome: Outcome::Ok,
            exit_code: Some(0),
            message: None,
            seconds: Some(seconds),
            phases: BTreeMap::new(),
            figures: BTreeMap::new(),
            wall_s: seconds,
            disturbance: Disturbance::default(),
            times: None,
            gossip: None,
        }
    }

    #[test]
    fn a_record_is_one_flat_line_and_comes_back_as_it_was() {
        let gossip = Doing::Gossip { interval_ms: 256.0, window: "20%".into(), entry_bytes: 64 };
        let mut record = record(7, 3, gossip, 1.25);
        record.disturbance.others_share = Some(0.5);
        record.gossip = serde_json::from_str(r#"{"busy_share":0.01}"#).ok();
        let line = serde_json::to_string(&record).expect("no map with other keys");
        assert!(line.contains(r#""arm":"gossip","interval_ms":256.0,"window":"20%""#), "{line}");
        assert!(line.contains(r#""others_share":0.5"#) && !line.contains('\n'), "{line}");
        let back: Record = serde_json::from_str(&line).expect("its own line");
        assert_eq!(back, record);
        assert_eq!((back.gossip("busy_share"), back.mpi_share()), (Some(0.01), None));
    }
}
