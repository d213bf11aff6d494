//! Why `--need` cannot be read, and where.

use std::ops::Range;

use tidings_nodes::filter::underline;

/// `--need` cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "--need: {reason}; write cpus=8, mem=16GiB or cpus=8,mem=16GiB\n{}",
    underline(.given, .place)
)]
pub struct NeedError {
    pub(super) given: String,
    /// The bytes of `given` at fault.
    pub(super) place: Range<usize>,
    pub(super) reason: String,
}
