//! Pulls: a row asked for, and what the member that is asked answers.

use core::ops::Range;

use tidings_gossip::dissemination::puller::{MARGIN_UNITS, Pull, pick_relay};
use tidings_gossip::wire::pull::COLONIES_BYTES;

use super::run::CompactColony;
use super::take::take;
use crate::row::UNIT;

impl CompactColony<'_> {
    /// Asks a member of a row, and takes what it answers: who it was, the bytes of the first
    /// datagram, and those of the rest.
    pub(super) fn pull(
        &mut self,
        now: i64,
        member: usize,
        pull: Pull,
    ) -> Option<(u32, usize, usize)> {
        let mates = self.layout.members_of(pull.row);
        let births = &self.entries[self.row_of(member)][mates.clone()];
        let fresh = now - self.fresh;
        let chance = &mut self.chance;
        let is_fresh = |at: usize| mates.start + at != member && i64::from(births[at]) > fresh;
        let relay = mates.start + pick_relay(mates.len(), is_fresh, |n| chance.below(n));
        // It is this member, or dead: nobody is asked.
        if relay == member || self.entries[self.row_of(member).start + relay] < 0 {
            return None;
        }
        let puller = &mut self.nodes[member].puller;
        puller.asked(pull, relay as u32);
        let since = puller.last_answer(pull.row).map_or(0, |at| at - MARGIN_UNITS * UNIT);
        let since = since.max(0) as i32;
        let colonies = self.representation.colonies_of(pull.row);
        let none = colonies.start == self.others && pull.row > 0;
        let more = if none { 0 } else { COLONIES_BYTES };
        self.sent(member, 1, self.budget.pull_bytes(0) + more);
        if self.is_lost() || !self.nodes[relay].up {
            return None;
        }
        let at = |row: usize, width: usize, range: &Range<usize>| {
            row * width + range.start..row * width + range.end
        };
        let entries = &self.entries[at(relay, self.members, &mates)];
        let entries = entries.iter().filter(|&&birth| birth > since || birth < 0).count();
        let records = &self.aggregates[at(relay, self.others, &colonies)];
        let records = records.iter().filter(|&&birth| birth > since).count();
        let (datagrams, bytes) = self.budget.packed(entries, records, &self.record_traffic);
        self.sent(relay, datagrams, bytes);
        self.hears(now, relay);
        if self.is_lost() {
            return None;
        }
        self.hears(now, member);
        let mut news = self.take_entries(now, (relay, member), mates, (since, true));
        let (from, to) = (at(relay, self.others, &colonies), at(member, self.others, &colonies));
        news += take(&mut self.aggregates, from, to, since);
        self.received(now, relay, member, news);
        let first = if datagrams > 1 { self.first_bytes(entries, records) } else { bytes };
        Some((relay as u32, first, bytes - first))
    }

    /// Bytes of the first datagram of an answer that takes several.
    fn first_bytes(&self, entries: usize, records: usize) -> usize {
        let entries = entries.min(self.budget.datagram_entries);
        let room = self.record_traffic.room_bytes.saturating_sub(entries * self.budget.entry_bytes);
        let records = records.min(room / self.record_traffic.record_bytes);
        self.budget.packed(entries, records, &self.record_traffic).1
    }
}
