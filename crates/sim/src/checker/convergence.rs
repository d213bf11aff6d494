//! When everybody knows everybody: at the start, and again after crashes and partitions.
//!
//! At each sample the checker receives in how many ordered pairs of nodes that are up the first
//! holds no entry of the second. The picture is full when there are none.

/// Watches for the first and the last full picture.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ConvergenceChecker {
    first_full_units: Option<u32>,
    lacking_pairs: u64,
}

impl ConvergenceChecker {
    /// At the end of the unit numbered `unit`, so many pairs lack each other.
    pub fn sampled(&mut self, unit: u32, lacking_pairs: u64) {
        self.lacking_pairs = lacking_pairs;
        if lacking_pairs == 0 {
            self.first_full_units.get_or_insert(unit);
        }
    }

    /// Units from the start to the first sample at which the picture was full.
    pub fn first_full_units(&self) -> Option<u32> {
        self.first_full_units
    }

    /// Pairs that lack each other at the last sample.
    pub fn lacking_pairs(&self) -> u64 {
        self.lacking_pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_full_picture_is_kept_and_the_last_sample_counts() {
        let mut checker = ConvergenceChecker::default();
        for (unit, lacking) in [(1, 90), (2, 3), (3, 0), (4, 7), (5, 0), (6, 2)] {
            checker.sampled(unit, lacking);
        }
        assert_eq!(checker.first_full_units(), Some(3));
        assert_eq!(checker.lacking_pairs(), 2);
    }
}
