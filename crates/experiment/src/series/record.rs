//! The record of a run of a series: one line of its journal.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conduct::Noted;
use crate::outcome::Outcome;
use crate::pressure::Disturbance;

/// The version of this schema. Fields are added within a version, never renamed or removed.
pub const SCHEMA: &str = "tidings-lab-series-1";

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its place in the plan.
    pub index: u32,
    /// The program's name.
    pub program: String,
    /// The machine's name.
    pub machine: String,
    /// On how many nodes.
    pub nodes: u32,
    /// How many ranks.
    pub ranks: u32,
    /// The settings, by name.
    pub settings: BTreeMap<String, Value>,
    /// When it was started (UTC).
    pub started: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The launcher's exit status; none if a signal ended it.
    pub exit_code: Option<i32>,
    /// What went wrong, with the last words of the program.
    pub message: Option<String>,
    /// From the launcher's start to its end, by this machine's clock.
    pub wall_s: f64,
    /// How this machine was meanwhile.
    #[serde(flatten)]
    pub disturbance: Disturbance,
    /// The rows that it left.
    pub rows: Vec<Value>,
    /// Its report, if it has one.
    pub report: Option<Value>,
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

impl Record {
    /// Its rows, each with program, machine, nodes, ranks and settings where it has no such keys
    /// itself, and with the report under `report`.
    pub fn flat_rows(&self) -> Vec<Value> {
        let own = [
            ("program", Value::from(self.program.clone())),
            ("machine", Value::from(self.machine.clone())),
            ("nodes", Value::from(self.nodes)),
            ("ranks", Value::from(self.ranks)),
        ];
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let settings = self.settings.iter().map(|(name, value)| (name.clone(), value.clone()));
        let report = self.report.iter().map(|report| ("report".to_owned(), report.clone()));
        let all: Vec<(String, Value)> = own.chain(settings).chain(report).collect();
        let mut rows = self.rows.clone();
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            for (name, value) in &all {
                row.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        rows
    }
}
