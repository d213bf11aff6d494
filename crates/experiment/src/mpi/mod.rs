//! The MPIs that Debian has side by side, and two from PyPI: what `mpi/build` builds for them, how
//! their programs are started ([`Mpi`]), and the instructions of their calls counted
//! ([`of_a_call`]).
//!
//! A measurement without its programs is none: what fails here panics and says why.

mod instructions;
mod programs;

pub use instructions::{CALLS, of_a_call};
pub use programs::{Mpi, done, library, object, place, refused, root, run, said};
