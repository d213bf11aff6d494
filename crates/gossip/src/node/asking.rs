//! Asking: for members and entries that a node lacks, and what it answers who asks it.

use super::intake::Received;
use super::machine::Node;
use super::outbox::Offer;
use crate::address::Address;
use crate::catch_up::MAX_ASKS;
use crate::config::Capacity;
use crate::counters::Dropped;
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::membership::Membership;
use crate::wire::ask::Ask;
use crate::wire::window::WireEntry;

/// Members offered in one answer, at most.
const MAX_OFFERS: usize = 512;
/// Among more members than this no seed is missed: some of them asks it anyway before long.
const MOST_WHO_MISS_SEEDS: usize = 1_024;

/// Whether a seed is the address of no member that windows are sent to, as far as it is looked for.
fn is_missing(seed: Address, membership: &Membership) -> bool {
    (1..=MOST_WHO_MISS_SEEDS).contains(&membership.targets())
        && membership.iter_targets().all(|record| record.address != seed)
}

impl Node {
    /// Decides whether to ask others for what this node lacks, and whom.
    pub(super) fn begin_ask(&mut self) {
        let alone = self.membership.targets() == 0;
        let complete = !self.with_cards && self.vector.len() >= self.membership.len();
        let membership = &self.membership;
        let is_missing = |seed: Address| is_missing(seed, membership);
        let asks = if complete { 0 } else { self.catch_up.due(alone, is_missing) };
        self.outbox.clear_asks();
        let missing = self.catch_up.take_missing();
        if let Some(seed) = missing {
            self.outbox.ask(seed);
        }
        for _ in 0..asks.min(MAX_ASKS - usize::from(missing.is_some())) {
            let at = self.chance.below(self.membership.targets());
            let member = self.membership.target(at).filter(|record| record.reached);
            let member = member.map(|record| record.address);
            let seed = self.chance.pick(self.catch_up.seeds());
            let try_seed = alone || self.chance.below(8) == 0;
            let other = if try_seed { seed.or(member) } else { member.or(seed) };
            let to = self.catch_up.take_sender().or(other);
            if let Some(to) = to {
                self.outbox.ask(to);
            }
        }
    }

    pub(super) fn receive_ask(&mut self, received: &Received, body: &[u8]) -> Result<(), Dropped> {
        let (now, sender) = (received.now, received.header.sender);
        let (from, bytes) = (received.from, received.bytes);
        let ask = Ask::read(body, self.reads)?;
        if ask.own.id != sender || ask.card.is_some() != self.with_cards {
            return Err(Dropped::Malformed);
        }
        let namesake = match ask.card {
            Some(card) => !self.learn((now, from), &card, &ask.own, true)?,
            None => false,
        };
        if !namesake {
            self.take(now, from, &ask.own);
        }
        // A recording must not keep newcomers out: who is a member by now is not charged.
        if !self.membership.contains(sender) && !self.intake.charge_strangers(now) {
            return Err(Dropped::Excess);
        }
        let mut ids = self.offers(sender, from, &ask);
        if namesake || self.knows_newer(&ask.own) {
            ids.insert(0, sender);
        }
        self.queue_offer(Offer { to: from, asker: sender, bytes, ids });
        Ok(())
    }

    /// An ask from a life of a member before its present one: somebody sends again what he has
    /// recorded, or the member has restarted with an incarnation used before. It must learn of
    /// the other life, to overtake it; nothing else comes of such an ask.
    pub(super) fn receive_past_ask(
        &mut self,
        received: &Received,
        body: &[u8],
    ) -> Result<(), Dropped> {
        let (sender, to) = (received.header.sender, received.from);
        let ask = Ask::read(body, self.reads)?;
        if ask.own.id != sender || !self.knows_newer(&ask.own) {
            return Err(Dropped::StaleSender);
        }
        self.queue_offer(Offer { to, asker: sender, bytes: received.bytes, ids: vec![sender] });
        Ok(())
    }

    /// Whether newer news of the asker is known than its own: it does not know of a life it had.
    fn knows_newer(&self, own: &WireEntry<'_>) -> bool {
        let held = self.vector.get(own.id).map(|held| held.stamp);
        let floor = self.membership.get(own.id).map(|record| record.floor);
        held.max(floor) > Some(own.stamp)
    }

    fn queue_offer(&mut self, offer: Offer) {
        if !self.outbox.queue_offer(offer) {
            self.counters.dropped_answers += 1;
        }
    }

    /// Members in the range asked about that the asker did not name, from a random one on.
    fn offers(&mut self, sender: NodeId, from: Address, ask: &Ask<'_>) -> Vec<NodeId> {
        let order = self.membership.order();
        let start = order.partition_point(|&id| id < ask.first);
        let end = order.partition_point(|&id| id <= ask.last).max(start);
        let mut named = ask.ids().peekable();
        let mut offers = Vec::new();
        let (mut unknown, mut outdated) = (false, false);
        for &id in &order[start..end] {
            while named.next_if(|&other| other < id).is_some() {
                unknown = true;
            }
            if named.next_if_eq(&id).is_some() {
                outdated |= !self.is_known(id);
            } else if id != sender && self.offered(id).is_some() {
                offers.push(id);
            }
        }
        unknown |= named.next().is_some();
        // With a bounded vector a node may name members of which it holds no entry to answer with.
        let full = self.config.capacity == Capacity::Full;
        if full && (outdated || (unknown && self.has_room())) {
            self.catch_up.lacks(from);
        }
        if !offers.is_empty() {
            let turn = self.chance.below(offers.len());
            offers.rotate_left(turn);
        }
        offers.truncate(MAX_OFFERS);
        offers
    }

    /// Whether the card of a member is held, as it is in that incarnation.
    pub(super) fn has_card(&self, id: NodeId, incarnation: Incarnation) -> bool {
        self.membership.get(id).is_some_and(|record| record.address_of >= incarnation)
    }

    /// Whether no answer could bring more about a member: its entry is held, where there is room
    /// for one a node, and its card is as new.
    pub(super) fn is_known(&self, id: NodeId) -> bool {
        match self.vector.get(id) {
            Some(entry) => !self.with_cards || self.has_card(id, entry.stamp.incarnation()),
            None => self.config.capacity != Capacity::Full,
        }
    }

    /// Notes that `sender` knows a member this node does not know, or not its present
    /// card.
    pub(super) fn lacks(&mut self, id: NodeId, sender: Address) {
        if self.membership.contains(id) || self.has_room() {
            self.catch_up.lacks(sender);
        }
    }

    /// A node that restarted may be elsewhere: asks for its card.
    pub(super) fn see_to_card(&mut self, id: NodeId, stamp: Stamp, sender: Address) {
        if self.with_cards && !stamp.is_last() && !self.has_card(id, stamp.incarnation()) {
            self.lacks(id, sender);
        }
    }
}
