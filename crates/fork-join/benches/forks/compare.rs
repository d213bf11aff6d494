//! Two programs in turn, as the ratio of their times.

use std::time::{Duration, Instant};

/// How often and how large programs run.
pub(crate) struct Runs {
    is_bench: bool,
    filter: Option<String>,
}

impl Runs {
    /// `cargo bench` passes `--bench`, and what follows it chooses rows by their names.
    pub(crate) fn from_arguments() -> Self {
        let arguments = || std::env::args().skip(1);
        let filter = arguments().find(|argument| !argument.starts_with('-'));
        Self { is_bench: arguments().any(|argument| argument == "--bench"), filter }
    }

    /// A size for the bench, and one for its test.
    pub(crate) fn size(&self, bench: u64, test: u64) -> u64 {
        if self.is_bench { bench } else { test }
    }

    /// Prints how the time of one compares with that of the other.
    pub(crate) fn row<A, B>(
        &self,
        name: &str,
        mut one: impl FnMut() -> A,
        reference: &str,
        mut other: impl FnMut() -> B,
    ) {
        self.timed(name, 21, || time_of(&mut one), reference, || time_of(&mut other));
    }

    /// The same of programs that say what they took, so many times.
    pub(crate) fn timed(
        &self,
        name: &str,
        count: usize,
        mut one: impl FnMut() -> Duration,
        reference: &str,
        mut other: impl FnMut() -> Duration,
    ) {
        if self.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            return;
        }
        let count = if self.is_bench { count } else { 1 };
        let mut times: Vec<(f64, f64)> =
            (0..=count).map(|_| (one().as_secs_f64(), other().as_secs_f64())).collect();
        times.remove(0); // The first fills caches and wakes threads.
        let at = |share: usize, of: &dyn Fn(&(f64, f64)) -> f64| {
            let mut sorted: Vec<f64> = times.iter().map(of).collect();
            sorted.sort_by(f64::total_cmp);
            sorted[(sorted.len() - 1) * share / 4]
        };
        let ratio = |share| at(share, &|(one, other)| one / other);
        println!(
            "| {name} | {:.3} [{:.3}, {:.3}] | {reference} | {:.3} ms, {:.3} ms |",
            ratio(2),
            ratio(1),
            ratio(3),
            at(2, &|(one, _)| one * 1e3),
            at(2, &|(_, other)| other * 1e3),
        );
    }
}

fn time_of<R>(program: &mut impl FnMut() -> R) -> Duration {
    let begin = Instant::now();
    program();
    begin.elapsed()
}
