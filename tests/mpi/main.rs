//! The core in C programs: its C interface, gossip among the ranks of real MPI programs and of a
//! simulated machine, and the shim that hides it from them.

mod c_interface;
mod gossip;
mod shim;
mod toolchain;
