//! A program that makes one table of a study.
//!
//! With `--bench`, as cargo gives it, it measures; without, as `cargo test` runs it, it makes a
//! small pass that keeps it from rotting. `--output FOLDER` writes the table there, beside its
//! manifest; otherwise it goes to standard output.

use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value};
use tidings_experiment::manifest::{Seed, Table};

/// A table as CSV, and what its manifest is to tell beside the usual.
pub type Made = (String, Map<String, Value>);

/// Makes the table `NAME.csv`, which `command` makes again, with this seed if anything is random;
/// `measure` is told whether to measure or to make a small pass.
pub fn make<E: Display>(
    name: &str,
    command: &str,
    seed: Option<u64>,
    measure: impl FnOnce(bool) -> Result<Made, E>,
) -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let is_measured = arguments.iter().any(|argument| argument == "--bench");
    let at = arguments.iter().position(|argument| argument == "--output");
    let folder = at.and_then(|at| arguments.get(at + 1)).map(Path::new);
    let seed = seed.map(Seed::One);
    let place = folder.map(|folder| Table::in_folder(folder, name, command, seed)).transpose();
    let made = place.map_err(|error| error.to_string()).and_then(|place| {
        let (table, facts) = measure(is_measured).map_err(|error| error.to_string())?;
        if let Some(place) = place {
            return place.write(&table, &facts).map_err(|error| error.to_string());
        }
        let _ = io::stdout().write_all(table.as_bytes()); // who does not read wants no more
        Ok(())
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _ = writeln!(io::stderr(), "{name}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Adds a row, and shows it to who waits for the end.
///
/// # Errors
/// It cannot be shown. The row is added.
pub fn add(rows: &mut String, row: &str) -> io::Result<()> {
    rows.push_str(row);
    rows.push('\n');
    writeln!(io::stderr(), "{row}")
}
