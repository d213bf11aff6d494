//! Why no plan is made, or none within the budget.

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An entry does not fit into a datagram.
    #[error("entries of {entry_bytes} bytes do not fit into packets of {mtu}: raise --mtu")]
    Mtu {
        /// Bytes of an entry.
        entry_bytes: usize,
        /// The MTU.
        mtu: u16,
    },
    /// Not even full windows at the shortest interval keep the age.
    #[error(
        "no interval from 64ms on keeps {goal}: the freshest costs {best_bytes_s:.0} B/s \
         per node and gives {best_age_ms:.0} ms; allow a greater --age"
    )]
    Unreachable {
        /// The goal.
        goal: String,
        /// The least possible age.
        best_age_ms: f64,
        /// What it costs.
        best_bytes_s: f64,
    },
    /// The budget does not suffice. The best plan within it was printed, if there is one.
    #[error(
        "{goal} takes {needed_bytes_s:.0} B/s per node, and the budget is {budget_bytes_s:.0} B/s: \
         raise --budget or allow a greater --age"
    )]
    Budget {
        /// The goal.
        goal: String,
        /// What it takes.
        needed_bytes_s: f64,
        /// What is allowed.
        budget_bytes_s: f64,
    },
}

impl PlanError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Mtu { .. } => 2,
            Self::Unreachable { .. } | Self::Budget { .. } => 4,
        }
    }
}
