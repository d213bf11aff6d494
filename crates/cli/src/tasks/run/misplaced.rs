//! What is wrong with the file of a graph, and where.

use std::path::PathBuf;

/// Why a file is no graph. Nothing was run.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}:{column}: {reason}", path.display())]
pub struct GraphError {
    pub(super) path: PathBuf,
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) reason: String,
}
