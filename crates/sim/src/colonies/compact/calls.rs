//! Calls: another colony asked what it is like, and its answer pushed to the own row.

use tidings_gossip::colony::caller::{GROWTH_BYTES, REPLY_CONTACTS};
use tidings_gossip::colony::representation::LATE_UNITS;
use tidings_gossip::wire::OVERHEAD_BYTES;
use tidings_gossip::wire::call::{MAX_CALL_BYTES, REPLY_HEAD_BYTES};
use tidings_gossip::wire::record::HEAD_BYTES;
use tidings_gossip::wire::window::PREAMBLE_BYTES;

use super::contacts::{NOBODY, meet};
use super::run::{CONTACT_BYTES, CompactColony};
use crate::row::UNIT;

/// Bytes of a datagram beside the body.
pub(super) const SEAL_BYTES: usize = OVERHEAD_BYTES - PREAMBLE_BYTES;

impl CompactColony<'_> {
    /// Calls the colonies that a member represents.
    pub(super) fn begin_calls(&mut self, now: i64, member: usize) {
        self.nodes[member].open.clear();
        let row = self.layout.row_of(member);
        let mates = self.layout.members_of(row);
        for place in self.representation.colonies_of(row) {
            let births = &self.entries[self.row_of(member)][mates.clone()];
            let me = member - mates.start;
            let is_fresh = |at: usize| at == me || i64::from(births[at]) > now - self.silent;
            let [first, second] =
                self.representation.representatives(row, place, mates.len(), is_fresh);
            let birth = i64::from(self.aggregates[member * self.others + place]);
            let late = birth == 0 || birth < now - LATE_UNITS * UNIT;
            if first == Some(me) || (second == Some(me) && late) {
                self.call(now, member, place, 0);
            }
        }
    }

    /// Calls a colony, and pushes what it answers to the row.
    pub(super) fn call(&mut self, now: i64, member: usize, place: usize, repeats: u8) {
        let known = *self.contacts_of(member, place);
        let count = known.iter().filter(|&&contact| contact != NOBODY).count();
        let contact = known[self.chance.below(count)];
        let aggregate = self.world.aggregate_bytes;
        let record = HEAD_BYTES + REPLY_CONTACTS * CONTACT_BYTES + aggregate;
        let held = self.aggregates[member * self.others + place] > 0 && repeats == 0;
        let grown = REPLY_HEAD_BYTES + record + GROWTH_BYTES;
        let call = SEAL_BYTES + if held { grown } else { MAX_CALL_BYTES };
        self.sent(member, 1, call);
        self.traffic.calls += 1;
        let arrived = !self.is_lost() && self.world.uptime.is_up(contact as usize, now);
        if arrived {
            self.traffic.datagrams += 1;
            self.traffic.bytes += (SEAL_BYTES + REPLY_HEAD_BYTES + record) as u64;
        }
        if !arrived || self.is_lost() {
            self.traffic.calls_failed += 1;
            self.nodes[member].open.push((place, repeats));
            return;
        }
        let named = self.named_by(place, now);
        let mut latest = [contact; 1 + REPLY_CONTACTS];
        latest[1..].copy_from_slice(&named);
        self.aggregates[member * self.others + place] = now as i32;
        meet(self.contacts_of(member, place), &latest);
        self.push_record(now, member, place, &latest[..REPLY_CONTACTS]);
    }

    /// Members of a colony that one of them would name: up, or down since not long ago.
    fn named_by(&mut self, place: usize, now: i64) -> [u32; REPLY_CONTACTS] {
        let nodes = self.world.nodes_of(self.colony_at(place));
        core::array::from_fn(|_| {
            let node = nodes.start + self.chance.below(nodes.len());
            let lately = self.world.uptime.was_up(node, now, self.fresh);
            if lately { node as u32 } else { NOBODY }
        })
    }

    fn push_record(&mut self, now: i64, member: usize, place: usize, contacts: &[u32]) {
        let mates = self.layout.members_of(self.layout.row_of(member));
        let aggregate = self.world.aggregate_bytes;
        let bytes = OVERHEAD_BYTES + HEAD_BYTES + REPLY_CONTACTS * CONTACT_BYTES + aggregate;
        for mate in mates.filter(|&mate| mate != member) {
            self.sent(member, 1, bytes);
            if !self.is_lost() && self.nodes[mate].up {
                self.aggregates[mate * self.others + place] = now as i32;
                meet(self.contacts_of(mate, place), contacts);
                self.hears_window(now, member, mate);
                self.received(now, member, mate, 1);
            }
        }
    }
}
