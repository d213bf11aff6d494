//! The trees that the benchmark publishes, by name, with their sizes.
//!
//! They test a worker pool end to end: one lost or doubled task shows in a count. The sizes of T1,
//! T1L, T3 and T3L are those of the benchmark's own sample trees.

use super::shape::{Binomial, Geometric, Kind, Taper};
use super::{Count, Tree};

/// A tree with a name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name in the benchmark.
    pub name: &'static str,
    /// The tree.
    pub tree: Tree,
    /// How many nodes it has.
    pub nodes: u64,
    /// Its depth and leaves: of T1 and T3 as the benchmark states them, of T2, T4 and T5 as this
    /// program counted them, none where nobody here counted.
    pub rest: Option<(u32, u64)>,
}

impl Named {
    /// Whether a count is that of this tree.
    pub fn is(&self, count: &Count) -> bool {
        let rest = self.rest.is_none_or(|rest| rest == (count.depth, count.leaves));
        count.nodes == self.nodes && rest
    }
}

/// The tree of this name.
pub fn named(name: &str) -> Option<Named> {
    ALL.into_iter().find(|tree| tree.name.eq_ignore_ascii_case(name))
}

const fn geometric(taper: Taper, depth: u32, branching: f64, seed: u32) -> Tree {
    Tree { kind: Kind::Geometric(Geometric { taper, depth, branching }), seed }
}

const fn binomial(probability: f64, children: u32, seed: u32) -> Tree {
    Tree { kind: Kind::Binomial(2000, Binomial { probability, children }), seed }
}

const HYBRID: Tree = Tree {
    kind: Kind::Hybrid(
        Geometric { taper: Taper::Linear, depth: 16, branching: 6.0 },
        Binomial { probability: 0.234_375, children: 4 },
    ),
    seed: 1,
};

const fn known(name: &'static str, tree: Tree, nodes: u64, rest: Option<(u32, u64)>) -> Named {
    Named { name, tree, nodes, rest }
}

/// All of them.
pub const ALL: [Named; 9] = [
    known("T1", geometric(Taper::Fixed, 10, 4.0, 19), 4_130_071, Some((10, 3_305_118))),
    known("T2", geometric(Taper::Cyclic, 16, 6.0, 502), 4_117_769, Some((81, 2_342_762))),
    known("T3", binomial(0.124_875, 8, 42), 4_112_897, Some((1_572, 3_599_034))),
    known("T4", HYBRID, 4_132_453, Some((134, 3_108_986))),
    known("T5", geometric(Taper::Linear, 20, 4.0, 34), 4_147_582, Some((20, 2_181_318))),
    known("T1L", geometric(Taper::Fixed, 13, 4.0, 29), 102_181_082, Some((13, 81_746_377))),
    known("T3L", binomial(0.200_014, 5, 7), 111_345_631, None),
    known("T1XL", geometric(Taper::Fixed, 15, 4.0, 29), 1_635_119_272, None),
    known("T1XXL", geometric(Taper::Fixed, 15, 4.0, 19), 4_230_646_601, None),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_order;

    fn has_its_size(name: &str) {
        let tree = named(name).expect("a tree of that name");
        let (count, tasks) = in_order(&tree.tree);
        assert!(tree.is(&count), "{name}: {count:?}");
        assert_eq!(tasks, count.nodes);
    }

    #[test]
    fn the_geometric_tree_has_its_size() {
        has_its_size("T1");
    }

    #[test]
    fn the_binomial_tree_has_its_size() {
        has_its_size("t3");
    }

    /// As this program counted them when it counted T1, T2, T4 and T5 right.
    #[test]
    fn small_trees_of_each_taper_keep_their_sizes() {
        let count = |tree: Tree| in_order(&tree).0.nodes;
        let kinds = [Taper::Linear, Taper::Power, Taper::Cyclic, Taper::Fixed];
        let sizes = kinds.map(|taper| count(geometric(taper, 3, 3.0, 1)));
        assert_eq!(sizes, [32, 135, 38, 72]);
    }

    #[test]
    fn a_wrong_count_is_noticed() {
        let tree = named("T1").expect("a tree of that name");
        let count = Count { nodes: 4_130_071, leaves: 3_305_117, depth: 10 };
        assert!(!tree.is(&count));
        assert!(named("T6").is_none());
    }
}
