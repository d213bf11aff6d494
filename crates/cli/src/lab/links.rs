//! The links of emulated hosts in `tidings lab characterize`: measured before the first run, and
//! what they carried in all runs, in `links.csv`.

use std::path::Path;

use tidings_characterize::links::{self, COLUMNS};
use tidings_experiment::ExperimentError;
use tidings_experiment::hosts::{Gauged, Mesh, gauge};
use tidings_experiment::series::Prepared;

use crate::{Failure, output};

/// The links of a machine of a series.
pub(super) struct Links<'a> {
    machine: &'a str,
    mesh: &'a Mesh,
    gauged: Vec<Gauged>,
    /// What the card of each link had sent before the first run.
    before: Vec<u64>,
}

impl Links<'_> {
    /// What they do, in a line.
    pub(super) fn said(&self) -> String {
        format!("{}: {}\n", self.machine, links::said(&self.gauged))
    }

    /// What the card of each link has sent so far.
    fn sent(mesh: &Mesh, gauged: &[Gauged]) -> Result<Vec<u64>, Failure> {
        let sent = |link: &Gauged| {
            let counts = mesh.counts(link.from).map_err(|error| unreadable(&error))?;
            Ok(counts.get(&link.card).map_or(0, |count| count.sent_bytes))
        };
        gauged.iter().map(sent).collect()
    }
}

/// Measures the links of all machines that have such, and complains of what is not as asked.
pub(super) fn gauged<'a>(prepared: &'a Prepared<'_>) -> Result<Vec<Links<'a>>, Failure> {
    let mut all = Vec::new();
    for (machine, mesh) in prepared.meshes() {
        let gauged = gauge(mesh).map_err(|error| unreadable(&error))?;
        if let Some(complaint) = links::complaint(&gauged) {
            output::complain(&format!("{machine}: {complaint}"));
        }
        let before = Links::sent(mesh, &gauged)?;
        all.push(Links { machine, mesh, gauged, before });
    }
    Ok(all)
}

/// Writes `links.csv`, if there are links.
pub(super) fn keep(folder: &Path, all: &[Links<'_>]) -> Result<(), Failure> {
    let mut text = format!("{COLUMNS}\n");
    for own in all {
        let now = Links::sent(own.mesh, &own.gauged)?;
        let carried = now.iter().zip(&own.before).map(|(now, before)| now.saturating_sub(*before));
        text += &links::lines(own.machine, own.gauged.iter().zip(carried));
    }
    if all.is_empty() {
        return Ok(());
    }
    let path = folder.join("links.csv");
    std::fs::write(&path, text).map_err(|source| Failure::File { path, source })
}

fn unreadable(error: &std::io::Error) -> Failure {
    ExperimentError::Machine(format!("links of hosts cannot be measured: {error}")).into()
}
