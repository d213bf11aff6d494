//! A distribution of ages, as the share that is older than each of some ages.
//!
//! Between two points the share is taken as straight. The last share is so small that what lies
//! beyond does not matter.

/// The exponent over which a share that falls exponentially may be taken as straight.
const SMOOTH: f64 = 0.05;

/// Ages in ascending order, each with the share of all ages that exceed it.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// Adds a point: its age is above all ages before, its share not above theirs.
    pub(super) fn push(&mut self, age: f64, older: f64) {
        self.0.push((age, older));
    }

    /// Goes on from the last point, the share multiplied by `factor` a unit, until it is below
    /// `least`.
    pub(super) fn go_on(&mut self, (mut age, mut older): (f64, f64), factor: f64, least: f64) {
        let decay = -factor.clamp(1e-12, 1.0 - 1e-9).ln();
        let units = (SMOOTH / decay).ceil().max(1.0);
        while older > least {
            age += units;
            older *= (-decay * units).exp();
            self.push(age, older);
        }
    }

    /// The curve whose ages are by so many times more than these as these are more than another's.
    pub(super) fn ahead(&self, other: &Self, times: f64) -> Self {
        let mut last = 0.0;
        let points = self.0.iter().map(|&(age, older)| {
            last = f64::max(age + times * (age - other.exceeded_by(older)), last);
            (last, older)
        });
        Self(points.collect())
    }

    /// The mean.
    pub(super) fn average(&self) -> f64 {
        // Below the first point everything is older.
        let first = self.0.first().map_or(0.0, |point| point.0);
        first + self.area(|older| older)
    }

    /// The age that a share `share` of all ages exceeds.
    pub(super) fn exceeded_by(&self, share: f64) -> f64 {
        let after = self.0.partition_point(|point| point.1 > share);
        let Some(&(age, older)) = self.0.get(after) else {
            return self.0.last().map_or(0.0, |point| point.0);
        };
        let Some(&(before, most)) = after.checked_sub(1).and_then(|at| self.0.get(at)) else {
            return age;
        };
        age - (age - before) * (share - older) / (most - older).max(f64::MIN_POSITIVE)
    }

    /// The mean of the greatest of `count` independent ages.
    pub(super) fn oldest_of(&self, count: f64) -> f64 {
        let first = self.0.first().map_or(0.0, |point| point.0);
        first + self.area(|older| 1.0 - (1.0 - older.min(1.0)).powf(count))
    }

    /// The area under a function of the share, from the first point on.
    fn area(&self, of: impl Fn(f64) -> f64) -> f64 {
        let sides = self.0.windows(2).map(|pair| {
            let [(from, before), (to, after)] = [pair[0], pair[1]];
            (to - from) * (of(before) + of(after)) / 2.0
        });
        sides.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ages evenly spread over 0 to 10: mean 5, the greatest of nine 9.
    #[test]
    fn an_even_spread_has_its_known_figures() {
        let mut curve = Curve::default();
        for tenth in 0..=1_000 {
            let age = f64::from(tenth) / 100.0;
            curve.push(age, 1.0 - age / 10.0);
        }
        assert!((curve.average() - 5.0).abs() < 1e-9);
        assert!((curve.exceeded_by(0.25) - 7.5).abs() < 1e-9);
        assert!((curve.exceeded_by(0.0001) - 9.999).abs() < 1e-9);
        assert!((curve.oldest_of(9.0) - 9.0).abs() < 1e-3);
        assert!(Curve::default().average().abs() < 1e-9);
    }
}
