//! The core in C programs: its C interface, gossip among the ranks of real MPI programs and of a
//! simulated machine, and the shim that hides it from them.

use tidings_experiment::mpi as toolchain;

mod applications;
mod beside;
mod c_interface;
mod callbacks;
mod characterize;
mod cost;
mod differential;
mod documented;
mod fluid;
mod gossip;
mod kernels;
mod platforms;
mod proxy;
mod races_in_c;
mod recovering;
mod refusals;
mod saved;
mod shared_by_stealing;
mod shim;
mod stealing;
mod stealing_simulated;
