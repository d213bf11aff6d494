//! Series: the values of one function and metric, at any sizes.

use std::io::Write;
use std::time::Instant;

use crate::row::{Row, RowError};

/// The unit of times.
const SECONDS: &str = "s";

/// What is measured: a function by a metric, against a parameter.
///
/// ```
/// use tidings_scaling::Series;
///
/// # fn main() -> Result<(), tidings_scaling::RowError> {
/// let mut rows = Vec::new();
/// let mut series = Series::new("exchange", "messages").against("p").of_run("job 7");
/// series.write(&mut rows, 8.0, 24.0)?;
/// assert_eq!(
///     String::from_utf8_lossy(&rows).trim_end(),
///     r#"{"function":"exchange","metric":"messages","parameter":"p","size":8.0,"value":24.0,"#
///         .to_owned() + r#""unit":"","run":"job 7","repetition":0}"#
/// );
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    function: String,
    metric: String,
    parameter: String,
    unit: String,
    run: String,
    repetition: u64,
}

impl Series {
    /// The values of a function by a metric, against `n`; the run is named by this process's
    /// number.
    pub fn new(function: &str, metric: &str) -> Self {
        Self {
            function: function.to_owned(),
            metric: metric.to_owned(),
            parameter: "n".to_owned(),
            unit: String::new(),
            run: std::process::id().to_string(),
            repetition: 0,
        }
    }

    /// Names the parameter that grows.
    #[must_use]
    pub fn against(mut self, parameter: &str) -> Self {
        parameter.clone_into(&mut self.parameter);
        self
    }

    /// Names the unit of the values.
    #[must_use]
    pub fn in_unit(mut self, unit: &str) -> Self {
        unit.clone_into(&mut self.unit);
        self
    }

    /// Names the run, where the process number is not enough: by a job's number, for example.
    #[must_use]
    pub fn of_run(mut self, run: &str) -> Self {
        run.clone_into(&mut self.run);
        self
    }

    /// Writes a value at a size.
    ///
    /// # Errors
    /// If size or value is not a positive number, or the output fails.
    pub fn write(
        &mut self,
        output: &mut impl Write,
        size: f64,
        value: f64,
    ) -> Result<(), RowError> {
        let Self { function, metric, parameter, unit, run, repetition } = &*self;
        let row =
            Row { function, metric, parameter, size, value, unit, run, repetition: *repetition };
        row.write(output)?;
        self.repetition += 1;
        Ok(())
    }

    /// Times a call, in seconds, and writes that; returns what the call does. The series must be
    /// one of times: its unit is `s`, set by [`Series::in_unit`] or by default.
    ///
    /// # Errors
    /// As [`Series::write`]; a call too short for the clock to see is not a positive number. If the
    /// series has another unit, or has values without one: then the call is not made.
    pub fn time<T>(
        &mut self,
        output: &mut impl Write,
        size: f64,
        call: impl FnOnce() -> T,
    ) -> Result<T, RowError> {
        if self.unit.is_empty() && self.repetition == 0 {
            SECONDS.clone_into(&mut self.unit);
        }
        if self.unit != SECONDS {
            return Err(RowError::NoTime(self.metric.clone(), self.unit.clone()));
        }
        let began = Instant::now();
        let made = std::hint::black_box(call());
        let seconds = began.elapsed().as_secs_f64();
        self.write(output, size, seconds)?;
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_positive_is_refused_and_leaves_no_row() {
        let mut rows = Vec::new();
        let mut series = Series::new("f", "count");
        for (size, value) in [(0.0, 1.0), (1.0, 0.0), (1.0, f64::NAN), (f64::INFINITY, 1.0)] {
            let refused = series.write(&mut rows, size, value);
            assert!(matches!(refused, Err(RowError::NotPositive(..))), "{size} {value}");
        }
        assert!(rows.is_empty());
        series.write(&mut rows, 1.0, 2.0).expect("both are positive");
        assert!(String::from_utf8_lossy(&rows).contains(r#""repetition":0"#));
    }

    #[test]
    fn a_full_disk_is_reported() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let failed = Series::new("f", "count").write(&mut Full, 1.0, 1.0);
        assert!(matches!(failed, Err(RowError::Output(_))));
    }

    /// Times among counts made a series that grew like neither.
    #[test]
    fn a_series_of_counts_takes_no_times() {
        let mut rows = Vec::new();
        let mut counts = Series::new("f", "messages");
        counts.write(&mut rows, 8.0, 24.0).expect("positive");
        let mut called = false;
        let refused = counts.time(&mut rows, 16.0, || called = true);
        assert!(matches!(refused, Err(RowError::NoTime(..))) && !called);
        let sleep = || std::hint::black_box((0..100_000_u64).sum::<u64>());
        Series::new("f", "time").time(&mut rows, 8.0, sleep).expect("the clock sees that");
        let text = String::from_utf8_lossy(&rows);
        assert!(text.lines().count() == 2 && text.contains(r#""unit":"s""#), "{text}");
    }

    #[test]
    fn names_are_escaped() {
        let mut rows = Vec::new();
        Series::new("a \"b\"\n", "count").write(&mut rows, 1.0, 1.0).expect("positive");
        let row: serde_json::Value = serde_json::from_slice(&rows).expect("a line of JSON");
        assert_eq!(row["function"], "a \"b\"\n");
    }
}
