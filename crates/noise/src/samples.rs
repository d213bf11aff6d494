//! Raw samples, and their bytes in files.
//!
//! A file begins with a head of 32 bytes: `tdgnoise`, version, kind, core and size of a record
//! (each 4 bytes), and 8 bytes that are nothing. Then come records of 32 bytes each, four little
//! numbers of 8 bytes, lowest byte first. A file that was cut off is whole up to its last record.
//! docs/reference/noise.md has the layout for other readers.

/// The first bytes of a file.
pub const MAGIC: &[u8; 8] = b"tdgnoise";
/// The version of the layout.
pub const VERSION: u32 = 1;
/// The bytes of a head, and of a record.
pub const RECORD_BYTES: usize = 32;
/// What stands for an unpinned probe where a core would be.
pub const NO_CORE: u32 = u32::MAX;

/// What the records of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// [`Quantum`].
    Quanta = 1,
    /// [`NamedGap`].
    Gaps = 2,
}

/// Work in a stretch of time: a fixed time (FTQ, gaps) or fixed work (FWQ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantum {
    /// When it began.
    pub begin_ns: u64,
    /// How long it was.
    pub length_ns: u64,
    /// Units of work done in it.
    pub units: u64,
    /// How much of it was taken.
    pub lost_ns: u64,
}

/// A unit of work that took far longer than usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "quantities carry their unit")]
pub struct Gap {
    /// When the clock was read before it.
    pub begin_ns: u64,
    /// How long until it was read again.
    pub step_ns: u64,
    /// How much of that was taken: less what the work takes.
    pub lost_ns: u64,
}

impl Gap {
    /// When the clock was read after it.
    pub fn end_ns(&self) -> u64 {
        self.begin_ns.saturating_add(self.step_ns)
    }
}

/// A gap with who took most of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedGap {
    /// The gap.
    pub gap: Gap,
    /// How much of it is named.
    pub named_ns: u64,
    /// Who took most, by its place in the result's list of sources.
    pub source: u32,
}

/// The head of a file.
pub fn head(contents: Contents, core: u32) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    let words = [VERSION, contents as u32, core, RECORD_BYTES as u32];
    for (place, word) in bytes[8..24].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn record(words: [u64; 4]) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

impl Quantum {
    /// Its bytes.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        record([self.begin_ns, self.length_ns, self.units, self.lost_ns])
    }
}

impl NamedGap {
    /// Its bytes.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        record([self.gap.begin_ns, self.gap.lost_ns, self.named_ns, u64::from(self.source)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_reference() {
        let head = head(Contents::Gaps, 3);
        assert_eq!(&head[..8], b"tdgnoise");
        assert_eq!(&head[8..24], [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 32, 0, 0, 0]);
        assert_eq!(head[24..], [0; 8]);
        let quantum = Quantum { begin_ns: 1, length_ns: 258, units: 3, lost_ns: 1 << 40 };
        let bytes = quantum.bytes();
        assert_eq!(&bytes[..10], [1, 0, 0, 0, 0, 0, 0, 0, 2, 1]);
        assert_eq!((bytes[16], bytes[29]), (3, 1));
        let gap = Gap { begin_ns: 9, step_ns: 7, lost_ns: 5 };
        let named = NamedGap { gap, named_ns: 4, source: 2 }.bytes();
        assert_eq!([named[0], named[8], named[16], named[24]], [9, 5, 4, 2]);
    }
}
