//! Ages: how long ago an entry was made, by clocks that need not agree.
//!
//! An entry carries its age, never a time. The node that receives it notes when it arrived and adds
//! the time it has held it since; what it passes on is that sum. Only the travel time of datagrams
//! is missing from an age, and only the drift of crystals (about 10⁻⁵) distorts it.
//!
//! On the wire an age is a [`quantity`] code of steps of [`STEP_MICROS`],
//! rounded up: exact to 16 µs below 65 ms, to 0.05 % above, and never understated.

use core::time::Duration;

use tidings_primitives::time::Instant;

use crate::quantity;

/// One step of an age on the wire, in microseconds.
pub const STEP_MICROS: u64 = 16;

/// The wire code of the age at `now` of an entry born at `birth`.
#[inline]
pub fn encode(now: Instant, birth: Instant) -> u16 {
    let micros = now.as_micros().saturating_sub(birth.as_micros()).max(0) as u64;
    quantity::encode_ceil(micros.div_ceil(STEP_MICROS))
}

/// The age in microseconds that a wire code stands for.
#[inline]
pub fn decode_micros(code: u16) -> u64 {
    quantity::decode(code) * STEP_MICROS
}

/// What a node's vector is worth: how many nodes it knows and how old the news of them is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ages {
    /// Members that have not left, this node among them.
    pub members: u32,
    /// Those of which an entry is held, this node among them.
    pub known: u32,
    /// Mean age over the known members other than this node.
    pub age_avg: Duration,
    /// Age of the oldest of them.
    pub age_max: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_rounded_up_and_never_understated() {
        let now = Instant::from_micros(10_000_000_000);
        for micros in [0u64, 1, 15, 16, 17, 65_535, 65_537, 2_500_000, 3_600_000_000] {
            let read = decode_micros(encode(now, now.before(micros)));
            assert!(read >= micros, "{micros} µs read as {read}");
            assert!(read - micros <= STEP_MICROS + micros / 2048, "{micros} µs read as {read}");
        }
    }

    #[test]
    fn a_birth_ahead_of_now_has_age_zero() {
        assert_eq!(encode(Instant::EPOCH, Instant::from_micros(5)), 0);
    }
}
