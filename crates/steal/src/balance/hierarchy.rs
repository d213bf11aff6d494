//! The tree of workers along which tasks go to others, and what is given away.

/// How it is done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Hierarchy {
    /// Workers directly below one.
    pub arity: usize,
    /// The width of a bin, in the unit of costs.
    pub bin: u64,
    /// The load up to which nothing is given away, and above which nothing is taken, in averages.
    pub threshold: f64,
}

impl Hierarchy {
    /// The paper's: eight below each, ten milliseconds a bin, half a percent above the average.
    pub const PAPER: Self = Self { arity: 8, bin: 10_000_000, threshold: 1.005 };

    /// With the paper's tree and bins of a 1,024th of what a worker has on average.
    pub fn of_average(average: f64) -> Self {
        Self { bin: (average / 1024.0).max(1.0) as u64, ..Self::PAPER }
    }

    /// Those directly below a worker, of so many.
    pub fn below(&self, worker: u32, workers: u32) -> core::ops::Range<u32> {
        let first = (worker as usize).saturating_mul(self.arity).saturating_add(1);
        let end = first.saturating_add(self.arity);
        first.min(workers as usize) as u32..end.min(workers as usize) as u32
    }
}
