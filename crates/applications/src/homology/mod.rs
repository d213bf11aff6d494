//! Homology: how much each protein of a set resembles each other one.
//!
//! A task compares two proteins by the dynamic programme of Smith and Waterman, so it costs the
//! product of their lengths. Lengths are spread log-normally, as in nature, which spreads costs
//! over three orders of magnitude. The total is a checksum over all pairs and their scores.
//!
//! | module | what it holds |
//! |---|---|
//! | [`proteins`] | the set, made from a seed |
//! | [`alignment`] | the score of two proteins |
//!
//! Source: Daily, Kalyanaraman, Krishnamoorthy and Vishnu, J. Parallel Distrib. Comput. 2015, who
//! ran it by work stealing on 131,072 cores.

pub mod alignment;
pub mod proteins;

use tidings_primitives::chance::mix;

use crate::Application;
use proteins::Proteins;

/// Two proteins, the first of the smaller number.
pub type Comparison = (u32, u32);

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// The sum of a number made of each pair and its score; it wraps.
    pub checksum: u64,
    /// Pairs that resemble each other more than unrelated ones do.
    pub related: u64,
}

/// A score that two unrelated proteins of this set do not reach.
const RELATED: i32 = 150;

impl Application for Proteins {
    type Task = Comparison;
    type Total = Total;

    fn roots(&self) -> impl Iterator<Item = Comparison> {
        let count = self.len() as u32;
        (0..count).flat_map(move |one| (one + 1..count).map(move |other| (one, other)))
    }

    fn empty(&self) -> Total {
        Total::default()
    }

    fn run(&self, &(one, other): &Comparison, total: &mut Total, _: &mut impl FnMut(Comparison)) {
        let score = alignment::score(self.protein(one), self.protein(other));
        let pair = (u64::from(one) << 32) | u64::from(other);
        let number = mix(mix(pair).wrapping_add(score as u64));
        total.checksum = total.checksum.wrapping_add(number);
        total.related += u64::from(score >= RELATED);
    }

    fn merge(&self, total: &mut Total, other: &Total) {
        total.checksum = total.checksum.wrapping_add(other.checksum);
        total.related += other.related;
    }

    /// Cells of the table.
    fn cost(&self, &(one, other): &Comparison) -> u64 {
        self.protein(one).len() as u64 * self.protein(other).len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_order;

    #[test]
    fn all_pairs_are_compared_once() {
        let proteins = Proteins::new(24, 5);
        let (total, tasks) = in_order(&proteins);
        assert_eq!(tasks, 24 * 23 / 2);
        let mut backwards = proteins.empty();
        let pairs: Vec<Comparison> = proteins.roots().collect();
        for pair in pairs.iter().rev() {
            let mut part = proteins.empty();
            proteins.run(pair, &mut part, &mut |_| ());
            proteins.merge(&mut backwards, &part);
        }
        assert_eq!(total, backwards);
    }

    /// A copy with every tenth residue changed is found, and little else.
    #[test]
    fn copies_are_found() {
        let proteins = Proteins::new(40, 1);
        let (total, tasks) = in_order(&proteins);
        let copies = (0..40).filter(|at| proteins.is_copy(*at)).count() as u64;
        assert!(copies > 5 && total.related >= copies && total.related < tasks / 4, "{total:?}");
    }
}
