//! A torus of up to three dimensions, or a mesh, whose rows are not closed to rings: which nodes
//! are neighbours, and which way messages go.
//!
//! Node 0 has the coordinates 0, 0, 0; X is fastest. Routes go along X, then Y, then Z. In a ring a
//! message goes the shorter way; half-way round it goes upwards, but downwards from the middle of a
//! ring, as in SimGrid. So a ring of two has one cable that both of its links are.

use super::counts::{given, nodes_of};
use crate::error::FlowsError;

/// X, Y and Z.
pub const AXES: usize = 3;

/// A torus or a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torus {
    lengths: [u32; AXES],
    nodes: u32,
    is_closed: bool,
}

/// A direction in which a link leaves a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// X, Y or Z, from 0.
    pub axis: usize,
    /// Whether to the next higher coordinate, or round from the last to the first.
    pub is_up: bool,
}

impl Torus {
    /// The torus with rings of these lengths; missing ones are 1.
    ///
    /// # Errors
    /// [`FlowsError`] if there are none, more than three, or too many nodes.
    pub fn new(lengths: &[u32]) -> Result<Self, FlowsError> {
        Self::of(lengths, true)
    }

    /// The mesh with rows of these lengths; missing ones are 1. One row is a chain.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn mesh(lengths: &[u32]) -> Result<Self, FlowsError> {
        Self::of(lengths, false)
    }

    fn of(given_lengths: &[u32], is_closed: bool) -> Result<Self, FlowsError> {
        let network = if is_closed { "torus" } else { "mesh" };
        if given_lengths.is_empty() || given_lengths.len() > AXES {
            let remedy = if is_closed {
                "write one to three lengths of rings, as in 8,8,8"
            } else {
                "write one to three lengths of rows, as in 8,8,8"
            };
            let given = given(given_lengths);
            return Err(FlowsError::Shape { network, given, remedy });
        }
        let mut lengths = [1; AXES];
        lengths[..given_lengths.len()].copy_from_slice(given_lengths);
        Ok(Self { lengths, nodes: nodes_of(network, &lengths)?, is_closed })
    }

    /// The lengths of its rings, or rows.
    pub fn lengths(&self) -> [u32; AXES] {
        self.lengths
    }

    /// Whether its rows are closed to rings.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Each node has one link up and one down along each axis; those that would leave a mesh are
    /// never on a route.
    pub(super) fn links(&self) -> u32 {
        2 * AXES as u32 * self.nodes
    }

    pub(super) fn worst_hops(&self) -> u32 {
        self.lengths.map(|length| if self.is_closed { length / 2 } else { length - 1 }).iter().sum()
    }

    fn link_of(node: u32, heading: Heading) -> u32 {
        2 * (AXES as u32 * node + heading.axis as u32) + u32::from(heading.is_up)
    }

    /// The links from a node to another one; none if they are no neighbours, two on a ring of two.
    pub(crate) fn links_between(&self, from: u32, to: u32) -> Vec<u32> {
        if self.hops(from, to) != 1 {
            return Vec::new();
        }
        let ways = (0..AXES).flat_map(|axis| [false, true].map(|is_up| Heading { axis, is_up }));
        let there = ways.filter(|way| self.next(from, *way) == to);
        there.map(|way| Self::link_of(from, way)).collect()
    }

    /// The axis along which a link lies, from 0.
    pub fn axis_of(link: u32) -> usize {
        link as usize / 2 % AXES
    }

    /// The node that a link leaves.
    pub(super) fn begin_of(link: u32) -> u32 {
        link / (2 * AXES as u32)
    }

    /// X, Y and Z of a node.
    pub fn place(&self, mut node: u32) -> [u32; AXES] {
        self.lengths.map(|length| {
            let own = node % length;
            node /= length;
            own
        })
    }

    /// The node at a place, whose coordinates are taken round the rings.
    pub fn node(&self, place: [i64; AXES]) -> u32 {
        let mut node = 0;
        for axis in (0..AXES).rev() {
            let length = self.lengths[axis];
            node = node * length + place[axis].rem_euclid(i64::from(length)) as u32;
        }
        node
    }

    /// Steps along an axis, and whether they go upwards.
    fn steps(&self, axis: usize, from: u32, to: u32) -> (u32, bool) {
        if !self.is_closed {
            return (from.abs_diff(to), to > from);
        }
        let length = self.lengths[axis];
        let up = (to + length - from) % length;
        let is_half_way_up = 2 * up == length && 2 * from != length;
        if 2 * up < length || is_half_way_up { (up, true) } else { (length - up, false) }
    }

    /// How many links lie between two nodes.
    pub fn hops(&self, from: u32, to: u32) -> u32 {
        let (from, to) = (self.place(from), self.place(to));
        (0..AXES).map(|axis| self.steps(axis, from[axis], to[axis]).0).sum()
    }

    /// Where a message leaves a node for another; `None` if it is there.
    pub fn first_step(&self, from: u32, to: u32) -> Option<Heading> {
        let (from, to) = (self.place(from), self.place(to));
        let axis = (0..AXES).find(|axis| from[*axis] != to[*axis])?;
        Some(Heading { axis, is_up: self.steps(axis, from[axis], to[axis]).1 })
    }

    /// The neighbour of a node that way, round a ring where it ends.
    pub fn next(&self, node: u32, heading: Heading) -> u32 {
        let mut at = self.place(node).map(i64::from);
        at[heading.axis] += if heading.is_up { 1 } else { -1 };
        self.node(at)
    }

    pub(super) fn route(&self, from: u32, to: u32, route: &mut Vec<u32>) {
        let (mut at, to) = (self.place(from), self.place(to));
        for axis in 0..AXES {
            let length = self.lengths[axis];
            let (steps, is_up) = self.steps(axis, at[axis], to[axis]);
            for _ in 0..steps {
                let node = self.node(at.map(i64::from));
                route.push(Self::link_of(node, Heading { axis, is_up }));
                at[axis] = (at[axis] + if is_up { 1 } else { length - 1 }) % length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Torus> {
        let lengths: [&[u32]; 6] = [&[2], &[6], &[7], &[2, 2, 2], &[3, 3, 3], &[5, 1, 4]];
        let both = |own: &&[u32]| [Torus::new(own), Torus::mesh(own)].map(|own| own.expect("few"));
        lengths.iter().flat_map(both).collect()
    }

    #[test]
    fn each_route_goes_from_neighbour_to_neighbour_x_first_and_is_as_long_as_its_hops() {
        for torus in all() {
            let nodes = torus.nodes();
            for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
                let mut route = Vec::new();
                torus.route(from, to, &mut route);
                let (mut at, mut axis) = (from, 0);
                for link in &route {
                    let heading = torus.first_step(at, to).expect("it is not there yet");
                    assert_eq!(Torus::begin_of(*link), at, "{torus:?}: {from} to {to}");
                    let leaves = (Torus::axis_of(*link), link % 2 == 1);
                    assert_eq!((heading.axis, heading.is_up), leaves, "{torus:?}");
                    assert!(heading.axis >= axis, "X before Y before Z");
                    (at, axis) = (torus.next(at, heading), heading.axis);
                }
                assert_eq!((at, torus.first_step(at, to)), (to, None), "{torus:?}");
                assert_eq!(route.len() as u32, torus.hops(from, to), "{torus:?}");
                assert!(torus.hops(from, to) <= torus.worst_hops(), "{torus:?}");
            }
        }
    }

    #[test]
    fn half_way_round_goes_upwards_but_from_the_middle() {
        let ring = Torus::new(&[6]).expect("a ring");
        let is_up = |from, to| ring.first_step(from, to).map(|own| own.is_up);
        assert_eq!([is_up(0, 3), is_up(0, 4), is_up(2, 5)], [Some(true), Some(false), Some(true)]);
        assert_eq!([is_up(3, 0), is_up(4, 1), is_up(2, 2)], [Some(false), Some(true), None]);
        let chain = Torus::mesh(&[6]).expect("a chain");
        assert_eq!(chain.first_step(0, 5), Some(Heading { axis: 0, is_up: true }));
        assert_eq!((chain.hops(0, 5), ring.hops(0, 5)), (5, 1));
    }
}
