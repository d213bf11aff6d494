//! Tests that need more than one crate, and what several of them share: [`agents`] on one
//! machine; on [`hosts`] of their own, between which a [`relay`] may stand, as a [`site`]; and
//! what befalls them: a [`disk`] that is full, a processor of which they get a [`quota`], and
//! [`kills`]. [`ages`] are read beside all that. Programs of the [`mpi`]s that Debian has are
//! started alike everywhere, and the [`instructions`] of their calls counted. Inputs of fuzz
//! targets come from [`mutations`].
//!
//! | test | what it shows |
//! |---|---|
//! | `tidy` | the rules of CONTRIBUTING.md and the arrows of ARCHITECTURE.md hold |
//! | `cli` | `tidings` and its agents, as real processes, do what their help says |
//! | `real_agents` | agents as real processes keep what docs/reference promises |
//! | `hosts` | agents on hosts of their own, in network namespaces, live through what goes wrong |
//! | `slurm` | Debian's Slurm drains, resumes and refuses nodes by what their agents say |
//! | `mpi` | the core in C programs: its C interface, and gossip among MPI ranks |
//! | `fuzz` | the fuzz targets stand up to a few thousand seeded inputs |

pub mod agents;
pub mod ages;
pub mod disk;
pub mod hosts;
pub mod instructions;
pub mod kills;
pub mod mpi;
pub mod mutations;
pub mod quota;
pub mod relay;
pub mod site;
