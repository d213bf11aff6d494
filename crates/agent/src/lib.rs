//! x

pub mod collect;
