//! What a rate and a delay of hosts made here may be, whether of all or of a single link.

use toml::Spanned;

use crate::ExperimentError;
use crate::text::Source;

/// What a link may pass, in millions of bits a second.
pub(super) const LEAST_RATE: f64 = 0.1;
pub(super) const MOST_RATE: f64 = 100_000.0;
/// How long a packet may travel, in microseconds.
const MOST_DELAY_US: f64 = 1e6;

type Given<'a> = Option<&'a Spanned<f64>>;

/// The value of a key `rate_mbit`.
pub(super) fn rate(place: &Source<'_>, given: Given<'_>) -> Result<Option<f64>, ExperimentError> {
    given.map(|rate| place.within("rate_mbit", rate, LEAST_RATE, MOST_RATE)).transpose()
}

/// The value of a key `delay_us`.
pub(super) fn delay(place: &Source<'_>, given: Given<'_>) -> Result<Option<f64>, ExperimentError> {
    given.map(|delay| place.within("delay_us", delay, 0.0, MOST_DELAY_US)).transpose()
}
