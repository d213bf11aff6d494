//! The core in C programs: its C interface, and gossip among the ranks of real MPI programs and of a
//! simulated machine.

mod c_interface;
mod gossip;
mod toolchain;
