//! Roles of cores: some are kept for applications, the system has the others, and all is undone.
//!
//! The seed's NIX had application cores on which no code of the system ran. A stock Linux gives
//! most of that by knobs: control groups with cores, the affinities of interrupts, the mask of
//! kernel work. They are many, programs turn them behind each other's back, and one that is left
//! turned is a fault that nobody finds. So each change is in a [`journal`] on disk, with the value
//! before it, synced before the change is made. Invariants: whatever ends a process at whatever
//! point, [`undo`] restores every knob that still has the value set here, and leaves and names each
//! that another program has changed since; an [`apply`] that fails undoes what it did.
//!
//! * [`set`]: cores, as lists and masks. [`machine`]: what the machine is asked and told, one
//!   trait, so that tests have machines of their own. [`here`]: this one.
//! * Read: [`topology`], [`interrupts`], [`hierarchy`] of groups, [`tasks`]. Decided: [`plan`].
//! * Done: [`knob`]s, noted in the [`journal`]; [`apply`], [`undo`], [`status`], and [`enter`] for
//!   a program that is to run in a role.

pub mod apply;
pub mod enter;
mod error;
pub mod here;
pub mod hierarchy;
pub mod interrupts;
pub mod journal;
pub mod knob;
pub mod machine;
pub mod plan;
pub mod set;
pub mod status;
pub mod tasks;
pub mod topology;
pub mod undo;

pub use error::CoresError;
pub use machine::Machine;
pub use set::CoreSet;
