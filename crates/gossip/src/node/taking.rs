//! Taking news in: merging entries, and what follows from them.

use tidings_primitives::time::{Instant, micros};

use super::machine::Node;
use crate::address::Address;
use crate::config::Capacity;
use crate::counters::Dropped;
use crate::entry::{NodeId, Stamp};
use crate::event::Event;
use crate::membership::NotAdded;
use crate::vector::merge::{Arrival, Evicted, Merged};
use crate::wire::ask::Card;
use crate::wire::window::WireEntry;

impl Node {
    /// Merges one received entry and sees to what follows from it.
    #[inline]
    pub(super) fn take(&mut self, now: Instant, from: Address, entry: &WireEntry<'_>) {
        self.counters.entries_received += 1;
        if self.is_impossible(now, entry) {
            return;
        }
        if self.refuses_forged(now, from, entry) {
            return;
        }
        let WireEntry { id, stamp, age_micros, payload } = *entry;
        // Others make tombstones, and may not put words into the mouth of the dead.
        let payload = if stamp.is_last() && self.wants_signatures() { &[] } else { payload };
        let arrival = Arrival {
            datagram: self.intake.number(),
            id,
            stamp,
            birth: now.before(age_micros),
            payload,
        };
        if self.is_outlived(id, stamp, arrival.birth) {
            self.counters.tombstones_refused += 1;
            return;
        }
        let membership = &self.membership;
        let mut floored = false;
        let takes = |id| {
            let floor = membership.get(id).map(|record| record.floor);
            floored = floor.is_some_and(|floor| stamp < floor);
            floor.is_some() && !floored
        };
        let (merged, evicted) = self.vector.merge(&arrival, takes);
        if let Some(evicted) = evicted {
            self.gave_way(evicted);
        }
        if matches!(merged, Merged::News(_) | Merged::First) {
            self.changed(id);
        }
        match merged {
            Merged::Unknown if floored => self.counters.entries_stale += 1,
            merged => self.merged(now, &arrival, from, merged),
        }
    }

    /// What follows from what became of an entry.
    #[inline]
    fn merged(&mut self, now: Instant, arrival: &Arrival<'_>, from: Address, merged: Merged) {
        let (id, stamp) = (arrival.id, arrival.stamp);
        match merged {
            Merged::Unknown => self.miss(id, stamp, from),
            Merged::News(held) => {
                self.counters.entries_news += 1;
                if held.incarnation() != stamp.incarnation() || stamp.is_last() {
                    self.turned(now, id, held, stamp);
                    self.see_to_card(id, stamp, from);
                }
            }
            Merged::First => {
                self.counters.entries_news += 1;
                self.first_heard(now, id, stamp);
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
                self.membership.heard(id, arrival.birth);
            }
            Merged::Own => self.refute(now, stamp),
        }
    }

    /// An entry made room for a newer one in a bounded vector.
    fn gave_way(&mut self, Evicted { id, stamp, birth }: Evicted) {
        self.counters.entries_evicted += 1;
        self.membership.heard(id, birth);
        self.membership.raise_floor(id, stamp);
        self.changed(id);
    }

    /// News came of a node that is no member.
    fn miss(&mut self, id: NodeId, stamp: Stamp, from: Address) {
        self.counters.entries_unknown_origin += 1;
        let gone = stamp.is_last() || self.membership.is_past(id, stamp);
        if self.with_cards && !gone {
            self.lacks(id, from);
        }
    }

    /// Learns a member, or where it is now, from its card and the entry that came with it.
    ///
    /// `asks`: it introduced itself, and can receive an incarnation that was forgotten. `false` if
    /// the entry is about a node of another name whose id is the same, or not signed.
    pub(super) fn learn(
        &mut self,
        (now, from): (Instant, Address),
        card: &Card<'_>,
        entry: &WireEntry<'_>,
        asks: bool,
    ) -> Result<bool, Dropped> {
        let id = NodeId::of_name(card.name, self.config.id_salt);
        if id != entry.id {
            return Err(Dropped::Malformed);
        }
        if id == self.own.id() {
            let mine = *card.name == *self.own.name();
            if !mine {
                self.counters.dropped_id_collision += 1;
                self.emit(Event::IdCollision(card.name.to_owned()));
            }
            return Ok(mine);
        }
        let incarnation = entry.stamp.incarnation();
        if !self.lives.believes(incarnation) {
            return Ok(true);
        }
        let past = !asks && self.membership.is_past(id, entry.stamp);
        if past || entry.stamp.is_last() || self.is_too_old(entry) {
            return Ok(true);
        }
        if self.is_forged(entry) {
            self.count_forged(now, Some(card.name.to_owned()), from);
            return Ok(false);
        }
        let birth = now.before(entry.age_micros);
        match self.add_member(id, (card.name, card.address), incarnation, birth) {
            Ok(true) => {
                self.membership.set_target(id, true);
                self.catch_up.gained();
                self.card_changed(id);
            }
            Ok(false) => {
                if let Some(record) = self.membership.get_mut(id) {
                    if incarnation > record.address_of {
                        record.reached &= record.address == card.address;
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

    #[inline]
    pub(super) fn is_too_old(&self, entry: &WireEntry<'_>) -> bool {
        entry.age_micros >= micros(self.config.forget_after) as u64
    }

    #[cold]
    fn first_heard(&mut self, now: Instant, id: NodeId, stamp: Stamp) {
        self.note_farewell(now, id, stamp);
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
    pub(super) fn turned(&mut self, now: Instant, id: NodeId, held: Stamp, stamp: Stamp) {
        self.changed(id);
        self.note_farewell(now, id, stamp);
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
    fn note_farewell(&mut self, now: Instant, id: NodeId, stamp: Stamp) {
        self.membership.set_target(id, !stamp.is_last());
        self.detection.turned(id, !stamp.is_last(), now);
        if stamp.is_last() {
            if let Some(record) = self.membership.get(id) {
                self.catch_up.lost(record.address);
            }
            self.outbox.hurry(id, self.membership.len());
            if stamp.is_dead() {
                self.hurry(id);
            }
        } else {
            self.outbox.calm(id);
        }
    }

    /// News of this node: if it is from this life or an earlier one, all is well; news that this
    /// node has not made yet stems from another life, and is overtaken by a new incarnation.
    pub(super) fn refute(&mut self, now: Instant, stamp: Stamp) {
        if stamp <= self.vector.own().stamp || self.own.has_left() {
            self.counters.entries_stale += 1;
            return;
        }
        let Some(incarnation) = stamp.incarnation().next() else {
            return self.lives.outranked_by(stamp.incarnation(), now);
        };
        debug_assert!(self.vector.own().birth <= now, "nothing is born in the future");
        self.say(Stamp::new(incarnation, 0));
        self.changed(self.own.id());
        if stamp.is_dead() {
            self.counters.deaths_outlived += 1;
            self.detection.errs();
            self.emit(Event::Outlived(incarnation));
        } else {
            self.counters.refutations += 1;
            self.emit(Event::Refuted(incarnation));
        }
    }
}
