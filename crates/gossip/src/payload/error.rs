//! Why a payload is refused, and the bounds that it must keep to.

/// Bytes that the readings take; the rest of a payload holds user metrics.
pub const FIXED_BYTES: usize = 44;

/// The most bytes a user metric's key may have.
pub const MAX_KEY_BYTES: usize = 32;

/// The most bytes a user metric's value may have.
pub const MAX_VALUE_BYTES: usize = 255;

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
    /// A value with a character that a terminal acts on: readers print values there. Nothing was
    /// written.
    #[error(
        "the value of {0} holds a control character or a mark of direction; publish plain text on one line"
    )]
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
