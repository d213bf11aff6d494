//! Which readings of a payload an aggregate keeps, where they lie, and what their codes mean.
//!
//! Kept is what work is placed by; the parent module says why these seven. Codes are taken from the
//! payload as they lie there (docs/reference/payload.md), brought to 16 bits that order as the
//! values do. No floating-point number is made until somebody asks for one.

use crate::payload::FIXED_BYTES;
use crate::quantity;

/// How many readings an aggregate keeps.
pub(super) const COUNT: usize = Reading::ALL.len();

/// A reading of which an aggregate tells count, sum, smallest, largest and quantiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Reading {
    /// Logical processors online: what there is to be had.
    Cores,
    /// Load average over 1 minute, in runnable tasks: what waits already.
    Load1,
    /// Share of all processors' time that was not idle, 0 to 100.
    CpuBusy,
    /// Memory that programs could have without swapping, in bytes: what fits.
    MemAvailable,
    /// The hottest sensor, in degrees Celsius: how near to being throttled.
    Temperature,
    /// Power drawn by the processor packages, in watts: what a power cap counts.
    Power,
    /// Share of the last 10 s in which some task waited for I/O, 0 to 100.
    IoPressure,
}

/// How a code stands for a number of steps.
#[derive(Clone, Copy)]
enum Form {
    /// One byte: the steps.
    Byte,
    /// Two bytes: the steps.
    Word,
    /// Two bytes, the steps in two's complement; the code is 32,768 more.
    Signed,
    /// Two bytes: a [`quantity`] code.
    Code16,
}

/// One line of payload.md.
struct Place {
    name: &'static str,
    presence_bit: u32,
    at: usize,
    form: Form,
    /// The largest code that a reader accepts.
    max_code: u16,
    steps_per_unit: f64,
}

const PLACES: [Place; COUNT] = [
    place("cores", 1, 8, Form::Word, u16::MAX, 1.0),
    place("load1", 2, 10, Form::Code16, u16::MAX, 100.0),
    place("cpu_busy_percent", 5, 16, Form::Word, 10_000, 100.0),
    place("mem_available_bytes", 7, 20, Form::Code16, u16::MAX, 1.0 / 1024.0),
    place("temperature_c", 14, 34, Form::Signed, u16::MAX, 10.0),
    place("power_w", 15, 36, Form::Code16, u16::MAX, 10.0),
    place("psi_io_percent", 19, 42, Form::Byte, 250, 2.5),
];

const fn place(
    name: &'static str,
    presence_bit: u32,
    at: usize,
    form: Form,
    max_code: u16,
    steps_per_unit: f64,
) -> Place {
    Place { name, presence_bit, at, form, max_code, steps_per_unit }
}

/// What the code of a signed reading of 0 is.
const SIGN: u16 = 1 << 15;

impl Reading {
    /// All of them, in the order in which they lie in an aggregate.
    pub const ALL: [Self; 7] = [
        Self::Cores,
        Self::Load1,
        Self::CpuBusy,
        Self::MemAvailable,
        Self::Temperature,
        Self::Power,
        Self::IoPressure,
    ];

    /// Its name, with its unit: that of the field of [`crate::payload::NodeState`].
    pub fn name(self) -> &'static str {
        self.place().name
    }

    const fn place(self) -> &'static Place {
        &PLACES[self as usize]
    }

    /// The largest code there is of it.
    pub(super) fn max_code(self) -> u16 {
        self.place().max_code
    }

    /// What a code counts for in a sum, in steps from the least value there is.
    #[inline]
    pub(super) fn steps(self, code: u16) -> u64 {
        match self.place().form {
            Form::Code16 => quantity::decode(code),
            Form::Byte | Form::Word | Form::Signed => u64::from(code),
        }
    }

    /// The value of a code, in the reading's unit.
    pub(super) fn value(self, code: u16) -> f64 {
        self.total(self.steps(code), 1)
    }

    /// The sum of `count` values whose steps add up to `steps`, in the reading's unit.
    pub(super) fn total(self, steps: u64, count: u32) -> f64 {
        let below_zero = match self.place().form {
            Form::Signed => u64::from(SIGN) * u64::from(count),
            Form::Byte | Form::Word | Form::Code16 => 0,
        };
        (steps as f64 - below_zero as f64) / self.place().steps_per_unit
    }
}

/// The codes of a payload: `None` for what is absent or out of the reading's range, and for all if
/// the payload is too short to have readings.
#[inline]
pub(super) fn codes(payload: &[u8]) -> [Option<u16>; COUNT] {
    let Some((readings, _)) = payload.split_first_chunk::<FIXED_BYTES>() else {
        return [None; COUNT];
    };
    let [a, b, c, d, ..] = *readings;
    let presence = u32::from_le_bytes([a, b, c, d]);
    PLACES.each_ref().map(|place| {
        let low = readings[place.at];
        let word = || u16::from_le_bytes([low, readings[place.at + 1]]);
        let code = match place.form {
            Form::Byte => u16::from(low),
            Form::Word | Form::Code16 => word(),
            Form::Signed => word() ^ SIGN,
        };
        let present = (presence >> place.presence_bit) & 1 == 1;
        (present && code <= place.max_code).then_some(code)
    })
}
