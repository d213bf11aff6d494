//! What a rule finds: a place that breaks it, and the remedy.

use std::fmt;

/// One place that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The file, relative to the repository.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to do about it.
    pub remedy: String,
}

impl Finding {
    pub(crate) fn new(file: &str, line: usize, remedy: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.remedy)
    }
}
