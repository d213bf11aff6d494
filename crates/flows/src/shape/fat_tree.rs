//! A fat tree: each switch has as many ports upwards as the level below has downwards, so that all
//! nodes can send at full speed.
//!
//! On the way up the port is chosen by the number of the node where the message goes (d mod k), as
//! in SimGrid: messages to one node meet early, those to neighbours not at all.

use super::counts::{given, nodes_of};
use crate::error::FlowsError;

/// The most ports on one side of a switch.
const MOST_PORTS: u32 = 64;

/// A fat tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Ports down of each level of switches.
    down: Vec<u32>,
    nodes: u32,
}

impl FatTree {
    /// The tree whose switches have so many ports downwards at each level.
    ///
    /// # Errors
    /// [`FlowsError`] if there are none, a switch has more than 64, or there are too many nodes.
    pub fn new(down: &[u32]) -> Result<Self, FlowsError> {
        if down.is_empty() || down.len() > 8 || down.iter().any(|own| *own > MOST_PORTS) {
            let remedy = "write ports down of each level, up to 64, as in 32,32";
            return Err(FlowsError::Shape { network: "fat tree", given: given(down), remedy });
        }
        Ok(Self { down: down.to_vec(), nodes: nodes_of("fat tree", down)? })
    }

    pub(super) fn nodes(&self) -> u32 {
        self.nodes
    }

    pub(super) fn counts(&self) -> &[u32] {
        &self.down
    }

    /// The node that a link leaves, if it is one of the lowest that go up.
    pub(super) fn begin_of(&self, link: u32) -> Option<u32> {
        link.checked_sub(self.nodes).filter(|node| *node < self.nodes)
    }

    /// As many each way between each two levels as there are nodes.
    pub(super) fn links(&self) -> u32 {
        2 * self.down.len() as u32 * self.nodes
    }

    pub(super) fn worst_hops(&self) -> u32 {
        2 * self.down.len() as u32
    }

    /// The part of the tree below a node's switch of a level, and how many nodes such a part has.
    fn part(&self, node: u32, level: usize) -> (u32, u32) {
        let size = self.down[..level].iter().product::<u32>();
        (node / size, size)
    }

    /// The link above level `level` by which a part of the tree reaches the switch that is chosen
    /// for a node: of the links of a part, of which there are as many as it has nodes, counted by
    /// the ports that are taken one level after the other.
    fn link(&self, part_of: u32, chosen_for: u32, level: usize, is_up: bool) -> u32 {
        let (part, size) = self.part(part_of, level);
        // The ports up of the levels below are those down of one level less: d mod k with all of
        // them is d modulo their product.
        let taken = chosen_for % size;
        let between = level as u32 * 2 + u32::from(is_up);
        between * self.nodes + part * size + taken
    }

    pub(super) fn route(&self, from: u32, to: u32, route: &mut Vec<u32>) {
        let mut top = 1;
        while self.part(from, top).0 != self.part(to, top).0 {
            top += 1;
        }
        route.extend((0..top).map(|level| self.link(from, to, level, true)));
        route.extend((0..top).rev().map(|level| self.link(to, to, level, false)));
    }
}
