//! Unbalanced trees: a task searches a node and spawns one for each child.
//!
//! Nodes lie in one table and frames carry their places: a real world would carry the 24 bytes of
//! a node, and so many bytes are counted.

use tidings_applications::uts::{Node, Tree};
use tidings_steal::{Done, Frame};

use super::Program;

/// A search.
#[derive(Debug)]
pub struct Search {
    tree: Tree,
    node_ns: i64,
    nodes: Vec<Node>,
    vacant: Vec<u32>,
    /// Nodes that were searched.
    pub searched: u64,
}

impl Search {
    /// Of a tree, each node of which takes this long.
    pub fn new(tree: Tree, node_ns: i64) -> Self {
        Self { nodes: vec![tree.root()], tree, node_ns, vacant: Vec::new(), searched: 0 }
    }

    fn frame(&self, place: u32) -> Frame {
        let mut state = [0; 24];
        state[..4].copy_from_slice(&place.to_le_bytes());
        Frame::new(0, self.node_ns as u64, &state).expect("24 bytes fit any slot")
    }

    fn put(&mut self, node: Node) -> u32 {
        if let Some(place) = self.vacant.pop() {
            self.nodes[place as usize] = node;
            return place;
        }
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }
}

impl Program for Search {
    fn tasks(&self, worker: u32, _iteration: u32) -> Vec<Frame> {
        if worker == 0 { vec![self.frame(0)] } else { Vec::new() }
    }

    fn cost_ns(&self, _frame: &Frame, _iteration: u32) -> i64 {
        self.node_ns
    }

    fn run(&mut self, frame: &Frame, spawn: &mut dyn FnMut(Frame)) -> Done {
        let Some(place) = frame.state.bytes().first_chunk() else { return Done::Nothing };
        let place = u32::from_le_bytes(*place);
        let node = self.nodes[place as usize];
        self.searched += 1;
        if place > 0 {
            self.vacant.push(place);
        }
        let tree = self.tree;
        for child in tree.children(node) {
            let place = self.put(child);
            spawn(self.frame(place));
        }
        Done::Nothing
    }
}
