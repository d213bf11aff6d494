//! `tidings lab series`: programs that print rows, over machines, nodes and settings.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, json};
use tidings_experiment::ExperimentError;
use tidings_experiment::manifest::Table;
use tidings_experiment::series::{Prepared, Series, lines};

use super::screen::Screen;
use crate::{Failure, output};

/// Options of `tidings lab series`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The file of the series
    #[arg(value_name = "FILE")]
    series: PathBuf,
    /// The folder for journal and rows [default: the series' name]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Run only the cells with this setting, program, machine or number of nodes; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = setting)]
    only: Vec<(String, String)>,
    /// Find out whether all is there, say what would be run, and run nothing
    #[arg(long)]
    check: bool,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, as in interval=4")?;
    Ok((key.to_owned(), value.to_owned()))
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let series = Series::read(&options.series)?;
    let folder = options.output.clone().unwrap_or_else(|| PathBuf::from(&series.name));
    let prepared = Prepared::new(&series, &options.only)?;
    let count = prepared.count();
    if options.check {
        let folder = folder.display();
        return output::print(&format!("{}: {count} runs into {folder}\n", series.name));
    }
    let mut screen = Screen::begin("runs").map_err(Failure::Output)?;
    let table = Table::at(&folder.join("rows.jsonl"), &again(options), None);
    let table = table.map_err(ExperimentError::from)?;
    let records = prepared.run(&folder, &mut screen);
    screen.end();
    let records = records?;
    let rows = lines(&records);
    let facts = Map::from_iter([
        ("series".to_owned(), json!(series.name)),
        ("series_sha256".to_owned(), json!(series.digest)),
        ("runs".to_owned(), json!(records.len())),
    ]);
    table.write(&rows, &facts).map_err(ExperimentError::from)?;
    let file = folder.join("rows.jsonl");
    let count = rows.lines().count();
    output::print(&format!("{count} rows of {} runs in {}\n", records.len(), file.display()))
}

/// The command that makes the rows again.
fn again(options: &Options) -> String {
    let mut words = vec![format!("tidings lab series {}", options.series.display())];
    words.extend(options.only.iter().map(|(key, value)| format!("--only {key}={value}")));
    words.extend(options.output.iter().map(|folder| format!("--output {}", folder.display())));
    words.join(" ")
}
