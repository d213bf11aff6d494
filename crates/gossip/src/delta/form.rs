//! The form of groups: sizes that writing and reading share.

/// A group whose entries name their bases.
pub(super) const NAMED: u8 = 0;
/// A group whose entries are by bases on which sender and receiver agree.
pub(super) const AGREED: u8 = 1;
/// A group of whole entries.
pub(super) const WHOLE: u8 = 2;
/// The same, each of which is a base.
pub(super) const WHOLE_BASES: u8 = 3;
/// As [`AGREED`], and some of the agreed bases are followed by the change to a later one.
pub(super) const AGREED_STEPS: u8 = 4;
/// As [`NAMED`], and each base is followed by the change to a later one.
pub(super) const NAMED_STEPS: u8 = 5;
/// Bytes before the entries of a group of whole ones: kind 1, entries 1.
pub(super) const WHOLE_HEAD_BYTES: usize = 2;

/// Bytes of a heading: kind 1, bytes that follow it 2, entries 1, bases 1, least age 2, orders 1.
pub(super) const HEAD_BYTES: usize = 8;
/// Bytes that a group of agreed entries has besides: first id 4, digest 8, least distance 2.
pub(super) const AGREED_HEAD_BYTES: usize = 14;

/// The most entries of a group.
pub(super) const MAX_ENTRIES: usize = 255;
/// The most bases that an agreed entry passes over, and that a group goes through: what reading
/// one may cost.
pub(super) const MAX_SKIPPED: u32 = 255;
pub(super) const MAX_SPAN: u32 = 1024;

/// The order of the sequences between two bases, less one.
pub(super) const STEP_ORDER: u32 = 4;

pub(super) const ID_BITS: u32 = 32;
pub(super) const INCARNATION_BITS: u32 = 24;
pub(super) const SEQUENCE_BITS: u32 = 24;
