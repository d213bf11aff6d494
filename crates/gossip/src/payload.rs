//! The payload of an entry, default schema, version 1: one node's readings.
//!
//! A node publishes what its collectors read, and each reader decodes it. The payload's size is
//! fixed for a cluster (`payload_bytes`), so the readings take fixed places, 44 bytes in all, and
//! what is left over holds user metrics. A reading that the machine lacks is marked absent; absent
//! and zero differ. The layout follows below, byte for byte; *Code16* is [`crate::quantity`].
//!
//! Invariants: encoding does not allocate and, when it fails, writes nothing; decoding any bytes
//! gives a state or an error, never a panic, and takes memory only for bytes that are there;
//! decoding, encoding and decoding again changes nothing.
#![doc = ""]
#![doc = include_str!("../../../docs/reference/payload.md")]

use core::fmt;
use std::collections::BTreeMap;

mod layout;
mod user;

pub use user::{check_metric, metric_bytes};

/// The version of this layout, the default of the configuration's `payload_schema`.
pub const SCHEMA: u8 = 1;

/// Bytes that the readings take; the rest of a payload holds user metrics.
pub const FIXED_BYTES: usize = 44;

/// The most bytes a user metric's key may have.
pub const MAX_KEY_BYTES: usize = 32;

/// The most bytes a user metric's value may have.
pub const MAX_VALUE_BYTES: usize = 255;

/// The readings of one node at one moment. `None` is what its machine lacks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeState {
    /// Release of the running kernel.
    pub kernel: Option<KernelRelease>,
    /// Logical processors online.
    pub cores: Option<u16>,
    /// Load average over 1 minute, in runnable tasks.
    pub load1: Option<f64>,
    /// Load average over 5 minutes.
    pub load5: Option<f64>,
    /// Load average over 15 minutes.
    pub load15: Option<f64>,
    /// Share of all processors' time that was not idle, 0 to 100.
    pub cpu_busy_percent: Option<f64>,
    /// Memory of the machine.
    pub mem_total_bytes: Option<u64>,
    /// Memory that programs could have without swapping.
    pub mem_available_bytes: Option<u64>,
    /// Swap space; 0 where it is turned off.
    pub swap_total_bytes: Option<u64>,
    /// Swap space in use.
    pub swap_used_bytes: Option<u64>,
    /// Bytes a second read from whole disks.
    pub disk_read_bytes_s: Option<u64>,
    /// Bytes a second written to whole disks.
    pub disk_write_bytes_s: Option<u64>,
    /// Bytes a second received by network interfaces, loopback apart.
    pub net_rx_bytes_s: Option<u64>,
    /// Bytes a second sent by network interfaces, loopback apart.
    pub net_tx_bytes_s: Option<u64>,
    /// The hottest sensor, in degrees Celsius.
    pub temperature_c: Option<f64>,
    /// Power drawn by the processor packages, in watts.
    pub power_w: Option<f64>,
    /// Seconds since the machine was started.
    pub uptime_s: Option<u64>,
    /// Share of the last 10 s in which some task waited for a processor, 0 to 100.
    pub psi_cpu_percent: Option<f64>,
    /// Share of the last 10 s in which some task waited for memory, 0 to 100.
    pub psi_memory_percent: Option<f64>,
    /// Share of the last 10 s in which some task waited for I/O, 0 to 100.
    pub psi_io_percent: Option<f64>,
    /// Reserved for a health flag; 0 until it has a meaning.
    pub health: u8,
    /// What users publish, by key.
    pub user: BTreeMap<String, String>,
}

/// The three numbers of a kernel's release, such as 6.12.48.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelRelease {
    /// The first number.
    pub major: u8,
    /// The second number.
    pub minor: u8,
    /// The third number; 0 if there is none.
    pub patch: u16,
}

impl KernelRelease {
    /// The numbers at the start of a release such as `6.12.48+deb13-amd64`; `None` unless the first
    /// two are there and fit.
    pub fn parse(release: &str) -> Option<Self> {
        let mut numbers = release.splitn(3, '.');
        let (major, minor) = (numbers.next()?, numbers.next()?);
        let patch = leading_digits(numbers.next().unwrap_or_default());
        Some(Self {
            major: major.parse().ok()?,
            minor: leading_digits(minor).parse().ok()?,
            patch: patch.parse().unwrap_or(0),
        })
    }
}

impl fmt::Display for KernelRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

fn leading_digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    &text[..end]
}

/// Why a payload could not be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The payload cannot even hold the readings.
    #[error("a payload of {bytes} bytes cannot hold the {FIXED_BYTES} of the readings")]
    TooSmall {
        /// The payload's size.
        bytes: usize,
    },
    /// The user metrics need more room than there is. Nothing was written.
    #[error(
        "the user metrics need {excess_bytes} bytes more than the {room_bytes} there are; \
         drop some, or raise payload_bytes by at least {excess_bytes} on every node"
    )]
    UserMetricsTooLarge {
        /// By how much they exceed the room.
        excess_bytes: usize,
        /// The room for user metrics: the payload's size without the readings.
        room_bytes: usize,
    },
    /// A key that is not 1 to 32 of `a-z 0-9 _ . -`. Nothing was written.
    #[error("the user metric's key {0:?} must be 1 to {MAX_KEY_BYTES} of a-z 0-9 _ . -")]
    Key(String),
    /// A value longer than 255 bytes. Nothing was written.
    #[error("the value of {key} has {bytes} bytes; at most {MAX_VALUE_BYTES} are allowed")]
    ValueTooLong {
        /// The metric.
        key: String,
        /// The length of its value.
        bytes: usize,
    },
    /// A value with a control character: readers print values on terminals. Nothing was written.
    #[error("the value of {0} holds a control character; publish plain text on one line")]
    ValueControl(String),
    /// The bytes are not this schema's: another version, or a foreign program.
    #[error("at byte {at} of the payload: {what}")]
    Malformed {
        /// Where, from the start of the payload.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
}

impl NodeState {
    /// Writes the state into a payload of exactly `out.len()` bytes; what is not used becomes 0.
    /// Does not allocate.
    ///
    /// # Errors
    /// The payload is too small, or a user metric breaks a rule; `out` is then as it was.
    pub fn encode(&self, out: &mut [u8]) -> Result<(), PayloadError> {
        if out.len() < FIXED_BYTES {
            return Err(PayloadError::TooSmall { bytes: out.len() });
        }
        let (readings, room) = out.split_at_mut(FIXED_BYTES);
        user::check(&self.user, room.len())?;
        layout::write(self, readings);
        user::write(&self.user, room);
        Ok(())
    }

    /// Reads a payload of any origin.
    ///
    /// # Errors
    /// Where it is too short or breaks a rule of the schema.
    pub fn decode(payload: &[u8]) -> Result<Self, PayloadError> {
        let Some((readings, room)) = payload.split_at_checked(FIXED_BYTES) else {
            return Err(PayloadError::TooSmall { bytes: payload.len() });
        };
        Ok(Self { user: user::read(room)?, ..layout::read(readings)? })
    }
}

#[cfg(test)]
mod tests;
