//! What the system takes from a core, how often, and who takes it.
//!
//! A [`probe`] on a core does one small unit of work after the other and reads the clock after
//! each. A unit that takes far longer than usual is a *gap*: something else ran. Work counted in
//! fixed quanta is FTQ (Sottile and Minnich, CLUSTER 2004), the time of fixed work FWQ; both come
//! from the same loop as the gaps, so speed can be told apart from what was taken.
//!
//! Each gap is named by what the kernel's own tracepoints say ran there ([`trace`], [`timeline`],
//! [`naming`]), or, where they cannot be had, by differences of what /proc counts ([`counters`]).
//! [`summary`] adds up, [`result`] is what is kept, [`comparison`] tests two of them, and
//! [`measure`] conducts the threads.
//!
//! Only `probe`, `measure`, `machine`, `counters`, `files` and `trace::tracefs` touch the machine:
//! all else is arithmetic on what those bring.

#![forbid(unsafe_code)]

pub mod clock;
pub mod comparison;
pub mod counters;
pub mod error;
pub mod files;
pub mod histogram;
pub mod machine;
pub mod measure;
pub mod moments;
pub mod naming;
pub mod probe;
pub mod result;
pub mod samples;
pub mod settings;
pub mod source;
pub mod summary;
pub mod timeline;
pub mod trace;

pub use error::NoiseError;
