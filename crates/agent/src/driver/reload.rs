//! SIGHUP: the configuration is read again, checked as at a start, and applied as far as a running
//! node can.
//!
//! Invariant: a configuration that is wrong in any part changes nothing. Names are looked up beside
//! the loop, which goes on gossiping meanwhile.

use tidings_control::Mode;
use tidings_gossip::Member;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use super::Driver;
use crate::config::ConfigErrors;
use crate::logging::LevelHandle;
use crate::prepare::Prepared;
use crate::resolve::{self, Reach, ResolveError};

/// How to read the configuration again, and where what was found is handed to the loop.
pub(crate) struct Reloading {
    pub(crate) read: Box<dyn Fn() -> Result<Prepared, ConfigErrors> + Send>,
    pub(crate) results: mpsc::Sender<Box<Reloaded>>,
    pub(crate) seeds: mpsc::Sender<Vec<tidings_gossip::Address>>,
    pub(crate) seed_search: Option<JoinHandle<()>>,
    pub(crate) level: LevelHandle,
    pub(crate) reach: Reach,
    pub(crate) port: u16,
}

/// A configuration read anew, its roster looked up.
pub(crate) struct Reloaded {
    prepared: Prepared,
    members: Result<Vec<Member>, ResolveError>,
}

impl Reloading {
    /// Looks `seeds` up from now on, instead of those before.
    pub(crate) fn search(&mut self, seeds: Vec<String>) {
        if let Some(search) = self.seed_search.take() {
            search.abort();
        }
        if !seeds.is_empty() {
            self.seed_search = Some(resolve::seeds(seeds, self.reach, self.seeds.clone()));
        }
    }
}

impl Driver {
    /// Reads the configuration; what it says comes back to [`apply`](Self::apply).
    pub(super) fn reload(&mut self) {
        let prepared = match (self.reloading.read)() {
            Ok(prepared) => prepared,
            Err(errors) => return self.refuse(&errors),
        };
        let results = self.reloading.results.clone();
        let (port, reach) = (self.reloading.port, self.reloading.reach);
        tokio::spawn(async move {
            let members = resolve::roster(&prepared.roster, port, reach).await;
            let reloaded = Box::new(Reloaded { prepared, members });
            let _ = results.send(reloaded).await; // an error says that the loop has ended
        });
    }

    /// Applies what a running node can.
    pub(super) fn apply(&mut self, reloaded: Reloaded) {
        let Reloaded { prepared, members } = reloaded;
        let members = match members {
            Ok(members) => members,
            Err(error) => return self.refuse(&error),
        };
        let roster = self.standing.mode == Mode::Roster;
        if roster && !members.is_empty() {
            if let Err(error) = self.node.set_roster(&members, self.clock.now()) {
                return self.refuse(&error);
            }
        }
        if roster == members.is_empty() {
            warn!("from roster to seeds or back takes a restart; the way at the start is kept");
        } else if !roster {
            self.seeds.clear();
            self.reloading.search(prepared.settings.seeds.clone());
        }
        self.apply_keys(&prepared);
        self.reloading.level.set(&prepared.settings.log);
        for key in prepared.settings.fixed_changes(&self.settings) {
            warn!(key, "only a restart changes this setting; the value at the start is kept");
        }
        self.counters.reloads += 1;
        info!(keys = self.standing.keys, members = members.len(), "configuration reloaded");
    }

    fn apply_keys(&mut self, prepared: &Prepared) {
        if prepared.keys.is_secret() != self.standing.encrypted {
            warn!("turning encryption on or off takes a restart; the keys at the start are kept");
            return;
        }
        if self.standing.encrypted {
            self.standing.keys = prepared.keys.len();
        }
        self.node.set_keys(prepared.keys.clone());
    }

    fn refuse(&mut self, error: &dyn std::fmt::Display) {
        self.counters.reloads_failed += 1;
        error!(%error, "the new configuration is refused; the old one stays in force");
    }
}
