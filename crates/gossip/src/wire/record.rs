//! Records of colonies as they lie in a body: behind the entries of a window that is so marked, and
//! in a reply.
//!
//! | bytes | field |
//! |---|---|
//! | 0–3 | colony |
//! | 4–5 | age of its aggregate, as in an entry |
//! | 6–7 | bytes of the aggregate |
//! | 8 | contacts, at most 4 |
//! | then, each contact | length of address 1, address |
//! | then | the aggregate |

use super::body::{BodyError, Reader, Writer};
use crate::address::{Address, MAX_ADDRESS_BYTES};
use crate::age;
use crate::aggregate;
use crate::colony::id::ColonyId;

/// Bytes of a record beside contacts and aggregate.
pub const HEAD_BYTES: usize = 9;
/// Addresses that a record has of its colony, and that a node keeps of it, at most.
pub const MAX_CONTACTS: usize = 4;
/// The most bytes of a record.
pub const MAX_RECORD_BYTES: usize =
    HEAD_BYTES + MAX_CONTACTS * (1 + MAX_ADDRESS_BYTES) + aggregate::MAX_BYTES;

/// A record as it lies in a received body. Its aggregate is any bytes, of bounded number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WireRecord<'a> {
    /// The colony it is about.
    pub colony: ColonyId,
    /// The age of the aggregate when it was sent, in microseconds.
    pub age_micros: u64,
    /// The aggregate.
    pub aggregate: &'a [u8],
    contacts: Reader<'a>,
    count: u8,
}

impl<'a> WireRecord<'a> {
    fn read(body: &mut Reader<'a>) -> Option<Self> {
        let (record, aggregate_bytes) = Self::read_head(body)?;
        let aggregate_bytes = usize::from(aggregate_bytes);
        if aggregate_bytes > aggregate::MAX_BYTES {
            return None;
        }
        Some(record.with(body.bytes(aggregate_bytes)?))
    }

    /// Reads a record up to its aggregate, and what stands for the bytes of that.
    pub(super) fn read_head(body: &mut Reader<'a>) -> Option<(Self, u16)> {
        let colony = ColonyId(body.u32()?);
        let age_micros = age::decode_micros(body.u16()?);
        let aggregate_bytes = body.u16()?;
        let count = body.u8().filter(|&count| usize::from(count) <= MAX_CONTACTS)?;
        let contacts = *body;
        for _ in 0..count {
            read_contact(body)?;
        }
        Some((Self { colony, age_micros, aggregate: &[], contacts, count }, aggregate_bytes))
    }

    /// The same with another aggregate.
    pub(crate) fn with<'b>(&self, aggregate: &'b [u8]) -> WireRecord<'b>
    where
        'a: 'b,
    {
        WireRecord { aggregate, ..*self }
    }

    /// Addresses of members of the colony.
    pub fn contacts(&self) -> impl Iterator<Item = Address> + 'a {
        let mut rest = self.contacts;
        (0..self.count).map_while(move |_| read_contact(&mut rest))
    }
}

fn read_contact(body: &mut Reader<'_>) -> Option<Address> {
    let bytes = body.u8()?;
    Address::from_bytes(body.bytes(usize::from(bytes))?)
}

/// The records of a body, one after the other, up to its end.
#[derive(Clone, Debug)]
pub struct Records<'a>(Reader<'a>);

impl<'a> Records<'a> {
    /// The records that these bytes hold.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(Reader(bytes))
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<WireRecord<'a>, BodyError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.0.is_empty() {
            return None;
        }
        let Some(record) = WireRecord::read(&mut self.0) else {
            self.0.0 = &[];
            return Some(Err(BodyError::Malformed));
        };
        Some(Ok(record))
    }
}

/// Writes a record about a colony, with the code of its age and at most [`MAX_CONTACTS`] contacts,
/// to the start of `buffer`; returns the bytes written, 0 if it does not fit.
pub fn write_record(
    buffer: &mut [u8],
    (colony, age): (ColonyId, u16),
    contacts: impl Iterator<Item = Address> + Clone,
    aggregate: &[u8],
) -> usize {
    let bytes = aggregate.len();
    let Some(mut body) = write_head(buffer, (colony, age), contacts, (bytes as u16, bytes)) else {
        return 0;
    };
    body.put(aggregate);
    body.len()
}

/// Writes a record up to its aggregate, if there is room for that too: with what stands for its
/// bytes, and how many these are.
pub(super) fn write_head(
    buffer: &mut [u8],
    (colony, age): (ColonyId, u16),
    contacts: impl Iterator<Item = Address> + Clone,
    (stated, bytes): (u16, usize),
) -> Option<Writer<'_>> {
    let contacts = contacts.take(MAX_CONTACTS);
    let lengths = contacts.clone().map(|contact| 1 + contact.as_bytes().len());
    if buffer.len() < HEAD_BYTES + lengths.sum::<usize>() + bytes {
        return None;
    }
    let mut body = Writer::new(buffer);
    body.put(&colony.0.to_le_bytes());
    body.put(&age.to_le_bytes());
    body.put(&stated.to_le_bytes());
    body.put(&[contacts.clone().count() as u8]);
    for contact in contacts {
        body.put(&[contact.as_bytes().len() as u8]);
        body.put(contact.as_bytes());
    }
    Some(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_survive_the_round_trip(
            all in prop::collection::vec(
                (any::<u32>(), any::<u16>(), 0usize..6, 0usize..=aggregate::MAX_BYTES), 0..4,
            ),
        ) {
            let mut buffer = [0; 4 * MAX_RECORD_BYTES];
            let mut end = 0;
            let contact = |n: usize| Address::from_bytes(&[n as u8; 6]).expect("six bytes fit");
            for &(colony, age, contacts, bytes) in &all {
                let contacts = (0..contacts).map(contact);
                let head = (ColonyId(colony), age);
                let written = write_record(&mut buffer[end..], head, contacts, &vec![7; bytes]);
                prop_assert!(written > 0 && written <= MAX_RECORD_BYTES);
                end += written;
            }
            let read: Vec<_> = Records::of(&buffer[..end]).map(|r| r.expect("as written")).collect();
            prop_assert_eq!(read.len(), all.len());
            for (record, (colony, age, contacts, bytes)) in read.iter().zip(all) {
                prop_assert_eq!(record.colony, ColonyId(colony));
                prop_assert_eq!(record.age_micros, age::decode_micros(age));
                prop_assert!(record.contacts().eq((0..contacts.min(MAX_CONTACTS)).map(contact)));
                prop_assert_eq!(record.aggregate, vec![7; bytes]);
            }
        }

        /// Any bytes are read without a panic, and at most one mistake ends the reading.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let read: Vec<_> = Records::of(&bytes).collect();
            prop_assert!(read.iter().rev().skip(1).all(Result::is_ok));
            let bounded = |record: &WireRecord<'_>| record.contacts().count() <= MAX_CONTACTS;
            prop_assert!(read.iter().flatten().all(bounded));
        }
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let mut buffer = [0; 20];
        let none = core::iter::empty();
        assert_eq!(write_record(&mut buffer, (ColonyId(1), 0), none.clone(), &[1; 12]), 0);
        assert_eq!(write_record(&mut buffer, (ColonyId(1), 0), none, &[1; 11]), 20);
    }
}
