//! The intake: what is known of a datagram that arrives, and what its sender may still ask.

use tidings_primitives::seal::TAG_BYTES;
use tidings_primitives::time::Instant;

use crate::address::Address;
use crate::colony::table;
use crate::membership::Record;
use crate::share::{Paces, Share};
use crate::wire::header::{self, Header, Kind};

/// From which life of its sender a datagram is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Present,
    Past,
}

/// A datagram that has arrived and was opened, beside its body.
pub(super) struct Received {
    /// When it arrived.
    pub(super) now: Instant,
    pub(super) header: Header,
    pub(super) life: Life,
    /// Where it came from, as it seems.
    pub(super) from: Address,
    /// Bytes of the datagram.
    pub(super) bytes: usize,
    /// Whether it may have been made for this life of this node.
    pub(super) meant: bool,
}

impl Received {
    /// Bytes between header and tag.
    pub(super) fn sealed_bytes(&self) -> usize {
        self.bytes - header::BYTES - TAG_BYTES
    }
}

/// Numbers arrivals, and charges requests to the shares of those who make them.
pub(super) struct Intake {
    /// How fast the shares of others fill.
    paces: Paces,
    /// What is left of the share of all who are no members, or not in their present life.
    strangers: Share,
    /// Numbers the datagrams that arrived, modulo 2³² and without 0.
    number: u32,
}

impl Intake {
    pub(super) fn new(paces: Paces) -> Self {
        Self { paces, strangers: Share::WHOLE, number: 0 }
    }

    /// Another datagram arrives.
    pub(super) fn count(&mut self) {
        self.number = self.number.wrapping_add(1).max(1);
    }

    /// The number of the datagram that arrived last.
    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    /// Charges a datagram to the share of its sender; `false` if nothing is left of it. An ask of a
    /// past life may be a recording, which must not use up the share of the member that it names.
    pub(super) fn charge(&mut self, received: &Received, member: Option<&mut Record>) -> bool {
        let (now, paces) = (received.now, self.paces);
        let member = member.filter(|_| received.life == Life::Present);
        match (received.header.kind, member) {
            (Kind::Ask | Kind::Pull, Some(member)) => member.requests.take(now, paces.request),
            (Kind::Probe, Some(member)) => member.probes.take(now, paces.probe),
            (Kind::Ask, None) if received.life == Life::Past => self.charge_strangers(now),
            // Who asks first is charged once it is seen that this does not make it a member.
            _ => true,
        }
    }

    /// Charges the share of all who are no members.
    pub(super) fn charge_strangers(&mut self, now: Instant) -> bool {
        self.strangers.take(now, self.paces.stranger)
    }

    /// Charges the request of a member for a window in return.
    pub(super) fn charge_request(&self, now: Instant, member: &mut Record) -> bool {
        member.requests.take(now, self.paces.request)
    }

    /// Charges a call to the colony that makes it, or to strangers if it is not known.
    pub(super) fn charge_call(&mut self, now: Instant, by: Option<&mut table::Record>) -> bool {
        match by {
            Some(colony) => colony.calls.take(now, self.paces.request),
            None => self.charge_strangers(now),
        }
    }

    /// Charges a visit to the share of all visitors.
    pub(super) fn charge_visit(&self, now: Instant, visitors: &mut Share) -> bool {
        visitors.take(now, self.paces.visit)
    }
}
