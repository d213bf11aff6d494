//! What do ranks that outnumber the cores wait for each other, with the library that yields and
//! without?
//!
//! Ping-pong between two ranks and allreduce of all, 8 bytes, medians, while more ranks run than
//! there are cores. The reference is the same MPI without the library, just before: the ratio is of
//! one moment. Open MPI is measured as its launcher starts it when it counts more ranks than slots,
//! and when it does not. `run yielding` measures; without `--bench` one row keeps it from rotting.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Map, Value};
use tidings_experiment::mpi::{Mpi, done, place};
use tidings_studies::table::{self, Made};

/// Rounds, of which each measures all; told is the median of the rounds.
const ROUNDS: usize = 5;

/// One way to start a program.
struct Start {
    name: &'static str,
    mpi: Mpi,
    ranks: usize,
    /// Whether Open MPI's launcher thinks that there is a slot for each rank.
    slots: bool,
}

const STARTS: [Start; 6] = [
    Start { name: "mpich", mpi: Mpi::Mpich, ranks: 4, slots: false },
    Start { name: "mpich", mpi: Mpi::Mpich, ranks: 16, slots: false },
    Start { name: "openmpi", mpi: Mpi::Open, ranks: 4, slots: false },
    Start { name: "openmpi", mpi: Mpi::Open, ranks: 16, slots: false },
    Start { name: "openmpi-slots", mpi: Mpi::Open, ranks: 4, slots: true },
    Start { name: "openmpi-slots", mpi: Mpi::Open, ranks: 16, slots: true },
];

fn main() -> ExitCode {
    table::make("yielding", "studies/mpi-gossip/run yielding", None, |is_measured| {
        let (starts, rounds) = if is_measured { (&STARTS[..], ROUNDS) } else { (&STARTS[..1], 1) };
        Ok::<_, Infallible>(all(starts, rounds))
    })
}

fn all(starts: &[Start], rounds: usize) -> Made {
    let directory = place();
    let mut table = "mpi,ranks,ping_pong_us,ping_pong_yielding_us,ping_pong_ratio,allreduce_us,\
                     allreduce_yielding_us,allreduce_ratio\n"
        .to_owned();
    for start in starts {
        let waits = start.mpi.compile("waits.c", directory.path());
        let mut found: [Vec<f64>; 6] = Default::default();
        for _ in 0..rounds {
            let [ping, reduce] = start.measure(&waits, directory.path(), false);
            let [yielding_ping, yielding_reduce] = start.measure(&waits, directory.path(), true);
            let row = [
                ping,
                yielding_ping,
                ping / yielding_ping,
                reduce,
                yielding_reduce,
                reduce / yielding_reduce,
            ];
            for (values, value) in found.iter_mut().zip(row) {
                values.push(value);
            }
        }
        let cells = found.map(|values| format!("{:.1}", median(values)));
        let _ = writeln!(table, "{},{},{}", start.name, start.ranks, cells.join(","));
        let _ = writeln!(std::io::stderr(), "{} {}: {cells:?}", start.name, start.ranks);
    }
    (table, Map::from_iter([("rounds".to_owned(), Value::from(rounds))]))
}

impl Start {
    /// Medians of a ping-pong, one way, and of an allreduce, in microseconds.
    fn measure(&self, waits: &Path, directory: &Path, yielding: bool) -> [f64; 2] {
        let mut launcher = self.mpi.launcher(self.ranks, directory);
        if self.slots {
            // More slots than ranks: the launcher sees no need to have them yield.
            launcher.args(["--host", &format!("localhost:{}", self.ranks)]);
        }
        if yielding {
            self.mpi.preload(&mut launcher, &[self.mpi.yielding()]);
        }
        // Where nobody yields each takes milliseconds, a time slice or several.
        let times = if yielding { ["2000", "500"] } else { ["200", "20"] };
        let text = done(launcher.arg(waits).args(times));
        let mut values = text.split_whitespace().map(|word| word.parse().expect("a number"));
        [(); 2].map(|()| values.next().expect("two numbers"))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
