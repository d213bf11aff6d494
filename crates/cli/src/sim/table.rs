//! The commands that simulate a fixed set of points: their options, and where their tables go.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Map, Value};
use tidings_experiment::manifest::{Seed, Table, command_line};

use super::failure::SimulationError;
use crate::{Failure, output};

/// Options of the commands that simulate a fixed set of points.
#[derive(Debug, Args)]
pub(super) struct TableOptions {
    /// Write NAME.csv and NAME.manifest.json, by the command's name, into this folder instead of
    /// standard output
    #[arg(long, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
    /// Omit larger clusters
    #[arg(long, value_name = "N", default_value_t = 8192)]
    pub(super) nodes_max: u32,
    /// The random seed of each point's first run
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
}

/// The path of a table of this name, if a folder was named: checked before the run.
pub(super) fn place_of(
    folder: Option<&Path>,
    name: &str,
    seed: u64,
) -> Result<Option<Table>, SimulationError> {
    let command = command_line("tidings");
    let seed = Some(Seed::One(seed));
    let place = folder.map(|folder| Table::in_folder(folder, name, &command, seed));
    Ok(place.transpose()?)
}

/// Prints a table, or writes it with its manifest where a folder was named.
pub(super) fn print_or_write(
    place: Option<Table>,
    table: &str,
    facts: &Map<String, Value>,
) -> Result<(), Failure> {
    match place {
        Some(place) => Ok(place.write(table, facts).map_err(SimulationError::from)?),
        None => output::print(table),
    }
}
