//! The tests that the model can answer, each as `mpi/characterize` measures it on SimGrid: the same
//! sizes, the same ranks, the same rows, so that both can be laid side by side.
//!
//! What an MPI does between messages is part of them: a message moves when its receiver has asked
//! for it (as in SimGrid), and a sender of a large one waits until it has arrived.

mod fans;
mod halo;
mod hotspot;
mod pairs;
mod row;
mod stream;

use crate::error::FlowsError;
use crate::machine::Machine;

pub use self::row::{Extent, Measured, Prediction, Row};

/// A test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// Two processes on two nodes.
    Pair,
    /// Two processes on one node.
    Cores,
    /// Latency and bandwidth over hops.
    Hops,
    /// A local flow and one that flows through.
    Through,
    /// Two flows over one link.
    Overlap,
    /// Several streams between two nodes.
    Streams,
    /// One master and its workers.
    Hotspot,
    /// One rank and its neighbours.
    Fans,
    /// An exchange on a grid, by orders of ranks.
    Halo,
}

/// All tests, in their order, by the names that `mpi/characterize` gives them.
pub const TRIALS: [(&str, Trial); 9] = [
    ("pair", Trial::Pair),
    ("cores", Trial::Cores),
    ("hops", Trial::Hops),
    ("through", Trial::Through),
    ("overlap", Trial::Overlap),
    ("streams", Trial::Streams),
    ("hotspot", Trial::Hotspot),
    ("fans", Trial::Fans),
    ("halo", Trial::Halo),
];

impl Trial {
    /// Runs it on a machine, row by row.
    ///
    /// # Errors
    /// [`FlowsError`] if it takes more memory than is bounded.
    pub fn run(
        self,
        machine: &Machine,
        extent: &Extent,
        row: &mut dyn FnMut(Row),
    ) -> Result<(), FlowsError> {
        match self {
            Self::Pair => pairs::pair(machine, extent, row),
            Self::Cores => pairs::cores(machine, extent, row),
            Self::Hops => pairs::hops(machine, extent, row),
            Self::Through => pairs::through(machine, extent, row),
            Self::Overlap => pairs::overlap(machine, extent, row),
            Self::Streams => pairs::streams(machine, extent, row),
            Self::Hotspot => return hotspot::run(machine, extent, row),
            Self::Fans => fans::run(machine, extent, row),
            Self::Halo => return halo::run(machine, extent, row),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::row::{counts, received, sizes};
    use super::*;

    pub(super) fn extent() -> Extent {
        Extent {
            largest: 1 << 20,
            factor: 4,
            halo: [2, 1024],
            orders: Vec::new(),
            buffered_below: 0,
        }
    }

    /// All rows of a test.
    pub(super) fn rows(trial: Trial, machine: &Machine, extent: &Extent) -> Vec<Row> {
        let mut rows = Vec::new();
        trial.run(machine, extent, &mut |row| rows.push(row)).expect("it fits");
        rows
    }

    /// The seconds of the row that has all of these.
    pub(super) fn seconds(rows: &[Row], test: &str, variant: &str, bytes: u64, count: u64) -> f64 {
        let own = rows.iter().find_map(|row| match row {
            Row::Measured(own)
                if (own.test, own.variant.as_str()) == (test, variant)
                    && (own.bytes, own.count) == (bytes, count) =>
            {
                Some(own.seconds)
            }
            _ => None,
        });
        own.unwrap_or_else(|| panic!("no {test}, {variant}, {bytes} B, {count}: {rows:?}"))
    }

    #[test]
    fn sizes_and_counts_are_those_of_the_program_that_measures() {
        let extent = Extent { largest: 100, factor: 4, ..extent() };
        assert_eq!(sizes(&extent, 0), [0, 1, 4, 16, 64, 100]);
        assert_eq!(sizes(&extent, 1024), [100]);
        assert_eq!((counts(7), counts(1), counts(0)), (vec![1, 2, 4, 7], vec![1], vec![]));
    }

    #[test]
    fn a_core_receives_one_message_after_the_other() {
        for (arrivals, last) in [(vec![5.0, 1.0, 1.0], 6.0), (vec![1.0, 1.5, 1.5], 4.0)] {
            assert!((received(arrivals, 0.0, 1.0) - last).abs() < 1e-12);
        }
    }
}
