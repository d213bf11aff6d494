//! What a series holds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::hidden::Hidden;
use crate::backend::Backend;
use crate::conduct::OnFailure;
use crate::scheduling::Scheduling;

/// A series, checked.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name, for people.
    pub name: String,
    /// How long a run may take before it is ended, in seconds.
    pub limit_s: f64,
    /// What a run that fails means for the series.
    pub on_failure: OnFailure,
    /// How its processes are scheduled.
    pub scheduling: Scheduling,
    /// Where programs run.
    pub machines: Vec<Machine>,
    /// All of its runs, in their order.
    pub cells: Vec<Cell>,
    /// The folder of the file: relative paths begin there.
    pub folder: PathBuf,
    /// SHA-256 of the file's text.
    pub digest: String,
    /// The file's text.
    pub text: String,
}

/// A machine of a series.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name in rows.
    pub name: String,
    /// How many ranks there are on a node.
    pub ranks_per_node: u32,
    /// How programs are started there.
    pub backend: Backend,
}

/// One run of a series: a program on a machine with settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The program's name in rows.
    pub program: String,
    /// The machine, by its place in [`Series::machines`].
    pub machine: usize,
    /// On how many nodes.
    pub nodes: u32,
    /// Program and arguments, with all settings filled in.
    pub command: Vec<String>,
    /// Further arguments of the launcher, with all settings filled in.
    pub launcher_arguments: Vec<String>,
    /// The settings, by name.
    pub settings: BTreeMap<String, Value>,
    /// The file of its directory that has the rows, a JSON object a line.
    pub rows: String,
    /// The file of its directory that is one further JSON object, if there is one.
    pub report: Option<String>,
    /// Ranks that are hidden from the program, if any.
    pub hidden: Option<Hidden>,
}

impl Series {
    /// Whether a cell is of this program or machine, or has this setting.
    pub fn has(&self, cell: &Cell, key: &str, value: &str) -> bool {
        match key {
            "program" => cell.program == value,
            "machine" => self.machines[cell.machine].name == value,
            "nodes" => cell.nodes.to_string() == value,
            _ => cell.settings.get(key).is_some_and(|given| word(given) == value),
        }
    }

    /// What a cell is, for people.
    pub fn label(&self, cell: &Cell) -> String {
        let settings = cell.settings.iter().map(|(key, value)| format!(", {key} {}", word(value)));
        let machine = &self.machines[cell.machine].name;
        let nodes = cell.nodes;
        format!("{} on {machine}, {nodes} nodes{}", cell.program, settings.collect::<String>())
    }
}

/// A setting as a word of a command.
pub(super) fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
