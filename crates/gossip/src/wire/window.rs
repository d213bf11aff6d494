//! A window's body: a preamble of 6 bytes, then entries of equal length.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | schema of the payloads |
//! | 1 | marks: see [`Marks`] |
//! | 2–3 | bytes of a payload |
//! | 4–5 | entries that follow |
//! | then, each entry | origin 4, stamp 6, age 2 (steps of 16 µs, a quantity code), payload |
//!
//! The body ends with the last entry; if it is marked so, [records](super::record) of colonies
//! follow. Each datagram is complete in itself: a window too large for one is split between
//! entries, and the loss of a piece loses only what is in it.

use tidings_primitives::time::Instant;

pub use super::body::BodyError;
use super::body::Writer;
use super::size::ENTRY_OVERHEAD_BYTES;
pub use super::size::PREAMBLE_BYTES;
use crate::age;
use crate::entry::{NodeId, Stamp};
use crate::vector::{Entry, Vector};

/// What the payloads of a cluster are: their schema and length in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Version of what the payload means.
    pub schema: u8,
    /// Length of every payload.
    pub payload_bytes: u16,
}

impl Format {
    /// Bytes of an entry on the wire.
    pub fn entry_bytes(self) -> usize {
        ENTRY_OVERHEAD_BYTES + usize::from(self.payload_bytes)
    }

    /// Entries that fit in a body of `bytes`.
    pub fn entries_in(self, bytes: usize) -> usize {
        let entries = bytes.saturating_sub(PREAMBLE_BYTES) / self.entry_bytes();
        entries.min(usize::from(u16::MAX))
    }
}

/// Which payloads a node reads: those of one schema, of one length or of many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reads {
    /// Version of what the payload means.
    pub schema: u8,
    /// The shortest payloads.
    pub least_bytes: u16,
    /// The longest payloads.
    pub most_bytes: u16,
}

impl Reads {
    /// What the payloads of a datagram are, if they are read.
    ///
    /// # Errors
    /// If they are of another schema, or too short or too long.
    pub fn format(self, schema: u8, payload_bytes: u16) -> Result<Format, BodyError> {
        let fits = (self.least_bytes..=self.most_bytes).contains(&payload_bytes);
        let read = schema == self.schema && fits;
        if read { Ok(Format { schema, payload_bytes }) } else { Err(BodyError::Schema) }
    }
}

impl From<Format> for Reads {
    /// These payloads alone.
    fn from(Format { schema, payload_bytes }: Format) -> Self {
        Self { schema, least_bytes: payload_bytes, most_bytes: payload_bytes }
    }
}

/// An entry as it lies in a received body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireEntry<'a> {
    /// The node it is about.
    pub id: NodeId,
    /// How new it is.
    pub stamp: Stamp,
    /// Its age when it was sent, in microseconds.
    pub age_micros: u64,
    /// What the origin says of itself.
    pub payload: &'a [u8],
}

impl<'a> WireEntry<'a> {
    /// Reads an entry from exactly its bytes.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (head, payload) = bytes.split_first_chunk::<ENTRY_OVERHEAD_BYTES>()?;
        let [i0, i1, i2, i3, s0, s1, s2, s3, s4, s5, a0, a1] = *head;
        Some(Self {
            id: NodeId(u32::from_le_bytes([i0, i1, i2, i3])),
            stamp: Stamp::from_wire([s0, s1, s2, s3, s4, s5]),
            age_micros: age::decode_micros(u16::from_le_bytes([a0, a1])),
            payload,
        })
    }
}

/// The entries of a body, in the order in which they lie there.
#[derive(Clone, Debug)]
pub struct WireEntries<'a> {
    rest: &'a [u8],
    entry_bytes: usize,
}

impl<'a> Iterator for WireEntries<'a> {
    type Item = WireEntry<'a>;

    #[inline]
    fn next(&mut self) -> Option<WireEntry<'a>> {
        let (bytes, rest) = self.rest.split_at_checked(self.entry_bytes)?;
        self.rest = rest;
        WireEntry::read(bytes)
    }
}

/// Writes `entry` as of `now` into exactly its bytes. Of a payload that is longer the rest is left
/// out, which is zeros in a vector whose [`longest`](Vector::longest) fits.
///
/// # Panics
/// If `bytes` has no room for [`ENTRY_OVERHEAD_BYTES`], or the payload is shorter than the rest.
#[inline]
pub fn write_entry(bytes: &mut [u8], entry: &Entry<'_>, now: Instant) {
    let (head, payload) = bytes.split_at_mut(ENTRY_OVERHEAD_BYTES);
    head[..4].copy_from_slice(&entry.id.0.to_le_bytes());
    head[4..10].copy_from_slice(&entry.stamp.to_wire());
    head[10..].copy_from_slice(&age::encode(now, entry.birth).to_le_bytes());
    payload.copy_from_slice(&entry.payload[..payload.len()]);
}

/// What a window says of itself, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks(u8);

impl Marks {
    /// Nothing in particular.
    pub const NONE: Self = Self(0);
    /// Sent by the sender's timetable.
    pub const BY_TIMETABLE: Self = Self(1);
    /// The sender wants a window in return.
    pub const WANTS_ANSWER: Self = Self(2);
    /// This is what the receiver asked for.
    pub const ANSWER: Self = Self(4);
    /// Records of colonies follow the entries.
    pub const RECORDS: Self = Self(8);

    /// The marks in a byte; unknown ones are ignored.
    pub fn from_byte(byte: u8) -> Self {
        Self(byte & 15)
    }

    /// The byte that has these marks.
    pub fn to_byte(self) -> u8 {
        self.0
    }

    /// These and `others`.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether all of `others` are among them.
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// What a piece of a window is, beside its entries.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// What the payloads are.
    pub format: Format,
    /// What the window says of itself.
    pub marks: Marks,
    /// When it is written.
    pub now: Instant,
    /// Entries born before this are not sent.
    pub oldest: Instant,
}

/// Writes the body of one datagram: as many of the entries in `slots` as fit into `buffer`.
///
/// Slots that were emptied meanwhile, and entries that are too old, are passed over.
/// Returns the bytes written (0 if no entry was) and the number of slots dealt with.
pub fn encode(
    buffer: &mut [u8],
    Piece { format, marks, now, oldest }: Piece,
    vector: &Vector,
    slots: &[u32],
) -> (usize, usize) {
    let fit = format.entries_in(buffer.len());
    let mut body = Writer::new(buffer);
    body.put(&[format.schema, marks.to_byte()]);
    body.put(&format.payload_bytes.to_le_bytes());
    body.put(&[0, 0]);
    let (mut count, mut dealt_with) = (0, 0);
    for &slot in slots {
        if count == fit {
            break;
        }
        dealt_with += 1;
        let entry = vector.at(slot);
        if entry.birth >= oldest && vector.holds(slot) {
            write_entry(body.take(format.entry_bytes()), &entry, now);
            count += 1;
        }
    }
    body.patch_u16(4, count as u16);
    (if count == 0 { 0 } else { body.len() }, dealt_with)
}

/// The marks and the entries of a received body.
///
/// # Errors
/// If the body is not exactly as long as it says, or its payloads are none that are read.
pub fn decode(body: &[u8], reads: impl Into<Reads>) -> Result<(Marks, WireEntries<'_>), BodyError> {
    match decode_with_records(body, reads)? {
        (marks, entries, []) => Ok((marks, entries)),
        _ => Err(BodyError::Malformed),
    }
}

/// The marks and the entries of a received body, and the records behind them as bytes.
///
/// # Errors
/// If the entries are not there, or something else than records follows them, or the payloads are
/// none that are read.
pub fn decode_with_records(
    body: &[u8],
    reads: impl Into<Reads>,
) -> Result<(Marks, WireEntries<'_>, &[u8]), BodyError> {
    let (preamble, entries) =
        body.split_first_chunk::<PREAMBLE_BYTES>().ok_or(BodyError::Malformed)?;
    let [schema, marks, payload_low, payload_high, count_low, count_high] = *preamble;
    let payload_bytes = u16::from_le_bytes([payload_low, payload_high]);
    let format = reads.into().format(schema, payload_bytes)?;
    let count = usize::from(u16::from_le_bytes([count_low, count_high]));
    let marks = Marks::from_byte(marks);
    let (entries, records) =
        entries.split_at_checked(count * format.entry_bytes()).ok_or(BodyError::Malformed)?;
    if !marks.has(Marks::RECORDS) && !records.is_empty() {
        return Err(BodyError::Malformed);
    }
    Ok((marks, WireEntries { rest: entries, entry_bytes: format.entry_bytes() }, records))
}
