//! How many instructions does the shim add to a call of MPI?
//!
//! Counted by callgrind, over a thousand calls each with the shim below the program and without it;
//! the reference is the call without. `run shim-cost` counts; without `--bench` one call of one
//! MPI is counted, to keep it from rotting.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::Map;
use tidings_experiment::mpi::{CALLS, Mpi, of_a_call, place};
use tidings_studies::table;

fn main() -> ExitCode {
    table::make("shim-cost", "studies/mpi-gossip/run shim-cost", None, |is_measured| {
        let mpis = if is_measured { &[Mpi::Open, Mpi::Mpich][..] } else { &[Mpi::Mpich] };
        let calls = if is_measured { &CALLS[..] } else { &CALLS[..1] };
        let directory = place();
        let mut table = "mpi,call,instructions,instructions_with_shim,added\n".to_owned();
        for &mpi in mpis {
            let cost = mpi.compile("cost.c", directory.path());
            for call in calls {
                let plain = of_a_call(mpi, &cost, call, false);
                let with = of_a_call(mpi, &cost, call, true);
                let name = mpi.name();
                let _ = writeln!(table, "{name},{call},{plain:.1},{with:.1},{:.1}", with - plain);
            }
        }
        Ok::<_, Infallible>((table, Map::new()))
    })
}
