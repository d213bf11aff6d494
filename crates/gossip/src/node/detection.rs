//! What a node does to find out who has died: looks, probes, answers probes, declares.
//!
//! The decisions are the detector's (`detector/mod.rs`); here they meet the vector and the wire.

use tidings_primitives::time::Instant;

use super::{Node, Transmit};
use crate::address::Address;
use crate::config::Capacity;
use crate::counters::Dropped;
use crate::detector::{DOUBT_PHI, Detector, Doubt, LOOKS, NEW_DOUBTS, Step};
use crate::dissemination::scene::{Order, What};
use crate::entry::{Incarnation, NodeId, Stamp};
use crate::event::Event;
use crate::vector::OWN;
use crate::wire::header::Kind;
use crate::wire::probe::{self, Probe};
use crate::wire::window::Marks;

/// Probes and proofs that wait to be sent, at most; more are not made.
pub(super) const MAX_WAITING: usize = 256;
/// Every how many units a dead member is probed.
const KNOCK_UNITS: u64 = 2;
/// Members that are told of a death at once, by each node that learns of it.
const HEARERS: usize = 4;
/// Deaths in a unit of which others are told at once; the rest go with the windows.
const MAX_HURRIED: u32 = 16;
/// Members in a unit that are told at once that they are taken for dead.
const MAX_WARNED: u32 = 16;

/// A probe or a proof to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Knock {
    to: NodeId,
    kind: Kind,
    for_another: bool,
    target: NodeId,
    /// The highest version of the format to write it in.
    version: u8,
}

impl Knock {
    fn probe(target: NodeId) -> Self {
        Self { to: target, kind: Kind::Probe, for_another: false, target, version: u8::MAX }
    }

    /// A probe because another asked for one, no longer than the question.
    fn errand(target: NodeId, version: u8) -> Self {
        Self { version, ..Self::probe(target) }
    }

    fn probe_by(relay: NodeId, target: NodeId) -> Self {
        Self { to: relay, for_another: true, ..Self::probe(target) }
    }

    fn proof(to: NodeId, target: NodeId) -> Self {
        Self { to, kind: Kind::Proof, ..Self::probe(target) }
    }
}

impl Node {
    /// The host of a member says that nobody listens at `address`: what was sent there came back
    /// as undeliverable. Who says so cannot be known, so it is only a reason to look closer.
    pub fn handle_refused(&mut self, now: Instant, address: Address) {
        let now = self.vector.advance(now);
        if self.detector.is_none() || self.refusals >= NEW_DOUBTS as u32 {
            return;
        }
        self.refusals += 1;
        let of = self.membership.iter_targets().find(|record| record.address == address);
        let Some(entry) = of.and_then(|record| self.vector.get(record.id)) else { return };
        let (id, incarnation) = (entry.id, entry.stamp.incarnation());
        if let Some(detector) = self.detector.as_mut() {
            if detector.health.may_accuse(now) {
                detector.begin(id, incarnation, now);
            }
            detector.refused(id, now);
        }
    }

    /// A round's looks: for silence among the living, and for life among the dead.
    pub(super) fn look_for_silence(&mut self, now: Instant) {
        (self.refusals, self.hurried, self.warned) = (0, 0, 0);
        let Some(detector) = self.detector.as_mut() else { return };
        let slots = self.vector.meta.len();
        let room = if detector.health.may_accuse(now) { detector.new_doubts() } else { 0 };
        let oldest = now - detector.longest_silence();
        let (mut begun, mut dead, mut picked) = (0, 0, None);
        for _ in 0..LOOKS.min(slots) {
            detector.cursor = (detector.cursor + 1) % slots;
            let slot = detector.cursor as u32;
            let meta = &self.vector.meta[slot as usize];
            if slot == OWN || !self.vector.holds(slot) || meta.stamp.is_left() {
                continue;
            }
            if meta.stamp.is_dead() {
                // Each is picked as likely.
                dead += 1;
                picked = if self.chance.below(dead) == 0 { Some(meta.id) } else { picked };
                continue;
            }
            let phi = meta.silence.phi(self.vector.age_steps(meta.birth));
            let overdue = phi >= DOUBT_PHI || meta.birth < oldest;
            if overdue && begun < room {
                detector.begin(meta.id, meta.stamp.incarnation(), now);
                begun += 1;
            }
        }
        if self.counters.rounds % KNOCK_UNITS == 0 {
            if let Some(id) = picked.or_else(|| self.pick_evicted()) {
                self.knock(Knock::probe(id));
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

    /// Does what is due about doubts.
    pub(super) fn look_at_doubts(&mut self, now: Instant) {
        let alone = self.membership.targets() <= 1;
        while let Some((doubt, step)) = self.detector.as_mut().and_then(|it| it.step(now, alone)) {
            if self.is_settled(&doubt) {
                self.settle(doubt.id);
                continue;
            }
            let suspects = |it: &mut Detector| it.suspect(doubt.id);
            if step == Step::Suspect && self.detector.as_mut().is_some_and(suspects) {
                self.counters.suspicions += 1;
                let name = self.name_of(doubt.id);
                self.emit(Event::Suspected(name));
            }
            if step == Step::Declare {
                self.declare(&doubt);
            }
            // Also who was just declared dead: if it lives, it shall hear of it first.
            self.knock(Knock::probe(doubt.id));
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
        let Some(detector) = self.detector.as_mut() else { return };
        let Some(doubt) = detector.end(id).filter(Doubt::is_suspicion) else { return };
        let lives = self.vector.get(doubt.id).is_some_and(|entry| !entry.stamp.is_last());
        if lives {
            detector.health.fails();
            self.counters.suspicions_cleared += 1;
            let name = self.name_of(id);
            self.emit(Event::Cleared(name));
        }
    }

    /// Asks so many others to probe a member, or as many as there are.
    fn have_probed(&mut self, target: NodeId, relays: usize) {
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
                self.knock(Knock::probe_by(relay, target));
            }
        }
    }

    /// Declares a member dead since the doubt began: whoever has had news of it since knows better.
    fn declare(&mut self, doubt: &Doubt) {
        let id = doubt.id;
        if let Some(detector) = self.detector.as_mut() {
            detector.end(id);
        }
        let Some(held) = self.vector.get(id).map(|entry| entry.stamp) else { return };
        self.vector.bury(id, doubt.since);
        self.counters.deaths_declared += 1;
        self.turned(id, held, Stamp::dead(held.incarnation()));
    }

    /// News has come of a member that is held as dead, made after its death: it must hear of it, to
    /// begin a new incarnation.
    #[cold]
    pub(super) fn warn(&mut self, id: NodeId) {
        if self.detector.is_some() && self.warned < MAX_WARNED {
            self.warned += 1;
            self.knock(Knock::probe(id));
        }
    }

    /// Tells some members of a death at once.
    pub(super) fn hurry(&mut self, id: NodeId) {
        if self.hurried >= MAX_HURRIED {
            return;
        }
        self.hurried += 1;
        for _ in 0..HEARERS.min(self.membership.targets()) {
            let at = self.chance.below(self.membership.targets());
            if let Some(record) = self.membership.target(at) {
                let order = Order::to(record, What::One(id), Marks::NONE);
                self.outbox.orders.push_front(order);
            }
        }
    }

    /// Whether a tombstone speaks of a time before the newest news of a member: it was wrong.
    pub(super) fn is_outlived(&self, id: NodeId, stamp: Stamp, birth: Instant) -> bool {
        if !stamp.is_dead() || id == self.id {
            return false;
        }
        self.vector.get(id).is_some_and(|held| {
            let same = held.stamp.incarnation() == stamp.incarnation();
            same && !held.stamp.is_last() && held.birth > birth
        })
    }

    pub(super) fn receive_probe(
        &mut self,
        now: Instant,
        (sender, from): (NodeId, Address),
        body: &[u8],
    ) -> Result<(), Dropped> {
        let probe = Probe::read(body, self.format)?;
        if probe.entry.id != sender {
            return Err(Dropped::Malformed);
        }
        if !self.membership.contains(sender) {
            self.lacks(sender, from);
            return Ok(());
        }
        self.take(now, from, &probe.entry);
        self.hear_of_itself(now, probe.held);
        if probe.target == self.id {
            self.knock(Knock::proof(sender, self.id));
        } else if probe.for_another && self.membership.contains(probe.target) {
            let detector = self.detector.as_mut();
            if detector.is_some_and(|it| it.run_errand(sender, probe.target, now)) {
                self.counters.probes_relayed += 1;
                let version = self.version_towards(sender);
                self.knock(Knock::errand(probe.target, version));
            }
        }
        Ok(())
    }

    pub(super) fn receive_proof(
        &mut self,
        now: Instant,
        (sender, from): (NodeId, Address),
        body: &[u8],
    ) -> Result<(), Dropped> {
        let proof = Probe::read(body, self.format)?;
        if proof.entry.id != proof.target {
            return Err(Dropped::Malformed);
        }
        self.take(now, from, &proof.entry);
        self.hear_of_itself(now, proof.held);
        let about = (proof.target, proof.entry.stamp.incarnation());
        if about.0 == sender {
            while let Some(asker) = self.detector.as_mut().and_then(|it| it.fulfil(sender, now)) {
                self.knock(Knock::proof(asker, sender));
            }
        }
        self.proven(about);
        Ok(())
    }

    /// A member has given proof that it lives.
    fn proven(&mut self, (id, incarnation): (NodeId, Incarnation)) {
        let doubt = self.detector.as_ref().and_then(|detector| detector.doubt(id));
        if doubt.is_some_and(|doubt| incarnation >= doubt.incarnation) {
            self.settle(id);
        }
    }

    /// Another says what it holds of this node: perhaps that it is dead.
    fn hear_of_itself(&mut self, now: Instant, held: Stamp) {
        if held > self.vector.own().stamp {
            self.refute(now, held);
        }
    }

    fn knock(&mut self, knock: Knock) {
        let twice = self.outbox.knocks.contains(&knock);
        if !twice && self.outbox.knocks.len() < MAX_WAITING {
            self.outbox.knocks.push_back(knock);
        }
    }

    /// The next probe or proof, written to `buffer`, which holds a datagram.
    pub(super) fn transmit_knock(&mut self, now: Instant, buffer: &mut [u8]) -> Option<Transmit> {
        while let Some(knock) = self.outbox.knocks.pop_front() {
            let Knock { to, kind, for_another, target, version } = knock;
            let Some(record) = self.membership.get(to) else { continue };
            let address = record.address;
            let held = self.vector.get(to).map_or(record.floor, |entry| entry.stamp);
            let about = if kind == Kind::Proof { target } else { self.id };
            // A tombstone proves nothing.
            let entry = self.vector.get(about).filter(|entry| !entry.stamp.is_dead());
            let Some(entry) = entry else { continue };
            // Whoever asks is answered in a version in which the answer is no longer.
            let (version, receiver) = match kind {
                Kind::Proof => (self.version_towards(to), None),
                _ => (version.min(self.config.wire_version), Some(to)),
            };
            let body = &mut buffer[self.body_at_in(version, receiver)..];
            let asked = (for_another, target, held);
            let written = probe::write(body, self.format, asked, (&entry, now));
            *match kind {
                Kind::Proof => &mut self.counters.proofs_sent,
                _ => &mut self.counters.probes_sent,
            } += 1;
            let bytes = self.seal_in(version, (receiver, kind), buffer, written);
            return Some(Transmit { to: address, bytes, segment_bytes: bytes });
        }
        None
    }

    fn name_of(&self, id: NodeId) -> String {
        self.membership.get(id).map_or_else(String::new, |record| record.name.to_string())
    }
}
