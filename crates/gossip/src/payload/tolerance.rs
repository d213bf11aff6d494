//! Tolerances: how far a reading may go from what a receiver holds before it is news.
//!
//! A receiver that holds a value may believe it as long as the truth is near. A tolerance says what
//! near is: within `absolute`, or within `share` of the true value, whichever is more. A reading
//! that stays within it is *confirmed*, which is no news but that it holds; one that leaves it is
//! sent as a number of *steps* from the value held, after which it is within the tolerance again.
//!
//! The steps come from a scale on which the tolerance is 1 everywhere: linear up to
//! `absolute / share`, logarithmic above (as in μ-law companding). Two values that are at most 1
//! apart on the scale are within the tolerance of each other. A step is 1, so that what is held
//! after it is within half the tolerance: a reading that trembles by less than the other half is
//! not sent again and again (a uniform quantiser in the loop of a predictor, DPCM: Jayant and Noll,
//! "Digital Coding of Waveforms", 1984; steps of 2 would be enough for the tolerance, and have no
//! such room). An exact reading has the parts of its unit for a scale.
//!
//! Invariant, tested below: what a receiver holds after a step is within the tolerance of the
//! reading, however the readings went; an error never adds up, because each step is reckoned from
//! what the receiver holds, not from what the sender read.

use super::reading::{Numbers, READINGS, Reading};

/// The most that a share may be: the double is not near.
const MAX_SHARE: f64 = 1.0;

/// How near a value held has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// As the payload tells values apart.
    Exact,
    /// Within a distance or a share of the reading, whichever is more.
    Within {
        /// A distance in the reading's unit, above 0.
        absolute: f64,
        /// A share of the reading, 0 to 1.
        share: f64,
    },
}

/// A tolerance that is none.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "a tolerance of {absolute} or a share of {share}: the first must be a number above 0, the \
     second between 0 and {MAX_SHARE}; for no tolerance say `exact`"
)]
pub struct ToleranceError {
    absolute: f64,
    share: f64,
}

/// What a unit of time brings of one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Symbol {
    /// It is within the tolerance of what is held, or absent still.
    Confirmed,
    /// It is this many steps from what is held; never 0.
    Step(i64),
    /// It is there again, this many steps from 0.
    Appeared(i64),
    /// It is absent now.
    Vanished,
}

impl Tolerance {
    /// A tolerance of a distance or a share, whichever is more.
    ///
    /// # Errors
    /// If one of them is not within its bounds.
    pub fn within(absolute: f64, share: f64) -> Result<Self, ToleranceError> {
        let is_sound = absolute.is_finite() && absolute > 0.0 && (0.0..=MAX_SHARE).contains(&share);
        is_sound
            .then_some(Self::Within { absolute, share })
            .ok_or(ToleranceError { absolute, share })
    }

    /// The documented tolerance of a reading.
    pub const fn usual(reading: Reading) -> Self {
        let (absolute, share) = match reading {
            Reading::Kernel | Reading::Cores | Reading::MemTotal | Reading::SwapTotal => {
                return Self::Exact;
            }
            Reading::Load1 | Reading::Load5 | Reading::Load15 => (0.05, 0.02),
            Reading::CpuBusy
            | Reading::PsiCpu
            | Reading::PsiMemory
            | Reading::PsiIo
            | Reading::Temperature => (1.0, 0.0),
            Reading::MemAvailable | Reading::SwapUsed => (1_048_576.0, 0.005),
            Reading::DiskRead | Reading::DiskWrite | Reading::NetRx | Reading::NetTx => {
                (1_024.0, 0.1)
            }
            Reading::Power => (1.0, 0.02),
            // The payload rounds it to 2^-12 of it.
            Reading::Uptime => (2.0, 1.0 / 2048.0),
        };
        Self::Within { absolute, share }
    }

    /// Whether a held value may stand for the reading.
    pub fn holds(self, reading: Reading, now: f64, held: f64) -> bool {
        match self {
            Self::Exact => (parts(reading, now) - parts(reading, held)).abs() < 0.5,
            Self::Within { absolute, share } => {
                (now - held).abs() <= absolute.max(share * now.abs())
            }
        }
    }

    /// The place of a value on the scale, in steps.
    fn place(self, reading: Reading, value: f64) -> f64 {
        match self {
            Self::Exact => parts(reading, value),
            Self::Within { absolute, share } => {
                let (size, bend) = (value.abs(), absolute / share);
                let place = if share == 0.0 || size <= bend {
                    size / absolute
                } else {
                    1.0 / share + (size / bend).ln() / share.ln_1p()
                };
                place.copysign(value)
            }
        }
    }

    /// The value at a place of the scale.
    fn value(self, reading: Reading, place: f64) -> f64 {
        match self {
            Self::Exact => place / reading.parts_per_unit(),
            Self::Within { absolute, share } => {
                let (size, bend) = (place.abs(), 1.0 / share);
                let value = if share == 0.0 || size <= bend {
                    size * absolute
                } else {
                    absolute / share * ((size - bend) * share.ln_1p()).exp()
                };
                value.copysign(place)
            }
        }
    }
}

/// A value in parts of its unit, as a payload has it.
fn parts(reading: Reading, value: f64) -> f64 {
    (value * reading.parts_per_unit()).round()
}

/// The tolerances of all readings.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerances([Tolerance; READINGS]);

impl Default for Tolerances {
    fn default() -> Self {
        Self(Reading::ALL.map(Tolerance::usual))
    }
}

impl Tolerances {
    /// Every reading as the payload has it.
    pub const fn exact() -> Self {
        Self([Tolerance::Exact; READINGS])
    }

    /// That of a reading.
    pub const fn of(&self, reading: Reading) -> Tolerance {
        self.0[reading.bit()]
    }

    /// Gives a reading another tolerance.
    pub const fn set(&mut self, reading: Reading, tolerance: Tolerance) {
        self.0[reading.bit()] = tolerance;
    }
}

/// What a receiver holds of one node's readings, as its sender knows it: a place of the scale each.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    places: [Option<f64>; READINGS],
    elapsed_s: f64,
}

impl Default for Held {
    fn default() -> Self {
        Self { places: [None; READINGS], elapsed_s: 0.0 }
    }
}

impl Held {
    /// What a receiver would say of a reading now.
    pub fn value(&self, tolerances: &Tolerances, reading: Reading) -> Option<f64> {
        let grown = self.elapsed_s * reading.growth_per_s();
        self.places[reading.bit()].map(|at| tolerances.of(reading).value(reading, at) + grown)
    }

    /// Takes the readings of a moment `since_s` seconds after the last ones, and says of each what
    /// a receiver has to learn so as to hold it within its tolerance. Does not allocate.
    pub fn take(
        &mut self,
        tolerances: &Tolerances,
        now: &Numbers,
        since_s: f64,
    ) -> [Symbol; READINGS] {
        self.elapsed_s += since_s;
        Reading::ALL.map(|reading| {
            let (tolerance, place) = (tolerances.of(reading), &mut self.places[reading.bit()]);
            let Some(now) = now[reading.bit()].filter(|now| now.is_finite()) else {
                return place.take().map_or(Symbol::Confirmed, |_| Symbol::Vanished);
            };
            // What grows by itself is compared without the growth.
            let still = now - self.elapsed_s * reading.growth_per_s();
            let new = tolerance.place(reading, still);
            let Some(held) = place else {
                *place = Some(new.round());
                return Symbol::Appeared(new.round() as i64);
            };
            let steps = (new - *held).round();
            if steps == 0.0 || tolerance.holds(reading, still, tolerance.value(reading, *held)) {
                return Symbol::Confirmed;
            }
            *held += steps;
            Symbol::Step(steps as i64)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::payload::{FIXED_BYTES, KernelRelease, NodeState};

    fn only(reading: Reading, value: Option<f64>) -> Numbers {
        let mut numbers = [None; READINGS];
        numbers[reading.bit()] = value;
        numbers
    }

    #[test]
    fn what_stays_near_is_confirmed_and_what_leaves_is_sent_in_steps() {
        let (usual, busy) = (Tolerances::default(), Reading::CpuBusy);
        let mut held = Held::default();
        let mut take = |value| held.take(&usual, &only(busy, value), 0.25)[busy.bit()];
        assert_eq!(take(None), Symbol::Confirmed, "absent still");
        assert_eq!(take(Some(10.0)), Symbol::Appeared(10));
        assert_eq!(take(Some(11.0)), Symbol::Confirmed);
        assert_eq!(take(Some(9.0)), Symbol::Confirmed);
        assert_eq!(take(Some(13.2)), Symbol::Step(3));
        assert_eq!(take(Some(13.2)), Symbol::Confirmed);
        assert_eq!(take(Some(0.0)), Symbol::Step(-13));
        assert_eq!(take(None), Symbol::Vanished);
        assert_eq!(take(Some(100.0)), Symbol::Appeared(100));
    }

    #[test]
    fn a_drift_below_the_tolerance_is_found_when_it_has_added_up() {
        let (usual, load) = (Tolerances::default(), Reading::Load1);
        let mut held = Held::default();
        let drifts = (0..20).map(|at| 0.02 * f64::from(at));
        let sent = drifts.map(|now| held.take(&usual, &only(load, Some(now)), 1.0)[load.bit()]);
        assert_eq!(sent.filter(|sent| matches!(sent, Symbol::Step(_))).count(), 7);
    }

    /// A quantiser whose steps are as wide as the tolerance allows sends a reading on the border
    /// of two steps whenever it trembles: an uptime in whole seconds was sent each unit.
    #[test]
    fn a_reading_that_trembles_is_not_sent_again_and_again() {
        let (usual, busy) = (Tolerances::default(), Reading::CpuBusy);
        for at in 0..40 {
            let mut held = Held::default();
            let trembling =
                (0..100).map(|unit| 20.0 + f64::from(at) / 10.0 + f64::from(unit % 2) * 0.4);
            let sent =
                trembling.map(|now| held.take(&usual, &only(busy, Some(now)), 1.0)[busy.bit()]);
            assert_eq!(sent.skip(1).filter(|&sent| sent != Symbol::Confirmed).count(), 0);
        }
    }

    #[test]
    fn an_exact_reading_is_sent_whenever_its_payload_differs() {
        let (exact, load) = (Tolerances::exact(), Reading::Load1);
        let mut held = Held::default();
        let mut take = |value| held.take(&exact, &only(load, Some(value)), 1.0)[load.bit()];
        assert_eq!(take(0.5), Symbol::Appeared(50));
        assert_eq!(take(0.501), Symbol::Confirmed, "a payload has hundredths");
        assert_eq!(take(0.51), Symbol::Step(1));
    }

    #[test]
    fn an_uptime_that_grows_as_time_does_is_no_news_and_a_boot_is() {
        let (usual, uptime) = (Tolerances::default(), Reading::Uptime);
        let mut held = Held::default();
        let mut take = |value| held.take(&usual, &only(uptime, Some(value)), 1.0)[uptime.bit()];
        assert!(matches!(take(1_000.0), Symbol::Appeared(_)));
        for at in 1..500 {
            assert_eq!(take(1_000.0 + f64::from(at)), Symbol::Confirmed);
        }
        assert!(matches!(take(3.0), Symbol::Step(..0)), "it was started again");
    }

    #[test]
    fn a_tolerance_without_sense_is_refused() {
        for (absolute, share) in
            [(0.0, 0.1), (-1.0, 0.0), (f64::NAN, 0.0), (1.0, f64::NAN), (1.0, 1.1), (1.0, -0.1)]
        {
            assert!(Tolerance::within(absolute, share).is_err(), "{absolute} {share}");
        }
        let text = Tolerance::within(0.0, 0.1).expect_err("0 is no distance").to_string();
        assert!(text.ends_with("for no tolerance say `exact`"), "{text}");
    }

    #[test]
    fn readings_stand_by_their_presence_bits_and_go_there_and_back() {
        let state = NodeState {
            kernel: Some(KernelRelease { major: 6, minor: 12, patch: 48 }),
            swap_used_bytes: Some(1 << 30),
            psi_io_percent: Some(2.0),
            ..NodeState::default()
        };
        assert_eq!(NodeState::of_numbers(&state.numbers()), state);
        for reading in Reading::ALL {
            let alone = NodeState::of_numbers(&only(reading, Some(1.0)));
            let mut payload = [0; FIXED_BYTES];
            alone.encode(&mut payload).expect("it has room");
            assert_eq!(payload[..4], (1u32 << reading.bit()).to_le_bytes(), "{reading:?}");
        }
    }

    fn any_tolerance() -> impl Strategy<Value = Tolerance> {
        let within = (1e-3..1e6, prop_oneof![Just(0.0), 1e-4..=1.0]);
        prop_oneof![
            Just(Tolerance::Exact),
            within.prop_map(|(absolute, share)| Tolerance::Within { absolute, share }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_held_is_within_the_tolerance_after_every_unit(
            tolerance in any_tolerance(),
            reading in (0..READINGS).prop_map(|at| Reading::ALL[at]),
            values in prop::collection::vec(
                prop::option::weighted(0.9, prop_oneof![-1e3..1e3, -1e12..1e12]), 1..100,
            ),
        ) {
            let mut tolerances = Tolerances::default();
            tolerances.set(reading, tolerance);
            let mut held = Held::default();
            for now in values {
                held.take(&tolerances, &only(reading, now), 0.0);
                let seen = held.value(&tolerances, reading);
                prop_assert_eq!(seen.is_some(), now.is_some());
                if let (Some(now), Some(seen)) = (now, seen) {
                    let room = match tolerance {
                        Tolerance::Exact => 0.5 / reading.parts_per_unit(),
                        Tolerance::Within { absolute, share } => absolute.max(share * now.abs()),
                    };
                    let off = (now - seen).abs();
                    prop_assert!(off <= room * (1.0 + 1e-6) + now.abs() * 1e-12, "{now} {seen}");
                }
            }
        }

        #[test]
        fn any_numbers_are_taken(numbers in prop::array::uniform20(any::<Option<f64>>())) {
            let mut held = Held::default();
            held.take(&Tolerances::default(), &numbers, 0.25);
            held.take(&Tolerances::default(), &numbers, f64::MAX);
            let _ = NodeState::of_numbers(&numbers);
        }
    }
}
