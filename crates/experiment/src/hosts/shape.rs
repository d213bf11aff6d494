//! Shapes of networks without a switch: which hosts are neighbours, and which way packets go.
//!
//! Hosts stand on a torus or a mesh of up to three dimensions, and packets take the routes that
//! `tidings-flows` has for it: those that `mpi/characterize` predicts by, and SimGrid's.
//!
//! Invariants: between two neighbours there is one cable, also on a ring of two; each step of a
//! route is along a cable and nearer to the end.

use std::collections::BTreeSet;
use std::fmt;

use tidings_flows::shape::{AXES, Heading, Torus};

/// The names of the axes.
const LETTERS: [&str; AXES] = ["x", "y", "z"];

/// A shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape(Torus);

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

impl Cable {
    /// Whether it lies between these two hosts.
    pub fn joins(&self, [one, other]: [u32; 2]) -> bool {
        (self.low, self.high) == (one, other) || (self.low, self.high) == (other, one)
    }

    /// Its ends: the hosts, and the way by which it leaves each.
    pub(super) fn ends(&self) -> [(u32, Heading); 2] {
        let way = |is_up| Heading { axis: self.axis, is_up };
        [(self.low, way(true)), (self.high, way(false))]
    }
}

/// The card of a host in a direction.
pub(super) fn card(way: Heading) -> String {
    format!("{}-{}", LETTERS[way.axis], if way.is_up { "up" } else { "down" })
}

impl Shape {
    /// A shape of up to three dimensions; `None` if it has none, more, fewer than two hosts, or
    /// more than any network has.
    pub fn new(lengths: &[u32], is_torus: bool) -> Option<Self> {
        let made = if is_torus { Torus::new(lengths) } else { Torus::mesh(lengths) };
        made.ok().map(Self)
    }

    /// How many hosts it has.
    pub fn hosts(&self) -> u32 {
        self.0.nodes()
    }

    /// All cables, by host and axis.
    pub fn cables(&self) -> Vec<Cable> {
        let all = (0..self.hosts()).flat_map(|low| (0..AXES).map(move |axis| (low, axis)));
        let is_there = |&(low, axis): &(u32, usize)| {
            self.is_ring(axis) || self.0.place(low)[axis] + 1 < self.0.lengths()[axis]
        };
        let cable =
            |(low, axis)| Cable { low, high: self.next(low, Heading { axis, is_up: true }), axis };
        all.filter(is_there).map(cable).collect()
    }

    /// The cable between two hosts, in any order; `None` if they are no neighbours. There is one:
    /// also on a ring of two.
    pub fn cable(&self, between: [u32; 2]) -> Option<Cable> {
        self.cables().into_iter().find(|cable| cable.joins(between))
    }

    /// The hosts to which a host has cables.
    pub fn neighbours(&self, host: u32) -> BTreeSet<u32> {
        let cables = self.cables();
        let ends = cables.iter().flat_map(|own| [(own.low, own.high), (own.high, own.low)]);
        ends.filter(|(from, _)| *from == host).map(|(_, to)| to).collect()
    }

    /// The way that a packet leaves a host for another; `None` if it is there.
    pub fn first_step(&self, from: u32, to: u32) -> Option<Heading> {
        self.0.first_step(from, to)
    }

    /// The neighbour of a host that way.
    pub fn next(&self, host: u32, way: Heading) -> u32 {
        self.0.next(host, way)
    }

    /// Whether rows along an axis are closed: two hosts have one cable as it is.
    fn is_ring(&self, axis: usize) -> bool {
        self.0.is_closed() && self.0.lengths()[axis] > 2
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0.lengths();
        write!(f, "{} of {x} x {y} x {z}", if self.0.is_closed() { "torus" } else { "mesh" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_of_a_route_is_along_a_cable() {
        let lengths: [&[u32]; 5] = [&[4], &[6], &[2, 2, 2], &[3, 3, 3], &[5, 1, 4]];
        let both = lengths.iter().flat_map(|own| [(own, true), (own, false)]);
        for (own, is_torus) in both {
            let shape = Shape::new(own, is_torus).expect("right lengths");
            let (cables, hosts) = (shape.cables(), shape.hosts());
            for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
                let mut at = from;
                while let Some(way) = shape.first_step(at, to) {
                    let next = shape.next(at, way);
                    let (low, high) = if way.is_up { (at, next) } else { (next, at) };
                    let cable = Cable { low, high, axis: way.axis };
                    assert!(cables.contains(&cable), "{shape}: {from} to {to}: {cable:?}");
                    at = next;
                }
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
    }

    #[test]
    fn two_hosts_have_at_most_one_cable_so_that_they_name_it() {
        for (lengths, is_torus) in [(&[2, 2, 2][..], true), (&[3, 4], true), (&[4, 2], false)] {
            let shape = Shape::new(lengths, is_torus).expect("right lengths");
            let cables = shape.cables();
            for own in &cables {
                let between = [own.high, own.low];
                assert_eq!(cables.iter().filter(|other| other.joins(between)).count(), 1);
                assert_eq!(shape.cable(between), Some(*own), "{shape}");
                assert!(shape.neighbours(own.low).contains(&own.high), "{shape}");
            }
        }
        let chain = Shape::new(&[4], false).expect("a chain of four");
        assert_eq!((chain.cable([0, 3]), chain.cable([1, 1])), (None, None));
        assert_eq!(chain.neighbours(1).into_iter().collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn what_is_no_shape_is_refused() {
        for lengths in [&[][..], &[0], &[1], &[3, 0], &[2, 2, 2, 2], &[1 << 20, 1 << 20]] {
            assert_eq!(Shape::new(lengths, true), None, "{lengths:?}");
        }
    }
}
