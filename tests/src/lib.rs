//! Tests that need more than one crate, and what several of them share: [`agents`].
//!
//! | test | what it shows |
//! |---|---|
//! | `tidy` | the rules of CONTRIBUTING.md and the arrows of ARCHITECTURE.md hold |
//! | `cli` | `tidings` and its agents, as real processes, do what their help says |
//! | `real_agents` | agents as real processes keep what docs/reference promises |
//! | `fuzz` | the fuzz targets stand up to a few thousand seeded inputs |

pub mod agents;
