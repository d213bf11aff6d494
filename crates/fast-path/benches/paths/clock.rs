//! Times of single calls, and the rows that are made of them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

/// Tells a process that the bench starts which core is for the service.
pub(crate) const SERVICE_CORE: &str = "TIDINGS_PATHS_SERVICE_CORE";

/// The nanoseconds of each of `count` calls, the clock's own taken off.
pub(crate) fn timed(count: usize, mut call: impl FnMut()) -> Vec<u64> {
    let mut empty: Vec<u64> = (0..101)
        .map(|_| {
            let began = Instant::now();
            began.elapsed().as_nanos() as u64
        })
        .collect();
    let clock = quantile(&mut empty, 50);
    (0..count)
        .map(|_| {
            let began = Instant::now();
            call();
            (began.elapsed().as_nanos() as u64).saturating_sub(clock)
        })
        .collect()
}

/// A quantile in hundredths; 0 of nothing.
fn quantile(values: &mut [u64], hundredths: usize) -> u64 {
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    values.get(last * hundredths / 100).copied().unwrap_or(0)
}

/// What each path took, in each repetition.
#[derive(Default)]
pub(crate) struct Rows {
    order: Vec<(&'static str, Option<&'static str>)>,
    medians: BTreeMap<&'static str, Vec<u64>>,
    tails: BTreeMap<&'static str, Vec<u64>>,
}

impl Rows {
    /// Adds a repetition of a path, to be compared with the one named.
    pub(crate) fn add(&mut self, name: &'static str, times: &[u64], beside: Option<&'static str>) {
        if !self.medians.contains_key(name) {
            self.order.push((name, beside));
        }
        let mut times = times.to_vec();
        self.medians.entry(name).or_default().push(quantile(&mut times, 50));
        self.tails.entry(name).or_default().push(quantile(&mut times, 99));
    }

    fn middle(of: &BTreeMap<&'static str, Vec<u64>>, name: &str) -> u64 {
        of.get(name).map_or(0, |values| quantile(&mut values.clone(), 50))
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "| path | median, ns | 99 %, ns | ratio to the plain path |")?;
        writeln!(formatter, "|---|---|---|---|")?;
        for (name, beside) in &self.order {
            let median = Self::middle(&self.medians, name);
            let tail = Self::middle(&self.tails, name);
            let ratio = beside.map_or_else(String::new, |plain| {
                let plain = Self::middle(&self.medians, plain);
                format!("{:.3}", median as f64 / plain.max(1) as f64)
            });
            writeln!(formatter, "| {name} | {median} | {tail} | {ratio} |")?;
        }
        Ok(())
    }
}
