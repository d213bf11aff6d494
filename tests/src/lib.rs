//! Tests that need more than one crate, and what several of them share and no experiment needs: a
//! [`disk`] that is full, a [`clock`] that is set, the code on a [`page`], and the inputs of fuzz
//! targets ([`mutations`]). Agents, hosts and programs of MPIs are started by `tidings-experiment`.
//!
//! | test | what it shows |
//! |---|---|
//! | `tidy` | the rules of CONTRIBUTING.md and the arrows of ARCHITECTURE.md hold |
//! | `cli` | `tidings` and its agents, as real processes, do what their help says |
//! | `real_agents` | agents as real processes keep what docs/reference promises |
//! | `hosts` | agents on hosts of their own, in network namespaces, live through what goes wrong |
//! | `tasks` | runs, workers and queues of durable tasks live through signals and deaths |
//! | `recovery` | durable tasks on hosts of their own live through what happens to those |
//! | `slurm` | Debian's Slurm drains, resumes and refuses nodes by what their agents say |
//! | `mpi` | the core in C programs: its C interface, and gossip among MPI ranks |
//! | `fuzz` | the fuzz targets stand up to a few thousand seeded inputs |

pub mod clock;
pub mod disk;
pub mod mutations;
pub mod page;
