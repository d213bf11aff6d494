//! Detection: who is in doubt, what was reported to others in this round, and which probes wait.
//!
//! The decisions are the detector's (`detector/mod.rs`); here is what a node keeps beside it. Where
//! it meets vector, members and wire: `node/deaths.rs`.

use core::time::Duration;
use std::collections::VecDeque;

use tidings_primitives::Chance;
use tidings_primitives::time::Instant;

use super::{Detector, Doubt, LOOKS, NEW_DOUBTS, RowWatch, Step};
use crate::entry::{Incarnation, NodeId};
use crate::wire::header::Kind;

/// Probes and proofs that wait to be sent, at most; more are not made.
const MAX_WAITING: usize = 256;
/// Datagrams in a unit that report deaths to others at once; the rest go with the windows.
const MAX_HURRIED: usize = 64;
/// Members in a unit that are notified at once that they are considered dead.
const MAX_WARNED: u32 = 16;

/// A probe or a proof to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Query {
    /// Where it goes.
    pub to: NodeId,
    /// Which of the two it is.
    pub kind: Kind,
    /// Whether the receiver shall probe in this node's stead.
    pub for_another: bool,
    /// The member in question.
    pub target: NodeId,
    /// The highest version of the format to write it in.
    pub version: u8,
}

impl Query {
    /// A probe of a member.
    pub fn probe(target: NodeId) -> Self {
        Self { to: target, kind: Kind::Probe, for_another: false, target, version: u8::MAX }
    }

    /// A probe because another asked for one, no longer than the question.
    pub fn errand(target: NodeId, version: u8) -> Self {
        Self { version, ..Self::probe(target) }
    }

    /// A request that `relay` probe `target`.
    pub fn probe_by(relay: NodeId, target: NodeId) -> Self {
        Self { to: relay, for_another: true, ..Self::probe(target) }
    }

    /// What says that `target` lives.
    pub fn proof(to: NodeId, target: NodeId) -> Self {
        Self { to, kind: Kind::Proof, ..Self::probe(target) }
    }
}

/// What a look finds in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// A member that lives as far as is known, in this life, and whether it is overdue.
    Alive(NodeId, Incarnation, bool),
    /// One that is dead.
    Dead(NodeId),
}

/// What a node keeps to find out who has died.
pub struct Detection {
    /// Who is silent, and whether it is dead; `None` if nobody is to be declared dead.
    detector: Option<Detector>,
    /// Who of the own row pushes to this node, and when.
    row: RowWatch,
    /// Doubts that were begun in this round because a push was missing.
    missed: usize,
    /// The slot of the vector that was looked at last.
    cursor: usize,
    /// Refusals looked into in this round.
    refusals: u32,
    /// Datagrams of this round that report deaths at once.
    hurried: usize,
    /// Members that were notified in this round that they are considered dead.
    warned: u32,
    /// Probes and proofs that wait to be sent.
    queries: VecDeque<Query>,
}

impl Detection {
    /// No doubts yet; never any where `death_after` is `None`.
    pub fn new(now: Instant, unit: Duration, death_after: Option<Duration>) -> Self {
        let waiting = if death_after.is_some() { MAX_WAITING } else { 0 };
        Self {
            detector: death_after.map(|after| Detector::new(now, unit, after)),
            row: RowWatch::nobody(),
            missed: 0,
            cursor: 0,
            refusals: 0,
            hurried: 0,
            warned: 0,
            queries: VecDeque::with_capacity(waiting),
        }
    }

    /// When something is to be done about a doubt.
    pub fn due(&self) -> Option<Instant> {
        let detector = self.detector.as_ref()?;
        let missing = self.row.due(detector.wait());
        detector.due().into_iter().chain(missing).min()
    }

    /// Watches these members of the own row, each of which pushes to this node once in `period`.
    pub fn watch(
        &mut self,
        ids: impl Iterator<Item = NodeId> + Clone,
        period: Duration,
        now: Instant,
    ) {
        if self.detector.is_some() {
            self.row.set(ids, period, now);
        }
    }

    /// A member has sent its entry without being asked.
    pub fn pushed(&mut self, id: NodeId, now: Instant) {
        self.row.pushed(id, now);
    }

    /// A member has begun another life, or its life has ended.
    pub fn turned(&mut self, id: NodeId, lives: bool, now: Instant) {
        self.row.turned(id, lives, now);
    }

    /// The next watched member whose push is missing, and whether it may be doubted for that.
    pub fn missing(&mut self, now: Instant) -> Option<(NodeId, bool)> {
        let detector = self.detector.as_ref()?;
        let is_doubted = |id| detector.doubt(id).is_some();
        let id = self.row.missing(now, detector.wait(), is_doubted)?;
        let may_doubt = detector.health.may_accuse(now) && self.missed < detector.new_doubts();
        Some((id, may_doubt))
    }

    /// Doubts a member whose push is missing.
    pub fn miss(&mut self, id: NodeId, incarnation: Incarnation, now: Instant) {
        self.missed += 1;
        if let Some(detector) = self.detector.as_mut() {
            detector.begin(id, incarnation, now);
        }
    }

    /// A round begins, so much too late: if this node was paused, its doubts restart. Returns
    /// whether it did.
    pub fn resumes(&mut self, now: Instant, late: Duration, unit: Duration) -> bool {
        let Some(detector) = self.detector.as_mut() else { return false };
        let stood_still = detector.health.round(now, late, unit);
        if stood_still {
            detector.restart(now);
            self.row.restart(now);
        }
        stood_still
    }

    /// Another member has sent something of its own. An answer says little: members answer also a
    /// node that they have no room for, and whose probes nobody takes.
    pub fn hear(&mut self, now: Instant) {
        if let Some(detector) = self.detector.as_mut() {
            detector.heard = now;
        }
    }

    /// Whether one more refusal is looked into in this round; counts it.
    pub fn looks_into_refusal(&mut self) -> bool {
        let looks = self.detector.is_some() && self.refusals < NEW_DOUBTS as u32;
        self.refusals += u32::from(looks);
        looks
    }

    /// The host of a member has refused what was sent there.
    pub fn refused(&mut self, id: NodeId, incarnation: Incarnation, now: Instant) {
        let Some(detector) = self.detector.as_mut() else { return };
        if detector.health.may_accuse(now) {
            detector.begin(id, incarnation, now);
        }
        detector.refused(id, now);
    }

    /// A round's looks at some of so many slots: begins doubts about the silent; returns one of the
    /// dead, picked at random. `seen` says what is in a slot, if there is anything to look at;
    /// whoever is older than the instant that it is given is overdue, whatever else.
    pub fn look(
        &mut self,
        now: Instant,
        slots: usize,
        seen: impl Fn(usize, Instant) -> Option<Seen>,
        chance: &mut Chance,
    ) -> Option<NodeId> {
        (self.refusals, self.missed, self.hurried, self.warned) = (0, 0, 0, 0);
        let detector = self.detector.as_mut()?;
        let room = if detector.health.may_accuse(now) { detector.new_doubts() } else { 0 };
        let oldest = now - detector.longest_silence();
        let (mut begun, mut dead, mut picked) = (0, 0, None);
        for _ in 0..LOOKS.min(slots) {
            self.cursor = (self.cursor + 1) % slots;
            match seen(self.cursor, oldest) {
                Some(Seen::Dead(id)) => {
                    // Each is picked as likely.
                    dead += 1;
                    picked = if chance.below(dead) == 0 { Some(id) } else { picked };
                }
                Some(Seen::Alive(id, incarnation, true)) if begun < room => {
                    detector.begin(id, incarnation, now);
                    begun += 1;
                }
                _ => {}
            }
        }
        picked
    }

    /// Whether anybody is ever declared dead.
    pub fn is_on(&self) -> bool {
        self.detector.is_some()
    }

    /// The next doubt about which something is due, and what. `alone`: there is no third member.
    pub fn step(&mut self, now: Instant, alone: bool) -> Option<(Doubt, Step)> {
        self.detector.as_mut()?.step(now, alone)
    }

    /// Notes that a member is suspected; `false` if it was already, or is not in doubt.
    pub fn suspect(&mut self, id: NodeId) -> bool {
        self.detector.as_mut().is_some_and(|detector| detector.suspect(id))
    }

    /// Whether a member is suspected.
    #[inline]
    pub fn suspects(&self, id: NodeId) -> bool {
        self.doubt(id).is_some_and(Doubt::is_suspicion)
    }

    /// The doubt about a member.
    #[inline]
    pub fn doubt(&self, id: NodeId) -> Option<&Doubt> {
        self.detector.as_ref().and_then(|detector| detector.doubt(id))
    }

    /// Ends a doubt and returns it.
    pub fn end(&mut self, id: NodeId) -> Option<Doubt> {
        self.detector.as_mut().and_then(|detector| detector.end(id))
    }

    /// This node was wrong about another, or others about it.
    pub fn errs(&mut self) {
        if let Some(detector) = self.detector.as_mut() {
            detector.health.fails();
        }
    }

    /// Promises `asker` to pass on what `target` answers; `false` if too much is promised.
    pub fn run_errand(&mut self, asker: NodeId, target: NodeId, now: Instant) -> bool {
        self.detector.as_mut().is_some_and(|detector| detector.run_errand(asker, target, now))
    }

    /// The next who waits for proof that `target` lives; each is notified once.
    pub fn fulfil(&mut self, target: NodeId, now: Instant) -> Option<NodeId> {
        self.detector.as_mut().and_then(|detector| detector.fulfil(target, now))
    }

    /// Probes a member that is taken for dead and may live, if not too many were in this round.
    pub fn warn(&mut self, id: NodeId) {
        if self.detector.is_some() && self.warned < MAX_WARNED {
            self.warned += 1;
            self.query(Query::probe(id));
        }
    }

    /// How many of so many datagrams may report a death at once in this round; counts them.
    pub fn hurries(&mut self, datagrams: usize) -> usize {
        let hurries = datagrams.min(MAX_HURRIED - self.hurried);
        self.hurried += hurries;
        hurries
    }

    /// Has a probe or a proof sent, unless it waits already or too many do.
    pub fn query(&mut self, query: Query) {
        if !self.queries.contains(&query) && self.queries.len() < MAX_WAITING {
            self.queries.push_back(query);
        }
    }

    /// The next probe or proof to be sent.
    pub fn next_query(&mut self) -> Option<Query> {
        self.queries.pop_front()
    }
}
