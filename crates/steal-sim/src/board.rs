//! The board of a simulated cluster: what each worker would know of each other by gossip.
//!
//! A vector for each worker would take the square of their number. What is kept instead is what
//! each published at the beginning of each unit of time, for as many units as entries get old. An
//! entry's age is drawn from the distribution that the gossip's own model gives for that number of
//! nodes, by a hash of reader, subject and unit: the same question has the same answer, and an
//! entry is never younger than gossip would have it. Travel times are short against the unit.
//!
//! Invariant: an entry says what its worker had at that very age, never anything later.

use std::collections::VecDeque;

use tidings_gossip::Strategy;
use tidings_gossip::dissemination::layout::Budget;
use tidings_gossip::model::forecast;
use tidings_primitives::chance::mix;
use tidings_steal::{Board, Entry};

/// Parts of the distribution of ages.
const PARTS: usize = 256;

/// The largest number of nodes whose ages are forecast: a larger cluster gossips in colonies.
const MOST_NODES: u32 = 8192;

/// What workers published.
#[derive(Debug)]
pub struct History {
    unit_ns: i64,
    seed: u64,
    /// Ages in units, in ascending order, each of the same share of entries.
    ages: Vec<f64>,
    /// In microseconds of work, the newest unit last.
    published: VecDeque<Vec<u32>>,
    /// Units that have begun since the phase did.
    units: i64,
    began_ns: i64,
}

/// What one worker knows at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Vector<'a> {
    history: &'a History,
    reader: u32,
    now_ns: i64,
}

/// The ages of entries among so many nodes, in units: windows of a fifth of the nodes, by grid.
pub fn ages(nodes: u32) -> Vec<f64> {
    let nodes = nodes.clamp(2, MOST_NODES) as usize;
    let budget = Budget {
        entry_bytes: 24,
        frame_bytes: 60,
        datagram_entries: 55,
        window_entries: (nodes / 5).max(1),
        changes: None,
    };
    let forecast = forecast(Strategy::Grid, nodes, &budget, 0.0);
    let middle = |part: usize| (part as f64 + 0.5) / PARTS as f64;
    (0..PARTS).map(|part| forecast.quantile_units(middle(part)).max(0.0)).collect()
}

impl History {
    /// Nothing is published yet; `unit_ns` 0: nothing ever is.
    pub fn new(nodes: u32, unit_ns: i64, seed: u64) -> Self {
        let ages = if unit_ns > 0 { ages(nodes) } else { Vec::new() };
        let published = VecDeque::new();
        Self { unit_ns, seed, ages, published, units: 0, began_ns: 0 }
    }

    /// A phase begins: what was published belongs to another.
    pub fn begin(&mut self, now_ns: i64) {
        self.published.clear();
        (self.units, self.began_ns) = (0, now_ns);
    }

    /// A unit begins: what each has.
    pub fn publish(&mut self, work_us: Vec<u32>) {
        self.published.push_back(work_us);
        self.units += 1;
        let oldest = self.ages.last().copied().unwrap_or(0.0);
        if self.published.len() > oldest as usize + 2 {
            self.published.pop_front();
        }
    }

    /// What a worker knows now.
    pub fn vector(&self, reader: u32, now_ns: i64) -> Vector<'_> {
        Vector { history: self, reader, now_ns }
    }
}

impl Board for Vector<'_> {
    fn entry(&self, worker: u32) -> Option<Entry> {
        let history = self.history;
        if history.units == 0 {
            return None;
        }
        let pair = u64::from(self.reader) << 32 | u64::from(worker);
        let drawn = mix(mix(pair ^ history.seed).wrapping_add(history.units as u64));
        let age_units = history.ages[drawn as usize % PARTS];
        let since_ns = self.now_ns - history.began_ns;
        let at = (since_ns as f64 / history.unit_ns as f64 - age_units).floor() as i64;
        let at = at.min(history.units - 1);
        let first = history.units - history.published.len() as i64;
        let published = history.published.get(usize::try_from(at - first).ok()?)?;
        let age_us = ((since_ns - at * history.unit_ns) / 1000).max(0) as u64;
        Some(Entry { work_ns: 1000 * u64::from(published[worker as usize]), age_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_what_was_at_its_age() {
        let mut history = History::new(1024, 1_000_000, 7);
        history.begin(5_000_000);
        assert_eq!(history.vector(0, 5_000_000).entry(1), None);
        for unit in 0..200 {
            history.publish(vec![1000 * unit; 1024]);
        }
        let (mut sum, now_ns) = (0, 5_000_000 + 199_300_000);
        for worker in 0..1024 {
            let entry = history.vector(9, now_ns).entry(worker).unwrap();
            assert_eq!(entry.work_ns / 1_000_000 * 1000 + entry.age_us, 199_300);
            sum += entry.age_us;
        }
        let mean_units = sum as f64 / 1024.0 / 1000.0;
        let expected = ages(1024).iter().sum::<f64>() / PARTS as f64 + 0.5;
        assert!((mean_units - expected).abs() < 0.7, "{mean_units}, expected {expected}");
    }
}
