//! Spans of time as people write them: `256ms`, `100us`, `1.5s`, `0`.
//!
//! One grammar for scenario files and the command line: a number, then `us`, `ms` or `s`. The
//! simulator counts whole microseconds, and a span is rounded to them. Zero needs no unit.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// The longest span that can be written: 365 days.
const MAX_SECONDS: f64 = 365.0 * 86_400.0;

/// A span of time in whole microseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Span {
    micros: u64,
}

/// What is written is no span of time.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is no span of time: write a number and us, ms or s, as in 256ms; at most 365 days")]
pub struct NotASpan(pub String);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self { micros: 0 };

    /// This many microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self { micros }
    }

    /// Whether it is no time at all.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub const fn is_zero(&self) -> bool {
        self.micros == 0
    }

    /// The microseconds.
    pub const fn as_micros(self) -> u64 {
        self.micros
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_micros(span.micros)
    }
}

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        let wrong = || NotASpan(text.to_owned());
        let text = text.trim();
        if text == "0" {
            return Ok(Self::ZERO);
        }
        let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(unit_at);
        let micros_each = match unit {
            "us" | "µs" => 1.0,
            "ms" => 1e3,
            "s" => 1e6,
            _ => return Err(wrong()),
        };
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let micros = (number * micros_each).round();
        if (0.0..=MAX_SECONDS * 1e6).contains(&micros) {
            Ok(Self { micros: micros as u64 })
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.micros {
            0 => f.write_str("0"),
            micros if micros % 1_000_000 == 0 => write!(f, "{}s", micros / 1_000_000),
            micros if micros % 1_000 == 0 => write!(f, "{}ms", micros / 1_000),
            micros => write!(f, "{micros}us"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_and_print_alike() {
        for text in ["0", "1us", "256ms", "1500us", "2s"] {
            assert_eq!(text.parse::<Span>().map(|span| span.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("1.5ms".parse(), Ok(Span::from_micros(1500)));
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for text in ["", "5", "ms", "-1ms", "5 minutes", "NaNs", "infs", "9e99s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
