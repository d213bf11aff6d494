//! `tidings queue trace`: what ran where and when, as a file for Perfetto.
//!
//! Records are read and written page by page. The file is there as a whole or not at all.

use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use tempfile::{Builder, NamedTempFile};
use tidings_tasks_core::view::Which;

use super::super::client::{Client, Place, block_on, with};
use super::super::failure::TasksError;
use super::super::kinds;
use super::super::pages::Pages;
use super::super::timeline::{Summary, Timeline};
use super::super::unknown::expect_known;
use crate::Failure;
use crate::output;

/// What is written where.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The queue [default: all]
    #[arg(value_name = "QUEUE", value_parser = kinds::name)]
    queue: Option<String>,
    /// The file [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the time line.
pub(super) fn run(place: &Place, options: &Options) -> Result<(), Failure> {
    let queue = options.queue.as_deref();
    let Some(path) = &options.out else {
        block_on(trace(place, queue, BufWriter::new(io::stdout().lock())))?;
        return Ok(());
    };
    let failed = |source| Failure::File { path: path.clone(), source };
    let mut file = beside(path).map_err(failed)?;
    let summary = block_on(trace(place, queue, BufWriter::new(&mut file)))?;
    file.persist(path).map_err(|error| failed(error.error))?;
    output::complain(&said(&summary, path));
    Ok(())
}

/// A new file in the folder of `path`, with the mode of any file that is made.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mode = Permissions::from_mode(0o666);
    Builder::new().permissions(mode).tempfile_in(folder.unwrap_or(Path::new(".")))
}

async fn trace(place: &Place, queue: Option<&str>, to: impl Write) -> Result<Summary, TasksError> {
    with(place, "trace", async |client: &Client| write(client, queue, to).await).await
}

async fn write(
    client: &Client,
    queue: Option<&str>,
    to: impl Write,
) -> Result<Summary, TasksError> {
    let mut timeline = Timeline::begin(to).map_err(TasksError::Output)?;
    let mut pages = Pages::new(queue, Which::All);
    let mut tasks = 0_u64;
    while let Some(page) = pages.next(client).await? {
        for (id, shown) in &page {
            tasks += 1;
            timeline.add(*id, shown).map_err(TasksError::Output)?;
        }
    }
    if let (Some(queue), 0) = (queue, tasks) {
        expect_known(client, queue).await?;
    }
    timeline.end().map_err(TasksError::Output)
}

fn said(summary: &Summary, path: &Path) -> String {
    let Summary { tries, hosts, unkept } = summary;
    let unkept = match unkept {
        0 => String::new(),
        unkept => format!("; {unkept} more tries were too many for their records"),
    };
    format!(
        "{tries} tries on {hosts} hosts in {}{unkept}: open it at https://ui.perfetto.dev",
        path.display()
    )
}
