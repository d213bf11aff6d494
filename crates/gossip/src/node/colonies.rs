//! What a node does as a member of a colony: call others, answer them, pass on what it learns, and
//! visit. Without a colony in its configuration nothing in here does anything.

use tidings_primitives::seal::TAG_BYTES;
use tidings_primitives::time::{Instant, micros};

use super::outgoing::RecordsLeft;
use super::receive::Letter;
use super::{Node, Transmit};
use crate::address::Address;
use crate::age;
use crate::aggregate::{self, Aggregate};
use crate::colony::caller::{Call, GROWTH_BYTES, REPLY_CONTACTS};
use crate::colony::outlook::{ColonyView, Taken};
use crate::colony::representation::{LATE_UNITS, Representation, silent_units};
use crate::colony::visit::{KEPT_UNITS, Visit, VisitView};
use crate::colony::{Colony, ColonyId, Owed, STALE_UNITS};
use crate::counters::Dropped;
use crate::dissemination::scene::{Order, What};
use crate::entry::NodeId;
use crate::event::Event;
use crate::vector::Entry;
use crate::wire::ask::{Answer, AnswerWriter, Card};
use crate::wire::call::{
    MAX_CALL_BYTES, REPLY_HEAD_BYTES, Request, SLICE_HEAD_BYTES, SliceHead, read_reply,
};
use crate::wire::header::{self, Kind};
use crate::wire::overhead_bytes;
use crate::wire::record::{HEAD_BYTES, Records, write_record};
use crate::wire::window::Marks;

/// Members drawn to find those that are fresh.
const CONTACT_DRAWS: usize = 8;

impl Node {
    /// The colony that this node is a member of.
    pub fn colony(&self) -> Option<ColonyId> {
        self.colony.as_ref().map(|colony| colony.id)
    }

    /// Says that there are members of another colony at these addresses; four are remembered.
    /// `false` if this node is in no colony, or in that one, or has room for no other.
    pub fn introduce(&mut self, colony: ColonyId, contacts: &[Address]) -> bool {
        let outlook = self.colony.as_mut().map(|own| &mut own.outlook);
        outlook.is_some_and(|outlook| outlook.introduce(colony, contacts.iter().copied()))
    }

    /// What this node knows of all other colonies, in the order of their ids.
    pub fn outlook(&self, now: Instant) -> impl Iterator<Item = ColonyView<'_>> {
        let records = self.colony.iter().flat_map(|colony| colony.outlook.records());
        records.map(move |record| ColonyView::of(record, now))
    }

    /// The aggregate of the members this node knows, itself included: of its colony, or of its
    /// cluster if that has no colonies. Entries of 64 units or more count as stale.
    pub fn aggregate(&self, now: Instant) -> Aggregate {
        Aggregate::of(self.entries(now), self.config.interval * STALE_UNITS)
    }

    /// The aggregate of all colonies, the own one included, as far as they are known. Their ages
    /// are those that each had when it was made.
    pub fn global_aggregate(&self, now: Instant) -> Aggregate {
        let mut global = self.aggregate(now);
        let others = self.outlook(now).filter_map(|view| view.aggregate());
        others.for_each(|aggregate| global.merge(&aggregate));
        global
    }

    /// Begins to fetch the vector of another colony; an earlier visit is dropped. `false` if nobody
    /// there is known. [`Event::Visited`] tells the end; see [`Node::visited`].
    pub fn visit(&mut self, colony: ColonyId) -> bool {
        let room = self.config.max_nodes as usize;
        let Some(own) = self.colony.as_mut() else { return false };
        let known = own.outlook.get(colony).and_then(|record| record.contacts().next());
        if known.is_some() {
            own.visit = Some(Visit::to(colony, room));
        }
        known.is_some()
    }

    /// What the last visit has brought so far; it is dropped 256 units after its end.
    pub fn visited(&self, now: Instant) -> Option<VisitView<'_>> {
        let visit = self.colony.as_ref()?.visit.as_ref()?;
        Some(VisitView::of(visit, now))
    }

    /// Drops what the last visit brought, or ends it.
    pub fn end_visit(&mut self) {
        if let Some(colony) = self.colony.as_mut() {
            colony.visit = None;
        }
    }

    /// Calls the colonies that this node represents. The layout is that of the round.
    pub(super) fn begin_calls(&mut self, now: Instant) {
        let Some(colony) = self.colony.as_mut() else { return };
        let unit = micros(self.config.interval);
        let dropped = now - self.config.interval * KEPT_UNITS;
        colony.visit.take_if(|visit| visit.ended_before(dropped));
        colony.caller.begin();
        let order = self.membership.order();
        let own = order.partition_point(|&id| id < self.id);
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
            id == self.id
                || (self.membership.is_target(id) && entry.is_some_and(|e| e.birth > silent))
        };
        let late = now.before((LATE_UNITS * unit) as u64);
        let representation = Representation::of(colony.outlook.len(), rows);
        let me = Some(own - mates.start);
        for place in representation.colonies_of(row) {
            let record = &colony.outlook.records()[place];
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
            let at = colony.outlook.records().binary_search_by_key(&late.colony, |r| r.id);
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

    /// The next datagram to another colony.
    pub(super) fn transmit_foreign(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        self.colony.as_ref()?;
        while let Some(owed) = self.colony.as_mut().and_then(|c| c.replies.pop_front()) {
            if let Some(out) = self.write_reply(now, &owed, buffer) {
                return Some(out);
            }
            self.counters.dropped_answers += 1;
        }
        while let Some(owed) = self.colony.as_mut().and_then(|c| c.slices.pop_front()) {
            if let Some(out) = self.write_slice(now, &owed, buffer) {
                return Some(out);
            }
            self.counters.dropped_answers += 1;
        }
        if let Some(call) = self.colony.as_mut().and_then(|c| c.caller.next_due()) {
            return Some(self.write_call(call, buffer));
        }
        self.write_visit(buffer)
    }

    fn write_call(&mut self, call: Call, buffer: &mut [u8]) -> Transmit {
        let (mut room, mut own) = (MAX_CALL_BYTES, ColonyId(0));
        if let Some(colony) = &self.colony {
            own = colony.id;
            let held = colony.outlook.get(call.colony).map_or(0, |record| record.aggregate().len());
            if held > 0 && call.repeats == 0 {
                let contacts = REPLY_CONTACTS * (1 + self.address.as_bytes().len());
                room = REPLY_HEAD_BYTES + HEAD_BYTES + contacts + held + GROWTH_BYTES;
            }
        }
        let request = Request { token: call.token, colony: call.colony, word: own.0 };
        let body_at = self.body_at();
        request.write(&mut buffer[body_at..body_at + room]);
        self.counters.calls_sent += 1;
        let bytes = self.seal(Kind::Call, buffer, room);
        // Whoever asks pays for the answer, too.
        self.strategy.spend(2 * bytes);
        Transmit { to: call.to, bytes, segment_bytes: bytes }
    }

    fn write_reply(&mut self, now: Instant, owed: &Owed, buffer: &mut [u8]) -> Option<Transmit> {
        let id = self.colony()?;
        let mut aggregate = [0; aggregate::MAX_BYTES];
        let bytes = self.aggregate(now).encode(&mut aggregate).ok()?;
        let mut contacts = self.fresh_contacts(now);
        let body = &mut buffer[self.body_within(owed.room)];
        let (token, record) = body.split_at_mut_checked(REPLY_HEAD_BYTES)?;
        token.copy_from_slice(&owed.token.to_le_bytes());
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
        let bytes = self.seal(Kind::Reply, buffer, REPLY_HEAD_BYTES + written);
        Some(Transmit { to: owed.to, bytes, segment_bytes: bytes })
    }

    /// Where the body of an answer lies whose sealed part must not have more than `room` bytes.
    fn body_within(&self, room: usize) -> core::ops::Range<usize> {
        let most = usize::from(self.config.datagram_bytes) - header::BYTES - TAG_BYTES;
        let (start, end) = (self.body_at(), header::BYTES + room.min(most));
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

    fn write_visit(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        let colony = self.colony.as_mut()?;
        let visit = colony.visit.as_mut()?;
        let token = self.chance.bits();
        let record = colony.outlook.get(visit.colony)?;
        if !visit.begin_request(token) {
            return None;
        }
        let to = record.contact(|n| self.chance.below(n))?;
        let request = Request { token, colony: visit.colony, word: visit.first.0 };
        let (body_at, end) = (self.body_at(), buffer.len() - TAG_BYTES);
        request.write(&mut buffer[body_at..end]);
        let bytes = self.seal(Kind::Visit, buffer, end - body_at);
        Some(Transmit { to, bytes, segment_bytes: bytes })
    }

    fn write_slice(&mut self, now: Instant, owed: &Owed, buffer: &mut [u8]) -> Option<Transmit> {
        let body = &mut buffer[self.body_within(owed.room)];
        let entries_body = body.get_mut(SLICE_HEAD_BYTES..)?;
        if entries_body.len() < self.format.entry_bytes() + crate::wire::ask::MAX_CARD_BYTES + 6 {
            return None;
        }
        let mut answer = AnswerWriter::new(entries_body, self.format, true);
        let order = self.membership.order();
        let mut last = NodeId(u32::MAX);
        for &id in &order[order.partition_point(|&id| id < owed.first)..] {
            let (Some(record), Some(entry)) = (self.membership.get(id), self.vector.get(id)) else {
                continue;
            };
            let card = Card { name: &record.name, address: record.address };
            if !answer.push(Some(card), &entry, now) {
                last = NodeId(id.0 - 1);
                break;
            }
        }
        let written = SLICE_HEAD_BYTES + answer.finish();
        SliceHead { token: owed.token, first: owed.first, last }.write(body);
        self.counters.slices_sent += 1;
        let bytes = self.seal(Kind::Slice, buffer, written);
        Some(Transmit { to: owed.to, bytes, segment_bytes: bytes })
    }

    /// What came from a node of another colony; authentic, but fresh only if it was asked for.
    pub(super) fn receive_foreign(
        &mut self,
        now: Instant,
        letter: &Letter,
        body: &[u8],
    ) -> Result<(), Dropped> {
        match letter.header.kind {
            Kind::Call | Kind::Visit => self.receive_request(now, letter, body),
            Kind::Reply => self.receive_reply(now, letter.from, body),
            _ => self.receive_slice(now, body),
        }
    }

    fn receive_request(
        &mut self,
        now: Instant,
        letter: &Letter,
        body: &[u8],
    ) -> Result<(), Dropped> {
        let (paces, from, room) = (self.paces, letter.from, letter.sealed_bytes());
        let request = Request::read(body)?;
        let colony = self.colony.as_mut().ok_or(Dropped::Version)?;
        if request.colony != colony.id {
            return Err(Dropped::Colony);
        }
        let first = NodeId(request.word);
        let owed = Owed { to: from, token: request.token, first, room };
        let kept = if letter.header.kind == Kind::Visit {
            if !colony.visits.take(now, paces.visit) {
                return Err(Dropped::Excess);
            }
            Colony::owe(&mut colony.slices, owed)
        } else {
            let caller = ColonyId(request.word);
            if caller == colony.id {
                return Err(Dropped::Colony);
            }
            // A colony that calls introduces itself; one that is known is met by calling it.
            if colony.outlook.get(caller).is_none() {
                colony.outlook.introduce(caller, core::iter::once(from));
            }
            let known = colony.outlook.get_mut(caller).map(|record| &mut record.calls);
            let within = match known {
                Some(calls) => calls.take(now, paces.request),
                None => self.strangers.take(now, paces.stranger),
            };
            if !within {
                return Err(Dropped::Excess);
            }
            Colony::owe(&mut colony.replies, owed)
        };
        self.counters.dropped_answers += u64::from(!kept);
        Ok(())
    }

    fn receive_reply(&mut self, now: Instant, from: Address, body: &[u8]) -> Result<(), Dropped> {
        let (token, record) = read_reply(body)?;
        let colony = self.colony.as_mut().ok_or(Dropped::Version)?;
        if !colony.caller.answered(token, record.colony) {
            return Err(Dropped::Colony);
        }
        self.counters.records_received += 1;
        let outcome = colony.outlook.take(&record, now.before(record.age_micros));
        if outcome != Taken::Refused {
            colony.outlook.introduce(record.colony, core::iter::once(from));
        }
        self.count_record(outcome);
        if outcome == Taken::News {
            self.push_record(record.colony, HEAD_BYTES + record.aggregate.len());
        }
        Ok(())
    }

    fn count_record(&mut self, taken: Taken) {
        match taken {
            Taken::News => self.counters.records_news += 1,
            Taken::Stale => {}
            Taken::Refused => self.counters.records_refused += 1,
        }
    }

    /// Orders a record for the members of the own row.
    fn push_record(&mut self, colony: ColonyId, bytes: usize) {
        let Some(layout) = self.strategy.layout() else { return };
        let order = self.membership.order();
        let row = layout.members_of(layout.row_of(order.partition_point(|&id| id < self.id)));
        // Members may have come or gone since the layout was made.
        let row = &order[row.start.min(order.len())..row.end.min(order.len())];
        let mut pushes = 0;
        for &id in row.iter().filter(|&&id| id != self.id) {
            let record = self.membership.get(id).filter(|_| self.membership.is_target(id));
            let Some(record) = record else { continue };
            let order = Order::to(record, What::Record(colony), Marks::RECORDS);
            self.outbox.orders.push_back(order);
            pushes += 1;
        }
        let contacts = REPLY_CONTACTS * (1 + self.address.as_bytes().len());
        let frame_bytes = overhead_bytes(self.config.wire_version);
        self.strategy.spend(pushes * (frame_bytes + bytes + contacts));
    }

    /// Takes the records behind the entries of a window, which were seen to be well formed.
    pub(super) fn take_records(&mut self, now: Instant, bytes: &[u8]) {
        for record in Records::of(bytes).map_while(Result::ok) {
            let Some(colony) = self.colony.as_mut() else { break };
            let taken = colony.outlook.take(&record, now.before(record.age_micros));
            self.counters.records_received += 1;
            self.count_record(taken);
        }
    }

    /// Writes those records of a range to `body` that fit; returns the bytes, and steps the range.
    pub(super) fn write_records(
        &self,
        now: Instant,
        left: &mut Option<RecordsLeft>,
        body: &mut [u8],
    ) -> (usize, u64) {
        let (Some(colony), Some(range)) = (&self.colony, left.as_mut()) else { return (0, 0) };
        let (mut bytes, mut count) = (0, 0);
        for record in colony.outlook.range(range.ids) {
            let Some(birth) = record.birth.filter(|&birth| birth > range.since) else { continue };
            let head = (record.id, age::encode(now, birth));
            let contacts = record.contacts().take(range.contacts);
            let written = write_record(&mut body[bytes..], head, contacts, record.aggregate());
            if written == 0 {
                range.ids.first = record.id;
                return (bytes, count);
            }
            bytes += written;
            count += 1;
        }
        *left = None;
        (bytes, count)
    }

    fn receive_slice(&mut self, now: Instant, body: &[u8]) -> Result<(), Dropped> {
        let (head, rest) = SliceHead::read(body)?;
        let answer = Answer::read(rest, self.format)?;
        answer.clone().try_for_each(|one| one.map(drop))?;
        let (salt, colony) = (self.config.id_salt, self.colony.as_mut().ok_or(Dropped::Version)?);
        let expected = |visit: &&mut Visit| visit.expects(head.token, head.first);
        let visit = colony.visit.as_mut().filter(expected).ok_or(Dropped::Colony)?;
        for (card, entry) in answer.flatten() {
            let Some(card) = card else { return Err(Dropped::Malformed) };
            let covered = (head.first..=head.last).contains(&entry.id);
            if !covered || NodeId::of_name(card.name, salt) != entry.id {
                return Err(Dropped::Malformed);
            }
            let birth = now.before(entry.age_micros);
            let entry = Entry { id: entry.id, stamp: entry.stamp, birth, payload: entry.payload };
            visit.take(&card, &entry);
        }
        if visit.covered(head.last, now) {
            let event = Event::Visited(visit.colony, visit.is_complete());
            self.emit(event);
        }
        Ok(())
    }
}

/// Calls the colony in a place of the outlook, at one of its addresses.
fn call(colony: &mut Colony, place: usize, repeats: u8, chance: &mut tidings_primitives::Chance) {
    let record = &colony.outlook.records()[place];
    let token = chance.bits();
    if let Some(to) = record.contact(|n| chance.below(n)) {
        let id = record.id;
        colony.caller.call(Call { colony: id, to, token, repeats });
    }
}
