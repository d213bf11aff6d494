//! The table `backend` of a campaign file, and what is checked of it.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tidings_flows::shape::AXES;
use toml::Spanned;

use super::bounds::{LEAST_RATE, MOST_RATE, delay, rate};
use super::kinds::{Backend, Mpi, MpiFamily, SimulatedMachine};
use super::own_links::{LinkText, own_links};
use crate::ExperimentError;
use crate::hosts::{MOST_HOSTS, Network, Shape};
use crate::text::Source;

/// The kinds of backends, by the names that campaign files give them.
const KINDS: [&str; 5] = ["local", "hosts", "slurm", "smpi", "plain"];

/// The table `backend` of a campaign file: its keys are those of docs/reference/lab.md.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackendText {
    kind: Spanned<String>,
    mpi: Option<Spanned<MpiFamily>>,
    shim: Option<Spanned<PathBuf>>,
    yielding: Option<Spanned<PathBuf>>,
    launcher: Option<Spanned<PathBuf>>,
    #[serde(default)]
    launcher_arguments: Vec<String>,
    platform: Option<Spanned<PathBuf>>,
    host_pattern: Option<Spanned<String>>,
    torus: Option<Spanned<Vec<u32>>>,
    mesh: Option<Spanned<Vec<u32>>>,
    rate_mbit: Option<Spanned<f64>>,
    rates_mbit: Option<Spanned<Vec<f64>>>,
    delay_us: Option<Spanned<f64>>,
    links: Option<Spanned<Vec<Spanned<LinkText>>>>,
    loss_percent: Option<Spanned<f64>>,
    srun_arguments: Option<Spanned<Vec<String>>>,
}

impl BackendText {
    /// The backend that it asks for; where there is none of that name, the complaint lists `kinds`,
    /// those that this kind of experiment accepts.
    ///
    /// # Errors
    /// [`ExperimentError::Campaign`] for a key that is missing or of another backend.
    pub fn backend(&self, place: &Source<'_>, kinds: &str) -> Result<Backend, ExperimentError> {
        let kind = self.kind.get_ref();
        if !KINDS.contains(&kind.as_str()) {
            return Err(place.refuse(&self.kind, format!("no backend `{kind}`: write {kinds}")));
        }
        backend(place, self, place.folder())
    }

    /// A complaint about it as a whole.
    pub fn refuse(&self, place: &Source<'_>, reason: &str) -> ExperimentError {
        place.refuse(&self.kind, format!("backend {} {reason}", self.kind.get_ref()))
    }
}

fn backend(
    place: &Source<'_>,
    text: &BackendText,
    folder: &Path,
) -> Result<Backend, ExperimentError> {
    let kind = text.kind.get_ref().as_str();
    strangers(place, text, kind)?;
    if kind == "plain" {
        if !text.launcher_arguments.is_empty() {
            return Err(text.refuse(place, "has no launcher: remove launcher_arguments"));
        }
        return Ok(Backend::Plain);
    }
    if kind == "smpi" {
        return simulated(place, text, folder).map(Backend::Smpi);
    }
    let mpi = Mpi {
        family: text.mpi.as_ref().map(|mpi| *mpi.get_ref()).ok_or_else(|| {
            place.refuse(&text.kind, format!("backend {kind} needs mpi: openmpi or mpich"))
        })?,
        shim: text.shim.as_ref().map(|shim| folder.join(shim.get_ref())),
        yielding: text.yielding.as_ref().map(|library| folder.join(library.get_ref())),
        launcher: text.launcher.as_ref().map(|launcher| launcher.get_ref().clone()),
        launcher_arguments: text.launcher_arguments.clone(),
    };
    Ok(match kind {
        "hosts" => Backend::Hosts(mpi, network(place, text)?),
        "slurm" => {
            let words = text.srun_arguments.as_ref().map(|words| words.get_ref().clone());
            Backend::Slurm(mpi, words.unwrap_or_default())
        }
        _ => Backend::Local(mpi),
    })
}

/// Refuses keys that belong to another backend.
fn strangers(place: &Source<'_>, text: &BackendText, kind: &str) -> Result<(), ExperimentError> {
    let start = |key: Option<std::ops::Range<usize>>| key.map(|span| span.start);
    let keys = [
        ("mpi", start(text.mpi.as_ref().map(Spanned::span)), &["local", "hosts", "slurm"][..]),
        ("shim", start(text.shim.as_ref().map(Spanned::span)), &["local", "hosts", "slurm"]),
        (
            "yielding",
            start(text.yielding.as_ref().map(Spanned::span)),
            &["local", "hosts", "slurm"],
        ),
        ("launcher", start(text.launcher.as_ref().map(Spanned::span)), &["local", "hosts"]),
        ("platform", start(text.platform.as_ref().map(Spanned::span)), &["smpi"]),
        ("host_pattern", start(text.host_pattern.as_ref().map(Spanned::span)), &["smpi"]),
        ("torus", start(text.torus.as_ref().map(Spanned::span)), &["hosts"]),
        ("mesh", start(text.mesh.as_ref().map(Spanned::span)), &["hosts"]),
        ("rates_mbit", start(text.rates_mbit.as_ref().map(Spanned::span)), &["hosts"]),
        ("rate_mbit", start(text.rate_mbit.as_ref().map(Spanned::span)), &["hosts"]),
        ("delay_us", start(text.delay_us.as_ref().map(Spanned::span)), &["hosts"]),
        ("links", start(text.links.as_ref().map(Spanned::span)), &["hosts"]),
        ("loss_percent", start(text.loss_percent.as_ref().map(Spanned::span)), &["hosts"]),
        ("srun_arguments", start(text.srun_arguments.as_ref().map(Spanned::span)), &["slurm"]),
    ];
    for (key, at, kinds) in keys {
        if let (Some(at), false) = (at, kinds.contains(&kind)) {
            let reason = format!("{key} is no key of backend {kind}, but of {}", kinds.join(", "));
            return Err(place.at(at, reason));
        }
    }
    Ok(())
}

fn network(place: &Source<'_>, text: &BackendText) -> Result<Network, ExperimentError> {
    let shape = shape(place, text)?;
    if let (Some(_), Some(loss)) = (shape, &text.loss_percent) {
        let reason =
            "loss_percent is of hosts on a switch: links of a torus or a mesh lose nothing";
        return Err(place.refuse(loss, reason));
    }
    let loss = text.loss_percent.as_ref();
    let loss = loss.map(|loss| place.within("loss_percent", loss, 0.0, 50.0)).transpose()?;
    Ok(Network {
        rate_mbit: rate(place, text.rate_mbit.as_ref())?,
        rates_mbit: rates(place, text, shape)?,
        delay_us: delay(place, text.delay_us.as_ref())?.unwrap_or_default(),
        loss_percent: loss.unwrap_or_default(),
        links: own_links(place, text.links.as_ref(), shape)?,
        shape,
    })
}

/// The shape of a network without a switch, if one is asked for.
fn shape(place: &Source<'_>, text: &BackendText) -> Result<Option<Shape>, ExperimentError> {
    if let (Some(_), Some(mesh)) = (&text.torus, &text.mesh) {
        return Err(place.refuse(mesh, "hosts are a torus or a mesh, not both"));
    }
    let given = text.torus.as_ref().map(|own| (own, true));
    let Some((lengths, is_torus)) = given.or(text.mesh.as_ref().map(|own| (own, false))) else {
        return Ok(None);
    };
    let shape = Shape::new(lengths.get_ref(), is_torus);
    let few = shape.filter(|own| own.hosts() <= MOST_HOSTS);
    few.map(Some).ok_or_else(|| {
        let reason = format!(
            "{:?} is no shape: write one to three lengths, such as [3, 3, 3], of 2 \
             to {MOST_HOSTS} hosts at most",
            lengths.get_ref()
        );
        place.refuse(lengths, reason)
    })
}

/// The rates of links along each axis, if they differ.
fn rates(
    place: &Source<'_>,
    text: &BackendText,
    shape: Option<Shape>,
) -> Result<Option<[f64; AXES]>, ExperimentError> {
    let Some(given) = &text.rates_mbit else { return Ok(None) };
    if shape.is_none() || text.rate_mbit.is_some() {
        let reason = "rates_mbit is of the links of a torus or a mesh, instead of rate_mbit";
        return Err(place.refuse(given, reason));
    }
    let is_rate = |rate: &f64| (LEAST_RATE..=MOST_RATE).contains(rate);
    let rates = <[f64; AXES]>::try_from(given.get_ref().clone()).ok();
    let rates = rates.filter(|rates| rates.iter().all(is_rate)).ok_or_else(|| {
        let reason =
            format!("rates_mbit has three rates, for X, Y and Z, of {LEAST_RATE} to {MOST_RATE}");
        place.refuse(given, reason)
    })?;
    Ok(Some(rates))
}

fn simulated(
    place: &Source<'_>,
    text: &BackendText,
    folder: &Path,
) -> Result<SimulatedMachine, ExperimentError> {
    let Some(platform) = &text.platform else {
        let reason = "backend smpi needs platform: a platform file of SimGrid";
        return Err(place.refuse(&text.kind, reason));
    };
    let pattern = text.host_pattern.as_ref().map_or("n{}", |pattern| pattern.get_ref());
    if pattern.matches("{}").count() != 1 {
        let given = text.host_pattern.as_ref().expect("the default has one");
        return Err(place.refuse(given, "host_pattern has one `{}`, where the number stands"));
    }
    Ok(SimulatedMachine {
        platform: folder.join(platform.get_ref()),
        host_pattern: pattern.to_owned(),
        launcher_arguments: text.launcher_arguments.clone(),
    })
}
