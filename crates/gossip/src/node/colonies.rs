//! What a node does as a member of a colony: what it shows of others, and what passes between them.
//! Without a colony in its configuration nothing in here does anything.

use tidings_primitives::time::Instant;

use super::intake::Received;
use super::machine::Node;
use super::outbox::Transmit;
use crate::address::Address;
use crate::aggregate::Aggregate;
use crate::colony::id::ColonyId;
use crate::colony::table::ColonyView;
use crate::colony::{Colony, PendingAnswer, STALE_UNITS};
use crate::counters::Dropped;
use crate::entry::NodeId;
use crate::wire::call::Request;
use crate::wire::header::Kind;

impl Node {
    /// The colony that this node is a member of.
    pub fn colony(&self) -> Option<ColonyId> {
        self.colony.as_ref().map(|colony| colony.id)
    }

    /// Says that there are members of another colony at these addresses; four are remembered.
    /// `false` if this node is in no colony, or in that one, or has room for no other.
    pub fn introduce(&mut self, colony: ColonyId, contacts: &[Address]) -> bool {
        let table = self.colony.as_mut().map(|own| &mut own.table);
        table.is_some_and(|table| table.introduce(colony, contacts.iter().copied()))
    }

    /// What this node knows of all other colonies, in the order of their ids.
    pub fn other_colonies(&self, now: Instant) -> impl Iterator<Item = ColonyView<'_>> {
        let records = self.colony.iter().flat_map(|colony| colony.table.records());
        records.map(move |record| ColonyView::of(record, now))
    }

    /// The aggregate of the members this node knows, itself included: of its colony, or of its
    /// cluster if that has no colonies. Entries of 64 units or more count as stale.
    pub fn aggregate(&self, now: Instant) -> Aggregate {
        Aggregate::of(self.entries(now), self.config.interval * STALE_UNITS)
    }

    /// The aggregate of all colonies, the own one included, as far as they are known. Their ages
    /// are those that each had when it was made.
    pub fn global_aggregate(&self, now: Instant) -> Aggregate {
        let mut global = self.aggregate(now);
        let others = self.other_colonies(now).filter_map(|view| view.aggregate());
        others.for_each(|aggregate| global.merge(&aggregate));
        global
    }

    /// The next datagram to another colony.
    pub(super) fn transmit_foreign(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        self.colony.as_ref()?;
        while let Some(pending) = self.colony.as_mut().and_then(|c| c.replies.pop_front()) {
            if let Some(out) = self.write_reply(now, &pending, buffer) {
                return Some(out);
            }
            self.counters.dropped_answers += 1;
        }
        while let Some(pending) = self.colony.as_mut().and_then(|c| c.slices.pop_front()) {
            if let Some(out) = self.write_slice(now, &pending, buffer) {
                return Some(out);
            }
            self.counters.dropped_answers += 1;
        }
        if let Some(call) = self.colony.as_mut().and_then(|c| c.caller.next_due()) {
            return Some(self.write_call(call, buffer));
        }
        self.write_visit(buffer)
    }

    /// What came from a node of another colony; authentic, but fresh only if it was asked for.
    pub(super) fn receive_foreign(
        &mut self,
        received: &Received,
        body: &[u8],
    ) -> Result<(), Dropped> {
        match received.header.kind {
            Kind::Call | Kind::Visit => self.receive_request(received, body),
            Kind::Reply => self.receive_reply(received, body),
            _ => self.receive_slice(received.now, body),
        }
    }

    fn receive_request(&mut self, received: &Received, body: &[u8]) -> Result<(), Dropped> {
        let (now, from, room) = (received.now, received.from, received.sealed_bytes());
        let request = Request::read(body)?;
        let colony = self.colony.as_mut().ok_or(Dropped::Version)?;
        if request.colony != colony.id {
            return Err(Dropped::Colony);
        }
        let first = NodeId(request.word);
        let pending = PendingAnswer { to: from, token: request.token, first, room };
        let kept = if received.header.kind == Kind::Visit {
            if !self.intake.charge_visit(now, &mut colony.visits) {
                return Err(Dropped::Excess);
            }
            Colony::queue(&mut colony.slices, pending)
        } else {
            let caller = ColonyId(request.word);
            if caller == colony.id {
                return Err(Dropped::Colony);
            }
            // A colony that calls introduces itself; one that is known is met by calling it.
            if colony.table.get(caller).is_none() {
                colony.table.introduce(caller, core::iter::once(from));
            }
            if !self.intake.charge_call(now, colony.table.get_mut(caller)) {
                return Err(Dropped::Excess);
            }
            Colony::queue(&mut colony.replies, pending)
        };
        self.counters.dropped_answers += u64::from(!kept);
        Ok(())
    }
}
