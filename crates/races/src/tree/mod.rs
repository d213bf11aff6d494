//! The structure tree: which parts of a run may be parallel, whatever thread ran them and when.
//!
//! Inner nodes are *asyncs* (a task that may run beside what follows it) and *finishes* (all below
//! has ended when it ends). Between two of them a task goes in *steps*, which are leaves and are
//! not kept: a step is its node and its place among the node's children, which count from the left
//! in the order of the program. Two steps may be parallel exactly if, below their lowest common
//! ancestor, the one more to the left is under an async.
//!
//! That is found by *labels* (`labels`), the way to each node as bits. Other ways are there to be
//! compared with them: to climb from node to node; by *jumps*, of which each node knows one, to an
//! ancestor so far above that the way to any ancestor takes a logarithm of jumps; and by *phases*,
//! what one thread ran from one steal to the next: of steps in two phases it is enough to climb
//! from steal to steal, of which there are few, up to the phase that both come from.
//!
//! Invariants: a node's parent is in the tree before it, so depths rise along each path and each
//! climb ends. A phase begins with a whole task, its entry: all steps at and below the entry are of
//! that phase or of phases that were stolen from it, and no other step is.
//!
//! Sources: Raman, Zhao, Sarkar, Vechev, Yahav, "Scalable and precise dynamic datarace detection
//! for structured parallelism", PLDI 2012 (the tree); Lifflander, Krishnamoorthy, Kalé, "Steal
//! tree", PLDI 2013 (phases); Myers, "An applicative random-access stack", 1983 (jumps).

mod labels;
mod nodes;

use crate::sites::{self, Site};
use labels::{Label, Place, Way};
use nodes::{Inner, Nodes};

pub(crate) use nodes::{Node, Room};

/// A phase, by its number.
pub(crate) type Phase = u32;

/// The root: the finish around all.
pub(crate) const ROOT: Node = 0;

/// What the thread that began the run has, until it steals.
pub(crate) const FIRST_PHASE: Phase = 0;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A task that may run beside what follows it.
    Async,
    /// All below it has ended when it ends.
    Finish,
}

/// A leaf: what a task does between two forks or joins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) node: Node,
    /// Its place among the children of the node.
    pub(crate) place: u32,
    /// In which it ran.
    pub(crate) phase: Phase,
}

/// A part of the tree in which labels begin anew.
#[derive(Debug)]
struct Segment {
    above: u32,
    depth: u32,
    /// The way to its head, in the segment above.
    way: Way,
}

#[derive(Debug)]
struct Stolen {
    from: Phase,
    depth: u32,
    /// The node with which it begins.
    entry: Node,
}

/// How common ancestors are found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Climb {
    /// From node to node.
    Nodes,
    /// From steal to steal, where steps are in two phases; then from node to node.
    Phases,
    /// By jumps.
    Jumps,
    /// From steal to steal, and by jumps within a phase.
    PhasesAndJumps,
    /// By labels.
    #[default]
    Labels,
}

impl Climb {
    /// All ways.
    pub const ALL: [Self; 5] =
        [Self::Nodes, Self::Phases, Self::Jumps, Self::PhasesAndJumps, Self::Labels];

    fn has_phases(self) -> bool {
        matches!(self, Self::Phases | Self::PhasesAndJumps)
    }

    fn has_jumps(self) -> bool {
        matches!(self, Self::Jumps | Self::PhasesAndJumps)
    }
}

/// Where two steps meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meeting {
    /// How far below the root their lowest common ancestor is: of two ancestors of one step, that
    /// with the higher number is below the other.
    pub(crate) level: u64,
    /// Whether they may be parallel.
    pub(crate) is_parallel: bool,
    /// The nodes that were climbed to see it. To compare two labels is one.
    pub(crate) climbed: u32,
}

/// The side of a step on its way up.
#[derive(Clone, Copy)]
struct Side {
    at: Node,
    place: u32,
    phase: Phase,
    /// Whether what it came from is an async; a step is none.
    is_async: bool,
}

/// The tree of one run. Any thread adds to it and reads it.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Nodes,
    segments: boxcar::Vec<Segment>,
    phases: boxcar::Vec<Stolen>,
    climb: Climb,
}

impl Tree {
    /// Its root.
    pub(crate) fn new(climb: Climb, site: Site) -> Self {
        let (nodes, segments, phases) = (Nodes::default(), boxcar::Vec::new(), boxcar::Vec::new());
        let mut room = Room::NONE;
        let (parent, jump, finish) = (ROOT, ROOT, nodes.number(&mut room));
        let (depth, place, segment, label) = (0, 0, 0, Label::default());
        let site = sites::number(site);
        let inner = Inner { parent, jump, depth, place, finish, segment, site, label };
        nodes.set(ROOT, inner);
        let way = Way { above: label, place: Place { place, is_async: false } };
        segments.push(Segment { above: 0, depth: 0, way });
        phases.push(Stolen { from: FIRST_PHASE, depth: 0, entry: ROOT });
        Self { nodes, segments, phases, climb }
    }

    /// How many phases there are.
    pub(crate) fn phases(&self) -> usize {
        self.phases.count()
    }

    /// Adds a node at a place below another, with a number of this thread's room.
    pub(crate) fn add(&self, room: &mut Room, kind: Kind, below: Step, site: Site) -> Node {
        self.node(room, kind, below, site).0
    }

    /// Adds a fork: a finish at a place below another, and an async that is its first child.
    pub(crate) fn add_fork(&self, room: &mut Room, below: Step, site: Site) -> [Node; 2] {
        let (finish, label) = self.node(room, Kind::Finish, below, site);
        let first = Nodes::first_child(finish, label).unwrap_or_else(|| {
            let below = Step { node: finish, place: 1, ..below };
            self.add(room, Kind::Async, below, site)
        });
        [finish, first]
    }

    fn node(&self, room: &mut Room, kind: Kind, below: Step, site: Site) -> (Node, Label) {
        let number = self.nodes.number(room);
        let above = self.nodes.get(below.node);
        let (parent, place, depth) = (below.node, below.place, above.depth + 1);
        let jump = if self.climb.has_jumps() { self.jump(below.node) } else { ROOT };
        let finish = if kind == Kind::Finish { number } else { above.finish };
        let is_async = kind == Kind::Async;
        let way = Way { above: above.label, place: Place { place, is_async } };
        let (segment, label) = match way.label() {
            Some(label) => (above.segment, label),
            None => (self.segment(above.segment, way), Label::default()),
        };
        let site = sites::number(site);
        self.nodes.set(number, Inner { parent, jump, depth, place, finish, segment, site, label });
        (number, label)
    }

    /// The jump of a node below this one.
    fn jump(&self, above: Node) -> Node {
        let here = self.inner(above);
        let over = self.inner(here.jump);
        let is_even = here.depth - over.depth == over.depth - self.inner(over.jump).depth;
        if is_even { over.jump } else { above }
    }

    #[cold]
    fn segment(&self, above: u32, way: Way) -> u32 {
        let depth = self.segments[above as usize].depth + 1;
        let number = self.segments.push(Segment { above, depth, way });
        u32::try_from(number).expect("each segment has a node")
    }

    /// A thread begins a phase, with a node whose task it took from a phase.
    pub(crate) fn steal(&self, entry: Node, from: Phase) -> Phase {
        let depth = self.phases[from as usize].depth + 1;
        let number = self.phases.push(Stolen { from, depth, entry });
        Phase::try_from(number).expect("each phase has a node")
    }

    /// Where a node was made.
    pub(crate) fn site(&self, node: Node) -> Site {
        sites::site(self.inner(node).site)
    }

    /// Whether a finish is the innermost around what is directly below a node.
    pub(crate) fn is_innermost(&self, node: Node, finish: Node) -> bool {
        self.inner(node).finish == finish
    }

    /// What a node is.
    pub(crate) fn kind(&self, node: Node) -> Kind {
        if self.inner(node).finish == node { Kind::Finish } else { Kind::Async }
    }

    /// The nodes from a step up to an ancestor, without that.
    pub(crate) fn path(&self, from: Node, to: Node) -> Vec<Node> {
        let up = |&node: &Node| (node != ROOT).then(|| self.inner(node).parent);
        core::iter::successors(Some(from), up).take_while(|&node| node != to).collect()
    }

    fn inner(&self, node: Node) -> Inner {
        let mut inner = self.nodes.get(node);
        if node % 2 == 1 && self.climb.has_jumps() {
            inner.jump = self.jump(inner.parent);
        }
        inner
    }

    /// Where two steps meet.
    pub(crate) fn meet(&self, one: Step, other: Step) -> Meeting {
        if self.climb == Climb::Labels {
            return self.compare(one, other);
        }
        let side = |Step { node: at, place, phase }| Side { at, place, phase, is_async: false };
        let (mut one, mut other, mut climbed) = (side(one), side(other), 0);
        if self.climb.has_phases() {
            climbed += self.to_one_phase(&mut one, &mut other);
        }
        climbed += self.to_one_node(&mut one, &mut other);
        let left = if one.place < other.place { one } else { other };
        let level = u64::from(self.inner(one.at).depth);
        Meeting { level, is_parallel: left.is_async, climbed }
    }

    /// [`Self::meet`] by labels.
    fn compare(&self, one: Step, other: Step) -> Meeting {
        let at = |step: Step| {
            let (segment, above) = self.nodes.label(step.node);
            (segment, Way { above, place: Place { place: step.place, is_async: false } })
        };
        let ((mut here, mut one), (mut there, mut other)) = (at(one), at(other));
        let mut climbed = 1;
        while here != there {
            let heads = [here, there].map(|segment| &self.segments[segment as usize]);
            let depth = heads[0].depth.max(heads[1].depth);
            if heads[0].depth == depth {
                (here, one, climbed) = (heads[0].above, heads[0].way, climbed + 1);
            }
            if heads[1].depth == depth {
                (there, other, climbed) = (heads[1].above, heads[1].way, climbed + 1);
            }
        }
        let parting = one.part(other);
        // The depth is looked at only where there are several segments.
        let depth = if here == 0 { 0 } else { self.segments[here as usize].depth };
        let level = u64::from(depth) << 8 | u64::from(parting.bits);
        Meeting { level, is_parallel: parting.is_parallel, climbed }
    }

    /// The lowest common ancestor of two nodes.
    pub(crate) fn ancestor_of(&self, mut one: Node, mut other: Node) -> Node {
        while one != other {
            let is_deeper = self.inner(one).depth >= self.inner(other).depth;
            let side = if is_deeper { &mut one } else { &mut other };
            *side = self.inner(*side).parent;
        }
        one
    }

    fn to_one_phase(&self, one: &mut Side, other: &mut Side) -> u32 {
        let mut climbed = 0;
        while one.phase != other.phase {
            let stolen = |side: &Side| &self.phases[side.phase as usize];
            let is_deeper = stolen(one).depth >= stolen(other).depth;
            let side = if is_deeper { &mut *one } else { &mut *other };
            let Stolen { from, entry, .. } = *stolen(side);
            *side = Side { phase: from, ..self.above(entry) };
            climbed += 1;
        }
        climbed
    }

    /// The side of a node at its parent; its phase does not matter any more.
    fn above(&self, node: Node) -> Side {
        let Inner { parent: at, place, finish, .. } = self.inner(node);
        Side { at, place, phase: FIRST_PHASE, is_async: finish != node }
    }

    fn depth(&self, node: Node) -> u32 {
        self.inner(node).depth
    }

    fn to_one_node(&self, one: &mut Side, other: &mut Side) -> u32 {
        let mut climbed = 0;
        let (mut deep, mut high) = (&mut *one, &mut *other);
        if self.depth(deep.at) < self.depth(high.at) {
            (deep, high) = (high, deep);
        }
        let depth = self.depth(high.at);
        if self.depth(deep.at) > depth {
            let below = self.ancestor(deep.at, depth + 1, &mut climbed);
            *deep = self.above(below);
            climbed += 1;
        }
        if deep.at != high.at {
            let (left, right) = self.children(deep.at, high.at, &mut climbed);
            (*deep, *high) = (self.above(left), self.above(right));
            climbed += 2;
        }
        climbed
    }

    /// The ancestor at a depth.
    fn ancestor(&self, mut node: Node, depth: u32, climbed: &mut u32) -> Node {
        while self.depth(node) > depth {
            let Inner { parent, jump, .. } = self.inner(node);
            let is_far = !self.climb.has_jumps() || self.depth(jump) < depth;
            node = if is_far { parent } else { jump };
            *climbed += 1;
        }
        node
    }

    /// The children of the lowest common ancestor of two nodes of one depth, towards them.
    fn children(&self, mut one: Node, mut other: Node, climbed: &mut u32) -> (Node, Node) {
        loop {
            let (here, there) = (self.inner(one), self.inner(other));
            if here.parent == there.parent {
                return (one, other);
            }
            let jumps = self.climb.has_jumps() && here.jump != there.jump;
            (one, other) =
                if jumps { (here.jump, there.jump) } else { (here.parent, there.parent) };
            *climbed += 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use tidings_primitives::Chance;

    use std::panic::Location;

    use super::*;

    /// A tree of random shape, with the parents of all nodes, and some nodes that begin phases.
    fn random(climb: Climb, seed: u64) -> (Tree, Vec<Step>) {
        let mut chance = Chance::new(seed);
        let (tree, mut room) = (Tree::new(climb, Location::caller().into()), Room::NONE);
        let mut steps = vec![Step { node: ROOT, place: 0, phase: FIRST_PHASE }];
        let mut children = vec![0];
        for _ in 0..2_000 {
            // Most often below one of the last, so that it becomes deep.
            let at = steps.len() - 1 - chance.below(steps.len().min(20));
            let mut kind = if chance.below(2) == 0 { Kind::Async } else { Kind::Finish };
            let below = Step { place: 2 * children[at] + 1, ..steps[at] };
            children[at] += 1;
            let node = if chance.below(3) == 0 {
                let [finish, first] = tree.add_fork(&mut room, below, Location::caller().into());
                let phase = steps[at].phase;
                steps.push(Step { node: finish, place: 2 * chance.below(4) as u32, phase });
                children.push(1);
                kind = Kind::Async;
                first
            } else {
                tree.add(&mut room, kind, below, Location::caller().into())
            };
            let from = steps[at].phase;
            let is_stolen = kind == Kind::Async && chance.below(10) == 0;
            let phase = if is_stolen { tree.steal(node, from) } else { from };
            steps.push(Step { node, place: 2 * chance.below(4) as u32, phase });
            children.push(0);
        }
        (tree, steps)
    }

    #[test]
    fn all_ways_up_meet_at_the_same_node() {
        let [plain, ways @ ..] = Climb::ALL;
        let (naive, steps) = random(plain, 1);
        let mut climbed = [0; 4];
        let mut naively = 0;
        for (at, climb) in ways.into_iter().enumerate() {
            let (tree, _) = random(climb, 1);
            let mut chance = Chance::new(2);
            let mut last = None;
            for _ in 0..2_000 {
                let [one, other] = [(); 2].map(|()| steps[chance.below(steps.len())]);
                if one.node == other.node {
                    continue;
                }
                let (expected, found) = (naive.meet(one, other), tree.meet(one, other));
                assert_eq!(found.is_parallel, expected.is_parallel, "{climb:?}: {one:?} {other:?}");
                let ancestor = naive.ancestor_of(one.node, other.node);
                assert_eq!(u64::from(naive.depth(ancestor)), expected.level);
                // Levels of ancestors of one step are in the same order.
                let further = tree.meet(one, last.unwrap_or(other));
                let further_up = naive.meet(one, last.unwrap_or(other));
                let expected_order = expected.level.cmp(&further_up.level);
                assert_eq!(found.level.cmp(&further.level), expected_order, "{climb:?}");
                last = Some(other);
                climbed[at] += found.climbed;
                naively += expected.climbed;
            }
        }
        let naively = naively / 4;
        assert!(climbed.iter().all(|&some| some < naively / 2), "{climbed:?} of {naively}");
        assert!(climbed[3] < naively / 5, "labels: {climbed:?} of {naively}");
    }

    fn chain(climb: Climb) -> Meeting {
        let (tree, mut room) = (Tree::new(climb, Location::caller().into()), Room::NONE);
        let mut step = Step { node: ROOT, place: 0, phase: FIRST_PHASE };
        for turn in 0..10_000 {
            let below = Step { place: 2 * turn + 1, ..step };
            let node = tree.add(&mut room, Kind::Async, below, Location::caller().into());
            step = Step { node, place: 0, phase: FIRST_PHASE };
        }
        tree.meet(step, Step { node: ROOT, place: 8, phase: FIRST_PHASE })
    }

    #[test]
    fn a_jump_takes_a_logarithm_of_the_depth() {
        let meeting = chain(Climb::Jumps);
        assert!(meeting.climbed < 40 && meeting.level == 0, "{meeting:?}");
        assert!(meeting.is_parallel, "the first task is to the left of that step");
    }

    #[test]
    fn the_first_of_many_segments_decides() {
        let meeting = chain(Climb::Labels);
        assert_eq!((meeting.level, meeting.is_parallel), (0, true));
    }
}
