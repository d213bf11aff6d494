//! What a node does with a datagram: authenticate, bound, merge; count what it refuses.

use tidings_primitives::seal::Unopened;
use tidings_primitives::time::Instant;

use super::intake::{Life, Received};
use super::machine::Node;
use super::sealer::is_beside;
use crate::address::Address;
use crate::counters::Dropped;
use crate::membership::{Refused, Speaks};
use crate::wire::ask::Answer;
use crate::wire::extension::Extension;
use crate::wire::header::{CHANGES_VERSION, Header, HeaderError, Kind};
use crate::wire::reject;
use crate::wire::window::{self, BodyError, Marks};

impl Node {
    /// Takes in a datagram that arrived from `from`; it is decrypted in place.
    ///
    /// Never fails: what cannot be used is dropped and counted, see [`Node::counters`].
    pub fn handle_datagram(&mut self, now: Instant, from: Address, datagram: &mut [u8]) {
        let now = self.vector.advance(now);
        self.look_at_ages(now);
        self.counters.datagrams_received += 1;
        self.counters.bytes_received += datagram.len() as u64;
        self.intake.count();
        if let Err(dropped) = self.receive(now, from, datagram) {
            self.counters.count(dropped);
            self.note_drop(now, from, dropped, datagram);
        }
    }

    fn receive(&mut self, now: Instant, from: Address, bytes: &mut [u8]) -> Result<(), Dropped> {
        if reject::is_reject(bytes) {
            return self.receive_reject(now, from, bytes);
        }
        let (header, life) = self.admissible(bytes)?;
        let size = bytes.len();
        let (said, body) = Extension::read(header.version, self.sealer.unseal(bytes)?)?;
        if said.receiver.is_some_and(|receiver| receiver.id != self.own.id()) {
            return Err(Dropped::Misdirected);
        }
        let meant = self.own.is_meant(&said);
        let received = Received { now, header, life, from, bytes: size, meant };
        self.must_be_plausible(now, header.sender, header.incarnation)?;
        if header.kind.is_foreign() {
            // No member has sent it, whatever id its sender has: no replay window is concerned.
            return self.receive_foreign(&received, body);
        }
        let outcome = self.receive_from_member(&received, body);
        // The header is known to be true, and its sender may have become a member just now.
        let is_proven = self.has_proven(header.sender, header.incarnation);
        if let Some(sender) = self.membership.get_mut(header.sender).filter(|_| is_proven) {
            if !is_beside(&header) && sender.replay.check(&header).is_ok() {
                sender.replay.note(&header);
                sender.speaks = Some(Speaks::of(&header, &said));
                let is_new_there = !sender.reached && sender.address == from;
                let is_answer = header.kind == Kind::Answer;
                if !is_answer {
                    self.detection.hear(now);
                }
                self.room.hear(now, is_answer);
                if is_new_there {
                    self.reach(header.sender);
                }
            }
        }
        outcome
    }

    fn receive_from_member(&mut self, received: &Received, body: &[u8]) -> Result<(), Dropped> {
        let member = self.membership.get_mut(received.header.sender);
        if !self.intake.charge(received, member) {
            return Err(Dropped::Excess);
        }
        match (received.header.kind, received.life) {
            (_, Life::Past) => self.receive_past_ask(received, body),
            (Kind::Window, _) => self.receive_window(received, body),
            (Kind::Pull, _) => self.receive_pull(received, body),
            (Kind::Probe, _) => self.receive_probe(received, body),
            (Kind::Proof, _) => self.receive_proof(received, body),
            (Kind::Ask, _) => self.receive_ask(received, body),
            (Kind::Check, _) => self.receive_check(received, body),
            (Kind::Checked, _) => self.receive_checked(received, body),
            // Foreign kinds have been seen to.
            _ => self.receive_answer(received, body),
        }
    }

    /// The header of a datagram that deserves to be opened.
    fn admissible(&self, datagram: &[u8]) -> Result<(Header, Life), Dropped> {
        let header = Header::parse(datagram).map_err(|error| match error {
            HeaderError::Foreign => Dropped::Foreign,
            HeaderError::Version(_) | HeaderError::Kind(_) => Dropped::Version,
        })?;
        if header.version > self.versions_read().highest {
            return Err(Dropped::Version);
        }
        if header.cluster != self.sealer.group(header.kind) {
            return Err(Dropped::Cluster);
        }
        if header.sender == self.own.id() {
            return Err(Dropped::OwnId);
        }
        if header.kind.is_foreign() {
            let known = self.colony.is_some();
            return if known { Ok((header, Life::Present)) } else { Err(Dropped::Version) };
        }
        match self.membership.get(header.sender) {
            // An operator's check is of a life of its own.
            Some(_) if is_beside(&header) => Ok((header, Life::Present)),
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

    fn receive_window(&mut self, received: &Received, body: &[u8]) -> Result<(), Dropped> {
        let (now, from, header) = (received.now, received.from, &received.header);
        let has_changes = header.version >= CHANGES_VERSION;
        let marks = if has_changes {
            self.receive_changes(received, body)?
        } else {
            self.receive_whole(received, body)?
        };
        if self.with_cards && !self.has_card(header.sender, header.incarnation) {
            self.lacks(header.sender, from);
        }
        let (sender, bytes) = (header.sender, received.bytes);
        if !marks.has(Marks::ANSWER) {
            self.detection.pushed(sender, now);
        }
        self.play(now, |strategy, context| strategy.received(context, sender, marks, bytes));
        let entries = self.config.strategy.answer_entries(self.window_entries());
        match entries.filter(|_| marks.has(Marks::WANTS_ANSWER)) {
            Some(entries) => self.answer_window(received, entries),
            None => Ok(()),
        }
    }

    /// Takes in a window of whole entries.
    fn receive_whole(&mut self, received: &Received, body: &[u8]) -> Result<Marks, Dropped> {
        let (marks, entries, records) = window::decode_with_records(body, self.reads)?;
        self.must_be_records(records)?;
        self.count_answer(marks, body, records);
        let mut ahead = entries.clone();
        for (at, entry) in entries.enumerate() {
            self.vector.look_ahead(at, &mut ahead);
            self.take(received.now, received.from, &entry);
        }
        self.take_records(received.now, marks, records);
        Ok(marks)
    }

    fn receive_answer(&mut self, received: &Received, body: &[u8]) -> Result<(), Dropped> {
        let (now, from) = (received.now, received.from);
        let answer = Answer::read(body, self.reads)?;
        answer.clone().try_for_each(|one| one.map(drop))?;
        for (card, entry) in answer.flatten() {
            let namesake = match card.filter(|_| self.with_cards) {
                Some(card) => !self.learn((now, from), &card, &entry, false)?,
                None => false,
            };
            if !namesake {
                self.take(now, from, &entry);
            }
        }
        Ok(())
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
