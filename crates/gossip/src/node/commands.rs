//! Commands: what a driver tells its node to do, beside time and datagrams.

use tidings_primitives::seal::KeyRing;
use tidings_primitives::time::Instant;

use super::machine::Node;
use crate::address::Address;
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::error::{ConfigError, PayloadTooLong};
use crate::membership::Member;
use crate::wire::window::{Reads, WireEntry};

impl Node {
    /// Sets what the node says of itself from its next round on; a shorter text is padded with
    /// zeros.
    ///
    /// # Errors
    /// If it is longer than the cluster's payloads.
    pub fn publish(&mut self, payload: &[u8]) -> Result<(), PayloadTooLong> {
        self.own.publish(payload)
    }

    /// Lets the node's payload have so many bytes from now on: publish again. Where
    /// [`payload_bytes_most`](crate::Config::payload_bytes_most) is given, a cluster changes the
    /// length of its payloads node by node, without a restart.
    ///
    /// # Errors
    /// If that is more than the node has room for, or another length than it was given at its start
    /// and it reads no other. Nothing has changed then.
    pub fn set_payload_bytes(&mut self, payload_bytes: u16) -> Result<(), ConfigError> {
        let Reads { least_bytes, most_bytes, .. } = self.reads;
        if !(least_bytes..=most_bytes).contains(&payload_bytes) {
            let range = format!("{least_bytes} to {most_bytes}");
            return Err(ConfigError::OutOfRange { parameter: "payload_bytes", range });
        }
        self.must_sign_in(payload_bytes)?;
        self.config.payload_bytes = payload_bytes;
        self.size_payload();
        self.vector.set_least(payload_bytes.into());
        self.begin_bases();
        Ok(())
    }

    /// How many bytes of each payload it sends at present: `payload_bytes`, or more while it holds
    /// longer ones of other nodes.
    pub fn payload_bytes_sent(&self) -> u16 {
        self.format().payload_bytes
    }

    /// Says for another member, at `now`, what it would say of itself: news as if it had just come
    /// from there, and counted so. A shorter text is padded with zeros. For members that this
    /// program emulates, as one process of a load test emulates all others.
    ///
    /// Nothing happens if `id` is this node's or no member's.
    ///
    /// # Errors
    /// If the payload is longer than the cluster's.
    pub fn speak_for(
        &mut self,
        id: NodeId,
        payload: &[u8],
        now: Instant,
    ) -> Result<(), PayloadTooLong> {
        self.own.must_fit(payload)?;
        let now = self.vector.advance(now);
        let held = self.vector.get(id).map(|entry| entry.stamp);
        let stamp = held.map_or(Some(Stamp::new(Incarnation::new(1), 0)), Stamp::next);
        let Some(stamp) = stamp.filter(|_| id != self.own.id()) else { return Ok(()) };
        self.intake.count();
        self.take(now, self.own.address(), &WireEntry { id, stamp, age_micros: 0, payload });
        Ok(())
    }

    /// Names nodes to ask for the members. Until another is known the node asks them again and
    /// again, later now and then, so that a cluster that fell apart grows together.
    pub fn join(&mut self, seeds: &[Address]) {
        let own = self.own.address();
        self.catch_up.set_seeds(seeds.iter().copied().filter(|&seed| seed != own));
    }

    /// Says that the node is at another address from now on. A card is of an incarnation, so it
    /// begins a new one, which is returned; `None` where nothing changes: it is there already, has
    /// left, or belongs to a roster, which says where its members are.
    pub fn move_to(&mut self, address: Address, now: Instant) -> Option<Incarnation> {
        if !self.with_cards || self.own.has_left() || address == self.own.address() {
            return None;
        }
        let incarnation = self.vector.own().stamp.incarnation().next()?;
        self.vector.advance(now);
        self.own.move_to(address);
        if let Some(own) = self.membership.get_mut(self.own.id()) {
            own.address = address;
        }
        self.catch_up.drop_seed(address);
        self.say(Stamp::new(incarnation, 0));
        self.card_changed(self.own.id());
        // Whom it asks learns of the move from its card.
        self.catch_up.gained();
        Some(incarnation)
    }

    /// Says farewell: makes the node's last entry and sends it to a few members. No round comes
    /// afterwards: call [`Node::poll_transmit`] until it returns `None`, then drop the node.
    pub fn leave(&mut self, now: Instant) {
        if self.own.has_left() {
            return;
        }
        self.vector.advance(now);
        self.own.leave();
        let incarnation = self.vector.own().stamp.incarnation();
        self.vector.renew_own(Stamp::left(incarnation), &[]);
        self.changed(self.own.id());
        self.outbox.clear_asks();
        self.begin_sending();
        self.play(now, |strategy, context| strategy.farewell(context));
    }

    /// Says what the wall clock shows, in microseconds since 1970 or any other time that all nodes
    /// of the cluster share. Strategy `staggered` needs it, and needs it again when the clock was
    /// set; it may be wrong, which costs freshness and nothing else.
    pub fn set_clock(&mut self, now: Instant, wall_micros: i64) {
        self.rhythm.set_clock(now, wall_micros);
    }

    /// Says whether the node asks others for their entries, as it does from its start. One that
    /// does not still says what it has, and answers: its entry is as young at others as before,
    /// while it knows of few of them, for a part of the datagrams and of the time. Only strategy
    /// `grid` asks; when it does again it has all rows within as many units as it takes to pull
    /// them ([`Layout::pull_units`](crate::dissemination::layout::Layout::pull_units)).
    pub fn set_asks(&mut self, asks: bool) {
        self.asks = asks;
    }

    /// Replaces the keys. Datagrams already made stay as they are.
    pub fn set_keys(&mut self, keys: KeyRing) {
        self.sealer.set_keys(keys);
    }

    /// Replaces the roster: new members are added, missing ones removed with their entries.
    ///
    /// # Errors
    /// As [`Node::new`]; also if the node joins by seeds. Nothing is changed then.
    pub fn set_roster(&mut self, roster: &[Member], now: Instant) -> Result<(), ConfigError> {
        if self.with_cards {
            return Err(ConfigError::NoRoster);
        }
        let now = self.vector.advance(now);
        self.admit(roster, now)
    }
}
