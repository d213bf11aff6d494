//! Nodes that have gone, as the others hold them: the last entry each left behind, growing old.
//!
//! A node that crashed makes no more entries. Its last one still spreads for a while, then every
//! holder's age of it grows by a unit a unit. Once all of them are older than any age a living node
//! is likely to have, its end has been noticed everywhere. How long that takes follows from the
//! ages at any later moment, so it is enough to read them once, at the end of a run.

/// A node that is down at the end of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Departed {
    /// Its number.
    pub node: u32,
    /// Nodes that are up and hold an entry of it.
    pub holders: u32,
    /// Mean over them of its age.
    pub age_avg_units: f64,
    /// The least of these ages.
    pub age_least_units: f64,
}

impl Departed {
    /// From the ages that the holders have of it, in units of time.
    pub(crate) fn of(node: u32, ages_units: impl Iterator<Item = f64>) -> Self {
        let (mut holders, mut total, mut least) = (0, 0.0, f64::INFINITY);
        for age in ages_units {
            holders += 1;
            total += age;
            least = age.min(least);
        }
        let age_avg_units = total / f64::from(holders);
        Self { node, holders, age_avg_units, age_least_units: least }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_freshest_holder_is_the_last_to_notice() {
        let gone = Departed::of(3, [12.0, 10.0, 14.0].into_iter());
        let expected = Departed { node: 3, holders: 3, age_avg_units: 12.0, age_least_units: 10.0 };
        assert_eq!(gone, expected);
        assert_eq!(Departed::of(3, core::iter::empty()).holders, 0);
    }
}
