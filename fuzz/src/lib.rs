//! The bodies of the fuzz targets: functions of bytes that panic on a defect.
//!
//! libFuzzer calls them from `fuzz_targets/`; `make test` calls them from `tests/fuzz` over seeded
//! mutations of the inputs in `fuzz/seeds`. Each documents what must hold for all inputs.
//! `configurations` is a module of the target `config` alone, and of the agent's tests.

mod aggregates;
mod datagrams;
mod deltas;
mod input;
mod operations;
mod requests;
mod seals;
mod stored;
mod text;
mod told_records;

pub use aggregates::aggregate;
pub use deltas::delta;
pub use operations::{counters_after, wire};
pub use requests::{records, requests};
pub use seals::seals;
pub use text::{control, keyring, payload, roster};
