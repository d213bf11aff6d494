//! Visits: the vector of another colony fetched, and slices of the own one given.

use tidings_primitives::seal::TAG_BYTES;
use tidings_primitives::time::Instant;

use super::machine::Node;
use super::outbox::Transmit;
use crate::colony::PendingAnswer;
use crate::colony::id::ColonyId;
use crate::colony::visit::{Visit, VisitView};
use crate::counters::Dropped;
use crate::entry::NodeId;
use crate::event::Event;
use crate::vector::Entry;
use crate::wire::ask::{Answer, AnswerWriter, Card, MAX_CARD_BYTES};
use crate::wire::call::{Request, SLICE_HEAD_BYTES, SliceHead};
use crate::wire::header::Kind;

impl Node {
    /// Begins to fetch the vector of another colony; an earlier visit is dropped. `false` if nobody
    /// there is known. [`Event::Visited`] tells the end; see [`Node::visited`].
    pub fn visit(&mut self, colony: ColonyId) -> bool {
        let room = self.config.max_nodes as usize;
        let Some(own) = self.colony.as_mut() else { return false };
        let known = own.table.get(colony).and_then(|record| record.contacts().next());
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

    pub(super) fn write_visit(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        let colony = self.colony.as_mut()?;
        let visit = colony.visit.as_mut()?;
        let token = self.chance.bits();
        let record = colony.table.get(visit.colony)?;
        if !visit.begin_request(token) {
            return None;
        }
        let to = record.contact(|n| self.chance.below(n))?;
        let request = Request { token, colony: visit.colony, word: visit.first.0 };
        let envelope = self.envelope(Kind::Visit);
        let (body_at, end) = (self.body_at(envelope), buffer.len() - TAG_BYTES);
        request.write(&mut buffer[body_at..end]);
        let bytes = self.seal(envelope, buffer, end - body_at);
        Some(Transmit { to, bytes, segment_bytes: bytes })
    }

    pub(super) fn write_slice(
        &mut self,
        now: Instant,
        pending: &PendingAnswer,
        buffer: &mut [u8],
    ) -> Option<Transmit> {
        let envelope = self.envelope(Kind::Slice);
        let body = &mut buffer[self.body_within(envelope, pending.room)];
        let entries_body = body.get_mut(SLICE_HEAD_BYTES..)?;
        if entries_body.len() < self.format().entry_bytes() + MAX_CARD_BYTES + 6 {
            return None;
        }
        let mut answer = AnswerWriter::new(entries_body, self.format(), true);
        let order = self.membership.order();
        let mut last = NodeId(u32::MAX);
        for &id in &order[order.partition_point(|&id| id < pending.first)..] {
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
        SliceHead { token: pending.token, first: pending.first, last }.write(body);
        self.counters.slices_sent += 1;
        let bytes = self.seal(envelope, buffer, written);
        Some(Transmit { to: pending.to, bytes, segment_bytes: bytes })
    }

    pub(super) fn receive_slice(&mut self, now: Instant, body: &[u8]) -> Result<(), Dropped> {
        let (head, rest) = SliceHead::read(body)?;
        let answer = Answer::read(rest, self.reads)?;
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
