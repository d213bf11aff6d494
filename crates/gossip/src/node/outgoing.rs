//! What a node has to send: what its strategy ordered, an ask, answers.

use std::collections::VecDeque;

use tidings_primitives::seal::TAG_BYTES;
use tidings_primitives::time::Instant;

use super::detection::Knock;
use super::{Node, Transmit};
use crate::address::Address;
use crate::colony::caller::REPLY_CONTACTS;
use crate::colony::id::ColonyIds;
use crate::dissemination::layout::MAX_ROW;
use crate::dissemination::scene::{Ids, Order, What};
use crate::entry::NodeId;
use crate::urgent::MAX_URGENT;
use crate::vector::{Entry, OWN, Vector};
use crate::wire::ask::{self, AnswerWriter, Card};
use crate::wire::header::{self, Header, Kind};
use crate::wire::pull::Pull;
use crate::wire::window;

/// Answers owed at one time; more askers are turned away and ask again.
const MAX_ANSWERS: usize = 16;
/// Members offered in one answer, at most.
pub(super) const MAX_OFFERS: usize = 512;
/// Windows owed in answer to pulls and half windows at one time; more are not answered.
const MAX_REPLIES: usize = 64;
/// Entries in the answer to a pull, at most.
const MAX_ROW_ENTRIES: usize = 2 * MAX_ROW;

/// Records that are still to go behind the entries of a window.
#[derive(Clone, Copy)]
pub(super) struct RecordsLeft {
    /// Of which colonies.
    pub(super) ids: ColonyIds,
    /// Those whose aggregates were born after this.
    pub(super) since: Instant,
    /// With so many addresses each.
    pub(super) contacts: usize,
}

/// A window on its way: the slots picked for it, and how far it was sent.
pub(super) struct Pieces {
    slots: Vec<u32>,
    next: usize,
    /// To whom it goes, and as what.
    order: Option<Order>,
    /// What goes behind its entries.
    records: Option<RecordsLeft>,
    /// What the slots were picked for: entries, and the number of the last arrival then.
    picked: Option<(usize, u32)>,
    /// Farewells that go first in each window of this round, by slots.
    first: Vec<u32>,
}

impl Pieces {
    /// None yet, and room for any window of a vector of `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        let slots = Vec::with_capacity(capacity + MAX_URGENT + 1);
        let first = Vec::with_capacity(MAX_URGENT);
        Self { slots, next: 0, order: None, records: None, picked: None, first }
    }

    /// Sets which entries go first in all windows from now on.
    pub(super) fn set_first(&mut self, ids: impl Iterator<Item = NodeId>, vector: &Vector) {
        self.first.clear();
        self.first.extend(ids.filter_map(|id| vector.slot(id)).filter(|&slot| slot != OWN));
        self.picked = None;
    }

    /// Takes up an order, and picks the slots for it unless they are those of the last one.
    fn begin(&mut self, order: Order, vector: &Vector, members: &[NodeId], arrival: u32) {
        (self.order, self.next, self.records) = (Some(order), 0, None);
        match order.what {
            What::Newest(entries) => {
                if self.picked != Some((entries, arrival)) {
                    self.pick_newest(vector, entries);
                    self.picked = Some((entries, arrival));
                }
            }
            What::Row(ids, since) => {
                self.picked = None;
                self.pick_row(vector, members, ids, since);
                self.records = ids.colonies.map(|ids| RecordsLeft { ids, since, contacts: 1 });
            }
            What::Record(colony) => {
                self.picked = None;
                self.slots.clear();
                let ids = ColonyIds { first: colony, last: colony };
                let since = Instant::from_micros(i64::MIN);
                self.records = Some(RecordsLeft { ids, since, contacts: REPLY_CONTACTS });
            }
            What::One(id) => {
                self.picked = None;
                self.slots.clear();
                self.slots.extend(vector.slot(id));
            }
            // The outbox writes these itself.
            What::Pull(..) => self.slots.clear(),
        }
    }

    /// Picks the own entry, those that go first, then the newest, `entries` in all or as many as it
    /// takes for the first.
    fn pick_newest(&mut self, vector: &Vector, entries: usize) {
        self.slots.clear();
        // The own entry is among the newest, but farewells before them must not push it out.
        self.slots.push(OWN);
        self.slots.extend_from_slice(&self.first);
        let urgent = self.slots.len();
        let entries = entries.max(urgent);
        vector.newest(entries, &mut self.slots);
        let (first, newest) = self.slots.split_at_mut(urgent);
        let mut end = urgent;
        for at in 0..newest.len() {
            if !first.contains(&newest[at]) {
                newest.swap(end - urgent, at);
                end += 1;
            }
        }
        self.slots.truncate(end.min(entries));
    }

    /// Picks the own entry and those of a range of ids that were born after `since`, or have left:
    /// nobody makes a farewell anew.
    fn pick_row(&mut self, vector: &Vector, members: &[NodeId], ids: Ids, since: Instant) {
        self.slots.clear();
        self.slots.push(OWN);
        let start = members.partition_point(|&id| id < ids.first);
        let row = members[start..].iter().take_while(|id| **id <= ids.last);
        let slots = row.filter_map(|&id| vector.slot(id)).filter(|&slot| slot != OWN);
        let wanted = slots.filter(|&slot| {
            let entry = vector.at(slot);
            entry.birth > since || entry.stamp.is_last()
        });
        self.slots.extend(wanted.take(MAX_ROW_ENTRIES));
    }

    /// Entries of the present window that were not sent.
    fn unsent(&self) -> usize {
        if self.order.is_some() { self.slots.len() - self.next } else { 0 }
    }
}

/// An answer owed.
pub(super) struct Offer {
    /// Where it goes.
    pub(super) to: Address,
    /// Who asked.
    pub(super) asker: NodeId,
    /// Bytes of the datagram that asked: the answer must not have more.
    pub(super) bytes: usize,
    /// Whom to tell of. The asker is among them if it must learn of another life of itself, or of
    /// another node with its id.
    pub(super) ids: Vec<NodeId>,
}

/// What is to be sent beside the window.
#[derive(Default)]
pub(super) struct Outbox {
    /// Whom to ask, at most [`MAX_ASKS`](crate::catch_up::MAX_ASKS) at a time.
    pub(super) asks: Vec<Address>,
    /// What the strategy ordered.
    pub(super) orders: VecDeque<Order>,
    /// Probes and proofs.
    pub(super) knocks: VecDeque<Knock>,
    replies: VecDeque<Order>,
    offers: VecDeque<Offer>,
    /// The member to be looked at next for forgetting.
    place: usize,
}

impl Outbox {
    /// Steps through the places below `places`, round and round.
    pub(super) fn next_place(&mut self, places: usize) -> usize {
        self.place = if self.place + 1 < places { self.place + 1 } else { 0 };
        self.place
    }

    /// Drops what was ordered and is not sent; returns how many entries that were.
    pub(super) fn give_up(&mut self, pieces: &mut Pieces) -> u64 {
        let entries =
            |order: &Order| if let What::Newest(entries) = order.what { entries } else { 0 };
        let ordered = self.orders.drain(..).map(|order| entries(&order)).sum::<usize>();
        let unsent = pieces.unsent();
        pieces.order = None;
        (ordered + unsent) as u64
    }

    /// Owes a window; `false` if too many are owed already.
    pub(super) fn owe_window(&mut self, order: Order) -> bool {
        let room = self.replies.len() < MAX_REPLIES;
        if room {
            self.replies.push_back(order);
        }
        room
    }

    /// Owes an answer; `false` if too many are owed already.
    pub(super) fn owe(&mut self, offer: Offer) -> bool {
        let room = self.offers.len() < MAX_ANSWERS;
        if room {
            self.offers.push_back(offer);
        }
        room
    }
}

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
        if let Some(knock) = self.transmit_knock(now, one) {
            return Some(knock);
        }
        if let Some(offer) = self.outbox.offers.pop_front() {
            return Some(self.write_answer(now, &offer, one));
        }
        if let Some(to) = self.outbox.asks.pop() {
            return Some(self.write_ask(now, to, one));
        }
        if let Some(out) = self.transmit_foreign(now, one) {
            return Some(out);
        }
        loop {
            let order = match self.pieces.order {
                Some(order) => order,
                None => self.begin_order()?,
            };
            let written = match order.what {
                What::Pull(ids, age_micros) => {
                    self.pieces.order = None;
                    Some(self.write_pull(order, ids, age_micros, buffer))
                }
                What::Newest(_) | What::Row(..) | What::Record(_) | What::One(_) => {
                    self.write_window(now, order, buffer)
                }
            };
            if written.is_some() {
                return written;
            }
        }
    }

    /// Takes up the next order: what is owed to others comes first.
    fn begin_order(&mut self) -> Option<Order> {
        let reply = self.outbox.replies.pop_front();
        let order = reply.or_else(|| self.outbox.orders.pop_front())?;
        self.pieces.begin(order, &self.vector, self.membership.order(), self.arrival);
        Some(order)
    }

    /// Writes as many pieces of the present window as fit; `None` if nothing of it is left to send.
    fn write_window(&mut self, now: Instant, order: Order, buffer: &mut [u8]) -> Option<Transmit> {
        let oldest = now - self.config.forget_after;
        let room = usize::from(self.config.datagram_bytes);
        let format = (self.format, order.marks);
        let receiver = order.marks.has(window::Marks::WANTS_ANSWER).then_some(order.member);
        let body_at = self.body_at_in(self.config.wire_version, receiver);
        let (mut bytes, mut segment_bytes) = (0, 0);
        while let Some(datagram) = buffer.get_mut(bytes..bytes + room) {
            let slots = &self.pieces.slots[self.pieces.next..];
            let body = &mut datagram[body_at..room - TAG_BYTES];
            let (written, dealt_with) =
                window::encode(body, format, &self.vector, slots, (now, oldest));
            self.pieces.next += dealt_with;
            let entries =
                written.saturating_sub(window::PREAMBLE_BYTES) / self.format.entry_bytes();
            self.counters.entries_sent += entries as u64;
            let written = self.add_records(now, (&mut *datagram, body_at), written);
            if written == 0 {
                break;
            }
            let sealed = self.seal_for(receiver, Kind::Window, datagram, written);
            bytes += sealed;
            segment_bytes = segment_bytes.max(sealed);
            // With records, datagrams differ in size, and a later one may be the larger.
            if sealed < segment_bytes || order.marks.has(window::Marks::RECORDS) {
                break;
            }
        }
        if self.pieces.next >= self.pieces.slots.len() && self.pieces.records.is_none() {
            self.pieces.order = None;
        }
        (bytes > 0).then_some(Transmit { to: order.to, bytes, segment_bytes })
    }

    /// Lets records follow the entries of a window, of which `written` bytes lie in the body, if
    /// those were the last; returns the bytes of the body, 0 if there is nothing in it.
    fn add_records(
        &mut self,
        now: Instant,
        (datagram, body_at): (&mut [u8], usize),
        written: usize,
    ) -> usize {
        if self.pieces.records.is_none() || self.pieces.next < self.pieces.slots.len() {
            return written;
        }
        let start = written.max(window::PREAMBLE_BYTES);
        let end = datagram.len() - TAG_BYTES;
        let mut left = self.pieces.records;
        let body = &mut datagram[body_at + start..end];
        let (bytes, count) = self.write_records(now, &mut left, body);
        if count == 0 && written == 0 {
            // A datagram of its own did not hold the next one: none ever will.
            left = None;
        }
        self.pieces.records = left;
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
        let receiver = Some(order.member);
        let body_at = self.body_at_in(self.config.wire_version, receiver);
        let written = pull.write(&mut buffer[body_at..], self.format);
        let bytes = self.seal_for(receiver, Kind::Pull, buffer, written);
        Transmit { to: order.to, bytes, segment_bytes: bytes }
    }

    fn write_ask(&mut self, now: Instant, to: Address, buffer: &mut [u8]) -> Transmit {
        self.counters.asks_sent += 1;
        let (body_at, end) = (self.body_at(), buffer.len() - TAG_BYTES);
        let first = self.catch_up.first;
        let order = self.membership.order();
        let start = order.partition_point(|&id| id < first);
        let has_left = |id| self.vector.get(id).is_some_and(|entry| entry.stamp.is_last());
        // By seeds, others need not know who is gone; unnamed, it is offered if it is back.
        let named = |id: &NodeId| self.is_known(*id) && !(self.with_cards && has_left(*id));
        let ids = order[start..].iter().copied().filter(named);
        let last = ask::write_ask(
            &mut buffer[body_at..end],
            self.format,
            self.with_cards.then_some(Card { name: &self.name, address: self.address }),
            (&self.vector.own(), now),
            first,
            ids,
        );
        self.catch_up.asked_to(last);
        let bytes = self.seal(Kind::Ask, buffer, end - body_at);
        Transmit { to, bytes, segment_bytes: bytes }
    }

    fn write_answer(&mut self, now: Instant, offer: &Offer, buffer: &mut [u8]) -> Transmit {
        self.counters.answers_sent += 1;
        let (body_at, end) = (self.body_at(), buffer.len().min(offer.bytes) - TAG_BYTES);
        let body = &mut buffer[body_at..end];
        let mut answer = AnswerWriter::new(body, self.format, self.with_cards);
        for &id in &offer.ids {
            let known = if id == offer.asker { self.told(id) } else { self.offered(id) };
            let Some((card, entry)) = known else { continue };
            if !answer.push(self.with_cards.then_some(card), &entry, now) {
                break;
            }
        }
        let written = answer.finish();
        let bytes = self.seal(Kind::Answer, buffer, written);
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

    /// What an asker is told of itself: the newest stamp that is known. The age is one at which all
    /// but the origin refuse an entry, so its payload and the card beside it matter to nobody.
    fn told(&self, id: NodeId) -> Option<(Card<'_>, Entry<'_>)> {
        let held = self.vector.get(id).map(|entry| entry.stamp);
        let stamp = self.membership.get(id)?.floor.max(held.unwrap_or_default());
        let (birth, payload) = (Instant::from_micros(i64::MIN), self.vector.own().payload);
        Some((self.card(id)?, Entry { id, stamp, birth, payload }))
    }

    fn card(&self, id: NodeId) -> Option<Card<'_>> {
        let record = self.membership.get(id)?;
        Some(Card { name: &record.name, address: record.address })
    }

    /// Who is to read datagrams of a kind: the own colony, or everybody those between colonies.
    pub(super) fn circle(&self, kind: Kind) -> u32 {
        let own = self.colony.as_ref().filter(|_| !kind.is_foreign());
        own.map_or(self.cluster, |colony| self.cluster.wrapping_add(colony.id.0))
    }

    /// Puts what goes in front of a body of `written` bytes that anybody may read, seals all, and
    /// returns their size. The body lies where [`Node::body_at`] says.
    pub(super) fn seal(&mut self, kind: Kind, datagram: &mut [u8], written: usize) -> usize {
        self.seal_for(None, kind, datagram, written)
    }

    /// The same for a datagram that asks `receiver` for something, if one is named.
    pub(super) fn seal_for(
        &mut self,
        receiver: Option<NodeId>,
        kind: Kind,
        datagram: &mut [u8],
        written: usize,
    ) -> usize {
        self.seal_in(self.config.wire_version, (receiver, kind), datagram, written)
    }

    /// The same in a version of the format.
    pub(super) fn seal_in(
        &mut self,
        version: u8,
        (receiver, kind): (Option<NodeId>, Kind),
        datagram: &mut [u8],
        written: usize,
    ) -> usize {
        self.sealed += 1;
        let header = Header {
            version,
            kind,
            cluster: self.circle(kind),
            sender: self.id,
            incarnation: self.incarnation(),
            key_id: self.keys.sealing_id(),
            salt: self.salt,
            counter: self.sealed,
        };
        let said = self.extension(version, receiver).write(version, &mut datagram[header::BYTES..]);
        let bytes = header::BYTES + said + written + TAG_BYTES;
        datagram[..header::BYTES].copy_from_slice(&header.to_bytes());
        self.keys.seal(&mut datagram[..bytes]);
        self.counters.datagrams_sent += 1;
        self.counters.bytes_sent += bytes as u64;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Incarnation, Stamp};
    use crate::wire::window::Marks;

    fn vector() -> Vector {
        let stamp = Stamp::new(Incarnation::new(1), 1);
        let now = Instant::from_micros(1_000);
        let mut vector = Vector::new(8, 0, 256_000, (NodeId(0), stamp), now);
        for id in 1..6 {
            let stamp = if id == 4 { Stamp::left(Incarnation::new(1)) } else { stamp };
            let birth = Instant::from_micros(i64::from(id));
            vector.merge(id, (NodeId(id), stamp, birth), &[], |_| true);
        }
        vector
    }

    fn picked(pieces: &mut Pieces, vector: &Vector, what: What) -> Vec<u32> {
        let members: Vec<NodeId> = (0..8).map(NodeId).collect();
        let to = Address::from_bytes(&[1]).expect("one byte is an address");
        let order = Order { member: NodeId(7), to, what, marks: Marks::NONE };
        pieces.begin(order, vector, &members, 1);
        pieces.slots.iter().map(|&slot| vector.at(slot).id.0).collect()
    }

    #[test]
    fn the_own_entry_and_the_urgent_ones_are_in_every_window_once() {
        let vector = vector();
        for entries in 1..=6 {
            let mut pieces = Pieces::new(8);
            pieces.set_first([NodeId(3), NodeId(0), NodeId(77)].into_iter(), &vector);
            let mut sent = picked(&mut pieces, &vector, What::Newest(entries));
            assert_eq!(sent[..2], [0, 3]);
            assert_eq!(sent.len(), entries.max(2));
            sent.sort_unstable();
            sent.dedup();
            assert_eq!(sent.len(), entries.max(2), "no entry is in a window twice");
        }
        let mut pieces = Pieces::new(8);
        assert_eq!(picked(&mut pieces, &vector, What::Newest(1)), [0]);
    }

    #[test]
    fn a_row_has_what_is_new_in_its_range_and_who_has_left() {
        let vector = vector();
        let mut pieces = Pieces::new(8);
        let ids = Ids { first: NodeId(1), last: NodeId(4), colonies: None };
        let mut row =
            |since| picked(&mut pieces, &vector, What::Row(ids, Instant::from_micros(since)));
        assert_eq!(row(0), [0, 1, 2, 3, 4]);
        assert_eq!(row(2), [0, 3, 4]);
        assert_eq!(row(99), [0, 4]);
    }
}
