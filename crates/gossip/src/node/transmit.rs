//! What a node sends: probes, answers, asks, windows and pulls, as its outbox orders them.

use tidings_primitives::seal::TAG_BYTES;
use tidings_primitives::time::Instant;

use super::machine::Node;
use super::outbox::{Offer, Transmit};
use crate::address::Address;
use crate::dissemination::context::{Ids, Order, What};
use crate::entry::NodeId;
use crate::vector::Entry;
use crate::wire::ask::{self, AnswerWriter, Card};
use crate::wire::header::{CHANGES_VERSION, Kind};
use crate::wire::pull::Pull;
use crate::wire::window::{self, Marks, Piece};

impl Node {
    /// The next datagrams to send, written to `buffer`; `None` if there are none.
    ///
    /// The pieces of a window to one node fill the buffer one behind the other, so that they can
    /// be sent by one call where the kernel splits them (GSO). The buffer must hold one datagram
    /// at least (`datagram_bytes`); a shorter one gets nothing.
    pub fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        let now = self.vector.advance(now);
        let room = usize::from(self.config.datagram_bytes);
        let one = buffer.get_mut(..room)?;
        if let Some(query) = self.transmit_query(now, one) {
            return Some(query);
        }
        if let Some(offer) = self.outbox.next_offer() {
            return Some(self.write_answer(now, &offer, one));
        }
        if let Some(to) = self.outbox.next_ask() {
            return Some(self.write_ask(now, to, one));
        }
        if let Some(check) = self.transmit_trial(one) {
            return Some(check);
        }
        if let Some(out) = self.transmit_reject(one).or_else(|| self.transmit_checked(now, one)) {
            return Some(out);
        }
        if let Some(out) = self.transmit_foreign(now, one) {
            return Some(out);
        }
        loop {
            let (members, arrival) = (self.membership.order(), self.intake.number());
            let Some(order) = self.outbox.next_order(&self.vector, members, arrival) else {
                // Orders may have had members checked.
                return self.transmit_trial(&mut buffer[..room]);
            };
            if !self.is_reached(order.member) {
                self.outbox.window().end();
                self.try_for(now, order);
                continue;
            }
            let written = match order.what {
                What::Pull(ids, age_micros) => {
                    self.outbox.window().end();
                    Some(self.write_pull(order, ids, age_micros, buffer))
                }
                _ if self.is_of_changes(&order) => self.write_changes(now, order, buffer),
                _ => self.write_window(now, order, buffer),
            };
            if written.is_some() {
                return written;
            }
        }
    }

    /// Writes as many pieces of the present window as fit; `None` if nothing of it is left to send.
    fn write_window(&mut self, now: Instant, order: Order, buffer: &mut [u8]) -> Option<Transmit> {
        let oldest = now - self.config.forget_after;
        let room = usize::from(self.config.datagram_bytes);
        let receiver = order.marks.has(Marks::WANTS_ANSWER).then_some(order.member);
        let envelope = self.envelope_to(receiver, Kind::Window);
        let body_at = self.body_at(envelope);
        let piece = Piece { format: self.format(), marks: order.marks, now, oldest };
        let (mut bytes, mut segment_bytes) = (0, 0);
        while let Some(datagram) = buffer.get_mut(bytes..bytes + room) {
            let body = &mut datagram[body_at..room - TAG_BYTES];
            let slots = self.outbox.window().left();
            let (written, dealt_with) = window::encode(body, piece, &self.vector, slots);
            self.outbox.window().advance(dealt_with);
            let entries =
                written.saturating_sub(window::PREAMBLE_BYTES) / self.format().entry_bytes();
            self.counters.entries_sent += entries as u64;
            let body = &mut datagram[body_at..room - TAG_BYTES];
            let written = self.add_records(now, None, body, written);
            if written == 0 {
                break;
            }
            let sealed = self.seal(envelope, datagram, written);
            bytes += sealed;
            segment_bytes = segment_bytes.max(sealed);
            // With records, datagrams differ in size, and a later one may be the larger.
            if sealed < segment_bytes || order.marks.has(Marks::RECORDS) {
                break;
            }
        }
        if self.outbox.window().is_through() {
            self.outbox.window().end();
        }
        (bytes > 0).then_some(Transmit { to: order.to, bytes, segment_bytes })
    }

    /// Lets records follow the entries of a window, of which `written` bytes lie in the body, if
    /// those were the last; returns the bytes of the body, 0 if there is nothing in it. A window of
    /// changes names its order.
    pub(super) fn add_records(
        &mut self,
        now: Instant,
        changes: Option<&Order>,
        body: &mut [u8],
        written: usize,
    ) -> usize {
        let mut left = self.outbox.window().records();
        if left.is_none() {
            return written;
        }
        let start = written.max(window::PREAMBLE_BYTES);
        let room = &mut body[start..];
        let (bytes, count) = match changes {
            None => self.write_records(now, &mut left, room),
            Some(order) => self.write_told_records(now, (order, written == 0), &mut left, room),
        };
        if count == 0 && written == 0 {
            // A datagram of its own did not hold the next one: none ever will.
            left = None;
        }
        self.outbox.window().set_records(left);
        self.counters.records_sent += count;
        if count == 0 { written } else { start + bytes }
    }

    /// Writes a request for a range of ids.
    fn write_pull(
        &mut self,
        order: Order,
        ids: Ids,
        age_micros: Option<u64>,
        buffer: &mut [u8],
    ) -> Transmit {
        self.counters.pulls_sent += 1;
        let Ids { first, last, colonies } = ids;
        let pull = Pull { first, last, age_micros, colonies };
        let mut envelope = self.envelope_to(Some(order.member), Kind::Pull);
        let by_changes = self.sends_changes_to(order.member);
        if by_changes {
            envelope.version = CHANGES_VERSION;
        }
        let body_at = self.body_at(envelope);
        let said = if by_changes { self.inventory(ids).write(&mut buffer[body_at..]) } else { 0 };
        let mut written = said + pull.write(&mut buffer[body_at + said..], self.format());
        if let Some(colonies) = colonies.filter(|_| by_changes) {
            written += self.colony_inventory(colonies).write(&mut buffer[body_at + written..]);
        }
        let bytes = self.seal(envelope, buffer, written);
        Transmit { to: order.to, bytes, segment_bytes: bytes }
    }

    fn write_ask(&mut self, now: Instant, to: Address, buffer: &mut [u8]) -> Transmit {
        self.counters.asks_sent += 1;
        let envelope = self.envelope(Kind::Ask);
        let (body_at, end) = (self.body_at(envelope), buffer.len() - TAG_BYTES);
        let first = self.catch_up.first();
        let order = self.membership.order();
        let start = order.partition_point(|&id| id < first);
        let has_left = |id| self.vector.get(id).is_some_and(|entry| entry.stamp.is_last());
        // By seeds, others need not know who is gone; unnamed, it is offered if it is back.
        let named = |id: &NodeId| self.is_known(*id) && !(self.with_cards && has_left(*id));
        let ids = order[start..].iter().copied().filter(named);
        let last = ask::write_ask(
            &mut buffer[body_at..end],
            self.format(),
            self.with_cards.then_some(self.own.card()),
            (&self.vector.own(), now),
            first,
            ids,
        );
        self.catch_up.asked_to(last);
        let bytes = self.seal(envelope, buffer, end - body_at);
        Transmit { to, bytes, segment_bytes: bytes }
    }

    fn write_answer(&mut self, now: Instant, offer: &Offer, buffer: &mut [u8]) -> Transmit {
        self.counters.answers_sent += 1;
        let envelope = self.envelope(Kind::Answer);
        let (body_at, end) = (self.body_at(envelope), buffer.len().min(offer.bytes) - TAG_BYTES);
        let body = &mut buffer[body_at..end];
        let mut answer = AnswerWriter::new(body, self.format(), self.with_cards);
        for &id in &offer.ids {
            let known = if id == offer.asker { self.held_of_asker(id) } else { self.offered(id) };
            let Some((card, entry)) = known else { continue };
            if !answer.push(self.with_cards.then_some(card), &entry, now) {
                break;
            }
        }
        let written = answer.finish();
        let bytes = self.seal(envelope, buffer, written);
        Transmit { to: offer.to, bytes, segment_bytes: bytes }
    }

    /// What an answer says about a member; nothing about one that is unheard. With cards nothing
    /// about one that has left, which nobody would take in, or whose card is of an earlier life:
    /// the receiver would believe it to be of this one.
    pub(super) fn offered(&self, id: NodeId) -> Option<(Card<'_>, Entry<'_>)> {
        let entry = self.vector.get(id)?;
        let fit = !self.with_cards || (!entry.stamp.is_last() && self.is_known(id));
        fit.then_some((self.card(id)?, entry))
    }

    /// What an asker receives about itself: the newest stamp that is known. The age is one at which
    /// all but the origin refuse an entry, so its payload and the card beside it matter to nobody.
    fn held_of_asker(&self, id: NodeId) -> Option<(Card<'_>, Entry<'_>)> {
        let held = self.vector.get(id).map(|entry| entry.stamp);
        let stamp = self.membership.get(id)?.floor.max(held.unwrap_or_default());
        let (birth, payload) = (Instant::from_micros(i64::MIN), self.vector.own().payload);
        Some((self.card(id)?, Entry { id, stamp, birth, payload }))
    }

    fn card(&self, id: NodeId) -> Option<Card<'_>> {
        let record = self.membership.get(id)?;
        Some(Card { name: &record.name, address: record.address })
    }
}
