//! What a node does to find out who has died: looks, probes, answers probes, declares.

use tidings_primitives::time::Instant;

use super::envelope::Envelope;
use super::intake::Received;
use super::machine::Node;
use super::outbox::Transmit;
use crate::address::Address;
use crate::config::Capacity;
use crate::counters::Dropped;
use crate::detector::{
    self, DEAD_PROBE_UNITS, DOUBT_PHI, Doubt, Query, RELAYS, Relays, Seen, Step,
};
use crate::dissemination::context::{Order, What};
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::event::Event;
use crate::vector::{OWN, Vector};
use crate::wire::header::Kind;
use crate::wire::probe::{self, Probe};
use crate::wire::window::Marks;

impl Node {
    /// The host of a member says that nobody listens at `address`: what was sent there came back
    /// as undeliverable. Who says so cannot be known, so it is only a reason to look closer.
    pub fn handle_refused(&mut self, now: Instant, address: Address) {
        let now = self.vector.advance(now);
        if !self.detection.looks_into_refusal() {
            return;
        }
        let of = self.membership.iter_targets().find(|record| record.address == address);
        let Some(entry) = of.and_then(|record| self.vector.get(record.id)) else { return };
        self.detection.refused(entry.id, entry.stamp.incarnation(), now);
    }

    /// A round's looks: for silence among the living, and for life among the dead.
    pub(super) fn look_for_silence(&mut self, now: Instant) {
        let vector = &self.vector;
        let seen = |slot: usize, oldest: Instant| see(vector, slot as u32, oldest);
        let dead = self.detection.look(now, vector.slots(), seen, &mut self.chance);
        if self.detection.is_on() && self.counters.rounds % DEAD_PROBE_UNITS == 0 {
            if let Some(id) = dead.or_else(|| self.pick_evicted()) {
                self.detection.query(Query::probe(id));
            }
        }
    }

    /// A member chosen at random, if it was dead when it gave way to newer entries in a bounded
    /// vector.
    fn pick_evicted(&mut self) -> Option<NodeId> {
        let places = self.membership.places();
        if self.config.capacity == Capacity::Full || places == 0 {
            return None;
        }
        let record = self.membership.in_place(self.chance.below(places))?;
        let evicted = record.floor.is_dead() && self.vector.get(record.id).is_none();
        evicted.then_some(record.id)
    }

    /// Watches those mates of the own row at which each is due to push in a round, or some of them.
    pub(super) fn watch_row(&mut self, now: Instant) {
        if !self.detection.is_on() {
            return;
        }
        let order = self.membership.order();
        let Some(layout) = self.strategy.layout().filter(|its| its.members() == order.len()) else {
            return;
        };
        let own = order.partition_point(|&id| id < self.own.id());
        let lives = |mate: usize| self.membership.is_target(order[mate]);
        let (mates, rounds) = detector::watched(&layout, own, lives);
        let mates = mates.map(|mate| order[mate]);
        self.detection.watch(mates, self.config.interval * rounds, now);
    }

    /// Doubts those members whose pushes are missing.
    pub(super) fn look_at_row(&mut self, now: Instant) {
        let recent = now - self.config.interval;
        while let Some((id, may_doubt)) = self.detection.missing(now) {
            let held = self.vector.get(id).filter(|held| may_doubt && !held.stamp.is_last());
            // News that came by others may be of this unit.
            if let Some(entry) = held.filter(|held| held.birth < recent) {
                self.detection.miss(id, entry.stamp.incarnation(), now);
            }
        }
    }

    /// Does what is due about doubts.
    pub(super) fn look_at_doubts(&mut self, now: Instant) {
        let alone = self.membership.targets() <= 1;
        while let Some((doubt, step)) = self.detection.step(now, alone) {
            if self.is_settled(&doubt) {
                self.settle(doubt.id);
                continue;
            }
            // Who was never heard is checked; if too many are, others find out.
            if !self.is_reached(doubt.id) && !self.try_member(now, doubt.id, None) {
                self.detection.end(doubt.id);
                continue;
            }
            if step == Step::Suspect && self.detection.suspect(doubt.id) {
                self.counters.suspicions += 1;
                let name = self.name_of(doubt.id);
                self.emit(Event::Suspected(name));
            }
            if step == Step::Declare {
                self.declare(now, &doubt);
            }
            // Also who was just declared dead: if it lives, it shall hear of it first.
            self.detection.query(Query::probe(doubt.id));
            // Whether it was heard or not: the one check of a member may be lost.
            self.have_probed(doubt.id, step.relays());
        }
    }

    /// Whether there has been news of the member since, good or bad.
    fn is_settled(&self, doubt: &Doubt) -> bool {
        self.vector.get(doubt.id).is_none_or(|entry| {
            let another = entry.stamp.incarnation() != doubt.incarnation;
            another || entry.stamp.is_last() || entry.birth > doubt.since
        })
    }

    /// Ends a doubt about a member that lives, or of which others said what became of it.
    fn settle(&mut self, id: NodeId) {
        let Some(doubt) = self.detection.end(id).filter(Doubt::is_suspicion) else { return };
        let lives = self.vector.get(doubt.id).is_some_and(|entry| !entry.stamp.is_last());
        if lives {
            self.detection.errs();
            self.counters.suspicions_cleared += 1;
            let name = self.name_of(id);
            self.emit(Event::Cleared(name));
        }
    }

    /// Asks others to probe a member, or as many as there are.
    fn have_probed(&mut self, target: NodeId, relays: Relays) {
        match relays {
            Relays::Successors => {
                for relay in self.membership.successors(target).take(RELAYS) {
                    self.detection.query(Query::probe_by(relay.id, target));
                }
            }
            Relays::Random(relays) => self.have_probed_by_any(target, relays),
        }
    }

    /// Asks so many others, drawn at random.
    fn have_probed_by_any(&mut self, target: NodeId, relays: usize) {
        let targets = self.membership.targets();
        if relays == 0 || targets == 0 {
            return;
        }
        let start = self.chance.below(targets);
        let mut asked = 0;
        for at in 0..targets.min(relays + 1) {
            let relay = self.membership.target((start + at) % targets).map(|record| record.id);
            if let Some(relay) = relay.filter(|&relay| relay != target && asked < relays) {
                asked += 1;
                self.detection.query(Query::probe_by(relay, target));
            }
        }
    }

    /// Declares a member dead since the doubt began: a node that has received a newer entry knows
    /// better.
    fn declare(&mut self, now: Instant, doubt: &Doubt) {
        let id = doubt.id;
        self.detection.end(id);
        let Some(held) = self.vector.get(id).map(|entry| entry.stamp) else { return };
        self.vector.bury(id, doubt.since);
        self.counters.deaths_declared += 1;
        self.turned(now, id, held, Stamp::dead(held.incarnation()));
    }

    /// News has come of a member that is held as dead, made after its death: it must hear of it, to
    /// begin a new incarnation.
    #[cold]
    pub(super) fn warn(&mut self, id: NodeId) {
        self.detection.warn(id);
    }

    /// Tells some members of a death at once.
    pub(super) fn hurry(&mut self, id: NodeId) {
        let hearers = detector::hearers(self.membership.targets());
        for _ in 0..self.detection.hurries(hearers) {
            let at = self.chance.below(self.membership.targets());
            if let Some(record) = self.membership.target(at) {
                self.outbox.order_first(Order::to(record, What::One(id), Marks::NONE));
            }
        }
    }

    /// Whether a tombstone speaks of a time before the newest news of a member: it was wrong.
    pub(super) fn is_outlived(&self, id: NodeId, stamp: Stamp, birth: Instant) -> bool {
        if !stamp.is_dead() || id == self.own.id() {
            return false;
        }
        self.vector.get(id).is_some_and(|held| {
            let same = held.stamp.incarnation() == stamp.incarnation();
            same && !held.stamp.is_last() && held.birth > birth
        })
    }

    pub(super) fn receive_probe(
        &mut self,
        received: &Received,
        body: &[u8],
    ) -> Result<(), Dropped> {
        let (now, sender, from) = (received.now, received.header.sender, received.from);
        let probe = Probe::read(body, self.reads)?;
        if probe.entry.id != sender {
            return Err(Dropped::Malformed);
        }
        if !self.membership.contains(sender) {
            self.lacks(sender, from);
            return Ok(());
        }
        self.take(now, from, &probe.entry);
        self.hear_of_itself(now, probe.held);
        if probe.target == self.own.id() {
            self.detection.query(Query::proof(sender, self.own.id()));
        } else if probe.for_another && self.membership.contains(probe.target) {
            self.probe_for(now, sender, probe.target);
        }
        Ok(())
    }

    /// Probes a member for another, or says that it has left.
    fn probe_for(&mut self, now: Instant, asker: NodeId, target: NodeId) {
        if self.vector.get(target).is_some_and(|entry| entry.stamp.is_left()) {
            let Some(asker) = self.membership.get(asker) else { return };
            let farewell = Order::to(asker, What::One(target), Marks::NONE);
            self.counters.dropped_answers += u64::from(!self.outbox.queue_window(farewell));
        } else if self.detection.run_errand(asker, target, now) {
            self.counters.probes_relayed += 1;
            let version = self.version_towards(asker);
            self.detection.query(Query::errand(target, version));
        }
    }

    pub(super) fn receive_proof(
        &mut self,
        received: &Received,
        body: &[u8],
    ) -> Result<(), Dropped> {
        let (now, sender) = (received.now, received.header.sender);
        let proof = Probe::read(body, self.reads)?;
        if proof.entry.id != proof.target {
            return Err(Dropped::Malformed);
        }
        self.take(now, received.from, &proof.entry);
        self.hear_of_itself(now, proof.held);
        if proof.target == sender {
            while let Some(asker) = self.detection.fulfil(sender, now) {
                self.detection.query(Query::proof(asker, sender));
            }
        }
        self.proven(proof.target, proof.entry.stamp.incarnation());
        Ok(())
    }

    /// A member has given proof that it lives.
    fn proven(&mut self, id: NodeId, incarnation: Incarnation) {
        let doubt = self.detection.doubt(id);
        if doubt.is_some_and(|doubt| incarnation >= doubt.incarnation) {
            self.settle(id);
        }
    }

    /// Another says what it holds of this node: perhaps that it is dead.
    fn hear_of_itself(&mut self, now: Instant, held: Stamp) {
        if !self.lives.believes(held.incarnation()) {
            self.disbelieve(now, self.own.id(), held);
        } else if held > self.vector.own().stamp {
            self.refute(now, held);
        }
    }

    /// The next probe or proof, written to `buffer`, which holds a datagram.
    pub(super) fn transmit_query(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        while let Some(query) = self.detection.next_query() {
            let Query { to, kind, for_another, target, version } = query;
            let Some(record) = self.membership.get(to) else { continue };
            if !record.reached {
                self.try_query(now, query);
                continue;
            }
            let address = record.address;
            let held = self.vector.get(to).map_or(record.floor, |entry| entry.stamp);
            let about = if kind == Kind::Proof { target } else { self.own.id() };
            // A tombstone proves nothing.
            let entry = self.vector.get(about).filter(|entry| !entry.stamp.is_dead());
            let Some(entry) = entry else { continue };
            // The asker is answered in a version in which the answer is no longer.
            let envelope = if kind == Kind::Proof {
                Envelope { version: self.version_towards(to), kind, receiver: None }
            } else {
                let version = version.min(self.version_written());
                Envelope { version, kind, receiver: Some(to) }
            };
            let body = &mut buffer[self.body_at(envelope)..];
            let question = probe::Question { for_another, target, held };
            let written = probe::write(body, self.format(), question, &entry, now);
            *match kind {
                Kind::Proof => &mut self.counters.proofs_sent,
                _ => &mut self.counters.probes_sent,
            } += 1;
            let bytes = self.seal(envelope, buffer, written);
            return Some(Transmit { to: address, bytes, segment_bytes: bytes });
        }
        None
    }

    fn name_of(&self, id: NodeId) -> String {
        self.membership.get(id).map_or_else(String::new, |record| record.name.to_string())
    }
}

/// What lies in a slot of the vector, if it is to be looked at.
fn see(vector: &Vector, slot: u32, oldest: Instant) -> Option<Seen> {
    if slot == OWN || !vector.holds(slot) {
        return None;
    }
    let entry = vector.at(slot);
    if entry.stamp.is_dead() {
        return Some(Seen::Dead(entry.id));
    }
    let overdue = || vector.phi(slot) >= DOUBT_PHI || entry.birth < oldest;
    let alive = || Seen::Alive(entry.id, entry.stamp.incarnation(), overdue());
    (!entry.stamp.is_left()).then(alive)
}
