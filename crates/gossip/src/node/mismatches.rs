//! Mismatches as a node meets them: what a dropped datagram shows, and rejects in both directions.
//!
//! A reject is no longer than what it answers, and few are sent: one to an address in
//! [`REJECT_UNITS`], and all together at the pace of `Paces::reject`. None answers a reject.

use tidings_primitives::nonce::Nonce;
use tidings_primitives::time::Instant;

use super::machine::Node;
use super::meeting::Meeting;
use super::outbox::Transmit;
use crate::address::Address;
use crate::counters::Dropped;
use crate::entry::NodeId;
use crate::event::Event;
use crate::mismatch::{Difference, Mismatch, Side};
use crate::wire::header::{self, HIGHEST_VERSION, Kind, LOWEST_VERSION};
use crate::wire::reject::{self, Reject};

/// Units of time between two rejects to one address.
const REJECT_UNITS: u32 = 16;
/// Rejects pending at one time.
const MAX_REJECTS: usize = 8;

/// What a datagram that was dropped for this reason shows, if it shows a mismatch.
fn difference(dropped: Dropped, header: &[u8; header::BYTES]) -> Option<Difference> {
    Some(match dropped {
        // The reason also stands for kinds of later releases, and between colonies.
        Dropped::Version if !(LOWEST_VERSION..=HIGHEST_VERSION).contains(&header[2]) => {
            Difference::Version
        }
        Dropped::Cluster => Difference::Cluster,
        Dropped::Key => Difference::Key,
        Dropped::Schema => Difference::Payload,
        Dropped::UnknownSender => Difference::Roster,
        Dropped::OwnId => Difference::Name,
        Dropped::Implausible => Difference::Clock,
        Dropped::Corrupt => Difference::Seal,
        _ => return None,
    })
}

impl Node {
    /// The mismatches of the last [minute](crate::mismatch::PRESENT), in no order.
    pub fn mismatches(&self, now: Instant) -> impl Iterator<Item = &Mismatch> {
        self.meeting.table.present(now)
    }

    /// The name of the member with this id.
    pub fn member_name(&self, id: NodeId) -> Option<&str> {
        self.membership.get(id).map(|record| &*record.name)
    }

    /// Notes what a datagram that was dropped shows, and has its sender know.
    pub(super) fn note_drop(
        &mut self,
        now: Instant,
        from: Address,
        dropped: Dropped,
        datagram: &[u8],
    ) {
        let Some(head) = datagram.first_chunk() else { return };
        let Some(difference) = difference(dropped, head) else { return };
        let [_, _, _, _, nonce @ ..] = *head;
        let of = Nonce::from_bytes(nonce);
        // A seed may be this node itself; and what an earlier life has sent may still arrive.
        if from == self.own.address() || self.sealer.has_sealed(&of) {
            return;
        }
        // Where the sender's id lies in another version is not known.
        let id = (difference != Difference::Version).then_some(of.sender);
        let reads = self.versions_read();
        let Meeting { table, pace, share, waiting } = &mut self.meeting;
        let (row, is_event) = table.note(now, from, (difference, Side::Here), id);
        let event = Event::Mismatch(row.address, row.difference, row.side);
        let pause = self.config.interval * REJECT_UNITS;
        let due = row.rejected.is_none_or(|at| now.saturating_since(at) >= pause);
        // Who checks waits for it.
        let is_wanted = due || head[3] == Kind::Check as u8;
        let has_room = waiting.len() < MAX_REJECTS && datagram.len() >= reject::BYTES;
        if is_wanted && has_room && share.take(now, *pace) {
            row.rejected = Some(now);
            let differs = difference == Difference::Payload;
            let payload_bytes = if differs { self.config.payload_bytes } else { 0 };
            let reject = Reject { of, difference, reads, payload_bytes };
            waiting.push((from, reject.to_bytes(head)));
        }
        if is_event {
            self.emit(event);
        }
    }

    /// Takes note of a reject, if it answers a datagram of this node.
    pub(super) fn receive_reject(
        &mut self,
        now: Instant,
        from: Address,
        datagram: &[u8],
    ) -> Result<(), Dropped> {
        let reject = Reject::read(datagram).ok_or(Dropped::Reject)?;
        if reject.of.sender != self.own.id() || !self.sealer.has_sealed(&reject.of) {
            return Err(Dropped::Reject);
        }
        self.counters.rejects_received += 1;
        let what = (reject.difference, Side::There);
        let (row, is_event) = self.meeting.table.note(now, from, what, None);
        if is_event {
            let event = Event::Mismatch(row.address, row.difference, row.side);
            self.emit(event);
        }
        Ok(())
    }

    /// Writes the next reject that is pending.
    pub(super) fn transmit_reject(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        let (to, reject) = self.meeting.waiting.pop()?;
        buffer[..reject::BYTES].copy_from_slice(&reject);
        self.counters.rejects_sent += 1;
        self.counters.datagrams_sent += 1;
        self.counters.bytes_sent += reject::BYTES as u64;
        Some(Transmit { to, bytes: reject::BYTES, segment_bytes: reject::BYTES })
    }
}
