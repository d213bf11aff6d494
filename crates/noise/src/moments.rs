//! Mean and variation of numbers that pass by once (Welford, Technometrics 4, 1962).

/// What is known of the numbers so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Moments {
    /// One more.
    pub fn add(&mut self, value: f64) {
        let is_first = self.count == 0;
        self.least = if is_first { value } else { self.least.min(value) };
        self.most = if is_first { value } else { self.most.max(value) };
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 of none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Their standard deviation as a share of the mean; 0 where that is none.
    pub fn variation(&self) -> f64 {
        let deviation = (self.squares / self.count.max(1) as f64).sqrt();
        if self.mean > 0.0 { deviation / self.mean } else { 0.0 }
    }

    /// The least and the greatest.
    pub fn bounds(&self) -> (f64, f64) {
        (self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_variation_and_bounds() {
        let mut moments = Moments::default();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.add(value);
        }
        assert_eq!((moments.count(), moments.mean(), moments.bounds()), (8, 5.0, (2.0, 9.0)));
        assert!((moments.variation() - 0.4).abs() < 1e-12);
        assert!(Moments::default().variation().abs() < 1e-12);
    }
}
