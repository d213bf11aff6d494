//! Trees: how the results of many tasks become one, sixteen at a time.
//!
//! Leaves are the tasks `0..leaves` of a name. A node of level 1 combines sixteen of them, one of
//! level 2 sixteen nodes of level 1, and so on to the root. Each node is a task itself: so members
//! get nodes as they get tasks, a member that dies gives its nodes to others, and each result
//! counts once.
//!
//! The shape follows from the number of leaves alone, and inputs are in order. So what is combined
//! is combined in one order, whoever does it: a sum of floating-point numbers is the same to the
//! last bit.
//!
//! Invariant: each leaf, and each node but the root, is the input of one node, of the next level.
//!
//! Source: FOX final report, §3.2: collections over point-to-point loops ended libFOX's scaling.

use core::ops::Range;

use minicbor::{Decode, Encode};

use crate::id::TaskId;

/// How many inputs a node combines at most.
pub const FAN: u64 = 16;

/// The most leaves of a tree.
pub const MAX_LEAVES: u64 = 1 << 32;

/// A tree over so many leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tree {
    leaves: u64,
}

/// A node of a tree, or at level 0 a leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Node {
    /// Above which leaves are, at 0.
    #[n(0)]
    pub level: u32,
    /// Its place in its level.
    #[n(1)]
    pub index: u64,
}

impl Tree {
    /// The tree over `leaves` leaves; `None` if there is none, or more than [`MAX_LEAVES`].
    pub fn over(leaves: u64) -> Option<Self> {
        (1..=MAX_LEAVES).contains(&leaves).then_some(Self { leaves })
    }

    /// How many leaves there are.
    pub fn leaves(self) -> u64 {
        self.leaves
    }

    /// How many nodes a level has; of level 0, leaves.
    pub fn width(self, level: u32) -> u64 {
        (0..level).fold(self.leaves, |width, _| width.div_ceil(FAN))
    }

    /// The node that has what all leaves came to.
    pub fn root(self) -> Node {
        let mut level = 1;
        while self.width(level) > 1 {
            level += 1;
        }
        Node { level, index: 0 }
    }

    /// What a node combines, in order; nothing, if the tree has no such node.
    pub fn inputs(self, node: Node) -> impl Iterator<Item = Node> + use<> {
        let places = self.places(node).unwrap_or(0..0);
        let level = node.level.saturating_sub(1);
        places.map(move |index| Node { level, index })
    }

    fn places(self, node: Node) -> Option<Range<u64>> {
        let below = node.level.checked_sub(1).filter(|_| node.level <= self.root().level)?;
        let first = node.index.checked_mul(FAN)?;
        let end = first.checked_add(FAN)?.min(self.width(below));
        (first < end).then_some(first..end)
    }

    /// All nodes, level by level from the leaves up; leaves are not among them.
    pub fn nodes(self) -> impl Iterator<Item = Node> + use<> {
        (1..=self.root().level)
            .flat_map(move |level| (0..self.width(level)).map(move |index| Node { level, index }))
    }

    /// The task that a node is, for the leaves of a name; that of a leaf is the leaf itself.
    pub fn task(self, name: &str, node: Node) -> TaskId {
        match node.level {
            0 => TaskId::of(name, node.index),
            level => TaskId::of(&format!("collect\0{name}\0{}\0{level}", self.leaves), node.index),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_trees_are_as_drawn() {
        let nodes = |leaves| Tree::over(leaves).unwrap().nodes().count();
        assert_eq!([1, 16, 17, 256, 257].map(nodes), [1, 1, 3, 17, 20]);
        let root = |leaves| Tree::over(leaves).unwrap().root().level;
        assert_eq!([1, 16, 17, 256, 257].map(root), [1, 1, 2, 2, 3]);
        assert_eq!((Tree::over(0), Tree::over(MAX_LEAVES + 1)), (None, None));
    }

    #[test]
    fn a_node_that_there_is_not_has_no_inputs() {
        let tree = Tree::over(20).unwrap();
        for (level, index) in [(0, 0), (1, 2), (2, 1), (3, 0), (u32::MAX, 0), (1, u64::MAX)] {
            assert_eq!(tree.inputs(Node { level, index }).count(), 0, "{level} {index}");
        }
    }

    proptest! {
        #[test]
        fn each_leaf_and_node_is_one_input(leaves in 1_u64..5_000) {
            let tree = Tree::over(leaves).unwrap();
            let all: BTreeSet<Node> = tree.nodes().collect();
            let inputs: Vec<Node> = all.iter().flat_map(|node| tree.inputs(*node)).collect();
            let unique: BTreeSet<Node> = inputs.iter().copied().collect();
            prop_assert_eq!(inputs.len(), unique.len());
            let leaves = (0..leaves).map(|index| Node { level: 0, index });
            let mut expected: BTreeSet<Node> = all.iter().copied().chain(leaves).collect();
            expected.remove(&tree.root());
            prop_assert_eq!(unique, expected);
            let mut fans = all.iter().map(|node| tree.inputs(*node).count() as u64);
            prop_assert!(fans.all(|fan| (1..=FAN).contains(&fan)));
        }

        /// Members take nodes as they become ready, in any order, die with some of them, and others
        /// do them again: what is accepted is each leaf once, in order.
        #[test]
        fn any_order_and_any_deaths_combine_each_leaf_once(
            leaves in 1_u64..600,
            order in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
            deaths in prop::collection::vec(prop::bool::weighted(0.25), 0..200),
        ) {
            let tree = Tree::over(leaves).unwrap();
            let leaf = |index| (Node { level: 0, index }, vec![index]);
            let mut done: BTreeMap<Node, Vec<u64>> = (0..leaves).map(leaf).collect();
            let mut left: BTreeSet<Node> = tree.nodes().collect();
            let mut order = order.iter().cycle();
            // As many turns as drawn may end in a death; without an end of them nothing is done.
            let mut deaths = deaths.into_iter();
            while !left.is_empty() {
                let is_ready = |node: &Node| tree.inputs(*node).all(|one| done.contains_key(&one));
                let ready: Vec<Node> = left.iter().copied().filter(is_ready).collect();
                prop_assert!(!ready.is_empty(), "nothing can go on");
                let node = *order.next().unwrap().get(&ready);
                // Who dies before its result is accepted leaves the node ready.
                if deaths.next() == Some(true) {
                    continue;
                }
                let combined = tree.inputs(node).flat_map(|input| done[&input].clone()).collect();
                done.insert(node, combined);
                left.remove(&node);
            }
            prop_assert_eq!(&done[&tree.root()], &(0..leaves).collect::<Vec<_>>());
        }

        #[test]
        fn tasks_differ(leaves in 1_u64..2_000) {
            let tree = Tree::over(leaves).unwrap();
            let leaf = |index| Node { level: 0, index };
            let all: Vec<Node> = tree.nodes().chain((0..leaves).map(leaf)).collect();
            let tasks: BTreeSet<TaskId> = all.iter().map(|node| tree.task("name", *node)).collect();
            prop_assert_eq!(tasks.len(), all.len());
            prop_assert_ne!(tree.task("name", tree.root()), tree.task("other", tree.root()));
        }
    }
}
