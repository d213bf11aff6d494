//! Checks of other nodes, answered.
//!
//! A check concerns no membership and no entry. It is answered once, with as many bytes as it has,
//! where it came from. That of an operator is of no life of its node, and so of no replay window: a
//! recorded one is answered too, within the pace of `Paces::check`.

use tidings_primitives::seal::{Fingerprint, TAG_BYTES};
use tidings_primitives::time::Instant;

use super::checker::Checker;
use super::checks::{Answer, Checks, MAX_ANSWERS};
use super::intake::Received;
use super::machine::Node;
use super::outbox::Transmit;
use crate::address::Address;
use crate::counters::Dropped;
use crate::entry::NodeId;
use crate::wire::check::{self, Check, Checked, Held};
use crate::wire::header::Kind;

impl Node {
    /// Takes in a check.
    pub(super) fn receive_check(
        &mut self,
        received: &Received,
        body: &[u8],
    ) -> Result<(), Dropped> {
        let token = Check::read(body)?.token;
        // A share of its sender would be used up by recordings.
        let Checks { pace, share, waiting } = &mut self.checks;
        if waiting.len() >= MAX_ANSWERS || !share.take(received.now, *pace) {
            return Err(Dropped::Excess);
        }
        let (to, bytes, asker) = (received.from, received.bytes, received.header.sender);
        waiting.push(Answer { to, bytes, asker, token });
        Ok(())
    }

    /// Writes the next answer that is pending.
    pub(super) fn transmit_checked(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        let Answer { to, bytes, asker, token } = self.checks.waiting.pop()?;
        let envelope = self.envelope(Kind::Checked);
        let body = self.body_at(envelope)..buffer.len().min(bytes).checked_sub(TAG_BYTES)?;
        let room = body.len();
        if room < check::LEAST_BYTES {
            return None; // asked in a version with less in front of the body
        }
        self.checked(now, (to, asker, token)).write(&mut buffer[body]);
        self.counters.checks_answered += 1;
        let bytes = self.seal(envelope, buffer, room);
        Some(Transmit { to, bytes, segment_bytes: bytes })
    }

    fn checked(&self, now: Instant, (from, asker, token): (Address, NodeId, u64)) -> Checked {
        let wall = self.rhythm.wall_offset();
        Checked {
            token,
            format: self.format(),
            writes: self.config.wire_version,
            reads: self.versions_read(),
            wall_micros: wall.map(|offset| now.as_micros().saturating_add(offset)),
            members: self.members(),
            held: self.view(asker, now).map(|view| view.state),
            from,
            address: self.membership.get(asker).map(|record| record.address),
            keys: Held::of(self.sealer.fingerprints()),
        }
    }

    /// The fingerprints of its keys, that of the sealing one first; none without a secret.
    pub fn key_fingerprints(&self) -> &[Fingerprint] {
        self.sealer.fingerprints()
    }

    /// A checker with the keys and the name of this node as they are now.
    pub fn checker(&mut self) -> Checker {
        let sealer = self.sealer.beside(self.chance.bits());
        let own = (self.own.id(), self.incarnation());
        let payloads = (self.format(), self.reads);
        Checker::new(sealer, self.version_written(), own, payloads)
    }
}
