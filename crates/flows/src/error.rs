//! What cannot be modelled, and what to write instead.

/// A machine or a test that cannot be modelled.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FlowsError {
    /// No network has this shape.
    #[error("no {network} has the shape {given}: {remedy}")]
    Shape {
        /// The kind of network.
        network: &'static str,
        /// What was given.
        given: String,
        /// What to write instead.
        remedy: &'static str,
    },
    /// Links cannot have these rates.
    #[error("{count} rates of links: write one, or three for links along X, Y and Z of a torus")]
    Rates {
        /// How many were given.
        count: usize,
    },
    /// No link has a value of its own between these nodes.
    #[error("link between nodes {one} and {other}: {remedy}")]
    Link {
        /// A node.
        one: u32,
        /// The other one.
        other: u32,
        /// What is wrong, and what to write instead.
        remedy: &'static str,
    },
    /// More than fits into bounded memory.
    #[error("{what}: {count}, and {most} is the most")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many.
        count: u64,
        /// The bound.
        most: u64,
    },
}
