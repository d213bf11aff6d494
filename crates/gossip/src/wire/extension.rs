//! Extensions: what a datagram of version 2 says of itself in front of its body, under the seal.
//!
//! Version 1 had no place for a later release to add a word. Version 2 differs from it in one
//! thing: the body begins with a block of items, each of which says how long it is. So a receiver
//! passes over what it does not know, and a later release adds an item without another version.
//!
//! | bytes | field |
//! |---|---|
//! | 0 | bytes of the items, 0 to 255 |
//! | then, each item | type 1, bytes of its value 1, value |
//!
//! | type | value |
//! |---|---|
//! | 1 | the lowest and the highest version that the sender reads: 1 and 1 |
//! | 2 | for whom it is: node id 4, the incarnation that the sender holds of that node 3 |
//!
//! A value may grow behind these bytes. Of two items of one type the last counts.

use super::body::{BodyError, Reader, Writer};
use super::header::{HIGHEST_VERSION, LOWEST_VERSION};
use crate::entry::{Incarnation, NodeId};

/// Item: which versions the sender reads.
const READS: u8 = 1;
/// Bytes of its value.
const READS_BYTES: usize = 2;
/// Item: for whom the datagram is.
const RECEIVER: u8 = 2;
/// Bytes of its value.
const RECEIVER_BYTES: usize = 7;
/// Bytes of an item beside its value.
const ITEM_HEAD_BYTES: usize = 2;

/// The most bytes of a block that this code writes in version 2, its length included.
pub const WRITTEN_BYTES: usize =
    1 + (ITEM_HEAD_BYTES + READS_BYTES) + (ITEM_HEAD_BYTES + RECEIVER_BYTES);

/// The most bytes that stand in front of a body of `version`, as this code writes it.
pub const fn bytes_before_body(version: u8) -> usize {
    if version >= 2 { WRITTEN_BYTES } else { 0 }
}

/// Versions from one to another, both included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions {
    /// The lowest.
    pub lowest: u8,
    /// The highest.
    pub highest: u8,
}

impl Versions {
    /// Those that this code reads.
    pub const READ: Self = Self { lowest: LOWEST_VERSION, highest: HIGHEST_VERSION };
}

/// Which life of which node a datagram is for, as far as its sender knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Receiver {
    /// The node.
    pub id: NodeId,
    /// The incarnation that the sender holds of it; 0 if none.
    pub incarnation: Incarnation,
}

/// What a block said, as far as this code knows its items.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extension {
    /// Which versions the sender reads.
    pub reads: Option<Versions>,
    /// For whom the datagram is; absent where anybody may read it.
    pub receiver: Option<Receiver>,
}

impl Extension {
    /// Bytes that it takes in front of a body of `version`: none in version 1.
    pub fn bytes(&self, version: u8) -> usize {
        if version < 2 {
            return 0;
        }
        let reads = self.reads.map_or(0, |_| ITEM_HEAD_BYTES + READS_BYTES);
        let receiver = self.receiver.map_or(0, |_| ITEM_HEAD_BYTES + RECEIVER_BYTES);
        1 + reads + receiver
    }

    /// Writes it to the start of `buffer`; returns its bytes.
    ///
    /// # Panics
    /// If the buffer is shorter than [`Extension::bytes`] says.
    pub fn write(&self, version: u8, buffer: &mut [u8]) -> usize {
        let bytes = self.bytes(version);
        if bytes == 0 {
            return 0;
        }
        let mut block = Writer::new(buffer);
        block.put(&[bytes as u8 - 1]);
        if let Some(Versions { lowest, highest }) = self.reads {
            block.put(&[READS, READS_BYTES as u8, lowest, highest]);
        }
        if let Some(Receiver { id, incarnation }) = self.receiver {
            block.put(&[RECEIVER, RECEIVER_BYTES as u8]);
            block.put(&id.0.to_le_bytes());
            block.put(&incarnation.get().to_le_bytes()[..3]);
        }
        block.len()
    }

    /// Reads what stands in front of a body of `version`, and gives the body.
    ///
    /// # Errors
    /// If an item reaches beyond the block or the block beyond the datagram, or what this code
    /// knows is too short or says what cannot be.
    pub fn read(version: u8, opened: &[u8]) -> Result<(Self, &[u8]), BodyError> {
        if version < 2 {
            return Ok((Self::default(), opened));
        }
        let mut body = Reader(opened);
        let block = body.u8().and_then(|bytes| body.bytes(usize::from(bytes)));
        let items = block.and_then(Self::read_items).ok_or(BodyError::Malformed)?;
        Ok((items, body.0))
    }

    fn read_items(block: &[u8]) -> Option<Self> {
        let (mut items, mut said) = (Reader(block), Self::default());
        while !items.0.is_empty() {
            let [kind, bytes] = items.array()?;
            let mut value = Reader(items.bytes(usize::from(bytes))?);
            match kind {
                READS => {
                    let [lowest, highest] = value.array()?;
                    said.reads = Some(Versions { lowest, highest });
                    if lowest == 0 || lowest > highest {
                        return None;
                    }
                }
                RECEIVER => {
                    let (id, [low, middle, high]) = (NodeId(value.u32()?), value.array()?);
                    let incarnation = Incarnation::new(u32::from_le_bytes([low, middle, high, 0]));
                    said.receiver = Some(Receiver { id, incarnation });
                }
                _ => {}
            }
        }
        Some(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_survive_the_round_trip(
            reads in prop::option::of((1u8..=9, 9u8..)),
            receiver in prop::option::of((any::<u32>(), 0u32..1 << 24)),
            body in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let reads = reads.map(|(lowest, highest)| Versions { lowest, highest });
            let receiver = receiver.map(|(id, life)| {
                Receiver { id: NodeId(id), incarnation: Incarnation::new(life) }
            });
            let said = Extension { reads, receiver };
            let mut bytes = vec![0; WRITTEN_BYTES];
            let written = said.write(2, &mut bytes);
            prop_assert_eq!(written, said.bytes(2));
            bytes.truncate(written);
            bytes.extend(&body);
            prop_assert_eq!(Extension::read(2, &bytes), Ok((said, &body[..])));
            prop_assert_eq!(said.write(1, &mut []), 0);
            prop_assert_eq!(Extension::read(1, &body), Ok((Extension::default(), &body[..])));
        }

        /// What this code knows is found among items of types that it does not know.
        #[test]
        fn unknown_items_are_passed_over(
            before in items(), after in items(), body in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let block = [&before[..], &[READS, 3, 1, 7, 99], &after].concat();
            let bytes = [&[block.len() as u8], &block[..], &body].concat();
            let reads = Some(Versions { lowest: 1, highest: 7 });
            let said = Extension { reads, receiver: None };
            prop_assert_eq!(Extension::read(2, &bytes), Ok((said, &body[..])));
        }

        /// Any bytes are read without a panic, and never more of them than there are.
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok((_, body)) = Extension::read(2, &bytes) {
                prop_assert_eq!(body.len() + 1 + usize::from(bytes[0]), bytes.len());
            }
        }
    }

    /// Items of types that this code does not know, of up to 100 bytes together.
    fn items() -> impl Strategy<Value = Vec<u8>> {
        let item = (3u8.., prop::collection::vec(any::<u8>(), 0..18))
            .prop_map(|(kind, value)| [&[kind, value.len() as u8], &value[..]].concat());
        prop::collection::vec(item, 0..=5).prop_map(|items| items.concat())
    }

    #[test]
    fn blocks_that_contradict_themselves_are_refused() {
        let refused: [&[u8]; 8] = [
            &[],
            &[3, 9, 1],
            &[1, 9],
            &[2, 9, 1],
            &[3, READS, 1, 1],
            &[4, READS, 2, 2, 1],
            &[4, READS, 2, 0, 1],
            &[8, RECEIVER, 6, 1, 2, 3, 4, 5, 6],
        ];
        for block in refused {
            assert_eq!(Extension::read(2, block), Err(BodyError::Malformed), "{block:?}");
        }
        assert_eq!(Extension::read(2, &[0]), Ok((Extension::default(), &[][..])));
    }
}
