//! Unbalanced tree search: count the nodes of a tree that is made while it is searched.
//!
//! A node has 20 random bytes, its *state*; its children's states follow from it by SHA-1, and how
//! many it has follows from its own. So any worker that has a node can search below it, and nobody
//! knows before how much there is: the sizes of subtrees vary over six orders of magnitude. A task
//! is a node.
//!
//! | module | what it holds |
//! |---|---|
//! | [`random`] | states: the benchmark's generator |
//! | [`shape`] | how many children a node has |
//! | [`trees`] | the trees with names and sizes that the benchmark publishes |
//!
//! Invariant: the same tree, node by node, as the benchmark's programs make with SHA-1 (BRG), so
//! that counts can be compared with theirs.
//!
//! Source: Olivier, Huan, Liu, Prins, Dinan, Sadayappan and Tseng, LCPC 2006; UTS 1.1.

pub mod random;
pub mod shape;
pub mod trees;

use crate::Application;
use random::State;
pub use shape::{Kind, Taper};

/// A tree: its kind and the seed of its root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tree {
    /// How many children nodes have.
    pub kind: Kind,
    /// The seed of the root's state (`-r`).
    pub seed: u32,
}

/// A node to search below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// What its children and their number follow from.
    pub state: State,
    /// Its distance from the root.
    pub depth: u32,
}

/// What was found of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Nodes, with the root.
    pub nodes: u64,
    /// Nodes without children.
    pub leaves: u64,
    /// The largest distance from the root.
    pub depth: u32,
}

impl Tree {
    /// The root.
    pub fn root(&self) -> Node {
        Node { state: State::of_seed(self.seed), depth: 0 }
    }

    /// The children of a node.
    pub fn children(&self, node: Node) -> impl Iterator<Item = Node> {
        let count = self.kind.children(node.state.number(), node.depth);
        (0..count).map(move |at| Node { state: node.state.child(at), depth: node.depth + 1 })
    }
}

impl Application for Tree {
    type Task = Node;
    type Total = Count;

    fn roots(&self) -> impl Iterator<Item = Node> {
        [self.root()].into_iter()
    }

    fn empty(&self) -> Count {
        Count::default()
    }

    fn run(&self, &node: &Node, total: &mut Count, spawn: &mut impl FnMut(Node)) {
        total.nodes += 1;
        total.depth = total.depth.max(node.depth);
        let mut is_leaf = true;
        for child in self.children(node) {
            is_leaf = false;
            spawn(child);
        }
        total.leaves += u64::from(is_leaf);
    }

    fn merge(&self, total: &mut Count, other: &Count) {
        total.nodes += other.nodes;
        total.leaves += other.leaves;
        total.depth = total.depth.max(other.depth);
    }
}
