//! A line: what a roster says of one node.

#[cfg(doc)]
use super::problem::MAX_NAME_BYTES;

/// One node of a roster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RosterLine {
    /// The node's name, 1 to [`MAX_NAME_BYTES`] bytes of `A-Z a-z 0-9 . _ -`.
    pub name: String,
    /// `host:port` or `[IPv6]:port` as written, if the roster gives one. Not resolved.
    pub address: Option<String>,
    /// The line of the text it stands on, from 1.
    pub line: usize,
}
