//! A pull's body: 16 bytes that ask a member for a range of ids; 24 where there are colonies.
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
//! | 16–19 | with colonies: first colony of which the record is wanted |
//! | 20–23 | with colonies: last such colony |
//!
//! It is answered by a window marked as an answer. The age bounds records as it does entries.

use tidings_primitives::time::Instant;

use super::body::{BodyError, Reader, Writer};
use super::window::{Format, Reads};
use crate::age;
use crate::colony::id::{ColonyId, ColonyIds};
use crate::entry::NodeId;

/// Bytes of the body, without colonies.
pub const BYTES: usize = 16;
/// Bytes more if it asks for records of colonies.
pub const COLONIES_BYTES: usize = 8;
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
    /// The colonies of which records are wanted too.
    pub colonies: Option<ColonyIds>,
}

impl Pull {
    /// Writes the body to the start of `buffer`; returns its bytes: [`BYTES`], and with colonies
    /// [`COLONIES_BYTES`] more. The age is rounded up.
    ///
    /// # Panics
    /// If the buffer is shorter than that.
    pub fn write(&self, buffer: &mut [u8], format: Format) -> usize {
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
        if let Some(colonies) = self.colonies {
            body.put(&colonies.first.0.to_le_bytes());
            body.put(&colonies.last.0.to_le_bytes());
        }
        body.len()
    }

    /// Reads a received body.
    ///
    /// # Errors
    /// If it is not of this length, or its payloads are none that are read.
    pub fn read(body: &[u8], reads: impl Into<Reads>) -> Result<Self, BodyError> {
        if body.len() != BYTES && body.len() != BYTES + COLONIES_BYTES {
            return Err(BodyError::Malformed);
        }
        let mut body = Reader(body);
        let mut next = || {
            let [schema, _] = body.array()?;
            let read = (schema, body.u16()?);
            let wanted = (NodeId(body.u32()?), NodeId(body.u32()?), body.u16()?);
            let _reserved = body.u16()?;
            Some((read, wanted))
        };
        let ((schema, bytes), (first, last, code)) = next().ok_or(BodyError::Malformed)?;
        reads.into().format(schema, bytes)?;
        let age_micros = (code != ANY_AGE).then(|| age::decode_micros(code));
        let mut pair = || Some((ColonyId(body.u32()?), ColonyId(body.u32()?)));
        let colonies = pair().map(|(first, last)| ColonyIds { first, last });
        Ok(Self { first, last, age_micros, colonies })
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
            colonies in prop::option::of((any::<u32>(), any::<u32>())),
        ) {
            let colonies =
                colonies.map(|(a, b)| ColonyIds { first: ColonyId(a), last: ColonyId(b) });
            let (first, last) = (NodeId(first), NodeId(last));
            let pull = Pull { first, last, age_micros: micros, colonies };
            let mut body = [0; BYTES + COLONIES_BYTES];
            let written = pull.write(&mut body, FORMAT);
            let read = Pull::read(&body[..written], FORMAT).expect("it was written just now");
            prop_assert_eq!((read.first, read.last), (pull.first, pull.last));
            prop_assert_eq!(read.colonies, pull.colonies);
            prop_assert_eq!(read.age_micros.is_some(), micros.is_some());
            if let (Some(read), Some(micros)) = (read.age_micros, micros) {
                prop_assert!(read >= micros && read <= micros + micros / 2000 + 16);
            }
        }
    }

    #[test]
    fn other_lengths_and_formats_are_refused() {
        let mut body = [0; BYTES + 1];
        let all = Pull { first: NodeId(0), last: NodeId(9), age_micros: None, colonies: None };
        all.write(&mut body, FORMAT);
        assert_eq!(Pull::read(&body, FORMAT), Err(BodyError::Malformed));
        assert_eq!(Pull::read(&body[..BYTES - 1], FORMAT), Err(BodyError::Malformed));
        let other = Format { schema: 2, ..FORMAT };
        assert_eq!(Pull::read(&body[..BYTES], other), Err(BodyError::Schema));
        assert_eq!(Pull::read(&body[..BYTES], FORMAT), Ok(all));
    }
}
