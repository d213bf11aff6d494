//! Measurements of Rust programs, as `tidings-scaling` reads them: JSON Lines, one row per value.
//!
//! A program measures one function at several sizes, and `tidings-scaling check` says whether it
//! grows as a `scaling.toml` expects (docs/reference/scaling.md). A [`Series`] is one function and
//! metric; it writes a row for each value at once, so that a program that is killed leaves what it
//! metric; it writes each row at once, so that a program that is killed leaves what it has
//! measured. Rows of one process share its run's name: what a process has by chance, such as its
//! nodes
//!
//! Times come from the monotonic clock; counts from the program itself. Counts have no noise and do
//! not depend on the machine: prefer them where they exist. What a program cannot count itself,
//! instructions and allocations, `tidings-scaling run` counts from outside.
//!
//! ```
//! # fn main() -> Result<(), tidings_scaling::RowError> {
//! let mut rows = Vec::new();
//! let mut times = tidings_scaling::Series::new("sort", "time").in_unit("s");
//! let mut steps = tidings_scaling::Series::new("sort", "comparisons");
//! for size in [1_000_u32, 2_000, 4_000, 8_000, 16_000] {
//!     let mut numbers: Vec<u32> = (0..size).rev().collect();
//!     let mut comparisons = 0_u64;
//!     times.time(&mut rows, f64::from(size), || {
//!         numbers.sort_by(|one, other| {
//!             comparisons += 1;
//!             one.cmp(other)
//!         });
//!     })?;
//!     steps.write(&mut rows, f64::from(size), comparisons as f64)?;
//! }
//! assert_eq!(String::from_utf8_lossy(&rows).lines().count(), 10);
//! # Ok(())
//! # }
//! ```

mod row;
mod series;

pub use row::RowError;
pub use series::Series;
