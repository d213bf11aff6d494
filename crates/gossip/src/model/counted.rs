//! Ages that were counted in a simulation.

use super::curve::Curve;

/// Parts of a unit in which ages are counted.
pub(super) const AGE_PARTS: u32 = 64;

/// How often each age was, and the oldest of many moments.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    counts: Vec<u64>,
    oldest_parts: u64,
    moments: u64,
}

impl Counted {
    /// Counts an age.
    pub(super) fn count(&mut self, parts: u32) {
        let at = parts as usize;
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }

    /// Notes the oldest age of a node at a moment.
    pub(super) fn oldest(&mut self, parts: u32) {
        self.oldest_parts += u64::from(parts);
        self.moments += 1;
    }

    /// The distribution of what was counted.
    pub(super) fn curve(&self) -> Curve {
        let all: u64 = self.counts.iter().sum();
        let (mut curve, mut older) = (Curve::default(), all);
        curve.push(0.0, 1.0);
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            // Nothing lies between the last age and this one.
            curve.push(at as f64 / f64::from(AGE_PARTS), older as f64 / all.max(1) as f64);
            older -= count;
            let share = older as f64 / all.max(1) as f64;
            curve.push((at + 1) as f64 / f64::from(AGE_PARTS), share);
        }
        curve
    }

    /// The mean of the oldest ages.
    pub(super) fn oldest_units(&self) -> f64 {
        self.oldest_parts as f64 / f64::from(AGE_PARTS) / self.moments.max(1) as f64
    }
}
