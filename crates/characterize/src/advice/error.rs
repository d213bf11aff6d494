//! Why no advice is given. Each message names the place and the remedy; nothing was written.

/// Why no advice is given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdviceError {
    /// A file of neighbours is not one.
    #[error("{file}:{line}: {reason}")]
    Neighbours {
        /// The file.
        file: String,
        /// Where in it.
        line: usize,
        /// What is wrong and what would do.
        reason: String,
    },
    /// The grid is none that a machine could have.
    #[error("--grid {given}: write two or three sides, such as 8x4, of {most} ranks at most")]
    Grid {
        /// As given.
        given: String,
        /// The most ranks of a grid.
        most: u32,
    },
    /// The machine has fewer places than there are ranks.
    #[error(
        "{ranks} ranks, but the characterisation has {nodes} nodes with {each} ranks each{gone}: \
         name fewer ranks, or characterise more of the machine"
    )]
    TooMany {
        /// Ranks of the application.
        ranks: usize,
        /// Nodes that were measured.
        nodes: usize,
        /// Ranks on each.
        each: u32,
        /// Which of them cannot be used now.
        gone: String,
    },
    /// The characterisation lacks what a prediction needs.
    #[error("the characterisation has no {what}: measure it again with --test {test}")]
    NotMeasured {
        /// What it lacks.
        what: &'static str,
        /// The tests that measure it.
        test: &'static str,
    },
    /// The network that was named has other nodes.
    #[error(
        "the {kind} of --shape has {given} nodes, but the characterisation {nodes}: write the shape of \
         the machine that was measured"
    )]
    Network {
        /// What kind of network it is.
        kind: &'static str,
        /// Nodes of the network.
        given: u32,
        /// Nodes that were measured.
        nodes: usize,
    },
    /// A series has several machines that are not one.
    #[error("the characterisation has several machines: choose one with --machine: {0}")]
    SeveralMachines(String),
    /// No machine has this name.
    #[error("no machine `{given}` in the characterisation, but {known}")]
    UnknownMachine {
        /// As given.
        given: String,
        /// Those there are.
        known: String,
    },
}
