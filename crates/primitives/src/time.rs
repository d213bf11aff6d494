//! Time: microseconds on one node's own monotonic clock.
//!
//! A state machine never reads a clock. Its driver picks an epoch (process start, the first
//! message, the start of a simulation) and passes the present [`Instant`] with every input.
//! Instants of two nodes are never compared: what travels between nodes is an age, not a time.

use core::ops::{Add, Sub};
use core::time::Duration;

/// A point on one node's clock, in microseconds since that node's epoch.
///
/// May be negative: an entry that arrives early in a node's life can have been born before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Instant(i64);

impl Instant {
    /// The driver's epoch.
    pub const EPOCH: Self = Self(0);

    /// The instant `micros` µs after the epoch (before it, if negative).
    #[inline]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    #[inline]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// The time passed since `earlier`, zero if `earlier` lies ahead.
    #[inline]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        let micros = self.0.saturating_sub(earlier.0);
        Duration::from_micros(if micros > 0 { micros as u64 } else { 0 })
    }

    /// The instant `micros` µs before this one.
    #[must_use]
    #[inline]
    pub const fn before(self, micros: u64) -> Self {
        Self(self.0.saturating_sub_unsigned(micros))
    }
}

/// A duration in whole microseconds, saturating at 2⁶³ − 1 µs (292,000 years).
#[inline]
pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

impl Add<Duration> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    #[inline]
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros(duration)))
    }
}
