//! What waits until a member that was learnt from a card has answered.

use tidings_primitives::seal::TAG_BYTES;
use tidings_primitives::time::Instant;

use super::intake::Received;
use super::machine::Node;
use super::outbox::Transmit;
use super::trials::{WAIT_UNITS, Waits};
use crate::counters::Dropped;
use crate::detector::Query;
use crate::dissemination::context::Order;
use crate::entry::NodeId;
use crate::wire::check::{self, Check, Checked};
use crate::wire::header::Kind;

impl Node {
    /// Whether something has come from where a member is said to be.
    #[inline]
    pub(super) fn is_reached(&self, id: NodeId) -> bool {
        self.membership.get(id).is_none_or(|record| record.reached)
    }

    /// Has an order wait until its member is reached.
    #[cold]
    pub(super) fn try_for(&mut self, now: Instant, order: Order) {
        self.try_member(now, order.member, Some(Waits::Order(order.what, order.marks)));
    }

    /// Has a probe or a proof wait until its receiver is reached.
    #[cold]
    pub(super) fn try_query(&mut self, now: Instant, query: Query) {
        self.try_member(now, query.to, Some(Waits::Query(query)));
    }

    /// Checks a member, unless it is being checked; whether it is.
    pub(super) fn try_member(&mut self, now: Instant, id: NodeId, waits: Option<Waits>) -> bool {
        let (token, oldest) = (self.chance.bits(), now - self.config.interval * WAIT_UNITS);
        let Some(trial) = self.trials.of(id, token, (now, oldest)) else {
            return false;
        };
        trial.waits = waits.or(trial.waits);
        true
    }

    /// Nothing has to wait for a member any more: something has come from where it is said to be.
    #[cold]
    pub(super) fn reach(&mut self, id: NodeId) {
        let Some(record) = self.membership.get_mut(id) else { return };
        record.reached = true;
        let Some(trial) = self.trials.end(id) else { return };
        match trial.waits {
            Some(Waits::Order(what, marks)) => {
                self.outbox.order_first(Order::to(record, what, marks));
            }
            Some(Waits::Query(query)) => self.detection.query(query),
            None => {}
        }
    }

    /// The answer to a check.
    pub(super) fn receive_checked(
        &mut self,
        received: &Received,
        body: &[u8],
    ) -> Result<(), Dropped> {
        let answer = Checked::read(body).ok_or(Dropped::Malformed)?;
        let sender = received.header.sender;
        if !self.trials.expects(sender, answer.token) {
            return Err(Dropped::Misdirected);
        }
        self.reach(sender);
        Ok(())
    }

    /// Writes the next check that is pending.
    pub(super) fn transmit_trial(&mut self, buffer: &mut [u8]) -> Option<Transmit> {
        let (to, token) = loop {
            let trial = self.trials.unsent()?;
            trial.is_sent = true;
            let (id, token) = (trial.id, trial.token);
            match self.membership.get(id) {
                Some(record) => break (record.address, token),
                None => drop(self.trials.end(id)), // forgotten meanwhile
            }
        };
        let envelope = self.envelope(Kind::Check);
        let start = self.body_at(envelope);
        let body = buffer.get_mut(start..start + check::LEAST_BYTES + TAG_BYTES)?;
        Check { token, format: self.format() }.write(&mut body[..check::LEAST_BYTES]);
        self.counters.addresses_tried += 1;
        let bytes = self.seal(envelope, buffer, check::LEAST_BYTES);
        Some(Transmit { to, bytes, segment_bytes: bytes })
    }
}
