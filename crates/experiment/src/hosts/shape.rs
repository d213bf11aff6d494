//! Shapes of networks without a switch: which hosts are neighbours, and which way packets go.
//!
//! Hosts stand on a grid of up to three dimensions, numbered with X fastest. On a torus each row
//! is closed to a ring, on a mesh not: a chain is a mesh of one dimension, a ring a torus of one.
//! Routes go along X, then Y, then Z, on a ring the shorter way round, and half-way round upwards:
//! those of `mpi/characterize/routes.c`, which predicts by them, and of SimGrid.
//!
//! Invariants: between two neighbours there is one cable, also on a ring of two; each step of a
//! route is along a cable and nearer to the end.

use std::fmt;

/// The dimensions of a shape.
pub const AXES: usize = 3;
/// Their names.
const LETTERS: [&str; AXES] = ["x", "y", "z"];

/// A shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    lengths: [u32; AXES],
    is_torus: bool,
}

/// A direction in which a link leaves a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// X, Y or Z, from 0.
    pub axis: usize,
    /// Whether to the next higher number, or round from the last to the first.
    pub is_up: bool,
}

/// A cable, by its hosts: it leaves `low` upwards, and `high` downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Where it begins.
    pub low: u32,
    /// Where it ends.
    pub high: u32,
    /// Along which axis it lies.
    pub axis: usize,
}

impl Way {
    /// The card of a host that way.
    pub fn card(self) -> String {
        format!("{}-{}", LETTERS[self.axis], if self.is_up { "up" } else { "down" })
    }
}

impl Shape {
    /// A shape of up to three dimensions; `None` if it has none, more, or one without a host.
    pub fn new(lengths: &[u32], is_torus: bool) -> Option<Self> {
        let is_right = (1..=AXES).contains(&lengths.len()) && !lengths.contains(&0);
        is_right.then(|| {
            let mut all = [1; AXES];
            all[..lengths.len()].copy_from_slice(lengths);
            Self { lengths: all, is_torus }
        })
    }

    /// How many hosts it has; `None` if the number is beyond all bounds.
    pub fn hosts(&self) -> Option<u32> {
        self.lengths.iter().try_fold(1_u32, |product, length| product.checked_mul(*length))
    }

    /// All cables, by host and axis.
    pub fn cables(&self) -> Vec<Cable> {
        let all =
            (0..self.hosts().unwrap_or(0)).flat_map(|low| (0..AXES).map(move |axis| (low, axis)));
        let is_there = |&(low, axis): &(u32, usize)| {
            self.is_ring(axis) || self.coordinate(low, axis) + 1 < self.lengths[axis]
        };
        let cable =
            |(low, axis)| Cable { low, high: self.next(low, Way { axis, is_up: true }), axis };
        all.filter(is_there).map(cable).collect()
    }

    /// The way that a packet leaves a host for another; `None` if it is there.
    pub fn first_step(&self, from: u32, to: u32) -> Option<Way> {
        (0..AXES).find_map(|axis| {
            let (at, end, length) =
                (self.coordinate(from, axis), self.coordinate(to, axis), self.lengths[axis]);
            let upwards = (end + length - at) % length;
            let is_up = if self.is_ring(axis) { upwards <= length / 2 } else { end > at };
            (at != end).then_some(Way { axis, is_up })
        })
    }

    /// The neighbour of a host that way.
    pub fn next(&self, host: u32, way: Way) -> u32 {
        let length = self.lengths[way.axis];
        let stride: u32 = self.lengths[..way.axis].iter().product();
        let at = self.coordinate(host, way.axis);
        let next = if way.is_up { (at + 1) % length } else { (at + length - 1) % length };
        host - at * stride + next * stride
    }

    fn coordinate(&self, host: u32, axis: usize) -> u32 {
        let stride: u32 = self.lengths[..axis].iter().product();
        host / stride % self.lengths[axis]
    }

    /// Whether rows along an axis are closed: two hosts have one cable as it is.
    fn is_ring(&self, axis: usize) -> bool {
        self.is_torus && self.lengths[axis] > 2
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.lengths;
        write!(f, "{} of {x} x {y} x {z}", if self.is_torus { "torus" } else { "mesh" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Shape> {
        let lengths: [&[u32]; 6] = [&[1], &[4], &[6], &[2, 2, 2], &[3, 3, 3], &[5, 1, 4]];
        let both = lengths.iter().flat_map(|own| [(own, true), (own, false)]);
        both.map(|(own, is_torus)| Shape::new(own, is_torus).expect("right lengths")).collect()
    }

    /// Hops on a row, as routes.c counts them.
    fn hops(shape: &Shape, from: u32, to: u32) -> u32 {
        let along = |axis| {
            let apart = shape.coordinate(from, axis).abs_diff(shape.coordinate(to, axis));
            if shape.is_torus { apart.min(shape.lengths[axis] - apart) } else { apart }
        };
        (0..AXES).map(along).sum()
    }

    #[test]
    fn each_route_goes_along_cables_and_is_as_long_as_its_hops() {
        for shape in all() {
            let cables = shape.cables();
            let hosts = shape.hosts().expect("few");
            for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
                let (mut at, mut steps, mut axis) = (from, 0, 0);
                while let Some(way) = shape.first_step(at, to) {
                    let next = shape.next(at, way);
                    let (low, high) = if way.is_up { (at, next) } else { (next, at) };
                    let cable = Cable { low, high, axis: way.axis };
                    assert!(cables.contains(&cable), "{shape}: {from} to {to}: {cable:?}");
                    assert!(way.axis >= axis, "X before Y before Z");
                    (at, steps, axis) = (next, steps + 1, way.axis);
                }
                assert_eq!((at, steps), (to, hops(&shape, from, to)), "{shape}: {from} to {to}");
            }
        }
    }

    #[test]
    fn a_torus_has_a_cable_for_each_host_and_axis_but_one_only_where_two_hosts_are_a_ring() {
        let cables = |lengths: &[u32], is_torus| {
            Shape::new(lengths, is_torus).expect("right lengths").cables().len()
        };
        assert_eq!(cables(&[3, 3, 3], true), 81);
        assert_eq!(cables(&[2, 2, 2], true), 12);
        assert_eq!(cables(&[6], true), 6);
        assert_eq!(cables(&[4], false), 3);
        assert_eq!(cables(&[1], true), 0);
    }

    #[test]
    fn half_way_round_goes_upwards() {
        let ring = Shape::new(&[6], true).expect("a ring");
        assert_eq!(ring.first_step(0, 3), Some(Way { axis: 0, is_up: true }));
        assert_eq!(ring.first_step(0, 4), Some(Way { axis: 0, is_up: false }));
        assert_eq!(ring.first_step(2, 2), None);
    }

    #[test]
    fn what_is_no_shape_is_refused() {
        for lengths in [&[][..], &[0], &[3, 0], &[2, 2, 2, 2]] {
            assert_eq!(Shape::new(lengths, true), None, "{lengths:?}");
        }
        assert_eq!(Shape::new(&[1 << 20, 1 << 20], true).expect("lengths").hosts(), None);
    }
}
