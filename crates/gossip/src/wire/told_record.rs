//! Records of colonies in windows of version 3: aggregates as changes by a base, or whole.
//!
//! They are [records](super::record) but for what stands for the bytes of the aggregate, and what
//! lies in its place.
//!
//! | bits 14–15 | bits 0–13 | in the place of the aggregate |
//! |---|---|---|
//! | 0 | its bytes | the aggregate |
//! | 1 | its bytes | the aggregate, which is a base |
//! | 2 | bytes of the change | in the first such record a digest 8; then the change |
//! | 3 | bytes that follow | age of a base 2, its bytes 2, that base, the change by it |
//!
//! The digest is of the bases of all records of kind 2 in this datagram. A receiver that holds
//! others passes these records over: nothing is guessed, and the rest of the datagram is of use.
//! Colonies ascend, so that none of a datagram has two records, one by the base of the other.

use super::body::{BodyError, Reader};
use super::record::{WireRecord, write_head};
use crate::address::Address;
use crate::aggregate;
use crate::colony::id::ColonyId;
use crate::colony::name::{NAME_BYTES, Name, Names};

/// Where the kind of a record stands, beside the bytes of what it tells.
const KIND_SHIFT: u32 = 14;
const BYTES_MASK: u16 = (1 << KIND_SHIFT) - 1;
/// Kinds.
const WHOLE: u16 = 0;
const BASE: u16 = 1;
const CHANGE: u16 = 2;
const WITH_BASE: u16 = 3;
/// Bytes that a base has before it where it comes along: its age and how many they are.
const BASE_HEAD_BYTES: usize = 4;

/// How a record tells its aggregate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told<'a> {
    /// As it is.
    Whole {
        aggregate: &'a [u8],
        /// Whether later ones are told by it.
        is_base: bool,
    },
    /// As a change by a base that the receiver holds.
    Change(&'a [u8]),
    /// As a change by a base that comes along.
    WithBase { base: &'a [u8], base_age: u16, change: &'a [u8] },
}

impl<'a> Told<'a> {
    /// What lies in the place of the aggregate, in three pieces, and its kind.
    fn pieces(self) -> (u16, [u8; BASE_HEAD_BYTES], [&'a [u8]; 2]) {
        let no_head = [0; BASE_HEAD_BYTES];
        match self {
            Self::Whole { aggregate, is_base: false } => (WHOLE, no_head, [&[], aggregate]),
            Self::Whole { aggregate, is_base: true } => (BASE, no_head, [&[], aggregate]),
            Self::Change(change) => (CHANGE, no_head, [&[], change]),
            Self::WithBase { base, base_age, change } => {
                let [a, b] = base_age.to_le_bytes();
                let [c, d] = (base.len() as u16).to_le_bytes();
                (WITH_BASE, [a, b, c, d], [base, change])
            }
        }
    }

    /// Reads what lies in the place of the aggregate.
    fn read(kind: u16, bytes: &'a [u8]) -> Option<Self> {
        let is_bounded = |bytes: &[u8]| bytes.len() <= aggregate::MAX_BYTES;
        if kind != WITH_BASE {
            let told = match kind {
                CHANGE => Self::Change(bytes),
                _ => Self::Whole { aggregate: bytes, is_base: kind == BASE },
            };
            return is_bounded(bytes).then_some(told);
        }
        let mut bytes = Reader(bytes);
        let (base_age, base_bytes) = (bytes.u16()?, bytes.u16()?);
        let base = bytes.bytes(base_bytes.into()).filter(|base| is_bounded(base))?;
        is_bounded(bytes.0).then_some(Self::WithBase { base, base_age, change: bytes.0 })
    }
}

/// Records that are written, in the order of their colonies.
pub(crate) struct ToldWriter<'a> {
    buffer: &'a mut [u8],
    bytes: usize,
    /// Where the digest lies, if there is one, and what it is of.
    digest: Option<(usize, Names)>,
}

impl<'a> ToldWriter<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, bytes: 0, digest: None }
    }

    /// Writes a record with the code of its age, and for a change the name of its base; `false`,
    /// and nothing written, if it does not fit.
    pub(crate) fn push(
        &mut self,
        head: (ColonyId, u16),
        contacts: impl Iterator<Item = Address> + Clone,
        told: Told<'_>,
        base: Option<Name>,
    ) -> bool {
        let (kind, base_head, pieces) = told.pieces();
        let base_head = if kind == WITH_BASE { &base_head[..] } else { &[] };
        let bytes = base_head.len() + pieces[0].len() + pieces[1].len();
        let name = base.filter(|_| kind == CHANGE);
        let is_first = name.is_some() && self.digest.is_none();
        let digest_bytes = if is_first { NAME_BYTES } else { 0 };
        let stated = kind << KIND_SHIFT | bytes as u16;
        let room = &mut self.buffer[self.bytes..];
        let Some(mut body) = write_head(room, head, contacts, (stated, digest_bytes + bytes))
        else {
            return false;
        };
        if is_first {
            self.digest = Some((self.bytes + body.len(), Names::new()));
            body.put(&[0; NAME_BYTES]);
        }
        body.put(base_head);
        for piece in pieces {
            body.put(piece);
        }
        self.bytes += body.len();
        if let (Some((_, names)), Some(name)) = (self.digest.as_mut(), name) {
            names.add(name);
        }
        true
    }

    /// Ends them; returns their bytes.
    pub(crate) fn finish(self) -> usize {
        if let Some((at, names)) = self.digest {
            self.buffer[at..at + NAME_BYTES].copy_from_slice(&names.finish());
        }
        self.bytes
    }
}

/// The records of a body, one after the other, up to its end.
#[derive(Clone, Debug)]
pub(crate) struct ToldRecords<'a> {
    body: Reader<'a>,
    last: Option<ColonyId>,
    digest: Option<[u8; NAME_BYTES]>,
}

impl<'a> ToldRecords<'a> {
    /// The records that these bytes hold.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self { body: Reader(bytes), last: None, digest: None }
    }

    /// Whether the changes among them, from the next one on, are by these bases.
    pub(crate) fn are_by(mut self, base: impl Fn(ColonyId) -> Option<Name>) -> bool {
        let mut names = Names::new();
        for read in self.by_ref() {
            let Ok((record, told)) = read else { return false };
            if matches!(told, Told::Change(_)) {
                let Some(name) = base(record.colony) else { return false };
                names.add(name);
            }
        }
        self.digest.is_some_and(|digest| digest == names.finish())
    }

    fn read(&mut self) -> Option<(WireRecord<'a>, Told<'a>)> {
        let (record, stated) = WireRecord::read_head(&mut self.body)?;
        if self.last.replace(record.colony).is_some_and(|last| last >= record.colony) {
            return None;
        }
        let kind = stated >> KIND_SHIFT;
        if kind == CHANGE && self.digest.is_none() {
            self.digest = Some(self.body.array()?);
        }
        let bytes = self.body.bytes((stated & BYTES_MASK).into())?;
        Some((record, Told::read(kind, bytes)?))
    }
}

impl<'a> Iterator for ToldRecords<'a> {
    type Item = Result<(WireRecord<'a>, Told<'a>), BodyError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.body.0.is_empty() {
            return None;
        }
        let Some(read) = self.read() else {
            self.body.0 = &[];
            return Some(Err(BodyError::Malformed));
        };
        Some(Ok(read))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::age;

    fn name(colony: u32) -> Name {
        Name::of(ColonyId(colony), &[1])
    }

    fn contact() -> Address {
        Address::from_bytes(&[7; 6]).expect("six bytes fit")
    }

    proptest! {
        /// What is read is what was written; changes are by the bases of which it was told so.
        #[test]
        fn records_survive_the_round_trip(
            all in prop::collection::vec(
                (0u16..4, 0usize..=aggregate::MAX_BYTES, any::<u16>()), 0..6,
            ),
            room in 0usize..3_000,
        ) {
            let bytes = [9; aggregate::MAX_BYTES];
            let told = |&(kind, length, age): &(u16, usize, u16)| match kind {
                CHANGE => Told::Change(&bytes[..length]),
                WITH_BASE => {
                    let (base, change) = (&bytes[length / 2..], &bytes[..length]);
                    Told::WithBase { base, base_age: age, change }
                }
                _ => Told::Whole { aggregate: &bytes[..length], is_base: kind == BASE },
            };
            let mut buffer = vec![0; room];
            let mut writer = ToldWriter::new(&mut buffer);
            let mut written = 0;
            for (colony, one) in (1..).zip(&all) {
                let head = (ColonyId(colony), one.2);
                let contacts = core::iter::once(contact());
                if !writer.push(head, contacts, told(one), Some(name(colony))) {
                    break;
                }
                written += 1;
            }
            let end = writer.finish();
            let records = ToldRecords::of(&buffer[..end]);
            let read: Vec<_> = records.clone().map(|read| read.expect("as written")).collect();
            prop_assert_eq!(read.len(), written);
            for (colony, ((record, read), one)) in (1..).zip(read.iter().zip(&all)) {
                prop_assert_eq!((record.colony, *read), (ColonyId(colony), told(one)));
                prop_assert_eq!(record.age_micros, age::decode_micros(one.2));
                prop_assert!(record.contacts().eq([contact()]));
            }
            let has_changes = all[..written].iter().any(|one| one.0 == CHANGE);
            prop_assert_eq!(records.clone().are_by(|colony| Some(name(colony.0))), has_changes);
            prop_assert!(!records.clone().are_by(|_| None));
            prop_assert!(!records.are_by(|colony| Some(name(colony.0 + 1))));
        }

        /// Any bytes are read without a panic, and at most one mistake ends the reading.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let read: Vec<_> = ToldRecords::of(&bytes).collect();
            prop_assert!(read.iter().rev().skip(1).all(Result::is_ok));
            let colonies = read.iter().flatten().map(|(record, _)| record.colony);
            prop_assert!(colonies.is_sorted_by(|one, next| one < next));
        }
    }

    #[test]
    fn colonies_ascend_and_what_is_too_long_is_refused() {
        let mut buffer = [0; 64];
        let none = core::iter::empty();
        let whole = Told::Whole { aggregate: &[1, 2], is_base: false };
        let mut writer = ToldWriter::new(&mut buffer);
        assert!(writer.push((ColonyId(5), 0), none.clone(), whole, None));
        assert!(writer.push((ColonyId(5), 0), none, whole, None));
        let end = writer.finish();
        let read: Vec<_> = ToldRecords::of(&buffer[..end]).collect();
        assert!(matches!(read[..], [Ok(_), Err(BodyError::Malformed)]), "{read:?}");
        let long = [&[1, 0, 0, 0, 0, 0, 0xFF, 0x01, 0][..], &[0; 600]].concat();
        assert_eq!(ToldRecords::of(&long).next(), Some(Err(BodyError::Malformed)));
    }
}
