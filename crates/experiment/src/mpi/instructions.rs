//! Instructions of calls of MPI, counted by valgrind's callgrind: the same number every time,
//! whatever else the machine does, since only the calls are counted and not how MPI is started.

use std::path::Path;
use std::process::Command;

use super::programs::{Mpi, run, said};

/// The calls that `tests/mpi/cost.c` makes; the last has twelve parameters, six on the stack.
pub const CALLS: [&str; 4] = ["MPI_Comm_rank", "MPI_Comm_size", "MPI_Send", "MPI_Sendrecv"];

/// How often each is made.
const TIMES: u32 = 1_000;

/// Instructions of one call in the program `cost`, with what makes it, with the shim or without.
///
/// # Panics
/// If callgrind cannot be run, or counted nothing.
pub fn of_a_call(mpi: Mpi, cost: &Path, call: &str, with_shim: bool) -> f64 {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--toggle-collect=measured"]);
    valgrind.arg("--callgrind-out-file=/dev/null").arg(cost).args([call, &TIMES.to_string()]);
    valgrind.envs(mpi.environment().iter().copied());
    if with_shim {
        valgrind.env("LD_PRELOAD", mpi.shim());
    }
    let output = run(&mut valgrind);
    let said = said(&output);
    let counted =
        said.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    let counted: f64 = counted.unwrap_or_else(|| panic!("callgrind counted nothing: {said}"));
    counted / f64::from(TIMES)
}
