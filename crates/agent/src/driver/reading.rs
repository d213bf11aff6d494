//! The configuration read again, in another task, and the result.

use std::sync::Arc;

use tidings_gossip::roster::RosterLine;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tracing::warn;

use crate::config::{ConfigErrors, Seed};
use crate::logging::LevelHandle;
use crate::prepare::Prepared;
use crate::resolve::{self, Looked, Reach, ResolveError};

/// How to read the configuration again, and the channel of the results to the loop.
pub(crate) struct Reloading {
    pub(crate) read: Arc<Read>,
    pub(crate) reading: Option<JoinHandle<()>>,
    pub(crate) results: mpsc::Sender<Result<Box<Reloaded>, Refusal>>,
    pub(crate) seeds: mpsc::Sender<Vec<resolve::Found>>,
    pub(crate) seed_search: Option<JoinHandle<()>>,
    pub(crate) rosters: mpsc::Sender<Looked>,
    pub(crate) roster_search: Option<JoinHandle<()>>,
    /// Names of the roster without an address.
    pub(crate) unresolved: usize,
    pub(crate) level: LevelHandle,
    pub(crate) reach: Reach,
    pub(crate) port: u16,
}

/// Reads the configuration and the files it names.
pub(crate) type Read = dyn Fn() -> Result<Prepared, ConfigErrors> + Send + Sync;

/// A configuration read again, its roster looked up.
pub(crate) struct Reloaded {
    pub(super) prepared: Prepared,
    pub(super) looked: Looked,
}

/// Why a configuration read again is not applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error("it could not be read to its end: {0}")]
    Broken(#[from] JoinError),
}

impl Reloading {
    /// Looks `seeds` up from now on, instead of those before.
    pub(crate) fn search(&mut self, seeds: Vec<Seed>) {
        if let Some(search) = self.seed_search.take() {
            search.abort();
        }
        if !seeds.is_empty() {
            self.seed_search = Some(resolve::seeds(seeds, self.reach, self.seeds.clone()));
        }
    }

    /// Looks the names of the roster up that are missing from now on, instead of those before.
    pub(crate) fn search_rest(&mut self, lines: &[RosterLine], looked: Looked) {
        if let Some(search) = self.roster_search.take() {
            search.abort();
        }
        self.unresolved = looked.missing.len();
        if let Some(complaint) = looked.complaint() {
            warn!("{complaint}; trying again");
            let to = (looked, self.rosters.clone());
            self.roster_search = Some(resolve::rest(lines.to_vec(), self.port, self.reach, to));
        }
    }
}

/// Reads the configuration, and looks up the names of its roster.
pub(super) async fn read_again(
    read: Arc<Read>,
    port: u16,
    reach: Reach,
) -> Result<Box<Reloaded>, Refusal> {
    let prepared = spawn_blocking(move || read()).await??;
    let looked = resolve::roster(&prepared.roster, port, reach).await?;
    Ok(Box::new(Reloaded { prepared, looked }))
}
