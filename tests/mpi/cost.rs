//! What the shim adds to a call, in instructions.

use tidings_experiment::mpi::{CALLS, of_a_call};

use crate::toolchain::{Mpi, place};

/// The limit: 20 per call.
fn shim_adds_little(mpi: Mpi) {
    let directory = place();
    let cost = mpi.compile("cost.c", directory.path());
    for call in CALLS {
        let added = of_a_call(mpi, &cost, call, true) - of_a_call(mpi, &cost, call, false);
        assert!(added > 0.0, "{call}: the shim was not there");
        assert!(added <= 20.0, "{call}: {added} instructions more");
    }
}

#[test]
fn the_shim_adds_twenty_instructions_at_most_under_open_mpi() {
    shim_adds_little(Mpi::Open);
}

#[test]
fn the_shim_adds_twenty_instructions_at_most_under_mpich() {
    shim_adds_little(Mpi::Mpich);
}
