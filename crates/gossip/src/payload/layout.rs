//! Where each reading lies and how its number becomes bytes.
//!
//! Writing and reading walk the table of the parent module in the same order, a step a reading; the
//! two walks carry the place and the presence bit along, so that neither appears as a number here.

use super::error::{FIXED_BYTES, PayloadError};
use super::state::{KernelRelease, NodeState};
use crate::quantity;

/// Bytes of the presence at the start of a payload.
const PRESENCE_BYTES: usize = 4;

/// Hundredths in 100 %.
const MAX_HUNDREDTHS: u16 = 10_000;

/// Steps of 0.4 % in 100 %.
const MAX_STEPS: u8 = 250;

/// Writes the readings into [`FIXED_BYTES`] bytes.
pub(super) fn write(state: &NodeState, out: &mut [u8]) {
    let mut places = Places::new(0);
    places.put(out, state.kernel.map(kernel_bytes));
    places.put(out, state.cores.map(u16::to_le_bytes));
    places.put(out, code(scaled(state.load1, 100.0)));
    places.put(out, code(scaled(state.load5, 100.0)));
    places.put(out, code(scaled(state.load15, 100.0)));
    places.put(out, scaled(state.cpu_busy_percent, 100.0).map(hundredths_bytes));
    places.put(out, code(kibibytes(state.mem_total_bytes)));
    places.put(out, code(kibibytes(state.mem_available_bytes)));
    places.put(out, code(kibibytes(state.swap_total_bytes)));
    places.put(out, code(kibibytes(state.swap_used_bytes)));
    places.put(out, code(state.disk_read_bytes_s));
    places.put(out, code(state.disk_write_bytes_s));
    places.put(out, code(state.net_rx_bytes_s));
    places.put(out, code(state.net_tx_bytes_s));
    places.put(out, state.temperature_c.filter(|c| c.is_finite()).map(decidegrees_bytes));
    places.put(out, code(scaled(state.power_w, 10.0)));
    places.put(out, code(state.uptime_s));
    places.put(out, scaled(state.psi_cpu_percent, 2.5).map(steps_bytes));
    places.put(out, scaled(state.psi_memory_percent, 2.5).map(steps_bytes));
    places.put(out, scaled(state.psi_io_percent, 2.5).map(steps_bytes));
    out[..PRESENCE_BYTES].copy_from_slice(&places.presence.to_le_bytes());
    out[places.at] = state.health;
    debug_assert_eq!(places.at + 1, FIXED_BYTES);
}

/// Reads the readings from [`FIXED_BYTES`] bytes of any origin. Fields are evaluated in the order
/// written, which is that of the table.
pub(super) fn read(bytes: &[u8]) -> Result<NodeState, PayloadError> {
    let [a, b, c, d, ..] = *bytes else {
        return Err(PayloadError::TooSmall { bytes: bytes.len() });
    };
    let mut places = Places::new(u32::from_le_bytes([a, b, c, d]));
    Ok(NodeState {
        kernel: places.take(bytes).map(kernel),
        cores: places.take(bytes).map(u16::from_le_bytes),
        load1: places.take_scaled(bytes, 100.0),
        load5: places.take_scaled(bytes, 100.0),
        load15: places.take_scaled(bytes, 100.0),
        cpu_busy_percent: places.take_hundredths(bytes)?,
        mem_total_bytes: places.take_kibibytes(bytes),
        mem_available_bytes: places.take_kibibytes(bytes),
        swap_total_bytes: places.take_kibibytes(bytes),
        swap_used_bytes: places.take_kibibytes(bytes),
        disk_read_bytes_s: places.take_code(bytes),
        disk_write_bytes_s: places.take_code(bytes),
        net_rx_bytes_s: places.take_code(bytes),
        net_tx_bytes_s: places.take_code(bytes),
        temperature_c: places.take(bytes).map(|b| f64::from(i16::from_le_bytes(b)) / 10.0),
        power_w: places.take_scaled(bytes, 10.0),
        uptime_s: places.take_code(bytes),
        psi_cpu_percent: places.take_steps(bytes)?,
        psi_memory_percent: places.take_steps(bytes)?,
        psi_io_percent: places.take_steps(bytes)?,
        health: bytes[places.at],
        user: std::collections::BTreeMap::new(),
    })
}

/// A walk along the readings: the place and the presence bit of the next one.
struct Places {
    at: usize,
    bit: u32,
    presence: u32,
}

impl Places {
    fn new(presence: u32) -> Self {
        Self { at: PRESENCE_BYTES, bit: 0, presence }
    }

    fn put<const N: usize>(&mut self, out: &mut [u8], reading: Option<[u8; N]>) {
        self.presence |= u32::from(reading.is_some()) << self.bit;
        out[self.at..self.at + N].copy_from_slice(&reading.unwrap_or([0; N]));
        self.bit += 1;
        self.at += N;
    }

    fn take<const N: usize>(&mut self, bytes: &[u8]) -> Option<[u8; N]> {
        let reading = bytes[self.at..self.at + N].try_into().expect("the slice has N bytes");
        let present = (self.presence >> self.bit) & 1 == 1;
        self.bit += 1;
        self.at += N;
        present.then_some(reading)
    }

    fn take_code(&mut self, bytes: &[u8]) -> Option<u64> {
        self.take(bytes).map(|b| quantity::decode(u16::from_le_bytes(b)))
    }

    fn take_kibibytes(&mut self, bytes: &[u8]) -> Option<u64> {
        self.take_code(bytes).map(|kib| kib * 1024)
    }

    fn take_scaled(&mut self, bytes: &[u8], per_unit: f64) -> Option<f64> {
        self.take_code(bytes).map(|parts| parts as f64 / per_unit)
    }

    fn take_hundredths(&mut self, bytes: &[u8]) -> Result<Option<f64>, PayloadError> {
        let at = self.at;
        let hundredths = self.take(bytes).map(u16::from_le_bytes);
        within(at, hundredths, MAX_HUNDREDTHS).map(|h| h.map(|h| f64::from(h) / 100.0))
    }

    fn take_steps(&mut self, bytes: &[u8]) -> Result<Option<f64>, PayloadError> {
        let at = self.at;
        let steps = self.take(bytes).map(u8::from_le_bytes);
        within(at, steps, MAX_STEPS).map(|s| s.map(|s| f64::from(s) / 2.5))
    }
}

fn within<T: PartialOrd + Copy>(
    at: usize,
    reading: Option<T>,
    max: T,
) -> Result<Option<T>, PayloadError> {
    match reading {
        Some(value) if value > max => {
            Err(PayloadError::Malformed { at, what: "a share of more than 100 %" })
        }
        reading => Ok(reading),
    }
}

fn code(value: Option<u64>) -> Option<[u8; 2]> {
    value.map(|value| quantity::encode_nearest(value).to_le_bytes())
}

/// A number in parts of a unit; what is below 0 becomes 0, what is not a number is absent.
fn scaled(value: Option<f64>, parts_per_unit: f64) -> Option<u64> {
    value.filter(|v| !v.is_nan()).map(|v| (v * parts_per_unit).round() as u64)
}

fn kibibytes(bytes: Option<u64>) -> Option<u64> {
    bytes.map(|bytes| bytes / 1024 + (bytes % 1024) / 512)
}

fn hundredths_bytes(hundredths: u64) -> [u8; 2] {
    (hundredths.min(u64::from(MAX_HUNDREDTHS)) as u16).to_le_bytes()
}

fn steps_bytes(steps: u64) -> [u8; 1] {
    [steps.min(u64::from(MAX_STEPS)) as u8]
}

fn decidegrees_bytes(celsius: f64) -> [u8; 2] {
    ((celsius * 10.0).round() as i16).to_le_bytes()
}

fn kernel_bytes(release: KernelRelease) -> [u8; 4] {
    let [low, high] = release.patch.to_le_bytes();
    [release.major, release.minor, low, high]
}

fn kernel([major, minor, low, high]: [u8; 4]) -> KernelRelease {
    KernelRelease { major, minor, patch: u16::from_le_bytes([low, high]) }
}
