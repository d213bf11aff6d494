//! The structure tree: which parts of a run may be parallel, whatever thread ran them and when.
//!
//! Inner nodes are *asyncs* (a task that may run beside what follows it) and *finishes* (all below
//! has ended when it ends). Between two of them a task goes in *steps*, which are leaves and are
//! not kept: a step is its node and its place among the node's children, which count from the left
//! in the order of the program. Two steps may be parallel exactly if, below their lowest common
//! ancestor, the one more to the left is under an async.
//!
//! The ancestor is found by climbing. Two things shorten the way. Each node knows a *jump*, an
//! ancestor so far above that the way to any ancestor takes a logarithm of jumps. And each knows
//! its *phase*, what one thread ran from one steal to the next: of steps in two phases it is enough
//! to climb from steal to steal, of which there are few, up to the phase that both come from.
//!
//! Invariants: a node's parent is in the tree before it, so depths rise along each path and each
//! climb ends. A phase begins with a whole task, its entry: all steps at and below the entry are of
//! that phase or of phases that were stolen from it, and no other step is.
//!
//! Sources: Raman, Zhao, Sarkar, Vechev, Yahav, "Scalable and precise dynamic datarace detection
//! for structured parallelism", PLDI 2012 (the tree); Lifflander, Krishnamoorthy, Kalé, "Steal
//! tree", PLDI 2013 (phases); Myers, "An applicative random-access stack", 1983 (jumps).

use std::panic::Location;

/// A node, by its number.
pub(crate) type Node = u32;

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

#[derive(Debug)]
struct Inner {
    parent: Node,
    jump: Node,
    depth: u32,
    place: u32,
    /// The innermost finish around what is directly below it.
    finish: Node,
    kind: Kind,
    site: &'static Location<'static>,
}

#[derive(Debug)]
struct Stolen {
    from: Phase,
    depth: u32,
    /// The node with which it begins.
    entry: Node,
}

/// How common ancestors are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Climb {
    /// From steal to steal, where steps are in two phases.
    pub by_phases: bool,
    /// By jumps, within a phase.
    pub by_jumps: bool,
}

impl Default for Climb {
    fn default() -> Self {
        Self { by_phases: true, by_jumps: true }
    }
}

/// Where two steps meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meeting {
    /// Their lowest common ancestor.
    pub(crate) ancestor: Node,
    /// Whether they may be parallel.
    pub(crate) is_parallel: bool,
    /// The nodes that were climbed to see it.
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
    nodes: boxcar::Vec<Inner>,
    phases: boxcar::Vec<Stolen>,
    climb: Climb,
}

impl Tree {
    /// Its root.
    pub(crate) fn new(climb: Climb, site: &'static Location<'static>) -> Self {
        let (nodes, phases) = (boxcar::Vec::new(), boxcar::Vec::new());
        let (parent, jump) = (ROOT, ROOT);
        let (depth, place, finish, kind) = (0, 0, ROOT, Kind::Finish);
        nodes.push(Inner { parent, jump, depth, place, finish, kind, site });
        phases.push(Stolen { from: FIRST_PHASE, depth: 0, entry: ROOT });
        Self { nodes, phases, climb }
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.count()
    }

    /// How many phases there are.
    pub(crate) fn phases(&self) -> usize {
        self.phases.count()
    }

    /// Adds a node at a place below another.
    ///
    /// # Panics
    /// If there would be more than 2^32.
    pub(crate) fn add(&self, kind: Kind, below: Step, site: &'static Location<'static>) -> Node {
        let above = self.inner(below.node);
        let over = self.inner(above.jump);
        let is_even = above.depth - over.depth == over.depth - self.inner(over.jump).depth;
        let jump = if is_even { over.jump } else { below.node };
        let (depth, outer) = (above.depth + 1, above.finish);
        let (parent, place) = (below.node, below.place);
        let number = self.nodes.push_with(|number| {
            let finish = if kind == Kind::Finish { number as Node } else { outer };
            Inner { parent, jump, depth, place, finish, kind, site }
        });
        Node::try_from(number).expect("memory ends before 2^32 nodes")
    }

    /// A thread begins a phase, with a node whose task it took from a phase.
    pub(crate) fn steal(&self, entry: Node, from: Phase) -> Phase {
        let depth = self.phases[from as usize].depth + 1;
        let number = self.phases.push(Stolen { from, depth, entry });
        Phase::try_from(number).expect("each phase has a node")
    }

    /// Where a node was made.
    pub(crate) fn site(&self, node: Node) -> &'static Location<'static> {
        self.inner(node).site
    }

    /// Whether a finish is the innermost around what is directly below a node.
    pub(crate) fn is_innermost(&self, node: Node, finish: Node) -> bool {
        self.inner(node).finish == finish
    }

    /// What a node is.
    pub(crate) fn kind(&self, node: Node) -> Kind {
        self.inner(node).kind
    }

    /// The nodes from a step up to an ancestor, without that.
    pub(crate) fn path(&self, from: Node, to: Node) -> Vec<Node> {
        let up = |&node: &Node| (node != ROOT).then(|| self.inner(node).parent);
        core::iter::successors(Some(from), up).take_while(|&node| node != to).collect()
    }

    fn inner(&self, node: Node) -> &Inner {
        &self.nodes[node as usize]
    }

    /// Where two steps meet.
    pub(crate) fn meet(&self, one: Step, other: Step) -> Meeting {
        let side = |Step { node: at, place, phase }| Side { at, place, phase, is_async: false };
        let (mut one, mut other, mut climbed) = (side(one), side(other), 0);
        if self.climb.by_phases {
            climbed += self.to_one_phase(&mut one, &mut other);
        }
        climbed += self.to_one_node(&mut one, &mut other);
        let left = if one.place < other.place { one } else { other };
        Meeting { ancestor: one.at, is_parallel: left.is_async, climbed }
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
        let Inner { parent: at, place, kind, .. } = *self.inner(node);
        Side { at, place, phase: FIRST_PHASE, is_async: kind == Kind::Async }
    }

    /// How far below the root a node is.
    pub(crate) fn depth(&self, node: Node) -> u32 {
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
            let Inner { parent, jump, .. } = *self.inner(node);
            let is_far = !self.climb.by_jumps || self.depth(jump) < depth;
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
            let jumps = self.climb.by_jumps && here.jump != there.jump;
            (one, other) =
                if jumps { (here.jump, there.jump) } else { (here.parent, there.parent) };
            *climbed += 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use tidings_primitives::Chance;

    use super::*;

    /// A tree of random shape, with the parents of all nodes, and some nodes that begin phases.
    fn random(climb: Climb, seed: u64) -> (Tree, Vec<Step>) {
        let mut chance = Chance::new(seed);
        let tree = Tree::new(climb, Location::caller());
        let mut steps = vec![Step { node: ROOT, place: 0, phase: FIRST_PHASE }];
        for place in 1..2_000 {
            // Most often below one of the last, so that it becomes deep.
            let at = steps.len() - 1 - chance.below(steps.len().min(20));
            let kind = if chance.below(2) == 0 { Kind::Async } else { Kind::Finish };
            let node = tree.add(kind, Step { place, ..steps[at] }, Location::caller());
            let from = steps[at].phase;
            let is_stolen = kind == Kind::Async && chance.below(10) == 0;
            let phase = if is_stolen { tree.steal(node, from) } else { from };
            steps.push(Step { node, place: 0, phase });
        }
        (tree, steps)
    }

    #[test]
    fn all_ways_up_meet_at_the_same_node() {
        let plain = Climb { by_phases: false, by_jumps: false };
        let ways = [(false, true), (true, false), (true, true)]
            .map(|(by_phases, by_jumps)| Climb { by_phases, by_jumps });
        let (naive, steps) = random(plain, 1);
        let mut climbed = [0; 3];
        let mut naively = 0;
        for (at, climb) in ways.into_iter().enumerate() {
            let (tree, _) = random(climb, 1);
            let mut chance = Chance::new(2);
            for _ in 0..2_000 {
                let [one, other] = [(); 2].map(|()| steps[chance.below(steps.len())]);
                if one.node == other.node {
                    continue;
                }
                let (expected, found) = (naive.meet(one, other), tree.meet(one, other));
                let of = |meeting: Meeting| (meeting.ancestor, meeting.is_parallel);
                assert_eq!(of(found), of(expected), "{climb:?}: {one:?} {other:?}");
                climbed[at] += found.climbed;
                naively += expected.climbed / 3;
            }
        }
        assert!(climbed.iter().all(|&some| some < naively / 2), "{climbed:?} of {naively}");
    }

    #[test]
    fn a_jump_takes_a_logarithm_of_the_depth() {
        let tree = Tree::new(Climb::default(), Location::caller());
        let mut step = Step { node: ROOT, place: 0, phase: FIRST_PHASE };
        for place in 1..=10_000 {
            let node = tree.add(Kind::Async, Step { place, ..step }, Location::caller());
            step = Step { node, place: 0, phase: FIRST_PHASE };
        }
        let root = Step { node: ROOT, place: 7, phase: FIRST_PHASE };
        let meeting = tree.meet(step, root);
        assert!(meeting.climbed < 40 && meeting.ancestor == ROOT, "{meeting:?}");
        assert!(meeting.is_parallel, "the first task is to the left of that step");
    }
}
