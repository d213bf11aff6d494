//! What a node does with a datagram: authenticate, bound, merge; count what it refuses.

use super::Node;
use super::outgoing::MAX_OFFERS;
use crate::address::Address;
use crate::counters::Dropped;
use crate::entry::{NodeId, Stamp};
use crate::event::Event;
use crate::membership::{NotAdded, Refused};
use crate::merge::Merged;
use crate::time::{Instant, micros};
use crate::wire::ask::{Answer, Ask, Card};
use crate::wire::header::{Header, HeaderError, Kind};
use crate::wire::keys::Unopened;
use crate::wire::window::{self, BodyError, WireEntry};

impl Node {
    /// Takes in a datagram that arrived from `from`; it is decrypted in place.
    ///
    /// Never fails: what cannot be used is dropped and counted, see [`Node::counters`].
    pub fn handle_datagram(&mut self, now: Instant, from: Address, datagram: &mut [u8]) {
        let now = self.vector.advance(now);
        self.counters.datagrams_received += 1;
        self.counters.bytes_received += datagram.len() as u64;
        self.arrival = self.arrival.wrapping_add(1).max(1);
        if let Err(dropped) = self.receive(now, from, datagram) {
            self.counters.count(dropped);
        }
    }

    fn receive(&mut self, now: Instant, from: Address, bytes: &mut [u8]) -> Result<(), Dropped> {
        let header = self.admissible(bytes)?;
        let body = self.keys.unseal(bytes)?;
        // Only now is the header known to be true.
        if let Some(sender) = self.membership.get_mut(header.sender) {
            if sender.replay.check(&header).is_ok() {
                sender.replay.note(&header);
            }
        }
        match header.kind {
            Kind::Window => self.receive_window(now, (header.sender, from), body),
            Kind::Ask => self.receive_ask(now, (header.sender, from), body),
            Kind::Answer => self.receive_answer(now, from, body),
        }
    }

    /// The header of a datagram that deserves to be opened.
    fn admissible(&self, datagram: &[u8]) -> Result<Header, Dropped> {
        let header = Header::parse(datagram).map_err(|error| match error {
            HeaderError::Foreign => Dropped::Foreign,
            HeaderError::Version(_) | HeaderError::Kind(_) => Dropped::Version,
        })?;
        if header.cluster != self.cluster {
            return Err(Dropped::Cluster);
        }
        if header.sender == self.id {
            return Err(Dropped::OwnId);
        }
        match self.membership.get(header.sender) {
            Some(sender) => match sender.replay.check(&header) {
                // A node that restarts with an incarnation used before is told so by an answer.
                Err(Refused::StaleLife) if header.kind == Kind::Ask => {}
                fresh => fresh?,
            },
            None if self.with_cards => {}
            None => return Err(Dropped::UnknownSender),
        }
        Ok(header)
    }

    fn receive_window(
        &mut self,
        now: Instant,
        (sender, from): (NodeId, Address),
        body: &[u8],
    ) -> Result<(), Dropped> {
        let entries = window::decode(body, self.format)?;
        if !self.membership.contains(sender) {
            self.catch_up.lacks(from);
        }
        let mut ahead = entries.clone();
        for (at, entry) in entries.enumerate() {
            self.vector.look_ahead(at, &mut ahead);
            self.take(now, from, &entry);
        }
        Ok(())
    }

    fn receive_ask(
        &mut self,
        now: Instant,
        (sender, from): (NodeId, Address),
        body: &[u8],
    ) -> Result<(), Dropped> {
        let ask = Ask::read(body, self.format)?;
        if ask.own.id != sender || ask.card.is_some() != self.with_cards {
            return Err(Dropped::Malformed);
        }
        if let Some(card) = ask.card {
            self.learn(now, &card, &ask.own)?;
        }
        self.take(now, from, &ask.own);
        let offers = self.offers(sender, from, &ask);
        if !self.outbox.owe(from, offers) {
            self.counters.dropped_answers += 1;
        }
        Ok(())
    }

    /// Members in the range asked about that the asker did not name, from a random one on.
    fn offers(&mut self, sender: NodeId, from: Address, ask: &Ask<'_>) -> Vec<NodeId> {
        let order = self.membership.order();
        let start = order.partition_point(|&id| id < ask.first);
        let end = order.partition_point(|&id| id <= ask.last).max(start);
        let mut named = ask.ids().peekable();
        let mut offers = Vec::new();
        let mut lacking = false;
        for &id in &order[start..end] {
            while named.next_if(|&other| other < id).is_some() {
                lacking = true;
            }
            let has = named.next_if_eq(&id).is_some();
            lacking |= has && self.vector.get(id).is_none();
            let entry = self.vector.get(id).filter(|entry| !entry.stamp.is_left());
            if !has && id != sender && entry.is_some() {
                offers.push(id);
            }
        }
        lacking |= named.next().is_some();
        if lacking {
            self.catch_up.lacks(from);
        }
        if !offers.is_empty() {
            let turn = self.chance.below(offers.len());
            offers.rotate_left(turn);
        }
        offers.truncate(MAX_OFFERS);
        if self.vector.get(sender).is_some_and(|held| held.stamp > ask.own.stamp) {
            // The asker does not know of this life of itself: it must, to overtake it.
            offers.insert(0, sender);
        }
        offers
    }

    fn receive_answer(&mut self, now: Instant, from: Address, body: &[u8]) -> Result<(), Dropped> {
        for one in Answer::read(body, self.format)? {
            let (card, entry) = one?;
            if let Some(card) = card.filter(|_| self.with_cards) {
                self.learn(now, &card, &entry)?;
            }
            self.take(now, from, &entry);
        }
        Ok(())
    }

    /// Learns a member, or where it is now, from its card and the entry that came with it.
    fn learn(
        &mut self,
        now: Instant,
        card: &Card<'_>,
        entry: &WireEntry<'_>,
    ) -> Result<(), Dropped> {
        let id = NodeId::of_name(card.name, self.config.id_salt);
        if id != entry.id {
            return Err(Dropped::Malformed);
        }
        if id == self.id {
            if *card.name != *self.name {
                self.counters.dropped_id_collision += 1;
                self.emit(Event::IdCollision(card.name.to_owned()));
            }
            return Ok(());
        }
        if entry.stamp.is_left() || self.is_too_old(entry) {
            return Ok(());
        }
        let incarnation = entry.stamp.incarnation();
        let birth = now.before(entry.age_micros);
        match self.membership.add(id, (card.name, card.address), incarnation, birth) {
            Ok(true) => {
                self.membership.set_target(id, true);
                self.catch_up.gained();
            }
            Ok(false) => {
                let Some(record) = self.membership.get_mut(id) else { return Ok(()) };
                if incarnation > record.address_of {
                    (record.address, record.address_of) = (card.address, incarnation);
                }
            }
            Err(NotAdded::NoRoom) => self.counters.dropped_no_room += 1,
            Err(NotAdded::IdCollision) => self.counters.dropped_id_collision += 1,
        }
        Ok(())
    }

    /// Merges one received entry and sees to what follows from it.
    fn take(&mut self, now: Instant, from: Address, entry: &WireEntry<'_>) {
        self.counters.entries_received += 1;
        if self.is_too_old(entry) {
            self.counters.entries_impossible_age += 1;
            return;
        }
        let WireEntry { id, stamp, age_micros, payload } = *entry;
        let membership = &self.membership;
        let news = (id, stamp, now.before(age_micros));
        let (merged, evicted) =
            self.vector.merge(self.arrival, news, payload, |id| membership.contains(id));
        if let Some((id, birth)) = evicted {
            self.counters.entries_evicted += 1;
            if let Some(record) = self.membership.get_mut(id) {
                record.last_birth = birth;
            }
        }
        match merged {
            Merged::News(held) => {
                self.counters.entries_news += 1;
                if held.incarnation() != stamp.incarnation() || stamp.is_left() {
                    self.turned(id, held, stamp);
                }
            }
            Merged::First => {
                self.counters.entries_news += 1;
                self.first_heard(id, stamp);
            }
            Merged::Stale => self.counters.entries_stale += 1,
            Merged::Repeated => self.counters.entries_duplicate_origin += 1,
            Merged::TooOld => self.counters.entries_too_old += 1,
            Merged::Own => self.refute(now, stamp),
            Merged::Unknown => {
                self.counters.entries_unknown_origin += 1;
                if self.with_cards && !stamp.is_left() {
                    self.catch_up.lacks(from);
                }
            }
        }
    }

    #[inline]
    fn is_too_old(&self, entry: &WireEntry<'_>) -> bool {
        entry.age_micros >= micros(self.config.forget_after) as u64
    }

    #[cold]
    fn first_heard(&mut self, id: NodeId, stamp: Stamp) {
        self.catch_up.gained();
        self.note_farewell(id, stamp);
        let bounded = self.vector.capacity() < self.config.max_nodes as usize;
        let name = self.membership.get(id).map(|record| record.name.to_string());
        // In a bounded vector members come and go all the time: that is no event.
        if let Some(name) = name.filter(|_| !bounded && !stamp.is_left()) {
            self.emit(Event::Joined(name));
        }
    }

    /// A member has begun a later life, or has left.
    #[cold]
    fn turned(&mut self, id: NodeId, held: Stamp, stamp: Stamp) {
        self.note_farewell(id, stamp);
        let Some(record) = self.membership.get(id) else { return };
        let name = record.name.to_string();
        self.emit(match (held.is_left(), stamp.is_left()) {
            (_, true) => Event::Left(name),
            (true, false) => Event::Returned(name, stamp.incarnation()),
            (false, false) => Event::Restarted(name, stamp.incarnation()),
        });
    }

    /// Sends to a member that lives, and hurries the farewell of one that has left.
    fn note_farewell(&mut self, id: NodeId, stamp: Stamp) {
        self.membership.set_target(id, !stamp.is_left());
        if stamp.is_left() {
            self.urgent.add(id, self.membership.len());
        } else {
            self.urgent.remove(id);
        }
    }

    /// News of this node: if it is from this life or an earlier one, all is well; news that this
    /// node has not made yet stems from another life, and is overtaken by a new incarnation.
    fn refute(&mut self, now: Instant, stamp: Stamp) {
        if stamp <= self.vector.own().stamp || self.left {
            return;
        }
        let Some(incarnation) = stamp.incarnation().next() else { return };
        debug_assert!(self.vector.own().birth <= now, "nothing is born in the future");
        self.vector.renew_own(Stamp::new(incarnation, 0), &self.payload);
        self.counters.refutations += 1;
        self.emit(Event::Refuted(incarnation));
    }
}

impl From<Refused> for Dropped {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Replayed => Self::Replayed,
            Refused::StaleLife => Self::StaleSender,
        }
    }
}

impl From<Unopened> for Dropped {
    fn from(unopened: Unopened) -> Self {
        match unopened {
            Unopened::WrongKey => Self::Key,
            Unopened::Damaged => Self::Corrupt,
        }
    }
}

impl From<BodyError> for Dropped {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::Malformed => Self::Malformed,
            BodyError::Schema => Self::Schema,
        }
    }
}
