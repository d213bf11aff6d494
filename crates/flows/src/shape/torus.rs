//! A torus of up to three dimensions, with routes in the order of the dimensions.
//!
//! Node 0 has the coordinates 0, 0, 0; X is fastest. In a ring a message goes the shorter way; half
//! way round it goes upwards, but downwards from the middle of a ring, as in SimGrid.

use super::counts::{given, nodes_of};
use crate::error::FlowsError;

/// X, Y and Z.
pub const AXES: usize = 3;

/// A torus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torus {
    lengths: [u32; AXES],
    nodes: u32,
}

impl Torus {
    /// The torus with rings of these lengths; missing ones are 1.
    ///
    /// # Errors
    /// [`FlowsError`] if there are none, more than three, or too many nodes.
    pub fn new(given_lengths: &[u32]) -> Result<Self, FlowsError> {
        if given_lengths.is_empty() || given_lengths.len() > AXES {
            let remedy = "write one to three lengths of rings, as in 8,8,8";
            let given = given(given_lengths);
            return Err(FlowsError::Shape { network: "torus", given, remedy });
        }
        let mut lengths = [1; AXES];
        lengths[..given_lengths.len()].copy_from_slice(given_lengths);
        Ok(Self { lengths, nodes: nodes_of("torus", &lengths)? })
    }

    /// The lengths of its rings.
    pub fn lengths(&self) -> [u32; AXES] {
        self.lengths
    }

    pub(super) fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Each node has one link up and one down along each axis.
    pub(super) fn links(&self) -> u32 {
        2 * AXES as u32 * self.nodes
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

    pub(super) fn route(&self, from: u32, to: u32, route: &mut Vec<u32>) {
        let (mut at, to) = (self.place(from).map(i64::from), self.place(to).map(i64::from));
        for axis in 0..AXES {
            let length = i64::from(self.lengths[axis]);
            let (own, wanted) = (at[axis], to[axis]);
            let half = length / 2;
            let is_up = (wanted > own && wanted <= own + half)
                || (own > half && (own + half) % length >= wanted);
            let step = if is_up { 1 } else { -1 };
            while at[axis] != wanted {
                let node = self.node(at);
                route.push(2 * (AXES as u32 * node + axis as u32) + u32::from(is_up));
                at[axis] = (at[axis] + step).rem_euclid(length);
            }
        }
    }
}
