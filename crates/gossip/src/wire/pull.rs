//! A pull's body: 16 bytes that ask a member for a range of ids.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | schema of the payloads |
//! | 1 | 0, reserved |
//! | 2–3 | bytes of a payload |
//! | 4–7 | first id of the range |
//! | 8–11 | last id of the range |
//! | 12–13 | age below which entries are wanted, as in an entry; `FF FF`: all |
//! | 14–15 | 0, reserved |
//!
//! It is answered by a window marked as an answer.

use super::window::{BodyError, Format};
use super::{Reader, Writer};
use crate::age;
use crate::entry::NodeId;
use crate::time::Instant;

/// Bytes of the body.
pub const BYTES: usize = 16;
/// The code that stands for any age.
const ANY_AGE: u16 = u16::MAX;

/// A request for the entries of a range of ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pull {
    /// First id of the range.
    pub first: NodeId,
    /// Last id of the range.
    pub last: NodeId,
    /// Entries younger than this, in microseconds, are wanted; all if `None`.
    pub age_micros: Option<u64>,
}

impl Pull {
    /// Writes the body into the first [`BYTES`] of `buffer`. The age is rounded up.
    ///
    /// # Panics
    /// If the buffer is shorter than that.
    pub fn write(&self, buffer: &mut [u8], format: Format) {
        let code = self.age_micros.map_or(ANY_AGE, |micros| {
            let now = Instant::from_micros(i64::MAX);
            age::encode(now, now.before(micros)).min(ANY_AGE - 1)
        });
        let mut body = Writer::new(buffer);
        body.put(&[format.schema, 0]);
        body.put(&format.payload_bytes.to_le_bytes());
        body.put(&self.first.0.to_le_bytes());
        body.put(&self.last.0.to_le_bytes());
        body.put(&code.to_le_bytes());
        body.put(&[0, 0]);
    }

    /// Reads a received body.
    ///
    /// # Errors
    /// If it is not of this length, or its payloads are not of `format`.
    pub fn read(body: &[u8], format: Format) -> Result<Self, BodyError> {
        if body.len() != BYTES {
            return Err(BodyError::Malformed);
        }
        let mut body = Reader(body);
        let mut next = || {
            let [schema, _] = body.array()?;
            let read = Format { schema, payload_bytes: body.u16()? };
            Some((read, NodeId(body.u32()?), NodeId(body.u32()?), body.u16()?))
        };
        let (read, first, last, code) = next().ok_or(BodyError::Malformed)?;
        if read != format {
            return Err(BodyError::Schema);
        }
        let age_micros = (code != ANY_AGE).then(|| age::decode_micros(code));
        Ok(Self { first, last, age_micros })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMAT: Format = Format { schema: 1, payload_bytes: 64 };

    proptest! {
        /// What is read is what was written, with the age no lower and little higher.
        #[test]
        fn pulls_survive_the_round_trip(
            first in any::<u32>(), last in any::<u32>(), micros in prop::option::of(0u64..1 << 40),
        ) {
            let pull = Pull { first: NodeId(first), last: NodeId(last), age_micros: micros };
            let mut body = [0; BYTES];
            pull.write(&mut body, FORMAT);
            let read = Pull::read(&body, FORMAT).expect("it was written just now");
            prop_assert_eq!((read.first, read.last), (pull.first, pull.last));
            prop_assert_eq!(read.age_micros.is_some(), micros.is_some());
            if let (Some(read), Some(micros)) = (read.age_micros, micros) {
                prop_assert!(read >= micros && read <= micros + micros / 2000 + 16);
            }
        }
    }

    #[test]
    fn other_lengths_and_formats_are_refused() {
        let mut body = [0; BYTES + 1];
        let all = Pull { first: NodeId(0), last: NodeId(9), age_micros: None };
        all.write(&mut body, FORMAT);
        assert_eq!(Pull::read(&body, FORMAT), Err(BodyError::Malformed));
        assert_eq!(Pull::read(&body[..BYTES - 1], FORMAT), Err(BodyError::Malformed));
        let other = Format { schema: 2, ..FORMAT };
        assert_eq!(Pull::read(&body[..BYTES], other), Err(BodyError::Schema));
        assert_eq!(Pull::read(&body[..BYTES], FORMAT), Ok(all));
    }
}
