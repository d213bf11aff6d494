//! Rows: one value at one size, as a line of JSON, and the errors of writing one.

use std::io::{self, Write};

use serde::Serialize;

/// One measured value, in the form that docs/reference/scaling.md calls own JSON Lines.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Row<'a> {
    pub(crate) function: &'a str,
    pub(crate) metric: &'a str,
    pub(crate) parameter: &'a str,
    pub(crate) size: f64,
    pub(crate) value: f64,
    pub(crate) unit: &'a str,
    pub(crate) run: &'a str,
    pub(crate) repetition: u64,
}

/// A row was not written. Earlier rows were.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// Growth by a factor needs positive numbers; the first is the size, the second the value.
    #[error("size {0}, value {1}: both must be positive; leave the row out")]
    NotPositive(f64, f64),
    /// A time was written to a series of another quantity.
    #[error("`{0}` in `{1}` takes no times: give times a series of their own, in `s`")]
    NoTime(String, String),
    /// Writing the output failed.
    #[error("the row was not written: {0}")]
    Output(#[source] io::Error),
}

impl Row<'_> {
    /// Writes the row whole: a line, in one piece, and flushed.
    pub(crate) fn write(&self, output: &mut impl Write) -> Result<(), RowError> {
        let positive = |number: f64| number.is_finite() && number > 0.0;
        if !(positive(self.size) && positive(self.value)) {
            return Err(RowError::NotPositive(self.size, self.value));
        }
        let mut line = serde_json::to_vec(self).map_err(|error| RowError::Output(error.into()))?;
        line.push(b'\n');
        output.write_all(&line).and_then(|()| output.flush()).map_err(RowError::Output)
    }
}
