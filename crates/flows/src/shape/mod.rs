//! Shapes of networks, and the way that a message takes through each: its links, in their order.
//!
//! Routes are those of SimGrid 3.32, so that a model and a simulated machine are of the same
//! network, with the same numbers of nodes and links.

mod counts;
mod dragonfly;
mod fat_tree;
mod torus;

use crate::error::FlowsError;

pub use self::counts::MOST_NODES;
pub use self::dragonfly::Dragonfly;
pub use self::fat_tree::FatTree;
pub use self::torus::{AXES, Heading, Torus};

/// A network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Rings, or rows, in three dimensions.
    Torus(Torus),
    /// Switches in levels.
    FatTree(FatTree),
    /// Groups of routers.
    Dragonfly(Dragonfly),
}

/// What networks are called.
pub const KINDS: [&str; 4] = ["torus", "mesh", "fat-tree", "dragonfly"];

impl Shape {
    /// The network of one of the [`KINDS`] with these counts; `None` of another kind.
    ///
    /// # Errors
    /// [`FlowsError`] if no such network has these counts.
    pub fn of_kind(kind: &str, counts: &[u32]) -> Option<Result<Self, FlowsError>> {
        Some(match kind {
            "torus" => Torus::new(counts).map(Self::Torus),
            "mesh" => Torus::mesh(counts).map(Self::Torus),
            "fat-tree" => FatTree::new(counts).map(Self::FatTree),
            "dragonfly" => Dragonfly::new(counts).map(Self::Dragonfly),
            _ => return None,
        })
    }

    /// Which of the [`KINDS`] it is of.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Torus(own) if own.is_closed() => "torus",
            Self::Torus(_) => "mesh",
            Self::FatTree(_) => "fat-tree",
            Self::Dragonfly(_) => "dragonfly",
        }
    }

    /// The counts that it is made of: lengths of rings or rows; ports down of each level; groups,
    /// chassis, routers and nodes a router.
    pub fn counts(&self) -> Vec<u32> {
        match self {
            Self::Torus(own) => own.lengths().to_vec(),
            Self::FatTree(own) => own.counts().to_vec(),
            Self::Dragonfly(own) => own.counts().to_vec(),
        }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        match self {
            Self::Torus(own) => own.nodes(),
            Self::FatTree(own) => own.nodes(),
            Self::Dragonfly(own) => own.nodes(),
        }
    }

    /// How many links of a plain link's bandwidth each link is worth.
    pub fn widths(&self) -> Vec<f64> {
        match self {
            Self::Torus(own) => vec![1.0; own.links() as usize],
            Self::FatTree(own) => vec![1.0; own.links() as usize],
            Self::Dragonfly(own) => own.widths(),
        }
    }

    /// The links from one node to another, none inside a node.
    pub fn route(&self, from: u32, to: u32) -> Vec<u32> {
        let mut route = Vec::new();
        if from != to {
            match self {
                Self::Torus(own) => own.route(from, to, &mut route),
                Self::FatTree(own) => own.route(from, to, &mut route),
                Self::Dragonfly(own) => own.route(from, to, &mut route),
            }
        }
        route
    }

    /// How many links lie between two nodes.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        match self {
            Self::Torus(own) => own.hops(from, to),
            Self::FatTree(_) | Self::Dragonfly(_) => self.route(from, to).len() as u32,
        }
    }

    /// The node that a link leaves, if it leaves one and not a switch.
    pub fn begin_of(&self, link: u32) -> Option<u32> {
        match self {
            Self::Torus(_) => Some(Torus::begin_of(link)),
            Self::FatTree(own) => own.begin_of(link),
            Self::Dragonfly(own) => own.begin_of(link),
        }
    }

    /// How many links lie between the farthest two nodes.
    pub fn worst_hops(&self) -> u32 {
        match self {
            Self::Torus(own) => own.worst_hops(),
            Self::FatTree(own) => own.worst_hops(),
            Self::Dragonfly(own) => own.worst_hops(),
        }
    }

    /// The torus that it is, if it is one.
    pub fn torus(&self) -> Option<&Torus> {
        match self {
            Self::Torus(own) => Some(own),
            Self::FatTree(_) | Self::Dragonfly(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_made_again_from_its_kind_and_counts_and_its_first_links_leave_nodes() {
        for shape in shapes() {
            let again = Shape::of_kind(shape.kind(), &shape.counts()).expect("a kind");
            assert_eq!(again.as_ref(), Ok(&shape));
            assert!(KINDS.contains(&shape.kind()));
            for (from, to) in [(0, 1), (0, shape.nodes() - 1), (shape.nodes() - 1, 0)] {
                let route = shape.route(from, to);
                assert_eq!(shape.begin_of(route[0]), Some(from), "{shape:?}");
                assert_eq!(shape.hops(from, to), route.len() as u32, "{shape:?}");
            }
        }
        assert_eq!(Shape::of_kind("ring", &[4]), None);
    }

    fn shapes() -> Vec<Shape> {
        let torus = |lengths: &[u32]| Shape::Torus(Torus::new(lengths).expect("a torus"));
        vec![
            torus(&[4, 4, 4]),
            torus(&[5, 3]),
            torus(&[2, 2, 2]),
            Shape::Torus(Torus::mesh(&[4, 2]).expect("a mesh")),
            Shape::FatTree(FatTree::new(&[8, 4]).expect("a tree")),
            Shape::FatTree(FatTree::new(&[4, 4, 3]).expect("a tree")),
            Shape::Dragonfly(Dragonfly::new(&[3, 2, 4, 4]).expect("a dragonfly")),
        ]
    }

    #[test]
    fn a_route_has_links_that_there_are_each_once_and_enters_where_no_other_node_is_entered() {
        for shape in shapes() {
            let links = shape.widths().len() as u32;
            for to in 0..shape.nodes() {
                assert!(shape.route(to, to).is_empty());
                for from in (0..shape.nodes()).filter(|from| *from != to) {
                    let mut route = shape.route(from, to);
                    assert!(!route.is_empty() && route.iter().all(|link| *link < links));
                    let length = route.len();
                    route.sort_unstable();
                    route.dedup();
                    assert_eq!(route.len(), length, "{shape:?}: {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn the_farthest_nodes_are_as_far_as_the_platforms_say() {
        // mpi/platforms/shapes.py: half of each ring; twice the levels; 2 + 1 + 2 x 2.
        let farthest = |shape: &Shape| {
            let pairs =
                (0..shape.nodes()).flat_map(|to| (0..shape.nodes()).map(move |from| (from, to)));
            pairs.map(|(from, to)| shape.route(from, to).len()).max()
        };
        let expected = [6, 3, 3, 4, 4, 6, 7];
        for (shape, hops) in shapes().iter().zip(expected) {
            assert_eq!(farthest(shape), Some(hops), "{shape:?}");
            assert_eq!(shape.worst_hops(), hops as u32, "{shape:?}");
        }
    }

    #[test]
    fn shapes_that_cannot_be_are_refused_with_a_remedy() {
        assert!(matches!(Torus::new(&[64, 64, 64]), Err(FlowsError::TooMany { .. })));
        for refused in [
            Torus::new(&[]).err(),
            Torus::new(&[4, 4, 4, 4]).err(),
            Torus::new(&[0, 4]).err(),
            FatTree::new(&[65, 2]).err(),
            Dragonfly::new(&[4, 4]).err(),
            Dragonfly::new(&[9, 2, 8, 4]).err(),
        ] {
            assert!(matches!(refused, Some(FlowsError::Shape { .. })), "{refused:?}");
        }
    }
}
