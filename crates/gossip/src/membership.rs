//! Membership: which nodes there are, where they are, and which may be sent to.
//!
//! With a *roster* the members are given; joining by *seeds* they are learnt from cards. When
//! nothing was heard of a member for `forget_after`, its entry is forgotten, and by seeds the
//! member too; only up to which stamp it was known stays, so that no recording brings it back as
//! alive. A member that has left stays known until then, but is not sent to. Per member there is a
//! replay window too: the last 64 datagrams of its present life.
//!
//! Invariants: `order` holds the id of each member once, ascending; `targets` holds each member
//! that may be sent to once, never this node; memory for `max_nodes` tables is taken at the start.

use std::collections::BTreeMap;

use tidings_primitives::time::Instant;

use crate::address::Address;
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::id_table::IdTable;
use crate::share::Share;
use crate::wire::extension::Extension;
use crate::wire::header::Header;

/// Not among the targets.
const NO_TARGET: u32 = u32::MAX;

/// A node as it is introduced: by a roster, or by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// 1 to 63 bytes.
    pub name: String,
    /// Where its datagrams go.
    pub address: Address,
}

/// What is known of a member beside its entry.
pub(crate) struct Record {
    pub(crate) id: NodeId,
    pub(crate) name: Box<str>,
    pub(crate) address: Address,
    /// The incarnation that said so.
    pub(crate) address_of: Incarnation,
    pub(crate) replay: Replay,
    /// Birth of the newest entry that was evicted or found no room, or when the member was added.
    pub(crate) last_birth: Instant,
    /// The least stamp that is taken where no entry is held: what was known does not go back.
    pub(crate) floor: Stamp,
    /// What is left of its share of requests.
    pub(crate) requests: Share,
    /// The same of probes.
    pub(crate) probes: Share,
    /// Versions of the format, as its last datagram said; `None` before the first.
    pub(crate) speaks: Option<Speaks>,
    /// Whether it has shown to be at that address, or a roster says so.
    pub(crate) reached: bool,
    target_at: u32,
}

impl Record {
    /// The highest incarnation that is believed of the member, but for that of its entry.
    pub(crate) fn last_life(&self) -> Incarnation {
        self.floor.incarnation().max(self.address_of).max(self.replay.incarnation)
    }
}

/// Which versions of the format a member speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Speaks {
    /// The one it wrote last.
    pub(crate) writes: u8,
    /// The highest that it is known to read.
    pub(crate) reads: u8,
}

impl Speaks {
    /// What an authentic datagram shows of the versions that its sender speaks.
    pub(crate) fn of(header: &Header, said: &Extension) -> Self {
        let reads = said.reads.map_or(header.version, |reads| reads.highest);
        Self { writes: header.version, reads: reads.max(header.version) }
    }
}

/// The members of a cluster.
pub(crate) struct Membership {
    table: IdTable,
    records: Vec<Option<Record>>,
    vacant: Vec<u32>,
    order: Vec<NodeId>,
    targets: Vec<u32>,
    /// Of those forgotten, the least stamp above all that was known of them; at most `max_nodes`.
    graves: BTreeMap<NodeId, Stamp>,
    max_nodes: usize,
}

/// Why a member was not added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotAdded {
    NoRoom,
    IdCollision,
}

impl Membership {
    /// No members yet, room for `max_nodes`.
    pub(crate) fn new(max_nodes: usize) -> Self {
        Self {
            table: IdTable::with_capacity(max_nodes),
            records: Vec::new(),
            vacant: Vec::new(),
            order: Vec::new(),
            targets: Vec::new(),
            graves: BTreeMap::new(),
            max_nodes,
        }
    }

    /// Takes memory for so many members in all, and no more.
    pub(crate) fn reserve(&mut self, members: usize) {
        self.records.reserve_exact(members.saturating_sub(self.records.len()));
        self.order.reserve_exact(members.saturating_sub(self.order.len()));
        self.targets.reserve_exact(members.saturating_sub(self.targets.len()));
    }

    /// Members, this node included.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Members that may be sent to.
    pub(crate) fn targets(&self) -> usize {
        self.targets.len()
    }

    /// Members that may not be sent to, beside this node: they have left or are dead.
    pub(crate) fn gone(&self) -> usize {
        self.order.len().saturating_sub(self.targets.len() + 1)
    }

    /// Whether there is no room for another.
    pub(crate) fn is_full(&self) -> bool {
        self.order.len() >= self.max_nodes
    }

    #[inline]
    pub(crate) fn contains(&self, id: NodeId) -> bool {
        self.table.get(id).is_some()
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Record> {
        self.records[self.table.get(id)? as usize].as_ref()
    }

    pub(crate) fn get_mut(&mut self, id: NodeId) -> Option<&mut Record> {
        self.records[self.table.get(id)? as usize].as_mut()
    }

    /// Ids of all members, ascending.
    pub(crate) fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// The member that is `nth` among those that may be sent to.
    pub(crate) fn target(&self, nth: usize) -> Option<&Record> {
        self.records[*self.targets.get(nth)? as usize].as_ref()
    }

    /// Whether a member may be sent to.
    #[inline]
    pub(crate) fn is_target(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(|record| record.target_at != NO_TARGET)
    }

    /// All members that may be sent to.
    pub(crate) fn iter_targets(&self) -> impl Iterator<Item = &Record> {
        self.targets.iter().filter_map(|&at| self.records[at as usize].as_ref())
    }

    /// The members that follow `id` in the order of ids, around its end, and may be sent to: all
    /// who know the same members find the same.
    pub(crate) fn successors(&self, id: NodeId) -> impl Iterator<Item = &Record> {
        let (before, after) = self.order.split_at(self.order.partition_point(|&other| other <= id));
        let around = after.iter().chain(before).filter(move |&&other| other != id);
        around.filter_map(|&id| self.get(id)).filter(|record| record.target_at != NO_TARGET)
    }

    /// The place of a member: the same for as long as it is one.
    #[inline]
    pub(crate) fn place(&self, id: NodeId) -> Option<u32> {
        self.table.get(id)
    }

    /// The member kept in `place`, a number below [`Membership::places`], if any.
    pub(crate) fn in_place(&self, place: usize) -> Option<&Record> {
        self.records.get(place)?.as_ref()
    }

    /// Places in use or vacant.
    pub(crate) fn places(&self) -> usize {
        self.records.len()
    }

    /// Adds a member that is not sent to yet; `false` if it was one already.
    pub(crate) fn add(
        &mut self,
        id: NodeId,
        (name, address): (&str, Address),
        address_of: Incarnation,
        now: Instant,
    ) -> Result<bool, NotAdded> {
        if let Some(known) = self.get(id) {
            return if *known.name == *name { Ok(false) } else { Err(NotAdded::IdCollision) };
        }
        if self.is_full() {
            return Err(NotAdded::NoRoom);
        }
        let record = Record {
            id,
            name: name.into(),
            address,
            address_of,
            replay: Replay::default(),
            last_birth: now,
            floor: self.graves.remove(&id).unwrap_or_default(),
            requests: Share::WHOLE,
            probes: Share::WHOLE,
            speaks: None,
            reached: false,
            target_at: NO_TARGET,
        };
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.records.push(None);
            self.records.len() as u32 - 1
        });
        self.records[place as usize] = Some(record);
        self.table.insert(id, place);
        let at = self.order.partition_point(|&other| other < id);
        self.order.insert(at, id);
        Ok(true)
    }

    /// Removes a member and returns its name.
    pub(crate) fn remove(&mut self, id: NodeId) -> Option<Box<str>> {
        self.set_target(id, false);
        let place = self.table.get(id)?;
        self.table.remove(id);
        self.vacant.push(place);
        if let Ok(at) = self.order.binary_search(&id) {
            self.order.remove(at);
        }
        self.records[place as usize].take().map(|record| record.name)
    }

    /// Notes that news of a member born at `birth` was heard, and is not held.
    pub(crate) fn heard(&mut self, id: NodeId, birth: Instant) {
        if let Some(record) = self.get_mut(id) {
            record.last_birth = record.last_birth.max(birth);
        }
    }

    /// Notes that the entry about a member was let go: older ones are not taken in its stead.
    pub(crate) fn raise_floor(&mut self, id: NodeId, floor: Stamp) {
        if let Some(record) = self.get_mut(id) {
            record.floor = record.floor.max(floor);
        }
    }

    /// Removes a member of which nothing below `floor` shall be believed if it comes again.
    pub(crate) fn bury(&mut self, id: NodeId, floor: Stamp) {
        self.remove(id);
        if self.graves.len() == self.max_nodes {
            self.graves.pop_first();
        }
        self.graves.insert(id, floor);
    }

    /// Forgets of those forgotten what cannot be: stamps of incarnations above `highest`.
    pub(crate) fn disinter(&mut self, highest: Incarnation) {
        self.graves.retain(|_, floor| floor.incarnation() <= highest);
    }

    /// Takes back all that was believed of a member's stamps and datagrams.
    pub(crate) fn disbelieve(&mut self, id: NodeId) {
        if let Some(record) = self.get_mut(id) {
            (record.floor, record.replay) = (Stamp::default(), Replay::default());
        }
    }

    /// Whether a node was forgotten of which such a stamp, or a newer one, was known.
    pub(crate) fn is_past(&self, id: NodeId, stamp: Stamp) -> bool {
        self.graves.get(&id).is_some_and(|floor| stamp < *floor)
    }

    /// Says whether a member may be sent to.
    pub(crate) fn set_target(&mut self, id: NodeId, may: bool) {
        let Some(place) = self.table.get(id) else { return };
        let Some(record) = self.records[place as usize].as_mut() else { return };
        let at = record.target_at;
        if may == (at != NO_TARGET) {
            return;
        }
        if may {
            record.target_at = self.targets.len() as u32;
            self.targets.push(place);
            return;
        }
        record.target_at = NO_TARGET;
        self.targets.swap_remove(at as usize);
        if let Some(&moved) = self.targets.get(at as usize) {
            if let Some(moved) = self.records[moved as usize].as_mut() {
                moved.target_at = at;
            }
        }
    }
}

/// Which datagrams of a sender's present life have arrived: the highest counter and the 63 before.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Replay {
    incarnation: Incarnation,
    salt: u64,
    highest: u64,
    /// Bit i: the datagram numbered `highest - i` has arrived.
    arrived: u64,
}

/// Why a datagram of a known sender was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It has arrived before, or lies too far behind to tell.
    Replayed,
    /// It is of an earlier life.
    StaleLife,
}

impl Replay {
    /// The life of which datagrams have arrived last.
    pub(crate) fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Whether an authentic datagram with this header would be fresh.
    pub(crate) fn check(&self, header: &Header) -> Result<(), Refused> {
        if header.counter == 0 {
            return Err(Refused::Replayed);
        }
        if self.highest == 0 || header.incarnation > self.incarnation {
            return Ok(());
        }
        if header.salt != self.salt {
            return Err(Refused::StaleLife);
        }
        let behind = self.highest.saturating_sub(header.counter);
        let fresh =
            header.counter > self.highest || (behind < 64 && self.arrived & (1 << behind) == 0);
        if fresh { Ok(()) } else { Err(Refused::Replayed) }
    }

    /// Notes an authentic, fresh datagram.
    pub(crate) fn note(&mut self, header: &Header) {
        if header.salt != self.salt || self.highest == 0 {
            *self = Self {
                incarnation: header.incarnation,
                salt: header.salt,
                highest: header.counter,
                arrived: 1,
            };
            return;
        }
        self.incarnation = self.incarnation.max(header.incarnation);
        if header.counter > self.highest {
            let ahead = header.counter - self.highest;
            self.arrived = if ahead < 64 { self.arrived << ahead } else { 0 } | 1;
            self.highest = header.counter;
        } else if self.highest - header.counter < 64 {
            self.arrived |= 1 << (self.highest - header.counter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::header::Kind;

    fn header(incarnation: u32, salt: u64, counter: u64) -> Header {
        Header {
            version: 1,
            kind: Kind::Window,
            cluster: 0,
            sender: NodeId(1),
            incarnation: Incarnation::new(incarnation),
            key_id: 0,
            salt,
            counter,
        }
    }

    /// Feeds datagrams and says which were taken.
    fn feed(replay: &mut Replay, headers: &[(u32, u64, u64)]) -> Vec<Result<(), Refused>> {
        let verdict = |&(incarnation, salt, counter): &(u32, u64, u64)| {
            let header = header(incarnation, salt, counter);
            let fresh = replay.check(&header);
            if fresh.is_ok() {
                replay.note(&header);
            }
            fresh
        };
        headers.iter().map(verdict).collect()
    }

    #[test]
    fn each_datagram_is_taken_once_in_any_order() {
        let mut replay = Replay::default();
        let order =
            [(1, 9, 5), (1, 9, 3), (1, 9, 5), (1, 9, 80), (1, 9, 5), (1, 9, 16), (1, 9, 17)];
        let (ok, no) = (Ok(()), Err(Refused::Replayed));
        assert_eq!(feed(&mut replay, &order), [ok, ok, no, ok, no, no, ok]);
    }

    #[test]
    fn a_later_incarnation_restarts_and_ends_the_earlier() {
        let mut replay = Replay::default();
        let order = [(1, 9, 50), (2, 7, 1), (1, 9, 51), (2, 7, 1), (2, 8, 2), (3, 7, 2)];
        let (ok, stale) = (Ok(()), Err(Refused::StaleLife));
        let again = Err(Refused::Replayed);
        assert_eq!(feed(&mut replay, &order), [ok, ok, stale, again, stale, ok]);
    }

    /// A node that overtakes news of itself raises its incarnation within one life.
    #[test]
    fn a_raised_incarnation_belongs_to_the_life_it_was_raised_in() {
        let mut replay = Replay::default();
        let order = [(1, 9, 5), (4, 9, 6), (1, 9, 4), (3, 8, 1), (4, 9, 6), (5, 8, 1)];
        let (ok, stale) = (Ok(()), Err(Refused::StaleLife));
        assert_eq!(feed(&mut replay, &order), [ok, ok, ok, stale, Err(Refused::Replayed), ok]);
    }

    #[test]
    fn what_is_buried_is_remembered_in_bounded_number() {
        let mut members = Membership::new(2);
        let card = ("n", Address::from_bytes(&[0]).expect("one byte fits"));
        let floor = Stamp::new(Incarnation::new(3), 7);
        for id in 1..=3 {
            let added = members.add(NodeId(id), card, Incarnation::default(), Instant::EPOCH);
            assert_eq!(added, Ok(true));
            members.bury(NodeId(id), floor);
        }
        let below = Stamp::new(Incarnation::new(3), 6);
        let past = [1, 2, 3].map(|id| members.is_past(NodeId(id), below));
        assert_eq!(past.iter().filter(|&&past| past).count(), 2);
        assert!(members.is_past(NodeId(3), below) && !members.is_past(NodeId(3), floor));
        assert_eq!(members.add(NodeId(3), card, Incarnation::default(), Instant::EPOCH), Ok(true));
        assert_eq!(members.get(NodeId(3)).map(|record| record.floor), Some(floor));
        assert_eq!(members.len(), 1);
    }

    #[test]
    fn targets_and_order_follow_adding_and_removing() {
        let mut members = Membership::new(3);
        let address = Address::from_bytes(&[0]).expect("one byte fits");
        for id in [3, 1, 2] {
            let name = format!("n{id}");
            let added =
                members.add(NodeId(id), (&name, address), Incarnation::default(), Instant::EPOCH);
            assert_eq!(added, Ok(true));
            members.set_target(NodeId(id), true);
        }
        let four = ("n4", address);
        let full = members.add(NodeId(4), four, Incarnation::default(), Instant::EPOCH);
        assert_eq!(full, Err(NotAdded::NoRoom));
        let clash = members.add(NodeId(1), four, Incarnation::default(), Instant::EPOCH);
        assert_eq!(clash, Err(NotAdded::IdCollision));
        assert_eq!(members.order(), [NodeId(1), NodeId(2), NodeId(3)]);
        members.remove(NodeId(3));
        members.set_target(NodeId(1), false);
        let left: Vec<NodeId> = members.iter_targets().map(|record| record.id).collect();
        assert_eq!(left, [NodeId(2)]);
        assert_eq!(members.targets(), 1);
        assert_eq!(members.len(), 2);
    }
}
