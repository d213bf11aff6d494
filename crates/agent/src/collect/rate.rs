//! From counters of devices to bytes per second of all of them.
//!
//! Each device is compared with itself, so that one which comes, goes or restarts at zero never
//! shows as a burst: it counts from its second sample on.

use std::collections::BTreeMap;
use std::time::Duration;

/// The last sample of every device.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: BTreeMap<String, Sample>,
    taken: Option<Duration>,
    pass: u64,
}

/// Two counters of one device, such as bytes read and written.
#[derive(Debug)]
struct Sample {
    counters: [u64; 2],
    pass: u64,
}

impl Rates {
    /// Begins a sample at `now`.
    pub(super) fn begin(&mut self) -> Increase<'_> {
        self.pass += 1;
        Increase { rates: self, sum: [0; 2] }
    }
}

/// An unfinished sample: how much all devices have counted since the last one.
pub(super) struct Increase<'r> {
    rates: &'r mut Rates,
    sum: [u64; 2],
}

impl Increase<'_> {
    /// Adds a device's counters.
    pub(super) fn add(&mut self, device: &str, counters: [u64; 2]) {
        let pass = self.rates.pass;
        let Some(last) = self.rates.last.get_mut(device) else {
            self.rates.last.insert(device.to_owned(), Sample { counters, pass });
            return;
        };
        for (index, counter) in counters.into_iter().enumerate() {
            let increase = counter.saturating_sub(last.counters[index]);
            self.sum[index] = self.sum[index].saturating_add(increase);
        }
        *last = Sample { counters, pass };
    }

    /// The rates per second since the last sample; `None` for the first, and without devices.
    pub(super) fn finish(self, now: Duration) -> Option<[u64; 2]> {
        let Self { rates, sum } = self;
        let pass = rates.pass;
        rates.last.retain(|_, sample| sample.pass == pass);
        let elapsed = now.checked_sub(rates.taken.replace(now)?)?.as_secs_f64();
        let known = elapsed > 0.0 && !rates.last.is_empty();
        known.then(|| sum.map(|count| (count as f64 / elapsed).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rates: &mut Rates, seconds: u64, devices: &[(&str, u64)]) -> Option<u64> {
        let mut increase = rates.begin();
        for &(device, counter) in devices {
            increase.add(device, [counter, 0]);
        }
        increase.finish(Duration::from_secs(seconds)).map(|[rate, _]| rate)
    }

    #[test]
    fn devices_that_come_go_or_restart_make_no_burst() {
        let mut rates = Rates::default();
        assert_eq!(sample(&mut rates, 0, &[("a", 1_000)]), None);
        assert_eq!(sample(&mut rates, 2, &[("a", 1_100)]), Some(50));
        assert_eq!(sample(&mut rates, 3, &[("a", 1_101), ("b", 9_999)]), Some(1));
        assert_eq!(sample(&mut rates, 4, &[("a", 7), ("b", 10_009)]), Some(10));
        assert_eq!(sample(&mut rates, 5, &[("a", 8)]), Some(1));
        assert_eq!(sample(&mut rates, 6, &[("a", 9), ("b", 20_000)]), Some(1));
        assert_eq!(sample(&mut rates, 6, &[("a", 9)]), None);
        assert_eq!(sample(&mut rates, 7, &[]), None);
    }
}
