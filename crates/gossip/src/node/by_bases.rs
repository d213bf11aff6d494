//! Changes by bases: to whom a node sends them, what it pushes and answers with, and what it reads.
//!
//! A member gets them if it has said, in its present life, that it reads version 3. It is pushed to
//! and asked in that version then, and answers what was asked in it. All else a node sends in
//! version 2: entries are whole there.
//!
//! Invariants: nothing is kept of receivers. What is read is what its origin said, or is passed
//! over and counted. With signatures neither is done: an entry that nobody has signed cannot be
//! told from a base that is wrong.

use tidings_primitives::seal::TAG_BYTES;
use tidings_primitives::time::Instant;

use super::envelope::Envelope;
use super::intake::Received;
use super::machine::Node;
use super::outbox::Transmit;
use crate::colony::RECORD_BYTES;
use crate::config::MAX_PAYLOAD_BYTES;
use crate::counters::{Counters, Dropped};
use crate::delta::window::{Held, Receiver, Window};
use crate::delta::{self, Name, Origin, Said, Step};
use crate::dissemination::context::{Ids, Order, What};
use crate::entry::NodeId;
use crate::vector::OWN;
use crate::wire::extension::Versions;
use crate::wire::header::{CHANGES_VERSION, Kind};
use crate::wire::inventory::Inventory;
use crate::wire::record::Records;
use crate::wire::size::PREAMBLE_BYTES;
use crate::wire::window::{Marks, WireEntry};

impl Node {
    /// Which versions of the datagrams it reads: version 3 only where it keeps bases.
    pub fn versions_read(&self) -> Versions {
        let highest = if self.speaks_changes() { CHANGES_VERSION } else { CHANGES_VERSION - 1 };
        Versions { highest, ..Versions::READ }
    }

    /// Whether it sends and reads changes by bases.
    pub(super) fn speaks_changes(&self) -> bool {
        self.vector.keeps_bases() && !self.wants_signatures()
    }

    /// Whether changes are sent to a member: it has said in the life that is known of it that it
    /// reads them.
    pub(super) fn sends_changes_to(&self, id: NodeId) -> bool {
        if !self.speaks_changes() {
            return false;
        }
        let Some(record) = self.membership.get(id) else { return false };
        let life = self.vector.get(id).map(|entry| entry.stamp.incarnation());
        let is_present = life.is_none_or(|life| life <= record.replay.incarnation());
        is_present && record.speaks.is_some_and(|speaks| speaks.reads >= CHANGES_VERSION)
    }

    /// Looks what entries and records took in the answers since the last round: rows are laid out
    /// by that, and what a colony carries is charged.
    pub(super) fn look_at_costs(&mut self) {
        let whole = self.format().entry_bytes();
        let Counters { answer_bytes_received, answer_entries_received, .. } = self.counters;
        self.costs.entry.look(whole, answer_bytes_received, answer_entries_received);
        let Some(colony) = &self.colony else { return };
        let whole = colony.table.average_bytes().unwrap_or(RECORD_BYTES);
        let Counters { answer_record_bytes_received, answer_records_received, .. } = self.counters;
        let (bytes, records) = (answer_record_bytes_received, answer_records_received);
        self.costs.look_at_records(whole, bytes, records);
    }

    /// Counts what the entries of an answer took.
    pub(super) fn count_answer(&mut self, marks: Marks, body: &[u8], records: &[u8]) {
        if marks.has(Marks::ANSWER) {
            let [.., low, high] = body.first_chunk::<PREAMBLE_BYTES>().copied().unwrap_or_default();
            let bytes = body.len().saturating_sub(records.len() + PREAMBLE_BYTES);
            self.counters.answer_entries_received += u64::from(u16::from_le_bytes([low, high]));
            self.counters.answer_bytes_received += bytes as u64;
        }
    }

    /// Makes the next own entry a base: those before may say more than datagrams have room for.
    pub(super) fn begin_bases(&mut self) {
        if let Some(origin) = self.origin.as_mut() {
            **origin = Origin::new(self.own.id(), self.config.payload_room().into());
        }
    }

    /// The own entry was made: it may be the base of those that follow.
    pub(super) fn choose_base(&mut self) {
        let (payload_bytes, (_, pace)) = (self.vector.longest(), self.paces());
        let sweep = self.membership.len().div_ceil(self.window_entries().max(1)) as u32;
        let own = self.vector.own();
        let is_base = match self.origin.as_mut() {
            Some(origin) => {
                origin.set_pace(pace, sweep);
                origin.renew(own.stamp, &own.payload[..payload_bytes])
            }
            None => false,
        };
        if is_base {
            self.vector.make_own_base();
        }
    }

    /// Units from one push to a member of the own row to the next, and from one pull of a row.
    pub(super) fn paces(&self) -> (u32, u32) {
        let whole = |units: f64| units.round().max(1.0) as u32;
        let layout = self.strategy.layout();
        layout.map_or((1, 1), |layout| (whole(layout.push_units), whole(layout.pull_units)))
    }

    /// Which bases it holds of the members in a range, for a pull that asks for them. It says
    /// nothing where it holds no entry that is later than its base: then all are new each unit, and
    /// whole entries are the shortest.
    pub(super) fn inventory(&self, Ids { first, last, .. }: Ids) -> Inventory {
        let ids = in_range(self.membership.order(), first, last);
        let is_of_use = |id: &NodeId| {
            let held = self.vector.base_of(*id).filter(|_| *id != self.own.id());
            held.is_some_and(|(base, stamp)| stamp.sequence() > base.name.sequence)
        };
        if !ids.iter().any(is_of_use) {
            return Inventory::NONE;
        }
        // Another salt each time: who has one mark with another base has not the next time.
        let salt = self.counters.pulls_sent as u8;
        Inventory::of(salt, ids, |id| self.vector.base_of(id).map(|(base, _)| base.name))
    }

    /// What a member is answered with that pulls in version 3.
    pub(super) fn changes_for(&self, ids: Ids, since: Instant, said: [Inventory; 2]) -> What {
        let [members, colonies] = said;
        let is_known = members.is_of(in_range(self.membership.order(), ids.first, ids.last));
        let members = if is_known { members } else { Inventory::NONE };
        What::Changes(ids, since, [members, colonies])
    }

    /// Whether the order under way is written as changes.
    pub(super) fn is_of_changes(&mut self, order: &Order) -> bool {
        match order.what {
            What::Changes(..) => true,
            What::Newest(_) => {
                let is_push = self.outbox.window().left() == [OWN];
                is_push && self.sends_changes_to(order.member) && self.is_row_mate(order.member)
            }
            What::Record(_) => self.sends_changes_to(order.member),
            _ => false,
        }
    }

    /// Whether a member gets the own entry each time, and so its base while that is young.
    fn is_row_mate(&self, id: NodeId) -> bool {
        let place = |id: NodeId| self.membership.order().binary_search(&id).ok();
        let rows = self.strategy.layout().zip(place(id)).zip(place(self.own.id()));
        rows.is_some_and(|((layout, mate), own)| {
            own.max(mate) < layout.members() && layout.row_of(own) == layout.row_of(mate)
        })
    }

    /// Writes one datagram of the present window as changes; `None` if nothing of it is left.
    pub(super) fn write_changes(
        &mut self,
        now: Instant,
        order: Order,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let oldest = now - self.config.forget_after;
        let envelope = Envelope { version: CHANGES_VERSION, kind: Kind::Window, receiver: None };
        let (body_at, room) = (self.body_at(envelope), usize::from(self.config.datagram_bytes));
        let body = &mut buffer[body_at..room - TAG_BYTES];
        let members = match &order.what {
            What::Changes(ids, ..) => in_range(self.membership.order(), ids.first, ids.last),
            _ => &[],
        };
        let receiver = match &order.what {
            What::Changes(_, _, [inventory, _]) => Receiver::Asked(members, inventory),
            _ => Receiver::RowMate(self.paces().0),
        };
        let (vector, format) = (&self.vector, self.format());
        let window = Window { vector, format, room: body.len(), receiver };
        let (slots, forms) = self.outbox.window().arranged(|slot| window.form(slot));
        let written = window.encode(body, (order.marks, now, oldest), (slots, forms));
        self.outbox.window().advance(written.slots);
        self.counters.entries_sent += written.entries as u64;
        self.counters.bases_sent += written.bases as u64;
        self.counters.steps_sent += written.steps as u64;
        let body = &mut buffer[body_at..room - TAG_BYTES];
        let bytes = self.add_records(now, Some(&order), body, written.bytes);
        if self.outbox.window().is_through() || bytes == 0 {
            self.outbox.window().end();
        }
        if bytes == 0 {
            return None;
        }
        let bytes = self.seal(envelope, buffer, bytes);
        Some(Transmit { to: order.to, bytes, segment_bytes: bytes })
    }

    /// Takes in a window of version 3.
    pub(super) fn receive_changes(
        &mut self,
        received: &Received,
        body: &[u8],
    ) -> Result<Marks, Dropped> {
        let (marks, mut entries, records) = delta::decode(body, self.reads)?;
        self.must_be_told_records(records)?;
        self.count_answer(marks, body, records);
        let mut room = [0; MAX_PAYLOAD_BYTES as usize];
        let payload_bytes = entries.payload_bytes();
        loop {
            let held = Held { vector: &self.vector, members: self.membership.order() };
            let Some(step) = entries.next(&held, &mut room) else { break };
            match step {
                Step::Entry(said) => {
                    let said = entries.with_base(said);
                    self.take_said(received, &said, &room[..payload_bytes]);
                }
                Step::Whole(entry) => self.take(received.now, received.from, &entry),
                Step::NoBase(_) => self.counters.entries_without_base += 1,
                Step::Disagreed(count) => self.counters.entries_disagreed += u64::from(count),
            }
        }
        self.take_told_records(received.now, marks, records);
        Ok(marks)
    }

    fn take_said(&mut self, received: &Received, said: &Said<'_>, payload: &[u8]) {
        let Said { id, stamp, age_micros, base_sequence, base, steps: _ } = *said;
        self.take(received.now, received.from, &WireEntry { id, stamp, age_micros, payload });
        if let Some(base) = base {
            let name = Name { id, incarnation: stamp.incarnation(), sequence: base_sequence };
            self.counters.bases_taken += u64::from(self.vector.keep_base(name, base));
        }
    }

    /// Refuses what are no records of colonies, or come where there are none.
    pub(super) fn must_be_records(&self, records: &[u8]) -> Result<(), Dropped> {
        Records::of(records).try_for_each(|record| record.map(drop))?;
        if self.colony.is_none() && !records.is_empty() {
            return Err(Dropped::Malformed);
        }
        Ok(())
    }
}

/// The members from one id to another, both included.
pub(super) fn in_range(order: &[NodeId], first: NodeId, last: NodeId) -> &[NodeId] {
    let start = order.partition_point(|&id| id < first);
    let end = order.partition_point(|&id| id <= last).max(start);
    &order[start..end]
}
