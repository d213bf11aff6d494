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
