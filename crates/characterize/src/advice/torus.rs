//! A torus: which links a message takes from node to node.
//!
//! Nodes are numbered X fastest. Routes go dimension by dimension, the shorter way round each ring,
//! and upwards where both are as long, as those of `mpi/characterize` and of SimGrid.

/// Dimensions.
pub(super) const DIMENSIONS: usize = 3;

/// The lengths of the rings along X, Y and Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torus {
    lengths: [usize; DIMENSIONS],
}

impl Torus {
    /// A torus of rings of these lengths, of so many nodes; `None` if they are not as many.
    pub fn new(lengths: [usize; DIMENSIONS], nodes: usize) -> Option<Self> {
        let [x, y, z] = lengths;
        let product = x.checked_mul(y).and_then(|plane| plane.checked_mul(z));
        (product == Some(nodes) && nodes > 0).then_some(Self { lengths })
    }

    /// The lengths of its rings.
    pub fn lengths(&self) -> [usize; DIMENSIONS] {
        self.lengths
    }

    /// X, Y and Z of a node.
    pub fn coordinates(&self, node: usize) -> [usize; DIMENSIONS] {
        let [x, y, _] = self.lengths;
        [node % x, node / x % y, node / (x * y)]
    }

    fn node(&self, at: [usize; DIMENSIONS]) -> usize {
        let [x, y, _] = self.lengths;
        at[0] + x * (at[1] + y * at[2])
    }

    /// Links of all nodes: each has two for each dimension.
    pub fn links(&self) -> usize {
        self.lengths.iter().product::<usize>() * 2 * DIMENSIONS
    }

    /// The node that a link leaves.
    pub fn begin_of(link: usize) -> usize {
        link / (2 * DIMENSIONS)
    }

    /// Steps along a ring, and whether they go upwards.
    fn steps(&self, axis: usize, from: usize, to: usize) -> (usize, bool) {
        let length = self.lengths[axis];
        let up = (to + length - from) % length;
        if 2 * up <= length { (up, true) } else { (length - up, false) }
    }

    /// How many links there are between two nodes.
    pub fn hops(&self, from: usize, to: usize) -> usize {
        let [one, other] = [from, to].map(|node| self.coordinates(node));
        (0..DIMENSIONS).map(|axis| self.steps(axis, one[axis], other[axis]).0).sum()
    }

    /// Calls something with each link from one node to another, in their order.
    pub fn for_each_link(&self, from: usize, to: usize, mut each: impl FnMut(usize)) {
        let (mut at, end) = (self.coordinates(from), self.coordinates(to));
        for axis in 0..DIMENSIONS {
            let (steps, up) = self.steps(axis, at[axis], end[axis]);
            let length = self.lengths[axis];
            for _ in 0..steps {
                each(2 * (DIMENSIONS * self.node(at) + axis) + usize::from(up));
                at[axis] = (at[axis] + if up { 1 } else { length - 1 }) % length;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_the_shorter_way_and_upwards_half_way_round() {
        let torus = Torus::new([4, 3, 2], 24).expect("24 nodes");
        assert_eq!(torus.coordinates(4 * 3 + 4 + 3), [3, 1, 1]);
        let route = |from: usize, to: usize| {
            let mut begins = Vec::new();
            torus.for_each_link(from, to, |link| begins.push((Torus::begin_of(link), link % 6)));
            assert_eq!(begins.len(), torus.hops(from, to));
            begins
        };
        assert_eq!(route(0, 2), [(0, 1), (1, 1)], "half-way round, upwards along X");
        assert_eq!(route(0, 3), [(0, 0)], "downwards round the end");
        assert_eq!(route(3, 4), [(3, 1), (0, 3)], "X first, then Y");
        assert_eq!(route(5, 5), []);
        assert_eq!(Torus::new([4, 3, 2], 23), None);
        assert_eq!(Torus::new([usize::MAX, 3, 2], 23), None);
    }
}
