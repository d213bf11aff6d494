//! Giving way: a newcomer gets the place of a member that is gone (`room.rs`).

use core::cmp::Reverse;

use tidings_primitives::time::Instant;

use super::machine::Node;
use crate::address::Address;
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::event::Event;
use crate::membership::NotAdded;

impl Node {
    /// Whether members answer this node, but have not sent it anything of their own for 64 units:
    /// they have no room for it, or do not reach it.
    pub fn is_unheeded(&self, now: Instant) -> bool {
        self.room.is_unheeded(now, self.config.interval)
    }

    /// Whether another member would find a place.
    pub(super) fn has_room(&self) -> bool {
        !self.membership.is_full() || (self.with_cards && self.membership.gone() > 0)
    }

    /// Adds a member, in the place of one that is gone if need be.
    pub(super) fn add_member(
        &mut self,
        id: NodeId,
        card: (&str, Address),
        incarnation: Incarnation,
        birth: Instant,
    ) -> Result<bool, NotAdded> {
        let added = self.membership.add(id, card, incarnation, birth);
        if added == Err(NotAdded::NoRoom) {
            if self.give_way() {
                return self.membership.add(id, card, incarnation, birth);
            }
            if self.room.reports() {
                self.emit(Event::NoRoom(card.0.to_owned()));
            }
        }
        added
    }

    /// Forgets who left, or else who died, the longest ago; `false` if all live.
    fn give_way(&mut self) -> bool {
        if self.membership.gone() == 0 || !self.room.may_give_way() {
            return false;
        }
        let gone = |&id: &NodeId| {
            let held = self.vector.get(id).filter(|entry| entry.stamp.is_last());
            let floor = self.membership.get(id).map(|record| (record.floor, record.last_birth));
            let held = held.map(|entry| (entry.stamp, entry.birth));
            let (stamp, birth) = held.or(floor.filter(|(floor, _)| floor.is_last()))?;
            Some((Reverse(stamp.is_left()), birth, id, stamp))
        };
        let others = self.membership.order().iter().filter(|&&id| !self.membership.is_target(id));
        let others = others.filter(|&&id| id != self.own.id());
        let Some((_, _, id, stamp)) = others.filter_map(gone).min() else { return false };
        self.let_go(id, stamp);
        true
    }

    /// Forgets a member that is gone because its place is needed.
    fn let_go(&mut self, id: NodeId, stamp: Stamp) {
        self.room.gives_way();
        self.changed(id);
        self.outbox.calm(id);
        self.vector.remove(id);
        let name = self.membership.get(id).map(|record| record.name.to_string());
        self.membership.bury(id, stamp.above());
        self.counters.members_gave_way += 1;
        self.emit(Event::Forgotten(name.unwrap_or_default()));
    }
}
