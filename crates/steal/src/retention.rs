//! Retention: the next phase of a name begins with what each worker ran in the last.
//!
//! Where the cost of tasks changes slowly from one iteration to the next, the assignment that
//! stealing has arrived at is a good one to begin with: few tasks are stolen again, and each finds
//! its data where it left them. What was measured is the prediction for the next time.
//!
//! Each worker keeps what *it* ran; whether all of that together is what the program gives this
//! time nobody can tell alone. So on entering, sums go up the tree: of tasks given and tasks kept,
//! of hashes of both, which do not depend on order. The root compares them, and one answer goes
//! down: all begin with what they kept, or all with what they were given, and why.
//!
//! Invariant: a worker begins with what it kept only if the root has said so, so over all workers a
//! task is there once (to 2⁻⁶⁴, where hashes agree and tasks do not).
//!
//! Source: Lifflander, Krishnamoorthy, Kale, "Work stealing and persistence-based load balancers
//! for iterative overdecomposed applications", HPDC 2012.

use std::collections::{BTreeMap, BTreeSet};

use tidings_primitives::chance::mix;

use crate::frame::Frame;
use crate::guide::Guide;
use crate::hash;
use crate::message::{List, Lists, Seeding};
use crate::view::View;

/// What a list of frames is, whatever its order; predicted work does not count.
pub fn list(frames: &[Frame]) -> List {
    let sum = frames.iter().fold(0u64, |sum, frame| sum.wrapping_add(hash(frame)));
    List { tasks: frames.len() as u64, fingerprint: sum }
}

/// What a queue of frames is, in its order; predicted work counts.
pub fn hash_of(frames: &[Frame]) -> u64 {
    frames
        .iter()
        .fold(mix(frames.len() as u64), |sum, frame| mix(sum ^ hash(frame) ^ mix(frame.work_ns)))
}

fn hash(frame: &Frame) -> u64 {
    let bytes = frame.state.bytes();
    let begin = mix(u64::from(frame.function) << 32 | u64::from(frame.step)) ^ bytes.len() as u64;
    hash::bytes(mix(begin), bytes)
}

/// What a worker ran in the last phase of a name.
#[derive(Debug)]
struct Kept {
    workers: u32,
    frames: Vec<Frame>,
    guide: Option<Guide>,
}

/// What a worker ran, by the names of phases.
#[derive(Debug, Default)]
pub struct Retention {
    phases: BTreeMap<String, Kept>,
    /// Names of phases whose gifts do not come as before.
    unsteady: BTreeSet<String>,
    name: String,
    running: Vec<Frame>,
}

impl Retention {
    /// Enters a phase of this name: what the worker could begin with.
    pub fn enter(&mut self, name: &str, given: &[Frame], workers: u32) -> Lists {
        name.clone_into(&mut self.name);
        self.running.clear();
        let kept = self.phases.get(name);
        Lists {
            given: list(given),
            kept: kept.map(|kept| list(&kept.frames)).unwrap_or_default(),
            first: u32::from(kept.is_none()),
            other: u32::from(kept.is_some_and(|kept| kept.workers != workers)),
        }
    }

    /// What it kept of the phase that it has entered, the most expensive ones last: they run first,
    /// so what is left at the end are small ones, by which all can end at the same time.
    pub fn kept(&mut self) -> Vec<Frame> {
        let kept = self.phases.remove(&self.name);
        let mut frames = kept.map(|kept| kept.frames).unwrap_or_default();
        frames.sort_by_key(|frame| u64::BITS - frame.work_ns.leading_zeros());
        frames
    }

    /// The tasks that it ran in the last phase of a name, each with what it took.
    pub fn tasks(&self, name: &str) -> Option<&[Frame]> {
        self.phases.get(name).map(|kept| &kept.frames[..])
    }

    /// Keeps other tasks of the last phase of a name, where it keeps any; those before. What it did
    /// with these says nothing any more.
    pub fn replace(&mut self, name: &str, tasks: Vec<Frame>) -> Vec<Frame> {
        let Some(kept) = self.phases.get_mut(name) else { return Vec::new() };
        kept.guide = None;
        core::mem::replace(&mut kept.frames, tasks)
    }

    /// What it did in the last phase of this name, if tasks spawned there.
    pub fn guide(&mut self) -> Option<Guide> {
        self.phases.get_mut(&self.name).and_then(|kept| kept.guide.take())
    }

    /// Whether what it did in this phase may be what the next one of the name begins with.
    pub fn may_guide(&self) -> bool {
        !self.unsteady.contains(&self.name)
    }

    /// What was expected in this phase did not come: no later one of the name is guided.
    pub fn unguide(&mut self) {
        self.unsteady.insert(self.name.clone());
    }

    /// It ran this task of the phase's list, which took this long.
    pub fn ran(&mut self, frame: Frame, took_ns: u64) {
        self.running.push(Frame { work_ns: took_ns, ..frame });
    }

    /// The phase is complete.
    pub fn complete(&mut self, workers: u32, guide: Option<Guide>) {
        let frames = core::mem::take(&mut self.running);
        self.phases.insert(core::mem::take(&mut self.name), Kept { workers, frames, guide });
    }

    /// The phase has lost tasks: nothing of it is kept.
    pub fn abandon(&mut self) {
        self.running.clear();
        self.phases.remove(&self.name);
    }
}

/// What an agreement has its worker do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreed {
    /// Send the parent the sums of the subtree.
    Tell(u32, Lists),
    /// The root has decided.
    Decide(Seeding),
}

/// The agreement of all workers on what they begin with.
#[derive(Debug)]
pub struct Agreement {
    own: Lists,
    children: Vec<(u32, Option<Lists>)>,
    parent: Option<u32>,
}

impl Agreement {
    /// With this worker's own lists.
    pub fn new(me: u32, view: &View, own: Lists) -> Self {
        let children = view.children(me).map(|child| (child, None)).collect();
        Self { own, children, parent: view.parent(me) }
    }

    /// Begins again without those who died: the others are other workers than before.
    #[must_use]
    pub fn died(&self, me: u32, view: &View) -> Self {
        Self::new(me, view, Lists { other: self.own.other.max(1), ..self.own })
    }

    /// A child's sums.
    pub fn entered(&mut self, from: u32, lists: Lists) {
        for (child, latest) in &mut self.children {
            if *child == from {
                *latest = Some(lists);
            }
        }
    }

    /// What is to be done, if all below have entered.
    pub fn conclude(&self) -> Option<Agreed> {
        let sum = self
            .children
            .iter()
            .try_fold(self.own, |sum, (_, latest)| Some(sum.plus((*latest)?)))?;
        Some(self.parent.map_or(Agreed::Decide(sum.seeding()), |parent| Agreed::Tell(parent, sum)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks(numbers: &[u32]) -> Vec<Frame> {
        numbers.iter().map(|number| Frame::new(1, 5, &number.to_le_bytes()).unwrap()).collect()
    }

    fn phase(retention: &mut Retention, given: &[Frame], ran: &[Frame]) -> Seeding {
        let seeding = retention.enter("scf", given, 2).seeding();
        for frame in ran {
            retention.ran(frame.clone(), 7);
        }
        retention.complete(2, None);
        seeding
    }

    #[test]
    fn what_ran_is_kept_with_what_it_took_in_any_order() {
        let mut retention = Retention::default();
        let (given, ran) = (tasks(&[1, 2, 3]), tasks(&[3, 1, 2]));
        assert_eq!(phase(&mut retention, &given, &ran), Seeding::First);
        assert_eq!(retention.enter("scf", &given, 2).seeding(), Seeding::Retained);
        assert_eq!(retention.kept().iter().map(|frame| frame.work_ns).sum::<u64>(), 21);
    }

    #[test]
    fn tasks_that_went_elsewhere_are_kept_there() {
        let (mut one, mut other) = (Retention::default(), Retention::default());
        let (given, rest) = (tasks(&[1, 2, 3]), tasks(&[4]));
        phase(&mut one, &given, &given);
        phase(&mut other, &rest, &rest);
        let mut kept = one.replace("scf", Vec::new());
        let moves = kept.split_off(1);
        one.replace("scf", kept);
        let more = [other.replace("scf", Vec::new()), moves].concat();
        other.replace("scf", more);
        let sum = one.enter("scf", &given, 2).plus(other.enter("scf", &rest, 2));
        assert_eq!(sum.seeding(), Seeding::Retained);
        assert_eq!((one.kept().len(), other.kept().len()), (1, 3));
        assert_eq!(one.replace("tce", given), [], "nothing was kept of it");
        assert_eq!(one.tasks("tce"), None);
    }

    #[test]
    fn other_tasks_or_workers_are_noticed() {
        let mut retention = Retention::default();
        let given = tasks(&[1, 2, 3]);
        phase(&mut retention, &given, &given);
        assert_eq!(phase(&mut retention, &tasks(&[1, 2]), &given), Seeding::OtherNumber);
        assert_eq!(phase(&mut retention, &tasks(&[1, 2, 4]), &given), Seeding::OtherTasks);
        assert_eq!(retention.enter("scf", &given, 3).seeding(), Seeding::OtherWorkers);
        assert_eq!(retention.enter("tce", &given, 2).seeding(), Seeding::First);
    }

    #[test]
    fn all_below_have_to_enter_and_a_death_is_another_number_of_workers() {
        let mut view = View::new(3);
        let lists = Lists::default();
        let mut root = Agreement::new(0, &view, lists);
        root.entered(1, lists);
        assert_eq!(root.conclude(), None);
        root.entered(2, lists);
        assert_eq!(root.conclude(), Some(Agreed::Decide(Seeding::Retained)));
        view.remove(2);
        let mut root = root.died(0, &view);
        root.entered(1, lists);
        assert_eq!(root.conclude(), Some(Agreed::Decide(Seeding::OtherWorkers)));
    }
}
