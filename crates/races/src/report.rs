//! Reports: which accesses are in a race, and why they may be parallel.

use core::fmt;

use crate::shadow::{Access, Conflict, Kind};
use crate::sites::Site;
use crate::tree::{Kind as Of, Node, Tree};

/// What a checked run has shown.
#[derive(Clone, Debug)]
pub struct Report {
    /// The first races, one for each place, at most 100.
    pub races: Vec<Race>,
    /// What was counted.
    pub counts: Counts,
}

/// What a checked run has counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Places with a race. Neighbouring bytes are one place, if they conflict with the same step.
    pub races: u64,
    /// Nodes of the structure tree.
    pub nodes: u64,
    /// What threads ran from one steal to the next.
    pub phases: u64,
    /// Pairs of steps whose common ancestor was looked for.
    pub meetings: u64,
    /// Nodes that were climbed for that.
    pub climbed: u64,
    /// Tasks that were spawned into a scope around the innermost one. They are taken for tasks of
    /// the innermost one, so races with what comes between both ends are not seen.
    pub escaped: u64,
}

/// Two accesses to one place of which at least one changes it, and that no fork or join orders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// The one that was first in the run.
    pub earlier: Side,
    /// The other.
    pub later: Side,
    /// What both are below: the fork or scope that lets them be parallel.
    pub ancestor: Site,
}

/// An access, and how the program came to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// What it does.
    pub kind: Kind,
    /// Where it is in the program.
    pub site: Site,
    /// The tasks between the common ancestor and it, from above: where each was forked or spawned.
    pub tasks: Vec<Site>,
}

impl Race {
    pub(crate) fn of(tree: &Tree, conflict: &Conflict) -> Self {
        let Conflict { earlier, later } = *conflict;
        let ancestor = tree.ancestor_of(earlier.1.step.node, later.1.step.node);
        Self {
            earlier: Side::of(tree, ancestor, earlier),
            later: Side::of(tree, ancestor, later),
            ancestor: tree.site(ancestor),
        }
    }
}

impl Side {
    fn of(tree: &Tree, ancestor: Node, (kind, access): (Kind, Access)) -> Self {
        let path = tree.path(access.step.node, ancestor);
        let tasks = path.into_iter().rev().filter(|&node| tree.kind(node) == Of::Async);
        Self { kind, site: access.site, tasks: tasks.map(|node| tree.site(node)).collect() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Write => "write",
        })
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.kind, self.site)?;
        match &self.tasks[..] {
            [] => write!(f, ", in the task that forks"),
            tasks => {
                f.write_str(", in the task of ")?;
                for (at, task) in tasks.iter().enumerate() {
                    write!(f, "{}{task}", if at == 0 { "" } else { ", then " })?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "race: nothing orders these two accesses, below {}:", self.ancestor)?;
        writeln!(f, "  {}", self.earlier)?;
        write!(f, "  {}", self.later)
    }
}
