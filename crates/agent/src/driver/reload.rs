//! SIGHUP: the configuration is read again, checked as at a start, and applied as far as a running
//! node can.
//!
//! Invariant: a configuration that is wrong in any part changes nothing. Files are read and names
//! looked up in another task; the loop continues to gossip, however long a file server or name
//! service takes. Of several SIGHUPs in a row only the last counts.

use std::net::SocketAddr;
use std::sync::Arc;

use tidings_control::Mode;
use tidings_gossip::ConfigError;
use tracing::{error, info, warn};

use super::Driver;
use super::reading::{Refusal, Reloaded, Reloading, read_again};
use crate::prepare::Prepared;
use crate::resolve::Looked;

impl Driver {
    /// Reads the configuration; the result goes to [`apply`](Self::apply).
    pub(super) fn reload(&mut self) {
        let Reloading { read, results, port, reach, .. } = &self.reloading;
        let (results, again) = (results.clone(), read_again(Arc::clone(read), *port, *reach));
        let reading = tokio::spawn(async move {
            let _ = results.send(again.await).await; // an error says that the loop has ended
        });
        if let Some(earlier) = self.reloading.reading.replace(reading) {
            earlier.abort();
        }
    }

    /// Applies what a running node can.
    pub(super) fn apply(&mut self, reloaded: Result<Box<Reloaded>, Refusal>) {
        let Reloaded { prepared, looked } = match reloaded {
            Ok(reloaded) => *reloaded,
            Err(error) => return self.refuse(&error),
        };
        let roster = self.standing.mode == Mode::Roster;
        let members = looked.members.len();
        if roster && members > 0 {
            if let Err(error) = self.take_roster(&looked) {
                return self.refuse(&error);
            }
            self.reloading.search_rest(&prepared.roster, looked);
        }
        self.settings.min_members = prepared.settings.min_members;
        self.company.set_expected(self.settings.min_members, roster.then_some(members as u32));
        self.board.try_again();
        if roster == (members == 0) {
            warn!("from roster to seeds or back takes a restart; the way at the start is kept");
        } else if prepared.settings.colony == self.settings.colony {
            // The colony in the file decided which seeds are of the own colony.
            self.seeds.clear();
            self.seeds_found = 0;
            self.settings.seeds.clone_from(&prepared.settings.seeds);
            self.contacts.clear();
            self.reloading.search(prepared.settings.seeds.clone());
        }
        self.apply_keys(&prepared);
        if prepared.token.is_some() {
            self.token.send_replace(prepared.token);
        } // without one nothing new can be shown, and the endpoint stays until a restart
        self.reloading.level.set(&prepared.settings.log);
        for key in prepared.settings.fixed_changes(&self.settings) {
            warn!(key, "only a restart changes this setting; the value at the start is kept");
        }
        self.counters.reloads += 1;
        info!(keys = self.standing.keys, members, "configuration reloaded");
    }

    /// Takes a roster, in which more names may have an address than before.
    fn take_roster(&mut self, looked: &Looked) -> Result<(), ConfigError> {
        self.endpoint.node.set_roster(&looked.members, self.clock.now())?;
        let named = looked.members.iter().find(|member| member.name == self.settings.name);
        let address = named.and_then(|own| SocketAddr::try_from(own.address).ok());
        if let Some(address) = address.filter(|_| self.settings.advertise.is_none()) {
            self.standing.address = address.to_string();
        }
        Ok(())
    }

    /// Takes addresses of the roster that were found later.
    pub(super) fn meet_members(&mut self, looked: &Looked) {
        let missing = looked.missing.len();
        self.reloading.unresolved = missing;
        match self.take_roster(looked) {
            Ok(()) => info!(missing, "names of the roster are resolved now"),
            Err(error) => error!(%error, "the roster with its new addresses is rejected"),
        }
    }

    fn apply_keys(&mut self, prepared: &Prepared) {
        if prepared.keys.is_secret() != self.standing.encrypted {
            warn!("turning encryption on or off takes a restart; the keys at the start are kept");
            return;
        }
        if self.standing.encrypted {
            self.standing.keys = prepared.keys.len();
        }
        self.endpoint.node.set_keys(prepared.keys.clone());
    }

    fn refuse(&mut self, error: &dyn std::fmt::Display) {
        self.counters.reloads_failed += 1;
        error!(%error, "the new configuration is rejected; the old one stays in effect");
    }
}
