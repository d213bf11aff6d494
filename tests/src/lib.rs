//! Tests that need more than one crate; the package has no other content.
//!
//! | test | what it shows |
//! |---|---|
//! | `tidy` | the rules of CONTRIBUTING.md and the arrows of ARCHITECTURE.md hold |
//! | `cli` | `tidings` and its agents, as real processes, do what their help says |
//! | `fuzz` | the fuzz targets stand up to a few thousand seeded inputs |
