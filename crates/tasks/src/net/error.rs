//! Why there is no connection, and what to do about it.

use std::io;

use super::greeting::{OPENING, VERSION_AT};

/// A connection that was not made, or not taken. Nothing has changed by it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{peer}: {why}")]
pub struct NetError {
    /// The other side.
    pub peer: String,
    /// Why.
    pub why: Failure,
}

/// What was wrong with a connection.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// Nobody answers there, or not any more.
    #[error("cannot be reached ({0})")]
    Unreachable(String),
    /// Its host answers: nobody listens there, or not any more.
    #[error("cannot be reached ({0})")]
    Refused(String),
    /// Whoever answers there says nothing.
    #[error("does not answer: is it the right port, and is its process stopped?")]
    Silent,
    /// Whoever answers there is something else.
    #[error("is not a store of Tidings: check the port")]
    Garbage,
    /// It is another version.
    #[error("speaks version {0}, this program version {known}: update the older of both",
        known = OPENING[VERSION_AT])]
    Version(u8),
    /// It has other keys.
    #[error("has another key: give both sides the same key file, or none where both are one host")]
    Key,
    /// It belongs to another cluster.
    #[error("belongs to cluster `{0}`: name that cluster, or another address")]
    Cluster(String),
    /// It answers what was not asked.
    #[error("does not keep to the protocol ({0}): is it another version?")]
    Protocol(String),
    /// Nobody may be let in without a key from elsewhere.
    #[error("may not be listened at without a key: name a key file, or an address of loopback")]
    Open,
    /// The address is not to be had.
    #[error("cannot be listened at ({0}): name another port, or end what uses it")]
    Listen(String),
}

impl Failure {
    /// Whether it may be different soon, without anybody's doing here.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Refused(_) | Self::Silent)
    }

    /// The error with a peer's name.
    pub(super) fn of(self, peer: impl Into<String>) -> NetError {
        NetError { peer: peer.into(), why: self }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::Protocol(error.to_string()),
            io::ErrorKind::ConnectionRefused => Self::Refused(error.to_string()),
            _ => Self::Unreachable(error.to_string()),
        }
    }
}
