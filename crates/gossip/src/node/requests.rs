//! Requests for windows: pulls and half windows, and the replies that are pending.

use tidings_primitives::time::Instant;

use super::intake::Received;
use super::machine::Node;
use crate::counters::Dropped;
use crate::dissemination::context::{Ids, Order, What};
use crate::entry::NodeId;
use crate::wire::header::CHANGES_VERSION;
use crate::wire::inventory::Inventory;
use crate::wire::pull::{self, COLONIES_BYTES, Pull};
use crate::wire::window::Marks;

impl Node {
    /// Answers half a window with one, if it was made for this node and its sender's share allows.
    pub(super) fn answer_window(
        &mut self,
        received: &Received,
        entries: usize,
    ) -> Result<(), Dropped> {
        let sender = received.header.sender;
        let Some(member) = self.membership.get_mut(sender) else { return Ok(()) };
        if !received.meant {
            return Err(Dropped::Misdirected);
        }
        if !self.intake.charge_request(received.now, member) {
            return Err(Dropped::Excess);
        }
        self.queue_window(sender, What::Newest(entries));
        Ok(())
    }

    /// Queues a window for a member in answer. It goes where the member is known to be, not where
    /// the request came from: nobody can have it sent to a third. Returns whether it was queued.
    fn queue_window(&mut self, to: NodeId, what: What) -> bool {
        let Some(record) = self.membership.get(to) else { return false };
        let with_records = match what {
            What::Row(ids, _) | What::Changes(ids, ..) => ids.colonies.is_some(),
            _ => false,
        };
        let more = if with_records { Marks::RECORDS } else { Marks::NONE };
        let order = Order::to(record, what, Marks::ANSWER.and(more));
        let queued = self.outbox.queue_window(order);
        self.counters.dropped_answers += u64::from(!queued);
        queued
    }

    pub(super) fn receive_pull(&mut self, received: &Received, body: &[u8]) -> Result<(), Dropped> {
        let (now, sender, from) = (received.now, received.header.sender, received.from);
        let by_changes = received.header.version >= CHANGES_VERSION;
        let (inventory, body) =
            if by_changes { Inventory::read(body)? } else { (Inventory::NONE, body) };
        // What is said of colonies follows a pull that asks for them.
        let behind = body.get(pull::BYTES + COLONIES_BYTES..).filter(|_| by_changes);
        let of_colonies = match behind.map(Inventory::read).transpose()? {
            Some((of_colonies, [])) => of_colonies,
            None => Inventory::NONE,
            Some(_) => return Err(Dropped::Malformed),
        };
        let body = &body[..body.len() - behind.map_or(0, <[u8]>::len)];
        let Pull { first, last, age_micros, colonies } = Pull::read(body, self.reads)?;
        if colonies.is_some() && self.colony.is_none() {
            return Err(Dropped::Malformed);
        }
        if !self.membership.contains(sender) {
            self.lacks(sender, from);
            return Ok(());
        }
        // A member of the row is asked for it, never another.
        if !received.meant || !(first..=last).contains(&self.own.id()) {
            return Err(Dropped::Misdirected);
        }
        let since = age_micros.map_or(Instant::from_micros(i64::MIN), |age| now.before(age));
        let ids = Ids { first, last, colonies };
        let what = if by_changes {
            self.changes_for(ids, since, [inventory, of_colonies])
        } else {
            What::Row(ids, since)
        };
        let answered = self.queue_window(sender, what);
        self.counters.pulls_answered += u64::from(answered);
        Ok(())
    }
}
