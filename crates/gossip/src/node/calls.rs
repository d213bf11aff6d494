//! Calls: what a node asks other colonies for those of its own, and what it answers them.

use core::ops::Range;

use tidings_primitives::Chance;
use tidings_primitives::seal::TAG_BYTES;
use tidings_primitives::time::{Instant, micros};

use super::envelope::Envelope;
use super::intake::Received;
use super::machine::Node;
use super::outbox::Transmit;
use crate::address::Address;
use crate::age;
use crate::aggregate;
use crate::colony::caller::{Call, GROWTH_BYTES, REPLY_CONTACTS};
use crate::colony::id::ColonyId;
use crate::colony::representation::{LATE_UNITS, Representation, silent_units};
use crate::colony::table::Taken;
use crate::colony::visit::{KEPT_UNITS, Visit};
use crate::colony::{Colony, PendingAnswer};
use crate::counters::Dropped;
use crate::event::Event;
use crate::wire::call::{MAX_CALL_BYTES, REPLY_HEAD_BYTES, Request, read_reply};
use crate::wire::header::{self, Kind};
use crate::wire::record::{HEAD_BYTES, write_record};

/// Members drawn to find those that are fresh.
const CONTACT_DRAWS: usize = 8;

impl Node {
    /// Calls the colonies that this node represents. The layout is that of the round.
    pub(super) fn begin_calls(&mut self, now: Instant) {
        let Some(colony) = self.colony.as_mut() else { return };
        let unit = micros(self.config.interval);
        let dropped = now - self.config.interval * KEPT_UNITS;
        colony.visit.take_if(|visit| visit.ended_before(dropped));
        colony.caller.begin();
        let order = self.membership.order();
        let own = order.partition_point(|&id| id < self.own.id());
        // A node alone is a row, and the only one.
        let (row, mates, rows, push_units) = match self.strategy.layout() {
            Some(layout) => {
                let row = layout.row_of(own);
                (row, layout.members_of(row), layout.rows(), layout.push_units)
            }
            None => (0, 0..order.len(), 1, 1.0),
        };
        let silent = now.before((silent_units(push_units) * unit as f64) as u64);
        let is_fresh = |at: usize| {
            // Members may have gone since the layout was made.
            let Some(&id) = order.get(mates.start + at) else { return false };
            let entry = self.vector.get(id);
            id == self.own.id()
                || (self.membership.is_target(id) && entry.is_some_and(|e| e.birth > silent))
        };
        let late = now.before((LATE_UNITS * unit) as u64);
        let representation = Representation::of(colony.table.len(), rows);
        let me = Some(own - mates.start);
        for place in representation.colonies_of(row) {
            let record = &colony.table.records()[place];
            let [first, second] = representation.representatives(row, place, mates.len(), is_fresh);
            let is_late = record.birth.is_none_or(|birth| birth < late);
            if first == me || (second == me && is_late) {
                call(colony, place, 0, &mut self.chance);
            }
        }
    }

    /// Whether an answer of another colony is awaited.
    pub(super) fn awaits_colonies(&self) -> bool {
        let colony = self.colony.as_ref();
        colony.is_some_and(|colony| {
            colony.caller.is_open() || colony.visit.as_ref().is_some_and(Visit::is_under_way)
        })
    }

    /// Repeats the calls and the visit that were not answered.
    pub(super) fn look_at_calls(&mut self, now: Instant) {
        let Some(colony) = self.colony.as_mut() else { return };
        while let Some(late) = colony.caller.next_late() {
            let at = colony.table.records().binary_search_by_key(&late.colony, |r| r.id);
            if let Ok(place) = at {
                call(colony, place, late.repeats + 1, &mut self.chance);
            }
        }
        colony.caller.looked();
        let Some(visit) = colony.visit.as_mut() else { return };
        if visit.look(now) {
            let event = Event::Visited(visit.colony, false);
            self.emit(event);
        }
    }

    pub(super) fn write_call(&mut self, call: Call, buffer: &mut [u8]) -> Transmit {
        let (mut room, mut own) = (MAX_CALL_BYTES, ColonyId(0));
        if let Some(colony) = &self.colony {
            own = colony.id;
            let held = colony.table.get(call.colony).map_or(0, |record| record.aggregate().len());
            if held > 0 && call.repeats == 0 {
                let contacts = REPLY_CONTACTS * (1 + self.own.address().as_bytes().len());
                room = REPLY_HEAD_BYTES + HEAD_BYTES + contacts + held + GROWTH_BYTES;
            }
        }
        let request = Request { token: call.token, colony: call.colony, word: own.0 };
        let envelope = self.envelope(Kind::Call);
        let body_at = self.body_at(envelope);
        request.write(&mut buffer[body_at..body_at + room]);
        self.counters.calls_sent += 1;
        let bytes = self.seal(envelope, buffer, room);
        Transmit { to: call.to, bytes, segment_bytes: bytes }
    }

    pub(super) fn write_reply(
        &mut self,
        now: Instant,
        pending: &PendingAnswer,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let id = self.colony()?;
        let mut aggregate = [0; aggregate::MAX_BYTES];
        let bytes = self.aggregate(now).encode(&mut aggregate).ok()?;
        let mut contacts = self.fresh_contacts(now);
        let envelope = self.envelope(Kind::Reply);
        let body = &mut buffer[self.body_within(envelope, pending.room)];
        let (token, record) = body.split_at_mut_checked(REPLY_HEAD_BYTES)?;
        token.copy_from_slice(&pending.token.to_le_bytes());
        let age = age::encode(now, now);
        let written = loop {
            let known = contacts.iter().copied().flatten();
            let written = write_record(record, (id, age), known, &aggregate[..bytes]);
            // Fewer contacts, if that helps.
            let spare = contacts.iter_mut().rev().find(|contact| contact.is_some());
            match spare {
                Some(contact) if written == 0 => *contact = None,
                _ => break written,
            }
        };
        (written > 0).then_some(())?;
        self.counters.calls_answered += 1;
        let bytes = self.seal(envelope, buffer, REPLY_HEAD_BYTES + written);
        Some(Transmit { to: pending.to, bytes, segment_bytes: bytes })
    }

    /// Where the body of an answer lies whose sealed part must not have more than `room` bytes.
    pub(super) fn body_within(&self, envelope: Envelope, room: usize) -> Range<usize> {
        let most = usize::from(self.config.datagram_bytes) - header::BYTES - TAG_BYTES;
        let (start, end) = (self.body_at(envelope), header::BYTES + room.min(most));
        start..end.max(start)
    }

    /// Addresses of some members whose entries are fresh.
    fn fresh_contacts(&mut self, now: Instant) -> [Option<Address>; REPLY_CONTACTS] {
        let fresh = self.strategy.layout().map_or(0.0, |layout| layout.fresh_units());
        let fresh = now.before((fresh * micros(self.config.interval) as f64) as u64);
        let mut contacts = [None; REPLY_CONTACTS];
        let mut found = 0;
        for _ in 0..CONTACT_DRAWS {
            let Some(record) = self.membership.target(self.chance.below(self.membership.targets()))
            else {
                break;
            };
            let is_fresh = self.vector.get(record.id).is_some_and(|entry| entry.birth > fresh);
            if is_fresh && !contacts.contains(&Some(record.address)) {
                contacts[found] = Some(record.address);
                found += 1;
                if found == REPLY_CONTACTS {
                    break;
                }
            }
        }
        contacts
    }

    pub(super) fn receive_reply(
        &mut self,
        received: &Received,
        body: &[u8],
    ) -> Result<(), Dropped> {
        let (now, from) = (received.now, received.from);
        let (token, record) = read_reply(body)?;
        let (_, pace) = self.paces();
        let colony = self.colony.as_mut().ok_or(Dropped::Version)?;
        if !colony.caller.answered(token, record.colony) {
            return Err(Dropped::Colony);
        }
        self.counters.records_received += 1;
        let outcome = colony.table.take_reply(&record, now.before(record.age_micros), pace);
        if outcome != Taken::Refused {
            colony.table.introduce(record.colony, core::iter::once(from));
        }
        self.count_record(outcome);
        if outcome == Taken::News {
            self.push_record(record.colony);
        }
        Ok(())
    }
}

/// Calls the colony in a place of the colony table, at one of its addresses.
fn call(colony: &mut Colony, place: usize, repeats: u8, chance: &mut Chance) {
    let record = &colony.table.records()[place];
    let token = chance.bits();
    if let Some(to) = record.contact(|n| chance.below(n)) {
        let id = record.id;
        colony.caller.call(Call { colony: id, to, token, repeats });
    }
}
