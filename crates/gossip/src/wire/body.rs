//! Bodies: read and written front to back, within their bounds.

pub(crate) use tidings_primitives::bytes::{Reader, Writer};

/// Why a body was refused as a whole; nothing of it was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyError {
    /// Its length contradicts its counts.
    Malformed,
    /// Payloads of another schema or length.
    Schema,
}
