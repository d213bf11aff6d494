//! Shadows: which accesses to a place may still be in a race with those to come.
//!
//! Of all reads two are enough. If there are more, their lowest common ancestor is that of these
//! two, so whatever may be parallel to one of the others may be parallel to one of these. Of writes
//! the last is enough, as long as there is no race. Updates are accesses that may come in any order
//! among themselves, such as sums; two of them are kept, as of reads.
//!
//! Source: Raman et al., PLDI 2012, for reads and writes; updates are treated as reads that
//! conflict with reads.

use core::cmp::Ordering;

use crate::sites::Site;
use crate::tally::Tally;
use crate::tree::{Meeting, Step, Tree};

/// What is done to a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It stays as it is.
    Read,
    /// It changes so that the order of several changes does not matter: a sum, a maximum.
    Update,
    /// It changes.
    Write,
}

/// An access, and where in the program it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) step: Step,
    pub(crate) site: Site,
}

/// Two accesses that may be parallel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conflict {
    pub(crate) earlier: (Kind, Access),
    pub(crate) later: (Kind, Access),
}

impl Conflict {
    /// What came first.
    pub(crate) const fn with(&self) -> Step {
        self.earlier.1.step
    }
}

/// Two accesses that stand for all of their kind, and the level of their lowest common ancestor.
#[derive(Clone, Copy, Debug)]
struct Pair {
    first: Option<Access>,
    second: Option<Access>,
    among: u64,
}

/// What is known of a place.
#[derive(Clone, Debug)]
pub(crate) struct Shadow {
    write: Option<Access>,
    reads: Pair,
    updates: Pair,
    /// Whether a race was found: then nothing more is.
    is_raced: bool,
}

impl Pair {
    const NONE: Self = Self { first: None, second: None, among: 0 };

    /// One of them that a step may be parallel to.
    fn parallel_to(&self, tree: &Seen<'_>, step: Step) -> Option<Access> {
        let first = self.first?;
        let meeting = tree.meet(first.step, step);
        if meeting.is_parallel {
            return Some(first);
        }
        self.second.filter(|second| match meeting.level.cmp(&self.among) {
            // To both it is the same.
            Ordering::Less => false,
            // It is where the first is, and that is parallel to the second.
            Ordering::Greater => true,
            Ordering::Equal => tree.are_parallel(second.step, step),
        })
    }

    fn has(&self, step: Step) -> bool {
        [self.first, self.second].into_iter().flatten().any(|one| one.step == step)
    }

    /// One more, which comes later. Whatever is parallel to one that is before it, and comes later
    /// still, is parallel to it too; so it takes the place of that.
    fn add(&mut self, tree: &Seen<'_>, access: Access) {
        let Some(first) = self.first else {
            self.first = Some(access);
            return;
        };
        let meeting = tree.meet(first.step, access.step);
        match self.second {
            None if meeting.is_parallel => self.set(first, access, meeting.level),
            None => self.first = Some(access),
            Some(second) => match meeting.level.cmp(&self.among) {
                Ordering::Less if meeting.is_parallel => self.set(first, access, meeting.level),
                Ordering::Less => *self = Self { first: Some(access), ..Self::NONE },
                Ordering::Greater if meeting.is_parallel => {}
                Ordering::Greater => self.first = Some(access),
                Ordering::Equal => self.add_beside(tree, meeting.is_parallel, second, access),
            },
        }
    }

    /// One more that is below the common ancestor of both, and not where the first is.
    fn add_beside(&mut self, tree: &Seen<'_>, to_first: bool, second: Access, access: Access) {
        let meeting = tree.meet(second.step, access.step);
        match (to_first, meeting.is_parallel) {
            (true, true) => {}
            (true, false) => self.second = Some(access),
            (false, true) => self.set(access, second, meeting.level),
            (false, false) => *self = Self { first: Some(access), ..Self::NONE },
        }
    }

    fn set(&mut self, first: Access, second: Access, among: u64) {
        *self = Self { first: Some(first), second: Some(second), among };
    }
}

/// The tree, and where it is counted how much is climbed in it.
pub(crate) struct Seen<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) tally: &'a Tally,
}

impl Seen<'_> {
    fn meet(&self, one: Step, other: Step) -> Meeting {
        let meeting = self.tree.meet(one, other);
        self.tally.meeting(meeting.climbed);
        meeting
    }

    fn are_parallel(&self, one: Step, other: Step) -> bool {
        one.node != other.node && self.meet(one, other).is_parallel
    }
}

impl Shadow {
    /// Of a place that nobody has used.
    pub(crate) const NEW: Self =
        Self { write: None, reads: Pair::NONE, updates: Pair::NONE, is_raced: false };

    /// An access to the place; what it conflicts with, if that is the first race here.
    pub(crate) fn access(
        &mut self,
        tree: &Seen<'_>,
        kind: Kind,
        access: Access,
    ) -> Option<Conflict> {
        if self.is_raced || self.is_known(kind, access.step) {
            return None;
        }
        let found = self.conflict(tree, kind, access.step);
        if let Some(earlier) = found {
            self.is_raced = true;
            return Some(Conflict { earlier, later: (kind, access) });
        }
        match kind {
            Kind::Read => self.reads.add(tree, access),
            Kind::Update => self.updates.add(tree, access),
            // All that there was comes before it.
            Kind::Write => {
                (self.write, self.reads, self.updates) = (Some(access), Pair::NONE, Pair::NONE);
            }
        }
        None
    }

    /// Whether the same step did as much before, and nothing else since.
    fn is_known(&self, kind: Kind, step: Step) -> bool {
        self.write.is_some_and(|write| write.step == step)
            || match kind {
                Kind::Read => self.reads.has(step),
                Kind::Update => self.updates.has(step),
                Kind::Write => false,
            }
    }

    fn conflict(&self, tree: &Seen<'_>, kind: Kind, step: Step) -> Option<(Kind, Access)> {
        let write = self.write.filter(|write| tree.are_parallel(write.step, step));
        let pairs = [(Kind::Read, &self.reads), (Kind::Update, &self.updates)];
        write.map(|write| (Kind::Write, write)).or_else(|| {
            let mut others = pairs.into_iter().filter(|(of, _)| *of != kind);
            others.find_map(|(of, pair)| Some((of, pair.parallel_to(tree, step)?)))
        })
    }
}
