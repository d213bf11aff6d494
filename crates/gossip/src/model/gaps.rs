//! Gaps between events that come again and again, and the waits that follow from them.
//!
//! Whoever looks at a random moment finds a long gap as often as it is long, and of each gap any
//! part behind: a wait reaches an age as often as gaps are longer than it. Distributions of waits
//! are lists of bins.

/// Bins of a wait's distribution, about.
pub(super) const BINS: usize = 120;
/// Pulls of a row whose answers may still count.
const EARLIER: u32 = 8;

/// Times between two of the same events, counted.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    /// How many gaps there are of each length, in steps.
    pub(super) counts: Vec<u64>,
    step_units: f64,
}

/// Windows to random members, as they reach one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strays {
    /// How many in a unit.
    rate: f64,
    /// Their entries, the newest ones, as a share of all.
    share: f64,
    /// The last age asked for, the share that is older, and the exponent of what strays brought.
    units: f64,
    older: f64,
    exponent: f64,
}

/// A wait's distribution: units and weights of bins of equal length.
pub(super) type Bins = Vec<(f64, f64)>;

impl Gaps {
    pub(super) fn new(step_units: f64) -> Self {
        Self { counts: Vec::new(), step_units }
    }

    pub(super) fn note(&mut self, steps: u32) {
        let steps = steps as usize;
        if self.counts.len() <= steps {
            self.counts.resize(steps + 1, 0);
        }
        self.counts[steps] += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Units in all of them.
    pub(super) fn units(&self) -> f64 {
        let steps: u64 = (0..).zip(&self.counts).map(|(steps, count)| steps * count).sum();
        steps as f64 * self.step_units
    }

    /// Whole steps since the last event, as seen right after the next might have been.
    pub(super) fn steps_since(&self) -> Bins {
        let mut longer = self.count();
        let mut bins = Bins::new();
        for (steps, count) in self.counts.iter().enumerate() {
            longer -= count;
            bins.push((steps as f64 * self.step_units, longer as f64));
        }
        let total: f64 = bins.iter().map(|bin| bin.1).sum();
        bins.retain(|bin| bin.1 > 0.0);
        for bin in &mut bins {
            bin.1 /= total;
        }
        bins
    }

    /// The wait at a random moment.
    pub(super) fn wait(&self) -> Bins {
        // Bins are parts of a step or, where gaps are very long, several steps.
        let parts = (BINS / self.counts.len().max(1)).max(1);
        let steps = self.counts.len().div_ceil(BINS).max(1);
        let bin = self.step_units * steps as f64 / parts as f64;
        let mut longer: u64 = self.counts.iter().sum();
        let mut bins = Bins::new();
        for counts in self.counts.chunks(steps) {
            let mut weight = 0;
            for count in counts {
                // Of gaps of so many steps none reaches beyond them.
                longer -= count;
                weight += longer;
            }
            for _ in 0..parts {
                bins.push(((bins.len() as f64 + 0.5) * bin, weight as f64));
            }
        }
        let total: f64 = bins.iter().map(|bin| bin.1).sum();
        bins.retain(|bin| bin.1 > 0.0);
        for bin in &mut bins {
            bin.1 /= total;
        }
        bins
    }
}

impl Strays {
    /// So many in a unit, of the newest entries, which are such a share of all.
    pub(super) fn of(rate: f64, share: f64) -> Self {
        Self { rate, share, units: 0.0, older: 1.0, exponent: 0.0 }
    }

    /// How much less is older than `units`, if strays bring what is younger; ages are asked for in
    /// ascending order.
    pub(super) fn thin(&mut self, units: f64, older: f64) -> f64 {
        // Of ages up to this one so much was found in a stray.
        let younger = (1.0 - self.older).min(self.share);
        self.exponent += (units - self.units) * younger * self.rate;
        self.units = units;
        self.older = older * (-self.exponent).exp();
        self.older
    }

    /// The wait for an event that a stray may precede.
    pub(super) fn wait(mut self, bins: &Bins) -> Bins {
        let (mut before, mut rest) = (1.0, 1.0);
        let thinned = bins.iter().map(|&(units, weight)| {
            rest -= weight;
            let after = self.thin(units, f64::max(rest, 0.0));
            let share = before - after;
            before = after;
            (units, share)
        });
        thinned.collect()
    }
}

/// What a relay holds of the ages `push` gives, for a reader that pulled from another relay each
/// `period` before: the youngest of all that counts.
pub(super) fn held(push: &Bins, period: f64) -> Bins {
    let older = |units: f64| 1.0 - within(push, units);
    let mut before = 1.0;
    let mut bins = Bins::new();
    for &(units, _) in push {
        let earlier = (0..EARLIER).map(|pull| units - f64::from(pull) * period);
        let after = earlier.take_while(|units| *units >= 0.0).map(older).product();
        bins.push((units, before - after));
        before = after;
    }
    bins.retain(|bin| bin.1 > 0.0);
    bins
}

/// The share of waits within `units`.
pub(super) fn within(bins: &Bins, units: f64) -> f64 {
    bins.iter().filter(|bin| bin.0 <= units).map(|bin| bin.1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of 2 units: a wait is anywhere in them; half of all waits are over within 1.
    #[test]
    fn waits_are_spread_over_their_gaps() {
        let mut gaps = Gaps::new(0.5);
        (0..10).for_each(|_| gaps.note(4));
        let wait = gaps.wait();
        assert!((within(&wait, 1.0) - 0.5).abs() < 0.01);
        assert!((within(&wait, 2.0) - 1.0).abs() < 1e-9);
        assert_eq!((gaps.count(), gaps.units()), (10, 20.0));
        // Waits longer than a period are those that no earlier pull cut short.
        assert!(within(&held(&wait, 1.0), 1.5) > within(&wait, 1.5));
        assert!(within(&Strays::of(0.5, 1.0).wait(&wait), 1.5) > within(&wait, 1.5));
    }
}
