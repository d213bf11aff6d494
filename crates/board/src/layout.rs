//! The layout of a board, version 1; docs/reference/board.md has it as a table.
//!
//! A header, the slots, a row of name and address for each slot, and an index from names to slots.
//! Names lie apart from the slots: a reader that reads all entries repeatedly reads names once a
//! generation. Numbers are little endian; an offset is counted here in 64-bit *words*.
//!
//! Invariant: a [`Shape`] is in bounds and fits into one file; every other number of a file that is
//! used as an offset is compared with it first.

/// The first eight bytes of a board, `TIDBOARD`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"TIDBOARD");
/// The version of this layout.
pub const VERSION: u32 = 1;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 512;
/// The byte where the slots begin.
pub const SLOTS_AT: usize = HEADER_BYTES;
/// Bytes of a slot before its payload.
pub const HEAD_BYTES: usize = 32;
/// Slots begin at multiples of this, so that few of them touch more cache lines than necessary.
pub const SLOT_ALIGN_BYTES: usize = 32;
/// Bytes of a name with the length before it.
pub const NAME_BYTES: usize = 64;
/// Bytes of an address with the length before it, and zeros behind it.
pub const ADDRESS_BYTES: usize = 24;
/// Bytes of a row: a name, an address, and 8 bytes of zeros.
pub const ROW_BYTES: usize = 96;
/// The longest payload, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 1_024;
/// The most slots of a board.
pub const MAX_SLOTS: usize = 1 << 20;
/// More bytes than any board has.
pub const MAX_FILE_BYTES: usize = 2 << 30;

/// Words of the header, each with what it holds.
#[expect(missing_docs, reason = "each is the field of its name, described in the reference page")]
pub mod header {
    pub const MAGIC: usize = 0;
    /// Layout version in the low half, bytes of the header in the high one.
    pub const VERSION: usize = 1;
    pub const FILE_BYTES: usize = 2;
    /// Slots in the low half, cells of the index in the high one.
    pub const SLOTS: usize = 3;
    /// Bytes of a slot in the low half, of a payload in the high one.
    pub const SLOT_BYTES: usize = 4;
    /// Bytes of a row in the low half, the payload's schema in the high one.
    pub const ROW_BYTES: usize = 5;
    pub const SLOTS_AT: usize = 6;
    pub const ROWS_AT: usize = 7;
    pub const INDEX_AT: usize = 8;
    pub const UNIT_NS: usize = 9;
    pub const WRITER_PID: usize = 10;
    pub const CREATED_NS: usize = 11;
    pub const CLUSTER: usize = 12;
    pub const OBSERVER: usize = 20;
    pub const LIFE: usize = 32;
    pub const GENERATION: usize = 40;
    pub const MEMBERS: usize = 41;
    pub const USED_SLOTS: usize = 42;
    pub const HEARTBEAT_NS: usize = 48;
    pub const WRITES: usize = 49;
}

/// Words of a slot.
#[expect(missing_docs, reason = "each is the field of its name, described in the reference page")]
pub mod slot {
    pub const VERSION: usize = 0;
    /// The state in the low half, the node id in the high one.
    pub const STATE: usize = 1;
    /// The incarnation in the low half, the sequence in the high one.
    pub const STAMP: usize = 2;
    pub const BIRTH_NS: usize = 3;
    pub const PAYLOAD: usize = 4;
}

/// What a board's writer is doing.
pub mod life {
    /// It writes.
    pub const LIVE: u64 = 1;
    /// It has left; nothing new will come.
    pub const LEFT: u64 = 2;
    /// Another file has replaced this one, under the same name.
    pub const REPLACED: u64 = 3;
}

/// How a board is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    slots: usize,
    payload_bytes: usize,
}

impl Shape {
    /// A board of `slots` slots for payloads of `payload_bytes`; `None` beyond [`MAX_SLOTS`] or
    /// [`MAX_PAYLOAD_BYTES`], or without a slot.
    pub fn new(slots: usize, payload_bytes: usize) -> Option<Self> {
        let fits = (1..=MAX_SLOTS).contains(&slots) && payload_bytes <= MAX_PAYLOAD_BYTES;
        fits.then_some(Self { slots, payload_bytes })
    }

    /// Slots.
    pub fn slots(self) -> usize {
        self.slots
    }

    /// Bytes of a payload.
    pub fn payload_bytes(self) -> usize {
        self.payload_bytes
    }

    /// Bytes of a slot: its head and a payload, up to the next multiple of [`SLOT_ALIGN_BYTES`].
    pub fn slot_bytes(self) -> usize {
        (HEAD_BYTES + self.payload_bytes).next_multiple_of(SLOT_ALIGN_BYTES)
    }

    /// Cells of the index: the power of two from twice the slots on.
    pub fn cells(self) -> usize {
        (2 * self.slots).next_power_of_two()
    }

    /// The byte where the rows begin.
    pub fn rows_at(self) -> usize {
        SLOTS_AT + self.slots * self.slot_bytes()
    }

    /// The byte where the index begins.
    pub fn index_at(self) -> usize {
        self.rows_at() + self.slots * ROW_BYTES
    }

    /// Bytes of the file.
    pub fn file_bytes(self) -> usize {
        self.index_at() + 8 * self.cells()
    }
}

/// A word of two halves.
#[inline]
pub(crate) fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// The halves of a word, the low one first.
#[inline]
pub(crate) fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_without_overlap() {
        for (slots, payload_bytes) in [(1, 0), (64, 64), (8_192, 64), (100, 1_023)] {
            let shape = Shape::new(slots, payload_bytes).expect("in bounds");
            assert_eq!(SLOTS_AT % SLOT_ALIGN_BYTES, 0);
            assert!(shape.slot_bytes() >= HEAD_BYTES + payload_bytes);
            assert_eq!(shape.rows_at() - SLOTS_AT, slots * shape.slot_bytes());
            assert!(shape.cells() >= 2 * slots && shape.file_bytes() % 8 == 0);
        }
        assert_eq!(Shape::new(8_192, 64).map(Shape::slot_bytes), Some(96));
        assert_eq!(Shape::new(0, 64), None);
        assert_eq!(Shape::new(MAX_SLOTS + 1, 64), None);
        assert_eq!(Shape::new(1, MAX_PAYLOAD_BYTES + 1), None);
    }
}
