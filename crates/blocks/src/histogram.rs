//! A histogram: how often which value came, to an eighth of it, counted on the own core.
//!
//! Values are 64 bits. Those below 8 have a bin each; above, each power of two has eight bins of
//! equal width, so a quantile is at most an eighth too large. That is 496 bins, 4 KiB a core.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use crate::block::{Block, Handler, Here};
use crate::cores::{Mine, PerCore};
use crate::counter::add_alone;
use crate::reply::{self, Reply};
use crate::tally::{Collect, Counts, Sum, Tally};

/// Bins of each power of two, as a power of two.
const FINE: u32 = 3;

/// All bins.
pub const BINS: usize = ((64 - FINE + 1) << FINE) as usize;

/// The kind of histograms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Histogram;

/// A histogram, as programs call it.
#[derive(Debug)]
pub struct Values {
    cores: Arc<PerCore<Bins>>,
    here: Here,
}

struct Bins([AtomicU64; BINS]);

impl Values {
    /// Counts a value.
    #[inline]
    pub fn record(&self, value: u64) {
        let bin = bin_of(value);
        match self.cores.mine() {
            Mine::Alone(own) => add_alone(&own.0[bin], 1),
            Mine::Shared(shared) => drop(shared.0[bin].fetch_add(1, Relaxed)),
        }
    }

    /// How often which values came everywhere: [`Sum::counts`] are the bins, for [`quantile`].
    pub fn sum(&self) -> Reply<Sum> {
        let (asker, reply) = reply::ask();
        self.here.call(Collect(asker));
        reply
    }
}

/// The bin of a value.
#[inline]
pub fn bin_of(value: u64) -> usize {
    let Some(power) = (value >> FINE).checked_ilog2() else { return value as usize };
    let fine = (value >> power) as usize - (1 << FINE);
    ((power as usize + 1) << FINE) + fine
}

/// The largest value of a bin.
pub fn last_of(bin: usize) -> u64 {
    let (power, fine) = (bin >> FINE, (bin & ((1 << FINE) - 1)) as u64);
    match power.checked_sub(1) {
        None => fine,
        Some(power) => {
            let width = 1_u64.checked_shl(power as u32).unwrap_or(0);
            let first = (fine + (1 << FINE)).wrapping_mul(width);
            first.wrapping_add(width.wrapping_sub(1))
        }
    }
}

/// The value below or at which a share `q` of all are, at most an eighth too large; none if there
/// are no values.
pub fn quantile(bins: &[u64], q: f64) -> Option<u64> {
    let total: u64 = bins.iter().sum();
    let wanted = ((total as f64 * q).ceil() as u64).clamp(1, total.max(1));
    let mut seen = 0;
    let bin = bins.iter().position(|count| {
        seen += count;
        seen >= wanted
    })?;
    Some(last_of(bin))
}

impl Counts for PerCore<Bins> {
    fn read(&self) -> Vec<u64> {
        let mut sums = vec![0_u64; BINS];
        for core in self.all() {
            for (sum, bin) in sums.iter_mut().zip(&core.0) {
                *sum = sum.wrapping_add(bin.load(Relaxed));
            }
        }
        sums
    }
}

impl core::fmt::Debug for Bins {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Bins")
    }
}

impl Block for Histogram {
    const KIND: &'static str = "histogram";
    const VERSION: u32 = 1;
    type Interface = Values;

    fn represent(&self, here: Here) -> (Box<Values>, Box<dyn Handler>) {
        let cores = Arc::new(PerCore::new(|| Bins([const { AtomicU64::new(0) }; BINS])));
        let tally = Tally::new(Arc::clone(&cores) as Arc<dyn Counts>);
        (Box::new(Values { cores, here }), Box::new(tally))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_is_in_its_bin_to_an_eighth(value: u64, shift in 0..64_u32) {
            let value = value >> shift;
            let bin = bin_of(value);
            prop_assert!(bin < BINS);
            prop_assert!(last_of(bin) >= value && last_of(bin) - value <= value / 8);
            prop_assert!(bin == 0 || last_of(bin - 1) < value);
        }
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let mut bins = vec![0; BINS];
        assert_eq!(quantile(&bins, 0.5), None);
        for value in 0..1_000 {
            bins[bin_of(value)] += 1;
        }
        assert_eq!(quantile(&bins, 0.0), Some(0));
        let half = quantile(&bins, 0.5).unwrap();
        assert!((499..=561).contains(&half), "{half}");
        assert_eq!(quantile(&bins, 1.0), Some(1_023));
        assert_eq!(last_of(bin_of(u64::MAX)), u64::MAX);
    }
}
