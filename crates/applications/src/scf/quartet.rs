//! A task of the matrix: a quartet of blocks.

/// Integrals whose bound is below this are not computed.
pub const THRESHOLD: f64 = 1e-6;

/// The blocks of a task's functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quartet {
    /// The first block of the pair on the left.
    pub i: usize,
    /// Its second.
    pub j: usize,
    /// The first block of the pair on the right.
    pub k: usize,
    /// Its second.
    pub l: usize,
}
