//! Shares: how much each other node may have this one do.
//!
//! A member with the key can ask without end, and an attacker that records members can send again
//! what a node that has just started has not seen yet. So each member has a share of a node's work:
//! a token bucket, which fills at a steady pace and is charged with each request. What exceeds it
//! is dropped and counted, and nobody else's share is touched.
//!
//! Only what the seal has shown to be a member's, and the replay window to be new, is charged. A
//! limit before that, by the address that a datagram seems to come from, would be an attack of its
//! own: addresses are forged as easily as headers, and a few forgeries would silence whom they
//! name.
//!
//! The bucket is kept as the one instant at which it will be full again ("virtual scheduling" of
//! the generic cell rate algorithm, ITU-T I.371), so it needs no clock of its own and no work while
//! nothing happens. Invariant: within any time *t* at most *burst* + *t* / *every* requests pass.

use core::time::Duration;

use tidings_primitives::time::Instant;

/// Requests that pass at once where none did for a while.
pub(crate) const BURST: u32 = 64;
/// Requests for entries that a member may make in a unit, in the long run. A member that sends as
/// the protocol says makes 6 at most: an ask, and a pull or half a window with its repeats.
const REQUESTS_A_UNIT: u32 = 16;
/// Probes that a member may send, for itself and for others, while it waits for one proof.
const PROBES_A_WAIT: u32 = 16;
/// Requests a unit of all together who are no members, or not in their present life.
const STRANGERS_A_UNIT: u32 = 64;
/// Rejects a unit to all together, and how many at once.
const REJECTS_A_UNIT: u32 = 4;
const REJECTS_AT_ONCE: u32 = 16;
/// Answers a unit to all checks together, and how many at once.
const CHECKS_A_UNIT: u32 = 64;
const CHECKS_AT_ONCE: u32 = 256;
/// The pace at which slices are given to all visitors together, and how many at once.
const SLICE_EVERY: Duration = Duration::from_micros(250);
const SLICES_AT_ONCE: u32 = 1024;

/// How fast shares fill, in one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paces {
    /// For the requests of one member, and for the calls of one colony.
    pub(crate) request: Pace,
    /// For the probes of one member.
    pub(crate) probe: Pace,
    /// For the requests of strangers.
    pub(crate) stranger: Pace,
    /// For the visits of all colonies.
    pub(crate) visit: Pace,
    /// For rejects to all together.
    pub(crate) reject: Pace,
    /// For answers to all checks together.
    pub(crate) check: Pace,
}

impl Paces {
    /// For a unit of time, and for the time in which proof of life should come.
    pub(crate) fn of(unit: Duration, wait: Duration) -> Self {
        Self {
            request: Pace { every: unit / REQUESTS_A_UNIT, burst: BURST },
            probe: Pace { every: wait / PROBES_A_WAIT, burst: BURST },
            stranger: Pace { every: unit / STRANGERS_A_UNIT, burst: BURST },
            visit: Pace { every: SLICE_EVERY, burst: SLICES_AT_ONCE },
            reject: Pace { every: unit / REJECTS_A_UNIT, burst: REJECTS_AT_ONCE },
            check: Pace { every: unit / CHECKS_A_UNIT, burst: CHECKS_AT_ONCE },
        }
    }
}

/// How fast one share fills: one request more in this time, up to `burst`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    every: Duration,
    burst: u32,
}

/// What one other has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// When all of it is there again.
    full: Instant,
}

impl Share {
    /// All of it.
    pub(crate) const WHOLE: Self = Self { full: Instant::from_micros(i64::MIN) };

    /// Charges one request; `false`, and nothing charged, if nothing is left.
    pub(crate) fn take(&mut self, now: Instant, pace: Pace) -> bool {
        let passes = self.full.saturating_since(now) <= pace.every * (pace.burst - 1);
        if passes {
            self.full = self.full.max(now) + pace.every;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNIT: Duration = Duration::from_millis(256);

    fn pace() -> Pace {
        Paces::of(UNIT, UNIT / 4).request
    }

    #[test]
    fn a_burst_passes_and_then_the_pace() {
        let (mut share, mut now, pace) = (Share::WHOLE, Instant::EPOCH, pace());
        let passed = (0..200).filter(|_| share.take(now, pace)).count();
        assert_eq!(passed, BURST as usize);
        for _ in 0..3 {
            now = now + pace.every;
            assert!(share.take(now, pace) && !share.take(now, pace), "one more each time");
        }
        let later = now + UNIT * 60;
        let passed = (0..200).filter(|_| share.take(later, pace)).count();
        assert_eq!(passed, BURST as usize, "it fills, and does not overflow");
    }

    proptest! {
        /// However requests come, no stretch of time has more than a burst and what fills
        /// meanwhile.
        #[test]
        fn no_stretch_of_time_has_more(gaps in prop::collection::vec(0u64..40_000, 1..400)) {
            let (mut share, mut now, pace) = (Share::WHOLE, Instant::EPOCH, pace());
            let mut passed = Vec::new();
            for gap in gaps {
                now = now + Duration::from_micros(gap);
                if share.take(now, pace) {
                    passed.push(now);
                }
            }
            for (at, first) in passed.iter().enumerate() {
                for (count, last) in passed[at..].iter().enumerate() {
                    let filled = last.saturating_since(*first).as_micros() / pace.every.as_micros();
                    prop_assert!(count as u128 <= u128::from(BURST) + filled);
                }
            }
        }
    }
}
