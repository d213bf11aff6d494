//! A summary: what the fresh nodes of an aggregate say of one reading.

use super::reading::Reading;
use super::sketch::Sketch;

/// One reading over the fresh nodes of an aggregate that have it. Values are in its unit.
#[derive(Clone, Copy, Debug)]
pub struct Summary<'a> {
    reading: Reading,
    pub(super) sketch: &'a Sketch,
}

/// How many readings lie from one value to another, both included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bin {
    /// The smallest value that it can hold.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// Readings in it.
    pub count: u32,
}

impl<'a> Summary<'a> {
    pub(super) fn of(reading: Reading, sketch: &'a Sketch) -> Self {
        Self { reading, sketch }
    }

    /// Nodes that have the reading.
    pub fn count(&self) -> u32 {
        self.sketch.count()
    }

    /// The sum over these nodes, exact for what their payloads say.
    pub fn sum(&self) -> f64 {
        self.reading.total(self.sketch.sum(), self.sketch.count())
    }

    /// The mean; `None` if no node has the reading.
    pub fn mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.sum() / f64::from(self.count()))
    }

    /// The smallest, exact.
    pub fn min(&self) -> Option<f64> {
        self.sketch.ends().map(|(min, _)| self.reading.value(min))
    }

    /// The largest, exact.
    pub fn max(&self) -> Option<f64> {
        self.sketch.ends().map(|(_, max)| self.reading.value(max))
    }

    /// An estimate of the smallest value that a share `q` (0 to 1) of the nodes do not exceed.
    ///
    /// Off by at most half a bin, and exact for the smallest (`q` = 0) and the largest (1).
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.sketch.code_at(self.rank(q)).map(|code| self.reading.value(code))
    }

    /// The values between which that quantile lies for certain, both included.
    pub fn quantile_bounds(&self, q: f64) -> Option<(f64, f64)> {
        let (low, high) = self.sketch.codes_at(self.rank(q))?;
        Some((self.reading.value(low), self.reading.value(high)))
    }

    /// The bins in ascending order, from that of the smallest to that of the largest reading.
    pub fn histogram(self) -> impl Iterator<Item = Bin> + 'a {
        self.sketch.used().map(move |bin| {
            let (low, high) = self.sketch.codes_of(bin);
            let (low, high) = (self.reading.value(low), self.reading.value(high));
            Bin { low, high, count: self.sketch.in_bin(bin) }
        })
    }

    /// The rank, from 1 on, of the reading that is the quantile.
    pub(super) fn rank(&self, q: f64) -> u32 {
        (q.clamp(0.0, 1.0) * f64::from(self.count())).ceil() as u32
    }
}
