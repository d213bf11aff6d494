//! The place: how this process takes part in a store, and where blobs lie.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use tidings_primitives::KeyRing;
use tidings_tasks::blobs;
use tidings_tasks::member::{Member, Network};
use tidings_tasks::net::endpoint::EndpointError;
use tidings_tasks::service::Options;
use tidings_tasks::store::address::Address;
use tidings_tasks::usual;
use tidings_tasks_core::detector::DetectorError;

use crate::seals;

/// How long a store of another host is waited for when a process begins.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where to take part, and as whom; a mapping of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Setup {
    pub(crate) store: String,
    pub(crate) cluster: String,
    /// The cluster's key file.
    pub(crate) keys: Option<String>,
    /// Where other hosts reach this process when it holds the store.
    pub(crate) listen: Option<String>,
    /// The folder that all hosts share, for what is too long for a record of a store in an etcd.
    pub(crate) blobs: Option<PathBuf>,
    /// What decides that a silent process is gone, while this one serves the store.
    pub(crate) detector: String,
    pub(crate) name: String,
    pub(crate) host: String,
    pub(crate) queue: String,
    /// The slots of the worker; 0 for none.
    pub(crate) workers: u32,
    /// The command line of a process that calls functions.
    pub(crate) command: Vec<String>,
    /// A folder for what lasts as long as this process.
    pub(crate) scratch: PathBuf,
}

/// How this process takes part over the network.
///
/// # Errors
/// The keys or the place to listen at cannot be read, or are missing.
pub(crate) fn network(setup: &Setup, address: &Address) -> Result<Network, String> {
    let ring = match &setup.keys {
        Some(path) => seals::ring(path)?,
        None if !address.is_of_hosts() => KeyRing::open(&setup.cluster),
        None => {
            return Err(format!(
                "{address} is a store of several hosts, in which only what the cluster's key has \
                 sealed is unpickled: pass its key file, keys=FILE (`tidings keys generate`)"
            ));
        }
    };
    let listen = setup.listen.as_deref().map(str::parse).transpose();
    let listen = listen.map_err(|error: EndpointError| format!("listen: {error}"))?;
    Ok(Network { ring, listen })
}

/// How this process treats its sessions while it serves the store.
///
/// # Errors
/// There is no such detector.
pub(crate) fn options(setup: &Setup, blobs: Option<PathBuf>) -> Result<Options, String> {
    let detector = setup.detector.parse();
    let detector = detector.map_err(|error: DetectorError| format!("detector: {error}"))?;
    Ok(Options { blobs, detector, ..Options::default() })
}

/// Where blobs are, or the copies of those of another host; nowhere, if the store has none.
pub(crate) fn folder(setup: &Setup, address: &Address) -> Option<PathBuf> {
    match address {
        Address::File(file) => Some(blobs::beside(file)),
        Address::Memory => Some(setup.scratch.join("blobs")),
        Address::Tcp(_) => Some(usual::cache()),
        Address::Etcd(_) | Address::Block { .. } => setup.blobs.clone(),
    }
}

/// Waits until somebody serves the store; one over the network, that cannot be reached, not for
/// ever.
///
/// # Errors
/// It cannot be had, for this reason.
pub(crate) async fn link(member: &Member) -> Result<(), String> {
    let linked = async { member.link().await.map(drop).map_err(|error| error.to_string()) };
    if !member.address().is_of_hosts() && !member.address().is_shared() {
        return linked.await;
    }
    tokio::time::timeout(PATIENCE, linked).await.unwrap_or_else(|_| {
        let trouble = member.trouble().map_or_else(String::new, |error| format!(": {error}"));
        Err(format!("{} was not reached within {PATIENCE:?}{trouble}", member.address()))
    })
}
