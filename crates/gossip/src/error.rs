//! What can go wrong before a node runs. Once it runs nothing fails: bad input is a counted drop.

use thiserror::Error;

/// A configuration no node can run with. No node was made, or the running one is unchanged.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A parameter out of its range.
    #[error("{parameter} is out of range: allowed are {range}")]
    OutOfRange {
        /// The field of `Config`.
        parameter: &'static str,
        /// What it may be.
        range: String,
    },
    /// A node name that cannot be one.
    #[error("node name {0:?} must be 1 to 63 of the characters A-Z a-z 0-9 . _ -")]
    Name(String),
    /// The roster lacks the node itself.
    #[error("the roster does not name this node, {0:?}: add it, or set the node's name")]
    NotInRoster(String),
    /// Two names of the roster have one node id.
    #[error(
        "node names {first:?} and {second:?} share a node id: set id_salt = {salt} on every node"
    )]
    IdCollision {
        /// One of the names.
        first: String,
        /// The other.
        second: String,
        /// A salt under which no two names of the roster collide.
        salt: u32,
    },
    /// One name occurs twice in the roster.
    #[error("the roster names {0:?} twice")]
    DuplicateName(String),
    /// More nodes than there is room for.
    #[error("{nodes} nodes exceed max_nodes = {max_nodes}: raise it and restart")]
    TooManyNodes {
        /// Nodes in the roster.
        nodes: usize,
        /// The room.
        max_nodes: u32,
    },
    /// A roster was given to a node that joins by seeds.
    #[error("this node joins by seeds: a roster can only be given at its start")]
    NoRoster,
}

/// A text that is no value of the parameter.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Not a window.
    #[error("{0:?} is no window: write entries (204) or per cent above 0 and up to 100 (20%)")]
    Window(String),
    /// Not a capacity.
    #[error("{0:?} is no capacity: write \"full\" or a number of entries")]
    Capacity(String),
    /// Not a strategy.
    #[error("{0:?} is no strategy: there are uniform, spread, push-pull, staggered and grid")]
    Strategy(String),
}

/// A payload longer than the cluster agreed on. The node's entry is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("payload of {given} bytes exceeds payload_bytes = {room}")]
pub struct PayloadTooLong {
    /// Bytes given.
    pub given: usize,
    /// Bytes there are.
    pub room: usize,
}
