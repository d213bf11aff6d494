//! Latency: how long a datagram travels, as a distribution with a name.
//!
//! | written | travel time |
//! |---|---|
//! | `100us` | always the same |
//! | `uniform:50us..150us` | each value between the two alike |
//! | `exponential:100us` | memoryless, with this mean |
//! | `lognormal:100us,0.5` | median, and the standard deviation of its natural logarithm |
//!
//! A drawn time is rounded to whole microseconds and bounded by [`Latency::LONGEST`]: the tail of
//! a distribution must not live longer than the run.

use core::fmt;
use core::str::FromStr;

use crate::chance::Chance;
use crate::span::{NotASpan, Span};

/// A distribution of travel times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Latency {
    /// Always this long.
    Constant(Span),
    /// Uniform between the two.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Log-normal with this median and deviation of the logarithm.
    Lognormal(Span, f64),
}

/// What is written is no latency.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotALatency {
    /// One of its spans is none.
    #[error(transparent)]
    Span(#[from] NotASpan),
    /// The form is none of the four.
    #[error(
        "`{0}` is no latency: write a span (100us), uniform:50us..150us, exponential:100us or \
         lognormal:100us,0.5 (median; deviation of its logarithm, 0 to 5)"
    )]
    Form(String),
}

impl Latency {
    /// No drawn time is longer.
    pub const LONGEST: Span = Span::from_micros(60_000_000);

    /// Draws a travel time in microseconds.
    pub fn draw_micros(&self, chance: &mut Chance) -> u64 {
        let micros = match *self {
            Self::Constant(span) => return span.as_micros(),
            Self::Uniform(from, to) => {
                let (from, to) = (from.as_micros() as f64, to.as_micros() as f64);
                from + chance.real() * (to - from)
            }
            Self::Exponential(mean) => chance.exponential(mean.as_micros() as f64),
            Self::Lognormal(median, deviation) => {
                median.as_micros() as f64 * (deviation * chance.normal()).exp()
            }
        };
        (micros.round() as u64).min(Self::LONGEST.as_micros())
    }

    /// The mean travel time in microseconds.
    pub fn mean_micros(&self) -> f64 {
        let mean = match *self {
            Self::Constant(span) | Self::Exponential(span) => span.as_micros() as f64,
            Self::Uniform(from, to) => {
                f64::midpoint(from.as_micros() as f64, to.as_micros() as f64)
            }
            Self::Lognormal(median, deviation) => {
                median.as_micros() as f64 * (deviation * deviation / 2.0).exp()
            }
        };
        mean.min(Self::LONGEST.as_micros() as f64)
    }

    /// Whether every datagram arrives at once.
    pub fn is_zero(&self) -> bool {
        *self == Self::Constant(Span::ZERO)
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::Constant(Span::ZERO)
    }
}

impl FromStr for Latency {
    type Err = NotALatency;

    fn from_str(text: &str) -> Result<Self, NotALatency> {
        let wrong = || NotALatency::Form(text.to_owned());
        let latency = match text.split_once(':') {
            None => Self::Constant(text.parse()?),
            Some(("uniform", range)) => {
                let (from, to) = range.split_once("..").ok_or_else(wrong)?;
                Self::Uniform(from.parse()?, to.parse()?)
            }
            Some(("exponential", mean)) => Self::Exponential(mean.parse()?),
            Some(("lognormal", rest)) => {
                let (median, deviation) = rest.split_once(',').ok_or_else(wrong)?;
                Self::Lognormal(median.parse()?, deviation.trim().parse().map_err(|_| wrong())?)
            }
            Some(_) => return Err(wrong()),
        };
        let possible = match latency {
            Self::Constant(span) | Self::Exponential(span) => span <= Self::LONGEST,
            Self::Uniform(from, to) => from <= to && to <= Self::LONGEST,
            Self::Lognormal(span, deviation) => {
                span <= Self::LONGEST && (0.0..=5.0).contains(&deviation)
            }
        };
        if possible { Ok(latency) } else { Err(wrong()) }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(span) => write!(f, "{span}"),
            Self::Uniform(from, to) => write!(f, "uniform:{from}..{to}"),
            Self::Exponential(mean) => write!(f, "exponential:{mean}"),
            Self::Lognormal(median, deviation) => write!(f, "lognormal:{median},{deviation}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Purpose;
    use crate::chance::stream;

    const ALL: [&str; 4] =
        ["100us", "uniform:50us..150us", "exponential:100us", "lognormal:100us,0.5"];

    #[test]
    fn latencies_read_and_print_alike() {
        for text in ALL {
            assert_eq!(text.parse::<Latency>().map(|l| l.to_string()), Ok(text.to_owned()));
        }
        for text in ["uniform:2ms..1ms", "lognormal:1ms", "normal:1ms", "100s", "lognormal:1ms,-1"]
        {
            assert!(text.parse::<Latency>().is_err(), "{text}");
        }
    }

    /// Null values: means of 100, 100, 100 and 100·e^0.125 = 113.3 µs over 100,000 draws, as
    /// [`Latency::mean_micros`] says; standard errors are below 0.32 µs, and 2 µs are six of them:
    /// false alarms are rarer than 1 in 10⁸.
    #[test]
    fn drawn_times_have_the_mean_of_their_distribution() {
        let mut chance = stream(3, Purpose::Network);
        for (text, expected) in ALL.into_iter().zip([100.0, 100.0, 100.0, 113.3]) {
            let latency: Latency = text.parse().expect("a valid latency");
            let total: u64 = (0..100_000).map(|_| latency.draw_micros(&mut chance)).sum();
            assert!((total as f64 / 1e5 - expected).abs() < 2.0, "{text}: {total}");
            assert!((latency.mean_micros() - expected).abs() < 0.1, "{text}");
        }
    }
}
