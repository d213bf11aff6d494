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
use crate::prepare::{Identity, Prepared};
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
        self.apply_identity(&prepared);
        self.apply_payload_bytes(prepared.settings.payload_bytes);
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

    /// Takes another secret, and other public keys. Signing itself begins and ends with a life,
    /// since it changes how much a payload has room for.
    fn apply_identity(&mut self, prepared: &Prepared) {
        match &prepared.identity {
            Some(Identity { signer, known }) if self.signed_bytes() > 0 => {
                if let Err(error) = self.endpoint.node.sign(signer.clone(), known.as_ref()) {
                    warn!(%error, "the identity is kept");
                }
            }
            None if self.signed_bytes() == 0 => {}
            _ => warn!("to sign or not to sign takes a restart; what was so at the start is kept"),
        }
    }

    /// Bytes that a signature takes of this node's payloads.
    fn signed_bytes(&self) -> u16 {
        self.settings.payload_bytes - self.endpoint.node.content_bytes()
    }

    /// Changes the length of this node's payloads, if others need not have the same.
    fn apply_payload_bytes(&mut self, bytes: u16) {
        let kept = self.settings.payload_bytes;
        if bytes == kept {
            return;
        }
        if self.settings.payload_bytes_most == 0 {
            warn!(
                kept,
                "without payload_bytes_most a change of payload_bytes takes a restart of all nodes \
                 at once; the value at the start is kept"
            );
            return;
        }
        let (now, signed) = (self.clock.now(), self.signed_bytes());
        if let Err(error) = self.user.set_payload_bytes(bytes.saturating_sub(signed), now) {
            warn!(kept, %error, "payload_bytes is kept: first withdraw some of what is published");
            return;
        }
        if let Err(error) = self.endpoint.node.set_payload_bytes(bytes) {
            warn!(kept, %error, "payload_bytes is kept: a restart changes payload_bytes_most");
            // What fits in the new length fits in the kept one, or nothing has come since.
            let _ = self.user.set_payload_bytes(kept - signed, now);
            return;
        }
        self.settings.payload_bytes = bytes;
        self.payload = vec![0; usize::from(bytes - signed)];
        self.publish(now);
        info!(from = kept, to = bytes, "payloads have another length from now on");
    }

    fn refuse(&mut self, error: &dyn std::fmt::Display) {
        self.counters.reloads_failed += 1;
        error!(%error, "the new configuration is rejected; the old one stays in effect");
    }
}
