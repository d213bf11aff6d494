//! Settled readings: what a node says of itself, kept as it was while that is near enough.
//!
//! A reading that stays within its [tolerance](super::Tolerance) of what the node said last is said
//! again as it was; one that leaves it is said as the *roundest* number that is within half the
//! tolerance of the truth: the one whose code in the payload ends in the most zeros. So most
//! entries are equal to the one before, and where they differ, the difference has few bits
//! ([`crate::delta`]). A reading that trembles by less than the other half is not said again and
//! again, as in decision 0076.
//!
//! Only the origin settles its readings, before they enter an entry. So nothing depends on whether
//! tolerances are the same on all nodes, and every receiver of an entry reads the same.
//!
//! Invariant, tested below: what is said is within the tolerance of the reading, in each unit.

use super::error::{FIXED_BYTES, PayloadError};
use super::reading::{Numbers, READINGS, Reading};
use super::state::NodeState;
use super::tolerance::{Tolerance, Tolerances};

/// Where the readings begin, behind their presence.
const READINGS_AT: usize = 4;

/// What a node said last.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    last: Option<([u8; FIXED_BYTES], Numbers)>,
}

impl Settled {
    /// Settles the readings of a state, and writes it into a payload as [`NodeState::encode`] does.
    ///
    /// # Errors
    /// As for [`NodeState::encode`]; nothing was said then.
    pub fn encode(
        &mut self,
        tolerances: &Tolerances,
        state: &NodeState,
        out: &mut [u8],
    ) -> Result<(), PayloadError> {
        state.encode(out)?;
        let (readings, _) = out.split_at_mut(FIXED_BYTES);
        let now = state.numbers();
        let bounds = [-0.5, 0.5].map(|half| bound(tolerances, &now, half));
        let mut at = READINGS_AT;
        for reading in Reading::ALL {
            let end = at + bytes_of(reading);
            if let Some(value) = now[reading.bit()] {
                let held = self.held(tolerances.of(reading), reading, value);
                match held {
                    Some(last) => readings[at..end].copy_from_slice(&last[at..end]),
                    None => round(
                        reading,
                        &mut readings[at..end],
                        [0, 1].map(|side| &bounds[side][at..end]),
                    ),
                }
            }
            at = end;
        }
        let mut said = [0; FIXED_BYTES];
        said.copy_from_slice(readings);
        let numbers = NodeState::decode(&said)?.numbers();
        self.last = Some((said, numbers));
        Ok(())
    }

    /// What was said last, if it may stand for this value of the reading.
    fn held(&self, tolerance: Tolerance, reading: Reading, value: f64) -> Option<&[u8]> {
        let (said, numbers) = self.last.as_ref()?;
        let last = numbers[reading.bit()]?;
        tolerance.holds(reading, value, last).then_some(said)
    }
}

/// The payload of readings that are half a tolerance lower or higher.
fn bound(tolerances: &Tolerances, now: &Numbers, half: f64) -> [u8; FIXED_BYTES] {
    let mut moved = [None; READINGS];
    for reading in Reading::ALL {
        moved[reading.bit()] = now[reading.bit()].map(|value| match tolerances.of(reading) {
            Tolerance::Exact => value,
            Tolerance::Within { absolute, share } => {
                let moved = value + half * absolute.max(share * value.abs());
                if value < 0.0 { moved } else { moved.max(0.0) }
            }
        });
    }
    let mut payload = [0; FIXED_BYTES];
    NodeState::of_numbers(&moved).encode(&mut payload).expect("no user metrics, and room for all");
    payload
}

/// Bytes that a reading takes.
const fn bytes_of(reading: Reading) -> usize {
    match reading {
        Reading::Kernel => 4,
        Reading::PsiCpu | Reading::PsiMemory | Reading::PsiIo => 1,
        _ => 2,
    }
}

/// Writes the roundest code between two; what has four bytes, or ends that do not ascend, stays.
fn round(reading: Reading, code: &mut [u8], ends: [&[u8]; 2]) {
    let number = |bytes: &[u8]| match *bytes {
        [byte] => Some(u16::from(byte)),
        // What can be below 0 ascends when its sign is turned.
        [low, high] if reading == Reading::Temperature => {
            Some(u16::from_le_bytes([low, high]) ^ 0x8000)
        }
        [low, high] => Some(u16::from_le_bytes([low, high])),
        _ => None,
    };
    let (Some(least), Some(most)) = (number(ends[0]), number(ends[1])) else { return };
    if least < most {
        let sign = if reading == Reading::Temperature { 0x8000 } else { 0 };
        let round = (roundest(least, most) ^ sign).to_le_bytes();
        code.copy_from_slice(&round[..code.len()]);
    }
}

/// The number from `least` to `most` that ends in the most zeros.
fn roundest(least: u16, most: u16) -> u16 {
    let Some(below) = least.checked_sub(1) else { return 0 };
    let differ = below ^ most;
    most & !(differ.checked_ilog2().map_or(0, |bit| (1u16 << bit) - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_roundest_number_ends_in_the_most_zeros() {
        for (least, most, round) in
            [(0, 9, 0), (1, 1, 1), (5, 7, 6), (5, 9, 8), (100, 130, 128), (1, u16::MAX, 32_768)]
        {
            assert_eq!(roundest(least, most), round, "{least} to {most}");
        }
        for least in 0..300u16 {
            for most in least..300 {
                let zeros = |number: u16| number.trailing_zeros();
                let best = (least..=most).map(zeros).max();
                let round = roundest(least, most);
                assert!((least..=most).contains(&round) && Some(zeros(round)) == best);
            }
        }
    }

    #[test]
    fn what_stays_near_is_said_again_and_user_metrics_are_as_they_are() {
        let (usual, mut settled) = (Tolerances::default(), Settled::default());
        let mut say = |busy, gpu: &str| {
            let user = [("gpu".to_owned(), gpu.to_owned())].into();
            let state = NodeState { cpu_busy_percent: Some(busy), user, ..NodeState::default() };
            let mut payload = [0; 64];
            settled.encode(&usual, &state, &mut payload).expect("it has room");
            payload
        };
        let first = say(40.3, "1");
        assert_eq!(say(41.0, "1"), first);
        let other = say(41.0, "2");
        assert_eq!(other[..FIXED_BYTES], first[..FIXED_BYTES]);
        assert_ne!(other, first);
        assert_ne!(say(43.0, "2")[..FIXED_BYTES], first[..FIXED_BYTES]);
    }

    #[test]
    fn exact_readings_are_said_as_they_are() {
        let (exact, mut settled) = (Tolerances::exact(), Settled::default());
        let mut alone = [0; FIXED_BYTES];
        for temperature in [-20.3, 40.1, 40.2] {
            let state = NodeState { temperature_c: Some(temperature), ..NodeState::default() };
            let mut payload = [0; FIXED_BYTES];
            settled.encode(&exact, &state, &mut payload).expect("it has room");
            state.encode(&mut alone).expect("it has room");
            assert_eq!(payload, alone);
        }
    }

    proptest! {
        #[test]
        fn what_is_said_is_within_the_tolerance_in_each_unit(
            reading in (0..READINGS).prop_map(|at| Reading::ALL[at]),
            values in prop::collection::vec(
                prop::option::weighted(0.9, prop_oneof![0.0..200.0f64, 0.0..4e9f64]), 1..60,
            ),
        ) {
            let (usual, mut settled) = (Tolerances::default(), Settled::default());
            for value in values {
                let mut numbers = [None; READINGS];
                numbers[reading.bit()] = value;
                // What a payload can express.
                let mut payload = [0; FIXED_BYTES];
                NodeState::of_numbers(&numbers).encode(&mut payload).expect("it has room");
                let state = NodeState::decode(&payload).expect("it was encoded");
                settled.encode(&usual, &state, &mut payload).expect("it has room");
                let said = NodeState::decode(&payload).expect("codes between two codes are codes");
                let (now, said) = (state.numbers()[reading.bit()], said.numbers()[reading.bit()]);
                prop_assert_eq!(now.is_some(), said.is_some());
                if let (Some(now), Some(said)) = (now, said) {
                    let off = match usual.of(reading) {
                        Tolerance::Exact => 0.0,
                        Tolerance::Within { absolute, share } => absolute.max(share * now.abs()),
                    };
                    prop_assert!((now - said).abs() <= off * (1.0 + 1e-9), "{now} {said}");
                }
            }
        }
    }
}
