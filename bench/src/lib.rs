//! Measuring by ratio: what is asked about, beside a reference, in one run.
//!
//! Machines are noisy and differ, so an absolute time says little. Each repetition here times
//! the reference and then what is compared with it, and yields one ratio; reported are the median
//! ratio and its quartiles over all repetitions. Slow phases of the machine hit both alike.

#![allow(clippy::disallowed_methods, reason = "a benchmark is where a clock belongs")]

pub mod colony;
pub mod durable;
pub mod link;
pub mod steady;

use std::time::{Duration, Instant};

use serde::Serialize;

/// What one comparison gave.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// What was asked.
    pub question: String,
    /// What it was compared with.
    pub reference: String,
    /// Median over repetitions of time ÷ reference's time in the same repetition.
    pub ratio: f64,
    /// Lower and upper quartile of the ratios.
    pub quartiles: [f64; 2],
    /// Median time of what was asked about, in microseconds.
    pub micros: f64,
    /// Median time of the reference, in microseconds.
    pub reference_micros: f64,
    /// The bound that the project holds itself to, if any.
    pub bound: Option<f64>,
    /// How often both were timed.
    pub repetitions: usize,
}

/// Times `body` beside `reference`, `repetitions` times, after a tenth as many to warm up.
pub fn compare(
    question: &str,
    reference: &str,
    repetitions: usize,
    mut run_reference: impl FnMut(),
    mut run: impl FnMut(),
) -> Comparison {
    let mut times = Vec::with_capacity(repetitions);
    for repetition in 0..repetitions + repetitions / 10 {
        let pair = pair(&mut run_reference, &mut run);
        if repetition >= repetitions / 10 {
            times.push(pair);
        }
    }
    Comparison::of_pairs(question, reference, &times)
}

/// Times each once: the reference, then what is compared with it.
pub fn pair(mut reference: impl FnMut(), mut run: impl FnMut()) -> Pair {
    (time(&mut reference), time(&mut run))
}

/// The time of the reference, and of what is compared with it.
pub type Pair = (Duration, Duration);

impl Comparison {
    /// What the pairs of one question say.
    pub fn of_pairs(question: &str, reference: &str, times: &[Pair]) -> Self {
        let ratios = sorted(times.iter().map(|(a, b)| b.as_secs_f64() / a.as_secs_f64()));
        let micros = |of: fn(&Pair) -> Duration| {
            let all = sorted(times.iter().map(|pair| of(pair).as_secs_f64() * 1e6));
            quantile(&all, 0.5)
        };
        Self {
            question: question.to_owned(),
            reference: reference.to_owned(),
            ratio: quantile(&ratios, 0.5),
            quartiles: [quantile(&ratios, 0.25), quantile(&ratios, 0.75)],
            micros: micros(|pair| pair.1),
            reference_micros: micros(|pair| pair.0),
            bound: None,
            repetitions: times.len(),
        }
    }

    /// States the bound that the ratio is to stay under.
    #[must_use]
    pub fn bound(mut self, bound: f64) -> Self {
        self.bound = Some(bound);
        self
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let bound = self.bound.map_or(String::new(), |bound| format!("  (bound {bound})"));
        format!(
            "{:<72} {:>5.2} x {} [{:.2}, {:.2}]  {:.1} µs to {:.1} µs{bound}",
            self.question,
            self.ratio,
            self.reference,
            self.quartiles[0],
            self.quartiles[1],
            self.micros,
            self.reference_micros,
        )
    }
}

fn time(run: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The value below which a share `q` of the sorted values lie.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let at = (sorted.len().saturating_sub(1)) as f64 * q;
    sorted.get(at.round() as usize).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let values = sorted([3.0, 1.0, 2.0, 5.0, 4.0].into_iter());
        let found = [0.0, 0.25, 0.5, 1.0].map(|q| quantile(&values, q) as u32);
        assert_eq!(found, [1, 2, 3, 5]);
    }

    #[test]
    fn the_same_work_has_the_ratio_of_itself() {
        let mut runs = (0, 0);
        let both = compare("a", "b", 10, || runs.0 += 1, || runs.1 += 1);
        assert_eq!((runs, both.repetitions), ((11, 11), 10));
        assert!(both.bound(2.0).line().contains("bound 2"));
    }
}
