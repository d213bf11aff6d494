//! Signing: what a node signs of its own, and what it takes of others only if they have signed it.
//!
//! Invariants: with the public keys of the members, an entry that is neither tombstone nor farewell
//! is held only if the node that it is about has signed it. What is verified in a unit is bounded,
//! so that forgeries cost no more time than that.

use tidings_primitives::time::Instant;

use super::machine::Node;
use super::verifier::Signing;
use crate::address::Address;
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::error::ConfigError;
use crate::event::Event;
use crate::signature::Signer;
use crate::signed::{Claim, Identities, SIGNED_BYTES, cluster_number};
use crate::wire::window::WireEntry;

/// Refuses payloads that are too short for a signature.
fn must_fit(payload_bytes: u16) -> Result<(), ConfigError> {
    if payload_bytes >= SIGNED_BYTES {
        return Ok(());
    }
    let range = format!("{SIGNED_BYTES} or more, since entries are signed");
    Err(ConfigError::OutOfRange { parameter: "payload_bytes", range })
}

impl Node {
    /// Signs what this node says of itself from now on, and publishes: a signature takes
    /// [`SIGNED_BYTES`] of its payload, so publish again. With the public keys of the members, the
    /// node takes no entry that its origin has not signed; what it holds by now it keeps.
    ///
    /// # Errors
    /// If a signature does not fit the payload. Nothing has changed then.
    pub fn sign(&mut self, signer: Signer, known: Option<&Identities>) -> Result<(), ConfigError> {
        must_fit(self.config.payload_bytes)?;
        let known = known.map(|known| known.by_id(self.config.id_salt));
        let cluster = cluster_number(&self.config.cluster);
        let room = usize::from(self.config.payload_room());
        self.signing = Some(Box::new(Signing::of(signer, known, cluster, room)));
        self.size_payload();
        if self.counters.rounds == 0 {
            self.say(self.vector.own().stamp);
        }
        Ok(())
    }

    /// Refuses payloads that are too short for what this node signs.
    pub(super) fn must_sign_in(&self, payload_bytes: u16) -> Result<(), ConfigError> {
        if self.signing.is_some() { must_fit(payload_bytes) } else { Ok(()) }
    }

    /// Signs no more, and takes what nobody has signed.
    pub fn sign_nothing(&mut self) {
        self.signing = None;
        self.size_payload();
    }

    /// Bytes of a payload that this node can publish: `payload_bytes`, less a signature.
    pub fn content_bytes(&self) -> u16 {
        let signed = if self.signing.is_some() { SIGNED_BYTES } else { 0 };
        self.config.payload_bytes.saturating_sub(signed)
    }

    pub(super) fn size_payload(&mut self) {
        self.own.set_room(self.content_bytes().into());
    }

    /// Makes the node's own entry, with this stamp.
    pub(super) fn say(&mut self, stamp: Stamp) {
        self.write_own(stamp);
        self.choose_base();
    }

    fn write_own(&mut self, stamp: Stamp) {
        let content = self.own.payload();
        let Some(signing) = self.signing.as_deref_mut() else {
            return self.vector.renew_own(stamp, content);
        };
        let Signing { signer, cluster, payload, buffer, .. } = signing;
        payload.resize(self.config.payload_bytes.max(SIGNED_BYTES).into(), 0);
        Claim { cluster: *cluster, id: self.own.id(), stamp }
            .sign(signer, content, payload, buffer);
        self.vector.renew_own(stamp, payload);
    }

    /// A unit begins: as many entries may be verified again.
    pub(super) fn begin_verifying(&mut self) {
        let members = self.membership.len();
        if let Some(signing) = self.signing.as_deref_mut() {
            signing.begin_round(members);
        }
    }

    /// Whether only signed entries are taken.
    #[inline]
    pub(super) fn wants_signatures(&self) -> bool {
        self.signing.as_ref().is_some_and(|signing| signing.known.is_some())
    }

    /// Whether a sender has this life, as far as signatures show it: a later one, which any holder
    /// of the cluster's keys can claim, must not have datagrams of the present one refused.
    #[inline]
    pub(super) fn has_proven(&self, sender: NodeId, life: Incarnation) -> bool {
        let held = || self.vector.get(sender).map(|held| held.stamp.incarnation());
        !self.wants_signatures() || held().is_some_and(|held| life <= held)
    }

    /// Whether an entry lacks the signature that it needs.
    pub(super) fn is_forged(&mut self, entry: &WireEntry<'_>) -> bool {
        let wants = self.wants_signatures() && !entry.stamp.is_last();
        wants && !self.signing.as_deref_mut().is_some_and(|signing| signing.holds(entry))
    }

    /// Counts and refuses an entry that would be taken, and lacks the signature that it needs.
    pub(super) fn refuses_forged(
        &mut self,
        now: Instant,
        from: Address,
        entry: &WireEntry<'_>,
    ) -> bool {
        if !self.wants_signatures() {
            return false;
        }
        let held = self.vector.get(entry.id).map(|held| held.stamp);
        if held.is_some_and(|held| entry.stamp <= held) || !self.is_forged(entry) {
            return false;
        }
        let name = self.membership.get(entry.id).map(|record| record.name.to_string());
        self.count_forged(now, name, from);
        true
    }

    /// Counts an entry about a node of this name, and reports it unless another was just now.
    #[cold]
    pub(super) fn count_forged(&mut self, now: Instant, name: Option<String>, from: Address) {
        self.counters.entries_unsigned += 1;
        if let Some(name) = name.filter(|_| self.lives.reports(now, self.config.interval)) {
            self.emit(Event::Unsigned(name, from));
        }
    }
}
