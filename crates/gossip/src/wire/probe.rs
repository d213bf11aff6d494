//! Probes and proofs: the bodies by which nodes find out whether one lives.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | schema of the payloads |
//! | 1 | of a probe, 1 if the receiver shall probe in the sender's stead; else 0 |
//! | 2–3 | bytes of a payload |
//! | 4–7 | the member in question |
//! | 8–13 | the stamp that the sender holds of the receiver; 0 if none |
//! | then | an entry: of a probe the sender's own, of a proof that of the member in question |
//!
//! A proof is as long as the probe that it answers: nobody can have more sent than he sends.

use tidings_primitives::time::Instant;

use super::body::{BodyError, Reader, Writer};
use super::window::{Format, Reads, WireEntry, write_entry};
use crate::entry::{NodeId, Stamp};
use crate::vector::Entry;

/// Bytes before the entry.
pub const HEAD_BYTES: usize = 14;

/// A probe or a proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe<'a> {
    /// Whether the receiver shall probe in the sender's stead.
    pub for_another: bool,
    /// The member in question.
    pub target: NodeId,
    /// What the sender holds of the receiver.
    pub held: Stamp,
    /// The sender's own entry; of a proof that of the target.
    pub entry: WireEntry<'a>,
}

/// What a probe asks for, and what a proof repeats of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Whether the receiver shall probe in the sender's stead.
    pub for_another: bool,
    /// The member in question.
    pub target: NodeId,
    /// What the sender holds of the receiver.
    pub held: Stamp,
}

/// Writes the body to the start of `buffer`; returns its bytes.
///
/// # Panics
/// If the buffer is shorter than [`HEAD_BYTES`] and an entry.
pub fn write(
    buffer: &mut [u8],
    format: Format,
    Question { for_another, target, held }: Question,
    entry: &Entry<'_>,
    now: Instant,
) -> usize {
    let mut body = Writer::new(buffer);
    body.put(&[format.schema, u8::from(for_another)]);
    body.put(&format.payload_bytes.to_le_bytes());
    body.put(&target.0.to_le_bytes());
    body.put(&held.to_wire());
    write_entry(body.take(format.entry_bytes()), entry, now);
    body.len()
}

impl<'a> Probe<'a> {
    /// Reads a received body.
    ///
    /// # Errors
    /// If it is not of this length, or its payloads are none that are read.
    pub fn read(body: &'a [u8], reads: impl Into<Reads>) -> Result<Self, BodyError> {
        let mut body = Reader(body);
        let mut next = || {
            let [schema, marks] = body.array()?;
            let read = (schema, body.u16()?);
            Some((read, marks, NodeId(body.u32()?), Stamp::from_wire(body.array()?)))
        };
        let ((schema, bytes), marks, target, held) = next().ok_or(BodyError::Malformed)?;
        let format = reads.into().format(schema, bytes)?;
        if body.0.len() != format.entry_bytes() {
            return Err(BodyError::Malformed);
        }
        let entry = WireEntry::read(body.0).ok_or(BodyError::Malformed)?;
        Ok(Self { for_another: marks & 1 == 1, target, held, entry })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Incarnation;

    const FORMAT: Format = Format { schema: 1, payload_bytes: 3 };

    #[test]
    fn probes_survive_the_round_trip_and_nothing_else_is_one() {
        let now = Instant::from_micros(1_000_000);
        let stamp = Stamp::new(Incarnation::new(3), 8);
        let entry = Entry { id: NodeId(4), stamp, birth: now.before(160), payload: b"abc" };
        let mut body = [0; 40];
        let held = Stamp::dead(Incarnation::new(2));
        let question = Question { for_another: true, target: NodeId(9), held };
        let bytes = write(&mut body, FORMAT, question, &entry, now);
        let read = Probe::read(&body[..bytes], FORMAT).expect("well formed");
        assert_eq!((read.for_another, read.target, read.held), (true, NodeId(9), held));
        let WireEntry { id, stamp, age_micros, payload } = read.entry;
        assert_eq!((id, stamp, age_micros, payload), (entry.id, entry.stamp, 160, &b"abc"[..]));
        for wrong in 0..bytes {
            assert_eq!(Probe::read(&body[..wrong], FORMAT), Err(BodyError::Malformed));
        }
        assert_eq!(Probe::read(&body[..=bytes], FORMAT), Err(BodyError::Malformed));
        let other = Format { payload_bytes: 4, ..FORMAT };
        assert_eq!(Probe::read(&body[..bytes], other), Err(BodyError::Schema));
    }
}
