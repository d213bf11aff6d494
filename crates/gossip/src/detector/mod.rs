//! The detector: who has fallen silent, and whether it is dead.
//!
//! Ages have long tails, so an old entry alone accuses nobody. A node looks at some entries each
//! unit of time, in turn. Where φ of an age (`silence.rs`) says that chance is hardly to blame, or
//! the age is above twice `death_after`, it has a *doubt*: it sends the member a probe. Without
//! proof of life it probes again, and asks some others to probe in its stead, since the fault may
//! lie on the path between the two. Without proof even then the member is *suspected*, and they all
//! probe again. The first who are asked are the member's *successors*, those that follow it in the
//! order of ids: to them a member that leaves sends its farewell, so that they know of one before a
//! refusal makes it a death. It is declared *dead* when no proof has come of that either, and
//!
//! - a probe was refused: its host answers that nobody listens there. Who says so cannot be known,
//!   so that alone kills nobody; or
//! - it has given no proof for [`death_after`](crate::Config::death_after), which must exceed the
//!   longest pause that a living node may make, and others have been heard meanwhile: a node
//!   that receives nothing but answers declares nobody dead.
//!
//! All waits are longer where the node has reason to doubt itself, and doubts are begun one at a
//! time where it is late (`health.rs`). Every node looks at [`LOOKS`] entries a unit: each member
//! is looked at as often, whatever the cluster's size, and at a threshold of [`DOUBT_PHI`] a living
//! member whose news arrives at random moments is probed once in three units, by somebody. A death
//! is so noticed within few units, by a node that has gone without news the longest. With `grid`
//! the mates of its row notice it sooner, by the push that is missing (`row.rs`).
//!
//! A dead member's entry is a *tombstone*: the last stamp but the farewell of its incarnation, born
//! when the doubt began. It spreads as news does, and faster, and nothing of that incarnation
//! overtakes it; but who holds news made after it was born knows that it is wrong, and refuses it.
//! The member, if it lives, hears of it and begins a new incarnation. Probes say what the prober
//! holds of the probed, and dead members are probed now and then: two halves of a cluster that took
//! each other for dead find together again.
//!
//! Invariants: doubts and errands are bounded in number; a tombstone is of the incarnation that was
//! probed; a node that is declared dead has been probed directly and by others.
//!
//! Source: Das, Gupta, Motivala, "SWIM: scalable weakly-consistent infection-style process group
//! membership protocol", DSN 2002 (indirect probes, incarnations).

mod detection;
mod health;
mod row;
mod silence;

use core::time::Duration;

use tidings_primitives::time::Instant;

use crate::entry::{Incarnation, NodeId};
pub use detection::{Detection, Query, Seen};
pub use health::Health;
pub use row::{RowWatch, watched};
pub use silence::{STEPS_PER_UNIT, Silence};

/// Entries looked at in a unit of time.
pub const LOOKS: usize = 32;
/// φ from which on there is a doubt: once in a hundred times at random.
pub const DOUBT_PHI: f64 = 2.0;
/// Members that are asked to probe in the node's stead, and successors that a farewell goes to.
pub const RELAYS: usize = 3;
/// Every how many units a dead member is probed.
pub const DEAD_PROBE_UNITS: u64 = 2;
/// Members that each node notifies at once of a death that it learns of, beside one for each
/// doubling of the members: then hardly anybody is left, also where a tenth is lost.
const HEARERS: usize = 6;
/// Doubts begun in a unit of time, at most.
pub const NEW_DOUBTS: usize = 8;
/// Doubts at one time, at most.
const MAX_DOUBTS: usize = 64;
/// Probes made for others at one time, at most.
const MAX_ERRANDS: usize = 64;
/// The share of a unit in which proof should come, and bounds of that time.
const WAIT_UNITS: f64 = 0.25;
const WAIT: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// A member whose silence is looked into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Doubt {
    /// Who it is.
    pub id: NodeId,
    /// The life that is in doubt.
    pub incarnation: Incarnation,
    /// When it was first probed.
    pub since: Instant,
    /// Times that it was probed, and others from the second time on.
    probes: u32,
    /// When something is to be done next.
    next: Instant,
    refused: bool,
    /// Whether it was said that it is suspected; it stays so until the doubt ends.
    suspected: bool,
}

impl Doubt {
    /// Whether proof is missing after direct and indirect probes.
    pub fn is_suspicion(&self) -> bool {
        self.suspected
    }
}

/// A probe made for another.
#[derive(Clone, Copy, Debug)]
struct Errand {
    asker: NodeId,
    target: NodeId,
    end: Instant,
}

/// What a doubt leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Probe the member.
    Probe,
    /// Probe it, and have others probe it.
    ProbeByOthersToo,
    /// The same, and say that it is suspected.
    Suspect,
    /// Probe it, and have one other probe it, for as long as it takes.
    Insist,
    /// It is dead.
    Declare,
}

impl Step {
    /// Who else is asked to probe.
    pub fn relays(self) -> Relays {
        match self {
            Self::Probe | Self::Declare => Relays::Random(0),
            Self::ProbeByOthersToo => Relays::Successors,
            Self::Suspect => Relays::Random(RELAYS),
            Self::Insist => Relays::Random(1),
        }
    }
}

/// Those who probe in a node's stead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relays {
    /// The first [`RELAYS`] that follow the probed one in the order of ids.
    Successors,
    /// So many, whoever they are.
    Random(usize),
}

/// A node's doubts, and what it has promised to others.
#[derive(Debug)]
pub struct Detector {
    /// How much the node trusts itself.
    pub health: Health,
    death_after: Duration,
    unit: Duration,
    doubts: Vec<Doubt>,
    errands: Vec<Errand>,
    /// When another member was last heard.
    pub heard: Instant,
}

impl Detector {
    /// No doubts yet.
    pub fn new(now: Instant, unit: Duration, death_after: Duration) -> Self {
        Self {
            health: Health::at(now, unit),
            death_after,
            unit,
            doubts: Vec::with_capacity(MAX_DOUBTS),
            errands: Vec::with_capacity(MAX_ERRANDS),
            heard: now,
        }
    }

    /// The age from which on there is a doubt whatever chance may explain.
    pub fn longest_silence(&self) -> Duration {
        2 * self.death_after
    }

    /// When something is to be done about a doubt, if there is one.
    pub fn due(&self) -> Option<Instant> {
        self.doubts.iter().map(|doubt| doubt.next).min()
    }

    /// The doubt about a member.
    pub fn doubt(&self, id: NodeId) -> Option<&Doubt> {
        self.doubts.iter().find(|doubt| doubt.id == id)
    }

    /// Whether there is room for another doubt.
    pub fn has_room(&self) -> bool {
        self.doubts.len() < MAX_DOUBTS
    }

    /// Begins to doubt, unless it does already; the first step is due at once.
    pub fn begin(&mut self, id: NodeId, incarnation: Incarnation, now: Instant) {
        if self.doubt(id).is_none() && self.has_room() {
            let doubt = Doubt {
                id,
                incarnation,
                since: now,
                probes: 0,
                next: now,
                refused: false,
                suspected: false,
            };
            self.doubts.push(doubt);
        }
    }

    /// Notes that a member is suspected; `false` if it was already, or is not in doubt.
    pub fn suspect(&mut self, id: NodeId) -> bool {
        let doubt = self.doubts.iter_mut().find(|doubt| doubt.id == id);
        doubt.is_some_and(|doubt| !core::mem::replace(&mut doubt.suspected, true))
    }

    /// Ends a doubt and returns it.
    pub fn end(&mut self, id: NodeId) -> Option<Doubt> {
        let at = self.doubts.iter().position(|doubt| doubt.id == id)?;
        Some(self.doubts.swap_remove(at))
    }

    /// The node was paused: what it waited for may wait in its socket. Doubts restart.
    pub fn restart(&mut self, now: Instant) {
        let next = now + self.wait();
        for doubt in &mut self.doubts {
            (doubt.since, doubt.next, doubt.refused) = (now, next, false);
            doubt.probes = doubt.probes.min(1);
        }
    }

    /// A probe of the member was refused. What follows is due at once.
    pub fn refused(&mut self, id: NodeId, now: Instant) {
        if let Some(doubt) = self.doubts.iter_mut().find(|doubt| doubt.id == id) {
            // Others have had no time to bring proof unless they were asked.
            if !doubt.refused && doubt.probes == 1 {
                doubt.next = now;
            }
            doubt.refused = true;
        }
    }

    /// The next doubt about which something is due, and what. `alone`: there is no third member who
    /// could be heard.
    pub fn step(&mut self, now: Instant, alone: bool) -> Option<(Doubt, Step)> {
        let (wait, patience) = (self.wait(), self.death_after * self.health.patience());
        for doubt in &mut self.doubts {
            // Who comes so late may find the proof in its socket: it waits once more.
            if doubt.probes > 0 && now.saturating_since(doubt.next) > wait {
                doubt.next = now + wait;
            }
        }
        let doubt = self.doubts.iter_mut().find(|doubt| doubt.next <= now)?;
        let silent = now.saturating_since(doubt.since) >= patience;
        // A node that receives nothing learns from silence only that.
        let deaf = !alone && self.heard <= doubt.since;
        if silent && deaf && !doubt.refused {
            self.health.fails();
        }
        let silent = silent && !deaf;
        let step = match doubt.probes {
            0 => Step::Probe,
            1 => Step::ProbeByOthersToo,
            2 => Step::Suspect,
            _ if doubt.refused || silent => Step::Declare,
            _ => Step::Insist,
        };
        doubt.probes += 1;
        // Who is suspected is probed twice a unit, and when the time is over; others wait for the
        // outcome.
        let insists = doubt.probes > 2 && !doubt.refused;
        let (next, end) = (now + if insists { 2 * wait } else { wait }, doubt.since + patience);
        doubt.next = if insists && end > now { next.min(end) } else { next };
        Some((*doubt, step))
    }

    /// Promises `asker` to pass on what `target` answers; `false` if too much is promised.
    pub fn run_errand(&mut self, asker: NodeId, target: NodeId, now: Instant) -> bool {
        self.errands.retain(|errand| errand.end > now);
        let room = self.errands.len() < MAX_ERRANDS;
        if room {
            self.errands.push(Errand { asker, target, end: now + 4 * self.wait() });
        }
        room
    }

    /// The next who waits for proof that `target` lives; each is notified once.
    pub fn fulfil(&mut self, target: NodeId, now: Instant) -> Option<NodeId> {
        let waits = |errand: &Errand| errand.target == target && errand.end > now;
        let at = self.errands.iter().position(waits)?;
        Some(self.errands.swap_remove(at).asker)
    }

    /// In what time proof should come.
    pub fn wait(&self) -> Duration {
        (wait(self.unit) + 2 * self.health.lateness()) * self.health.patience()
    }

    /// How many doubts may be begun in a unit: one by a node that is late itself.
    pub fn new_doubts(&self) -> usize {
        if self.health.lateness() < wait(self.unit) { NEW_DOUBTS } else { 1 }
    }
}

/// How many of so many members a node notifies at once of a death that it learns of.
pub fn hearers(targets: usize) -> usize {
    (HEARERS + targets.max(1).ilog2() as usize).min(targets)
}

/// In what time proof should come to a node that is well.
pub fn wait(unit: Duration) -> Duration {
    unit.mul_f64(WAIT_UNITS).clamp(WAIT.0, WAIT.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Duration = Duration::from_millis(256);
    const DEATH: Duration = Duration::from_secs(3);

    fn doubting() -> (Detector, Instant) {
        let now = Instant::EPOCH + UNIT * 100;
        let mut detector = Detector::new(Instant::EPOCH, UNIT, DEATH);
        detector.begin(NodeId(7), Incarnation::new(1), now);
        (detector, now)
    }

    /// All steps in turn, each when it is due, up to a declaration or `end`.
    fn steps(detector: &mut Detector, end: Instant) -> Vec<(Instant, Step)> {
        let mut steps = Vec::new();
        while let Some(due) = detector.due().filter(|&due| due <= end) {
            let Some((doubt, step)) = detector.step(due, true) else { break };
            steps.push((due, step));
            if matches!(step, Step::Declare) {
                detector.end(doubt.id);
            }
        }
        steps
    }

    #[test]
    fn silence_is_probed_and_reported_before_it_is_death() {
        let (mut detector, start) = doubting();
        let steps = steps(&mut detector, start + DEATH * 2);
        let kinds: Vec<Step> = steps.iter().map(|(_, step)| *step).collect();
        assert_eq!(kinds[..3], [Step::Probe, Step::ProbeByOthersToo, Step::Suspect]);
        assert_eq!(kinds.last(), Some(&Step::Declare));
        let (last, _) = steps[steps.len() - 1];
        assert!(last >= start + DEATH && last < start + DEATH + UNIT);
    }

    #[test]
    fn who_is_refused_is_dead_once_others_had_their_time() {
        let (mut detector, start) = doubting();
        assert_eq!(detector.step(start, true).map(|(_, step)| step), Some(Step::Probe));
        detector.refused(NodeId(7), start + UNIT / 100);
        let steps = steps(&mut detector, start + UNIT);
        let kinds: Vec<Step> = steps.iter().map(|(_, step)| *step).collect();
        assert_eq!(kinds, [Step::ProbeByOthersToo, Step::Suspect, Step::Declare]);
        assert_eq!(steps[2].0, start + UNIT / 100 + UNIT / 2);
        assert_eq!(detector.due(), None);
    }

    #[test]
    fn a_node_that_doubts_itself_waits_longer() {
        let (mut detector, start) = doubting();
        (0..3).for_each(|_| detector.health.fails());
        let steps = steps(&mut detector, start + DEATH * 3);
        assert!(steps.iter().all(|(_, step)| !matches!(step, Step::Declare)), "{steps:?}");
        assert_eq!(steps[1].0, start + UNIT);
    }

    #[test]
    fn standing_still_takes_nothing_as_silence() {
        let (mut detector, start) = doubting();
        steps(&mut detector, start + DEATH - UNIT);
        detector.restart(start + DEATH * 3);
        let after = steps(&mut detector, start + DEATH * 3 + UNIT * 2);
        assert!(after.iter().all(|(_, step)| !matches!(step, Step::Declare)), "{after:?}");
    }

    #[test]
    fn who_hears_nobody_declares_nobody_dead() {
        let (mut detector, start) = doubting();
        let mut last = None;
        while let Some(due) = detector.due().filter(|&due| due < start + DEATH * 20) {
            last = detector.step(due, false);
        }
        assert!(last.is_some_and(|(_, step)| step == Step::Insist), "{last:?}");
        detector.heard = start + DEATH;
        let next = detector.due().expect("it is doubted still");
        assert_eq!(detector.step(next, false).map(|(_, step)| step), Some(Step::Declare));
    }

    #[test]
    fn who_comes_late_to_a_doubt_looks_for_proof_first() {
        let (mut detector, start) = doubting();
        assert!(detector.step(start, true).is_some());
        detector.refused(NodeId(7), start);
        assert!(detector.step(start, true).is_some());
        let late = start + UNIT;
        assert_eq!(detector.step(late, true), None);
        assert_eq!(detector.due(), Some(late + UNIT / 4));
    }

    #[test]
    fn what_is_promised_is_bounded_and_kept_once() {
        let (mut detector, start) = doubting();
        let taken = (0..100).filter(|&n| detector.run_errand(NodeId(n), NodeId(9), start)).count();
        assert_eq!(taken, MAX_ERRANDS);
        assert_eq!(detector.fulfil(NodeId(8), start), None);
        let mut reported = 0;
        while detector.fulfil(NodeId(9), start).is_some() {
            reported += 1;
        }
        assert_eq!(reported, MAX_ERRANDS);
        (0..1000).for_each(|id| detector.begin(NodeId(id), Incarnation::new(1), start));
        assert!(!detector.has_room() && detector.doubts.len() == MAX_DOUBTS);
    }
}
