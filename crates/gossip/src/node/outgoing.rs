//! What a node has to send: the pieces of its present window, an ask, answers.

use std::collections::VecDeque;

use super::{Node, Transmit};
use crate::address::Address;
use crate::entry::NodeId;
use crate::time::Instant;
use crate::urgent::MAX_URGENT;
use crate::vector::{Entry, OWN, Vector};
use crate::wire::ask::{self, AnswerWriter, Card};
use crate::wire::header::{self, Header, Kind};
use crate::wire::keys::TAG_BYTES;
use crate::wire::window;

/// Answers owed at one time; more askers are turned away and ask again.
const MAX_ANSWERS: usize = 16;
/// Members offered in one answer, at most.
pub(super) const MAX_OFFERS: usize = 512;

/// A window on its way: the slots picked for it, and the members it still goes to.
pub(super) struct Pieces {
    slots: Vec<u32>,
    next: usize,
    targets: VecDeque<Address>,
}

impl Pieces {
    /// None yet, and room for any window of a vector of `capacity` entries.
    pub(super) fn new(capacity: usize) -> Self {
        let slots = Vec::with_capacity(capacity + MAX_URGENT + 1);
        Self { slots, next: 0, targets: VecDeque::new() }
    }

    /// Picks the own entry, those about `first`, then the newest, `entries` in all; returns how
    /// many of the last window were not sent.
    pub(super) fn begin(
        &mut self,
        vector: &Vector,
        entries: usize,
        first: impl Iterator<Item = NodeId>,
    ) -> u64 {
        let unsent = if self.targets.is_empty() { 0 } else { self.slots.len() - self.next };
        self.slots.clear();
        self.targets.clear();
        self.next = 0;
        // The own entry is among the newest, but farewells before them must not push it out.
        self.slots.push(OWN);
        self.slots.extend(first.filter_map(|id| vector.slot(id)).filter(|&slot| slot != OWN));
        let urgent = self.slots.len();
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
        unsent as u64
    }

    /// Adds a member to send all of it to.
    pub(super) fn send_to(&mut self, to: Address) {
        self.targets.push_back(to);
    }
}

/// An answer owed.
pub(super) struct Offer {
    /// Where it goes.
    pub(super) to: Address,
    /// Who asked.
    pub(super) asker: NodeId,
    /// Whom to tell of. The asker is among them if it must learn of another life of itself, or of
    /// another node with its id.
    pub(super) ids: Vec<NodeId>,
}

/// What is to be sent beside the window.
#[derive(Default)]
pub(super) struct Outbox {
    /// Whom to ask, at most [`MAX_ASKS`](crate::catch_up::MAX_ASKS) at a time.
    pub(super) asks: Vec<Address>,
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
        if let Some(offer) = self.outbox.offers.pop_front() {
            return Some(self.write_answer(now, &offer, one));
        }
        if let Some(to) = self.outbox.asks.pop() {
            return Some(self.write_ask(now, to, one));
        }
        self.write_window(now, buffer)
    }

    /// Writes as many pieces of the present window as fit.
    fn write_window(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        let oldest = now - self.config.forget_after;
        let room = usize::from(self.config.datagram_bytes);
        loop {
            let to = *self.pieces.targets.front()?;
            let (mut bytes, mut segment_bytes) = (0, 0);
            while let Some(datagram) = buffer.get_mut(bytes..bytes + room) {
                let slots = &self.pieces.slots[self.pieces.next..];
                let body = &mut datagram[header::BYTES..room - TAG_BYTES];
                let (written, dealt_with) =
                    window::encode(body, self.format, &self.vector, slots, (now, oldest));
                self.pieces.next += dealt_with;
                if written == 0 {
                    break;
                }
                let entries = (written - window::PREAMBLE_BYTES) / self.format.entry_bytes();
                self.counters.entries_sent += entries as u64;
                let sealed = self.seal(Kind::Window, datagram, written);
                bytes += sealed;
                segment_bytes = segment_bytes.max(sealed);
                if sealed < segment_bytes {
                    break;
                }
            }
            if self.pieces.next >= self.pieces.slots.len() {
                self.pieces.targets.pop_front();
                self.pieces.next = 0;
            }
            if bytes > 0 {
                return Some(Transmit { to, bytes, segment_bytes });
            }
        }
    }

    fn write_ask(&mut self, now: Instant, to: Address, buffer: &mut [u8]) -> Transmit {
        self.counters.asks_sent += 1;
        let (end, first) = (buffer.len() - TAG_BYTES, self.catch_up.first);
        let order = self.membership.order();
        let start = order.partition_point(|&id| id < first);
        let has_left = |id| self.vector.get(id).is_some_and(|entry| entry.stamp.is_left());
        // By seeds, others need not know who has left; unnamed, it is offered if it is back.
        let named = |id: &NodeId| self.is_known(*id) && !(self.with_cards && has_left(*id));
        let ids = order[start..].iter().copied().filter(named);
        let last = ask::write_ask(
            &mut buffer[header::BYTES..end],
            self.format,
            self.with_cards.then_some(Card { name: &self.name, address: self.address }),
            (&self.vector.own(), now),
            first,
            ids,
        );
        self.catch_up.asked_to(last);
        let bytes = self.seal(Kind::Ask, buffer, end - header::BYTES);
        Transmit { to, bytes, segment_bytes: bytes }
    }

    fn write_answer(&mut self, now: Instant, offer: &Offer, buffer: &mut [u8]) -> Transmit {
        self.counters.answers_sent += 1;
        let end = buffer.len() - TAG_BYTES;
        let body = &mut buffer[header::BYTES..end];
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
        let fit = !self.with_cards || (!entry.stamp.is_left() && self.is_known(id));
        fit.then_some((self.card(id)?, entry))
    }

    /// What an asker is told of itself: the newest stamp that is known. The age is one at which
    /// all but the origin refuse an entry, so its payload, and the card beside it, matter to nobody.
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

    /// Puts the header in front of a body of `written` bytes, seals both, and returns their size.
    fn seal(&mut self, kind: Kind, datagram: &mut [u8], written: usize) -> usize {
        self.sealed += 1;
        let header = Header {
            kind,
            cluster: self.cluster,
            sender: self.id,
            incarnation: self.incarnation(),
            key_id: self.keys.sealing_id(),
            salt: self.salt,
            counter: self.sealed,
        };
        let bytes = header::BYTES + written + TAG_BYTES;
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

    fn ids(vector: &Vector, pieces: &Pieces) -> Vec<u32> {
        pieces.slots.iter().map(|&slot| vector.at(slot).id.0).collect()
    }

    /// All entries are born in one instant, so that none is newer than another.
    #[test]
    fn the_own_entry_and_the_urgent_ones_are_in_every_window_once() {
        let stamp = Stamp::new(Incarnation::new(1), 1);
        let now = Instant::EPOCH;
        let mut vector = Vector::new(8, 0, 256_000, (NodeId(0), stamp), now);
        for id in 1..6 {
            vector.merge(id, (NodeId(id), stamp, now), &[], |_| true);
        }
        for entries in 2..=6 {
            let mut pieces = Pieces::new(8);
            let urgent = [NodeId(3), NodeId(0), NodeId(77)].into_iter();
            pieces.begin(&vector, entries, urgent);
            let mut sent = ids(&vector, &pieces);
            assert_eq!(sent[..2], [0, 3]);
            assert_eq!(sent.len(), entries);
            sent.sort_unstable();
            sent.dedup();
            assert_eq!(sent.len(), entries, "no entry is in a window twice");
        }
        let mut pieces = Pieces::new(8);
        pieces.begin(&vector, 1, core::iter::empty());
        assert_eq!(ids(&vector, &pieces), [0]);
    }
}
