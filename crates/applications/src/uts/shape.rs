//! How many children a node has: by its random number and, in some kinds of trees, by its depth.
//!
//! A *geometric* node draws from the geometric distribution whose mean is the *branching factor*,
//! which tapers with the depth; a *binomial* one has m children or none. A geometric tree is made
//! of subtrees of like sizes where the taper is fixed; in a binomial one the size of a subtree
//! has no relation to where it is, and a node with mean near 1 may have almost the whole tree
//! below it.

use core::f64::consts::PI;

/// The most children of a node that is not a binomial root.
const MOST: u32 = 100;

/// How the branching factor of a geometric tree changes with the depth (`-a`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taper {
    /// It falls in a line to 0 at the depth of the tree (0).
    Linear,
    /// It falls by a power of the depth (1).
    Power,
    /// It rises and falls, and ends at five times the depth (2).
    Cyclic,
    /// It is the same down to the depth, where the tree ends (3).
    Fixed,
}

/// A geometric distribution of children.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometric {
    /// How the branching factor changes (`-a`).
    pub taper: Taper,
    /// The depth to which it refers (`-d`).
    pub depth: u32,
    /// The branching factor at the root (`-b`).
    pub branching: f64,
}

/// A binomial distribution of children.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    /// The probability that a node has children (`-q`).
    pub probability: f64,
    /// How many it has then (`-m`).
    pub children: u32,
}

/// The kind of a tree (`-t`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A root with that many children (`-b`), each above a binomial tree (0).
    Binomial(u32, Binomial),
    /// A geometric tree (1).
    Geometric(Geometric),
    /// Geometric to half its depth, binomial below (2).
    Hybrid(Geometric, Binomial),
}

impl Kind {
    /// The number of children of a node with this random number, which is below 2³¹.
    pub fn children(&self, number: u32, depth: u32) -> u32 {
        match self {
            Self::Binomial(root, _) if depth == 0 => *root,
            Self::Geometric(geometric) => geometric.children(number, depth),
            Self::Hybrid(geometric, _) if 2 * depth < geometric.depth => {
                geometric.children(number, depth)
            }
            Self::Binomial(_, binomial) | Self::Hybrid(_, binomial) => binomial.children(number),
        }
    }
}

/// A node's random number as a real one in [0, 1).
fn real(number: u32) -> f64 {
    f64::from(number) / 2_147_483_648.0
}

impl Binomial {
    fn children(&self, number: u32) -> u32 {
        if real(number) < self.probability { self.children.min(MOST) } else { 0 }
    }
}

impl Geometric {
    fn children(&self, number: u32, depth: u32) -> u32 {
        let probability = 1.0 / (1.0 + self.branching_at(depth));
        // The inverse of the cumulative distribution. Where the factor is 0 it divides by −∞.
        let drawn = (1.0 - real(number)).ln() / (1.0 - probability).ln();
        (drawn.floor() as u32).min(MOST)
    }

    fn branching_at(&self, depth: u32) -> f64 {
        if depth == 0 {
            return self.branching;
        }
        let (at, whole) = (f64::from(depth), f64::from(self.depth));
        match self.taper {
            Taper::Linear => self.branching * (1.0 - at / whole),
            Taper::Power => self.branching * at.powf(-self.branching.ln() / whole.ln()),
            Taper::Cyclic if depth > 5 * self.depth => 0.0,
            Taper::Cyclic => self.branching.powf((2.0 * PI * at / whole).sin()),
            Taper::Fixed if depth < self.depth => self.branching,
            Taper::Fixed => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_geometric_node_has_as_many_children_as_the_mean_says() {
        let geometric = Geometric { taper: Taper::Fixed, depth: 10, branching: 4.0 };
        let numbers = (0..100_000_u32).map(|at| at * 21_474);
        let sum: u32 = numbers.map(|number| geometric.children(number, 3)).sum();
        // Numbers at equal distances, so the mean is that of the distribution, cut at 100.
        assert!((399_000..401_000).contains(&sum), "{sum}");
    }

    #[test]
    fn trees_end_where_their_taper_says() {
        let children = |taper, depth| {
            let geometric = Geometric { taper, depth: 10, branching: 4.0 };
            geometric.children(0x7FFF_FFFF, depth)
        };
        assert!(children(Taper::Fixed, 9) > 0 && children(Taper::Fixed, 10) == 0);
        assert!(children(Taper::Linear, 9) > 0 && children(Taper::Linear, 10) == 0);
        assert!(children(Taper::Cyclic, 50) > 0 && children(Taper::Cyclic, 51) == 0);
        assert!(children(Taper::Power, 1) > children(Taper::Power, 9));
    }
}
