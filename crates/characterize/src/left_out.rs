//! Runs of a series that were not made: time did not suffice for them, or it was ended before.

use std::collections::{BTreeMap, BTreeSet};

use tidings_experiment::series::{Record, Series};

use crate::row::Skipped;

/// Runs of a program on a machine with so many ranks, of which some were not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// How many were not made, and of how many.
    pub runs: [usize; 2],
    /// The program, which of its runs, and the reason: as of a part that was not measured.
    pub skipped: Skipped,
}

impl LeftOut {
    /// Whether nothing of it was run.
    pub fn is_whole(&self) -> bool {
        self.runs[0] == self.runs[1]
    }
}

/// What is left out of a series, in the order of its file.
pub fn left_out(series: &Series, records: &[Record]) -> Vec<LeftOut> {
    let made: BTreeSet<u32> = records.iter().map(|record| record.index).collect();
    let mut order = Vec::new();
    let mut counts: BTreeMap<(usize, u32, &str), [usize; 2]> = BTreeMap::new();
    for (cell, index) in series.cells.iter().zip(0..) {
        let of = (cell.machine, cell.nodes, cell.program.as_str());
        let [missing, runs] = counts.entry(of).or_insert_with(|| {
            order.push(of);
            [0, 0]
        });
        *missing += usize::from(!made.contains(&index));
        *runs += 1;
    }
    let missing = order.into_iter().map(|of| (of, counts[&of])).filter(|(_, [own, _])| *own > 0);
    let said = missing.map(|((machine, nodes, program), runs)| {
        let machine = &series.machines[machine];
        let ranks = nodes * machine.ranks_per_node;
        let skipped = Skipped {
            test: program.to_owned(),
            variant: format!(
                "{} of {} runs of {ranks} ranks on {}",
                runs[0], runs[1], machine.name
            ),
            reason: "not run so far: the same command goes on with it".to_owned(),
        };
        LeftOut { runs, skipped }
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::point::tests::record;

    #[test]
    fn runs_that_are_missing_are_named_with_how_many_they_are() {
        let text = "name = \"m\"\nlimit_s = 1.0\nrounds = 3\n[[machines]]\nname = \"here\"\n\
                    ranks_per_node = 2\nbackend = { kind = \"local\", mpi = \"openmpi\" }\n\
                    [[programs]]\nname = \"pairs\"\nmachines = [\"here\"]\nnodes = [1]\n\
                    command = [\"x\"]\n[[programs]]\nname = \"groups\"\nmachines = [\"here\"]\n\
                    nodes = [2]\ncommand = [\"x\"]\n";
        let series = Series::from_text(text, Path::new("m.toml")).expect("a right series");
        let run = |index| Record { index, ..record(&[], 0.0) };
        let said = |made: &[u32]| {
            let records: Vec<Record> = made.iter().copied().map(run).collect();
            let own = left_out(&series, &records).into_iter();
            own.map(|own| (own.is_whole(), own.skipped.test, own.skipped.variant))
                .collect::<Vec<_>>()
        };
        assert_eq!(said(&[0, 1, 2, 3, 4, 5]), []);
        let missing =
            |is_whole, test: &str, part: &str| (is_whole, test.to_owned(), part.to_owned());
        assert_eq!(
            said(&[0, 2]),
            [
                missing(false, "pairs", "1 of 3 runs of 2 ranks on here"),
                missing(true, "groups", "3 of 3 runs of 4 ranks on here"),
            ]
        );
    }
}
