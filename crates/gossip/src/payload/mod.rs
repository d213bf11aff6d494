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
#![doc = include_str!("../../../../docs/reference/payload.md")]

mod error;
mod layout;
mod reading;
mod settled;
mod state;
mod tolerance;
mod user;

pub use error::{FIXED_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES, PayloadError};
pub use reading::{Numbers, READINGS, Reading};
pub use settled::Settled;
pub use state::{KernelRelease, NodeState};
pub use tolerance::{Held, Symbol, Tolerance, ToleranceError, Tolerances};
pub use user::{check_metric, is_hidden, metric_bytes};

/// The version of this layout, the default of the configuration's `payload_schema`.
pub const SCHEMA: u8 = 1;

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
