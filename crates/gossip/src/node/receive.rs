//! What a node does with a datagram: authenticate, bound, merge; count what it refuses.

use tidings_primitives::seal::{TAG_BYTES, Unopened};
use tidings_primitives::time::{Instant, micros};

use super::Node;
use super::outgoing::{MAX_OFFERS, Offer};
use crate::address::Address;
use crate::config::Capacity;
use crate::counters::Dropped;
use crate::dissemination::scene::{Ids, Order, What};
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::error::PayloadTooLong;
use crate::event::Event;
use crate::membership::{NotAdded, Refused};
use crate::merge::Merged;
use crate::wire::ask::{Answer, Ask, Card};
use crate::wire::extension::Extension;
use crate::wire::header::{self, Header, HeaderError, Kind};
use crate::wire::pull::Pull;
use crate::wire::record::Records;
use crate::wire::window::{self, BodyError, Marks, WireEntry};

/// An opened datagram beside its body.
pub(super) struct Letter {
    pub(super) header: Header,
    /// Where it came from, as it seems.
    pub(super) from: Address,
    /// Bytes of the datagram.
    pub(super) bytes: usize,
    /// Whether it may have been made for this life of this node.
    meant: bool,
}

impl Letter {
    /// Bytes between header and tag.
    pub(super) fn sealed_bytes(&self) -> usize {
        self.bytes - header::BYTES - TAG_BYTES
    }
}

/// From which life of its sender a datagram is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Present,
    Past,
}

impl Node {
    /// Takes in a datagram that arrived from `from`; it is decrypted in place.
    ///
    /// Never fails: what cannot be used is dropped and counted, see [`Node::counters`].
    pub fn handle_datagram(&mut self, now: Instant, from: Address, datagram: &mut [u8]) {
        let now = self.vector.advance(now);
        self.look_at_ages(now);
        self.counters.datagrams_received += 1;
        self.counters.bytes_received += datagram.len() as u64;
        self.arrival = self.arrival.wrapping_add(1).max(1);
        if let Err(dropped) = self.receive(now, from, datagram) {
            self.counters.count(dropped);
        }
    }

    /// Says for another member, at `now`, what it would say of itself: news as if it had just come
    /// from there, and counted so. A shorter text is padded with zeros. For members that this
    /// program plays, as one process of a load test plays all the others.
    ///
    /// Nothing happens if `id` is this node's or no member's.
    ///
    /// # Errors
    /// If the payload is longer than the cluster's.
    pub fn speak_for(
        &mut self,
        id: NodeId,
        payload: &[u8],
        now: Instant,
    ) -> Result<(), PayloadTooLong> {
        self.must_fit(payload)?;
        let now = self.vector.advance(now);
        let held = self.vector.get(id).map(|entry| entry.stamp);
        let stamp = held.map_or(Some(Stamp::new(Incarnation::new(1), 0)), Stamp::next);
        let Some(stamp) = stamp.filter(|_| id != self.id) else { return Ok(()) };
        self.arrival = self.arrival.wrapping_add(1).max(1);
        self.take(now, self.address, &WireEntry { id, stamp, age_micros: 0, payload });
        Ok(())
    }

    fn receive(&mut self, now: Instant, from: Address, bytes: &mut [u8]) -> Result<(), Dropped> {
        let (header, life) = self.admissible(bytes)?;
        let size = bytes.len();
        let (said, body) = Extension::read(header.version, self.keys.unseal(bytes)?)?;
        if said.receiver.is_some_and(|receiver| receiver.id != self.id) {
            return Err(Dropped::Misdirected);
        }
        let letter = Letter { header, from, bytes: size, meant: self.is_meant(&said) };
        if header.kind.is_foreign() {
            // No member has sent it, whatever id its sender has: no replay window is concerned.
            return self.receive_foreign(now, &letter, body);
        }
        let within = self.charge(now, &header, life);
        let outcome = within.and_then(|()| self.receive_from_member(now, (&letter, life), body));
        // The header is known to be true, and its sender may have become a member just now.
        if let Some(sender) = self.membership.get_mut(header.sender) {
            if sender.replay.check(&header).is_ok() {
                sender.replay.note(&header);
                sender.speaks = Some(Self::speaks(&header, &said));
                if let Some(detector) = self.detector.as_mut() {
                    detector.heard = now;
                }
            }
        }
        outcome
    }

    fn receive_from_member(
        &mut self,
        now: Instant,
        (letter, life): (&Letter, Life),
        body: &[u8],
    ) -> Result<(), Dropped> {
        let (sender, from) = (letter.header.sender, letter.from);
        match (letter.header.kind, life) {
            (_, Life::Past) => self.receive_past_ask(letter, body),
            (Kind::Window, _) => self.receive_window(now, letter, body),
            (Kind::Pull, _) => self.receive_pull(now, letter, body),
            (Kind::Probe, _) => self.receive_probe(now, (sender, from), body),
            (Kind::Proof, _) => self.receive_proof(now, (sender, from), body),
            (Kind::Ask, _) => self.receive_ask(now, letter, body),
            // Foreign kinds have been seen to.
            _ => self.receive_answer(now, from, body),
        }
    }

    /// Charges a request to the share of whoever makes it. An ask of a past life may be a
    /// recording, which must not use up the share of the member that it names.
    fn charge(&mut self, now: Instant, header: &Header, life: Life) -> Result<(), Dropped> {
        let (strangers, paces) = (&mut self.strangers, self.paces);
        let member = self.membership.get_mut(header.sender).filter(|_| life == Life::Present);
        let within = match (header.kind, member) {
            (Kind::Ask | Kind::Pull, Some(member)) => member.requests.take(now, paces.request),
            (Kind::Probe, Some(member)) => member.probes.take(now, paces.probe),
            (Kind::Ask, None) if life == Life::Past => strangers.take(now, paces.stranger),
            // Who asks first is charged once it is seen that this does not make it a member.
            _ => true,
        };
        if within { Ok(()) } else { Err(Dropped::Excess) }
    }

    /// The header of a datagram that deserves to be opened.
    fn admissible(&self, datagram: &[u8]) -> Result<(Header, Life), Dropped> {
        let header = Header::parse(datagram).map_err(|error| match error {
            HeaderError::Foreign => Dropped::Foreign,
            HeaderError::Version(_) | HeaderError::Kind(_) => Dropped::Version,
        })?;
        if header.cluster != self.circle(header.kind) {
            return Err(Dropped::Cluster);
        }
        if header.sender == self.id {
            return Err(Dropped::OwnId);
        }
        if header.kind.is_foreign() {
            let known = self.colony.is_some();
            return if known { Ok((header, Life::Present)) } else { Err(Dropped::Version) };
        }
        match self.membership.get(header.sender) {
            Some(sender) => match sender.replay.check(&header) {
                Err(Refused::StaleLife) if header.kind == Kind::Ask => Ok((header, Life::Past)),
                fresh => {
                    fresh?;
                    Ok((header, Life::Present))
                }
            },
            None if self.with_cards => Ok((header, Life::Present)),
            None => Err(Dropped::UnknownSender),
        }
    }

    fn receive_window(
        &mut self,
        now: Instant,
        letter: &Letter,
        body: &[u8],
    ) -> Result<(), Dropped> {
        let (header, from) = (&letter.header, letter.from);
        let (marks, entries, records) = window::decode_with_records(body, self.format)?;
        Records::of(records).try_for_each(|record| record.map(drop))?;
        if self.colony.is_none() && !records.is_empty() {
            return Err(Dropped::Malformed);
        }
        if self.with_cards && !self.has_card(header.sender, header.incarnation) {
            self.lacks(header.sender, from);
        }
        let mut ahead = entries.clone();
        for (at, entry) in entries.enumerate() {
            self.vector.look_ahead(at, &mut ahead);
            self.take(now, from, &entry);
        }
        self.take_records(now, records);
        let (sender, bytes) = (header.sender, letter.bytes);
        self.play(now, |strategy, scene| strategy.received(scene, sender, marks, bytes));
        let entries = self.config.strategy.answer_entries(self.window_entries());
        match entries.filter(|_| marks.has(Marks::WANTS_ANSWER)) {
            Some(entries) => self.answer_window(now, letter, entries),
            None => Ok(()),
        }
    }

    /// Answers half a window with one, if it was made for this node and its sender's share allows.
    fn answer_window(
        &mut self,
        now: Instant,
        letter: &Letter,
        entries: usize,
    ) -> Result<(), Dropped> {
        let (sender, pace) = (letter.header.sender, self.paces.request);
        let Some(member) = self.membership.get_mut(sender) else { return Ok(()) };
        if !letter.meant {
            return Err(Dropped::Misdirected);
        }
        if !member.requests.take(now, pace) {
            return Err(Dropped::Excess);
        }
        self.owe_window(sender, What::Newest(entries));
        Ok(())
    }

    /// Owes a member a window in answer. It goes where the member is known to be, not where the
    /// request came from: nobody can have it sent to a third. Returns whether it was owed.
    fn owe_window(&mut self, to: NodeId, what: What) -> bool {
        let Some(record) = self.membership.get(to) else { return false };
        let with_records = matches!(what, What::Row(Ids { colonies: Some(_), .. }, _));
        let more = if with_records { Marks::RECORDS } else { Marks::NONE };
        let order = Order::to(record, what, Marks::ANSWER.and(more));
        let owed = self.outbox.owe_window(order);
        self.counters.dropped_answers += u64::from(!owed);
        owed
    }

    fn receive_pull(&mut self, now: Instant, letter: &Letter, body: &[u8]) -> Result<(), Dropped> {
        let (sender, from) = (letter.header.sender, letter.from);
        let Pull { first, last, age_micros, colonies } = Pull::read(body, self.format)?;
        if colonies.is_some() && self.colony.is_none() {
            return Err(Dropped::Malformed);
        }
        if !self.membership.contains(sender) {
            self.lacks(sender, from);
            return Ok(());
        }
        // A member of the row is asked for it, never another.
        if !letter.meant || !(first..=last).contains(&self.id) {
            return Err(Dropped::Misdirected);
        }
        let since = age_micros.map_or(Instant::from_micros(i64::MIN), |age| now.before(age));
        let answered = self.owe_window(sender, What::Row(Ids { first, last, colonies }, since));
        self.counters.pulls_answered += u64::from(answered);
        Ok(())
    }

    fn receive_ask(&mut self, now: Instant, letter: &Letter, body: &[u8]) -> Result<(), Dropped> {
        let (sender, from, bytes) = (letter.header.sender, letter.from, letter.bytes);
        let ask = Ask::read(body, self.format)?;
        if ask.own.id != sender || ask.card.is_some() != self.with_cards {
            return Err(Dropped::Malformed);
        }
        let namesake = match ask.card {
            Some(card) => !self.learn(now, &card, &ask.own, true)?,
            None => false,
        };
        if !namesake {
            self.take(now, from, &ask.own);
        }
        // A recording must not keep newcomers out: who is a member by now is not charged.
        let pace = self.paces.stranger;
        if !self.membership.contains(sender) && !self.strangers.take(now, pace) {
            return Err(Dropped::Excess);
        }
        let mut ids = self.offers(sender, from, &ask);
        if namesake || self.knows_newer(&ask.own) {
            ids.insert(0, sender);
        }
        self.owe(Offer { to: from, asker: sender, bytes, ids });
        Ok(())
    }

    /// An ask from a life of a member before its present one: somebody sends again what he has
    /// recorded, or the member has restarted with an incarnation used before. It must learn of
    /// the other life, to overtake it; nothing else comes of such an ask.
    fn receive_past_ask(&mut self, letter: &Letter, body: &[u8]) -> Result<(), Dropped> {
        let (sender, to) = (letter.header.sender, letter.from);
        let ask = Ask::read(body, self.format)?;
        if ask.own.id != sender || !self.knows_newer(&ask.own) {
            return Err(Dropped::StaleSender);
        }
        self.owe(Offer { to, asker: sender, bytes: letter.bytes, ids: vec![sender] });
        Ok(())
    }

    /// Whether newer news of the asker is known than its own: it does not know of a life it had.
    fn knows_newer(&self, own: &WireEntry<'_>) -> bool {
        let held = self.vector.get(own.id).map(|held| held.stamp);
        let floor = self.membership.get(own.id).map(|record| record.floor);
        held.max(floor) > Some(own.stamp)
    }

    fn owe(&mut self, offer: Offer) {
        if !self.outbox.owe(offer) {
            self.counters.dropped_answers += 1;
        }
    }

    /// Members in the range asked about that the asker did not name, from a random one on.
    fn offers(&mut self, sender: NodeId, from: Address, ask: &Ask<'_>) -> Vec<NodeId> {
        let order = self.membership.order();
        let start = order.partition_point(|&id| id < ask.first);
        let end = order.partition_point(|&id| id <= ask.last).max(start);
        let mut named = ask.ids().peekable();
        let mut offers = Vec::new();
        let (mut unknown, mut outdated) = (false, false);
        for &id in &order[start..end] {
            while named.next_if(|&other| other < id).is_some() {
                unknown = true;
            }
            if named.next_if_eq(&id).is_some() {
                outdated |= !self.is_known(id);
            } else if id != sender && self.offered(id).is_some() {
                offers.push(id);
            }
        }
        unknown |= named.next().is_some();
        // With a bounded vector a node may name members of which it holds no entry to answer with.
        let full = self.config.capacity == Capacity::Full;
        if full && (outdated || (unknown && !self.membership.is_full())) {
            self.catch_up.lacks(from);
        }
        if !offers.is_empty() {
            let turn = self.chance.below(offers.len());
            offers.rotate_left(turn);
        }
        offers.truncate(MAX_OFFERS);
        offers
    }

    fn receive_answer(&mut self, now: Instant, from: Address, body: &[u8]) -> Result<(), Dropped> {
        let answer = Answer::read(body, self.format)?;
        answer.clone().try_for_each(|one| one.map(drop))?;
        for (card, entry) in answer.flatten() {
            let namesake = match card.filter(|_| self.with_cards) {
                Some(card) => !self.learn(now, &card, &entry, false)?,
                None => false,
            };
            if !namesake {
                self.take(now, from, &entry);
            }
        }
        Ok(())
    }

    /// Learns a member, or where it is now, from its card and the entry that came with it.
    ///
    /// `asks`: it introduced itself, and can be told of a life that was forgotten. `false` if the
    /// entry is about a node of another name whose id is the same.
    fn learn(
        &mut self,
        now: Instant,
        card: &Card<'_>,
        entry: &WireEntry<'_>,
        asks: bool,
    ) -> Result<bool, Dropped> {
        let id = NodeId::of_name(card.name, self.config.id_salt);
        if id != entry.id {
            return Err(Dropped::Malformed);
        }
        if id == self.id {
            let mine = *card.name == *self.name;
            if !mine {
                self.counters.dropped_id_collision += 1;
                self.emit(Event::IdCollision(card.name.to_owned()));
            }
            return Ok(mine);
        }
        let past = !asks && self.membership.is_past(id, entry.stamp);
        if past || entry.stamp.is_last() || self.is_too_old(entry) {
            return Ok(true);
        }
        let incarnation = entry.stamp.incarnation();
        let birth = now.before(entry.age_micros);
        match self.membership.add(id, (card.name, card.address), incarnation, birth) {
            Ok(true) => {
                self.membership.set_target(id, true);
                self.catch_up.gained();
                self.card_changed(id);
            }
            Ok(false) => {
                if let Some(record) = self.membership.get_mut(id) {
                    if incarnation > record.address_of {
                        (record.address, record.address_of) = (card.address, incarnation);
                        self.card_changed(id);
                    }
                }
            }
            Err(NotAdded::NoRoom) => self.counters.dropped_no_room += 1,
            Err(NotAdded::IdCollision) => {
                self.counters.dropped_id_collision += 1;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Merges one received entry and sees to what follows from it.
    pub(super) fn take(&mut self, now: Instant, from: Address, entry: &WireEntry<'_>) {
        self.counters.entries_received += 1;
        if self.is_too_old(entry) && entry.id != self.id {
            self.counters.entries_impossible_age += 1;
            return;
        }
        let WireEntry { id, stamp, age_micros, payload } = *entry;
        if self.is_outlived(id, stamp, now.before(age_micros)) {
            self.counters.tombstones_refused += 1;
            return;
        }
        let membership = &self.membership;
        let mut floored = false;
        let news = (id, stamp, now.before(age_micros));
        let takes = |id| {
            let floor = membership.get(id).map(|record| record.floor);
            floored = floor.is_some_and(|floor| stamp < floor);
            floor.is_some() && !floored
        };
        let (merged, evicted) = self.vector.merge(self.arrival, news, payload, takes);
        if let Some((id, stamp, birth)) = evicted {
            self.counters.entries_evicted += 1;
            self.membership.heard(id, birth);
            self.membership.raise_floor(id, stamp);
            self.changed(id);
        }
        if matches!(merged, Merged::News(_) | Merged::First) {
            self.changed(id);
        }
        match merged {
            Merged::Unknown if floored => self.counters.entries_stale += 1,
            Merged::News(held) => {
                self.counters.entries_news += 1;
                if held.incarnation() != stamp.incarnation() || stamp.is_last() {
                    self.turned(id, held, stamp);
                    self.see_to_card(id, stamp, from);
                }
            }
            Merged::First => {
                self.counters.entries_news += 1;
                self.first_heard(id, stamp);
                self.see_to_card(id, stamp, from);
            }
            Merged::Stale => self.counters.entries_stale += 1,
            Merged::Outlives => {
                self.counters.entries_stale += 1;
                self.warn(id);
            }
            Merged::Repeated => self.counters.entries_duplicate_origin += 1,
            Merged::TooOld => {
                self.counters.entries_too_old += 1;
                self.membership.heard(id, news.2);
            }
            Merged::Own => self.refute(now, stamp),
            Merged::Unknown => {
                self.counters.entries_unknown_origin += 1;
                let gone = stamp.is_last() || self.membership.is_past(id, stamp);
                if self.with_cards && !gone {
                    self.lacks(id, from);
                }
            }
        }
    }

    /// Whether the card of a member is held, as it is in that incarnation.
    fn has_card(&self, id: NodeId, incarnation: Incarnation) -> bool {
        self.membership.get(id).is_some_and(|record| record.address_of >= incarnation)
    }

    /// Whether no answer could bring more about a member: its entry is held, where there is room
    /// for one a node, and its card is as new.
    pub(super) fn is_known(&self, id: NodeId) -> bool {
        match self.vector.get(id) {
            Some(entry) => !self.with_cards || self.has_card(id, entry.stamp.incarnation()),
            None => self.config.capacity != Capacity::Full,
        }
    }

    /// Notes that `bearer` knows a member this node does not know, or not its present card.
    pub(super) fn lacks(&mut self, id: NodeId, bearer: Address) {
        if self.membership.contains(id) || !self.membership.is_full() {
            self.catch_up.lacks(bearer);
        }
    }

    /// A node that lives anew may be elsewhere: asks for its card.
    fn see_to_card(&mut self, id: NodeId, stamp: Stamp, bearer: Address) {
        if self.with_cards && !stamp.is_last() && !self.has_card(id, stamp.incarnation()) {
            self.lacks(id, bearer);
        }
    }

    #[inline]
    fn is_too_old(&self, entry: &WireEntry<'_>) -> bool {
        entry.age_micros >= micros(self.config.forget_after) as u64
    }

    #[cold]
    fn first_heard(&mut self, id: NodeId, stamp: Stamp) {
        self.note_farewell(id, stamp);
        if self.config.capacity != Capacity::Full {
            // Entries come and go all the time: that is no event, and nothing was gained.
            return;
        }
        self.catch_up.gained();
        let name = self.membership.get(id).map(|record| record.name.to_string());
        match name {
            Some(name) if stamp.is_dead() => self.emit(Event::Died(name, stamp.incarnation())),
            Some(name) if !stamp.is_left() => self.emit(Event::Joined(name)),
            _ => {}
        }
    }

    /// A member has begun a later life, or has left, or was declared dead.
    #[cold]
    pub(super) fn turned(&mut self, id: NodeId, held: Stamp, stamp: Stamp) {
        self.changed(id);
        self.note_farewell(id, stamp);
        let Some(record) = self.membership.get(id) else { return };
        let name = record.name.to_string();
        self.emit(match held.is_last() {
            _ if stamp.is_left() => Event::Left(name),
            _ if stamp.is_dead() => Event::Died(name, stamp.incarnation()),
            true => Event::Returned(name, stamp.incarnation()),
            false => Event::Restarted(name, stamp.incarnation()),
        });
    }

    /// Sends to a member that lives, and hurries the news of one that has left or died.
    fn note_farewell(&mut self, id: NodeId, stamp: Stamp) {
        self.membership.set_target(id, !stamp.is_last());
        if stamp.is_last() {
            self.urgent.add(id, self.membership.len());
            if stamp.is_dead() {
                self.hurry(id);
            }
        } else {
            self.urgent.remove(id);
        }
    }

    /// News of this node: if it is from this life or an earlier one, all is well; news that this
    /// node has not made yet stems from another life, and is overtaken by a new incarnation.
    pub(super) fn refute(&mut self, now: Instant, stamp: Stamp) {
        if stamp <= self.vector.own().stamp || self.left {
            self.counters.entries_stale += 1;
            return;
        }
        let Some(incarnation) = stamp.incarnation().next() else { return };
        debug_assert!(self.vector.own().birth <= now, "nothing is born in the future");
        self.vector.renew_own(Stamp::new(incarnation, 0), &self.payload);
        self.changed(self.id);
        if stamp.is_dead() {
            self.counters.deaths_outlived += 1;
            if let Some(detector) = self.detector.as_mut() {
                detector.health.fails();
            }
            self.emit(Event::Outlived(incarnation));
        } else {
            self.counters.refutations += 1;
            self.emit(Event::Refuted(incarnation));
        }
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
