//! Belief: what a node refuses because it cannot be, and what it says of that (`lives.rs`).

use tidings_primitives::time::Instant;

use super::machine::Node;
use crate::counters::Dropped;
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::event::Event;
use crate::wire::window::WireEntry;

impl Node {
    /// Says that no node can have a higher incarnation than this by now, as a calendar shows: what
    /// has one is refused from now on, and forgotten where it is held. Without this every
    /// incarnation is believed, and the last one locks its node out.
    ///
    /// Own ones count as possible: `highest` below the node's incarnation means that.
    pub fn believe_up_to(&mut self, highest: Incarnation) {
        let highest = highest.max(self.incarnation());
        if highest < self.lives.highest() {
            self.membership.disinter(highest);
        }
        self.lives.believe_up_to(highest);
    }

    /// An incarnation of this node that others hold, or held until a moment ago, and that it
    /// cannot exceed: while they do they refuse all that it says.
    pub fn outranked(&self, now: Instant) -> Option<Incarnation> {
        self.lives.outranked(now, self.config.interval)
    }

    /// Refuses an entry of an implausible incarnation.
    #[cold]
    pub(super) fn disbelieve(&mut self, now: Instant, id: NodeId, stamp: Stamp) {
        self.counters.entries_implausible += 1;
        if id == self.own.id() {
            self.lives.outranked_by(stamp.incarnation(), now);
        } else {
            self.report_implausible(now, id, stamp.incarnation());
        }
    }

    /// Refuses a datagram of a sender in an implausible incarnation.
    pub(super) fn must_be_plausible(
        &mut self,
        now: Instant,
        sender: NodeId,
        incarnation: Incarnation,
    ) -> Result<(), Dropped> {
        if self.lives.believes(incarnation) {
            return Ok(());
        }
        self.report_implausible(now, sender, incarnation);
        Err(Dropped::Implausible)
    }

    fn report_implausible(&mut self, now: Instant, id: NodeId, incarnation: Incarnation) {
        if !self.lives.reports(now, self.config.interval) {
            return;
        }
        let known = self.membership.get(id).map(|record| record.name.to_string());
        let name = known.unwrap_or_else(|| format!("with id {:08x}", id.0));
        self.emit(Event::Implausible(name, incarnation));
    }

    /// Counts and refuses an entry that cannot be: so old that it was forgotten, or of an
    /// incarnation that lies ahead of the calendar.
    #[inline]
    pub(super) fn is_impossible(&mut self, now: Instant, entry: &WireEntry<'_>) -> bool {
        if self.is_too_old(entry) && entry.id != self.own.id() {
            self.counters.entries_impossible_age += 1;
            return true;
        }
        let plausible = self.lives.believes(entry.stamp.incarnation());
        if !plausible {
            self.disbelieve(now, entry.id, entry.stamp);
        }
        !plausible
    }
}
