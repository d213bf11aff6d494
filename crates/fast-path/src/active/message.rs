//! Active messages on the wire: what is asked, and what is answered in the same bytes.
//!
//! A message is 48 bytes, as many as a curried call has in its line, and for a merge the words
//! behind them; little-endian, behind the header of UDP. The answer is the same message with its
//! status and result set, so that a soft interrupt sends back the frame that came.
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 4 | `TAM1` |
//! | 4 | 2 | session |
//! | 6 | 1 | operation: 1 add, 2 compare and swap, 3 max, 4 or, 5 merge |
//! | 7 | 1 | status: 0 asked, 1 done, 2 done before, 3 refused |
//! | 8 | 8 | the session's key |
//! | 16 | 8 | sequence, from 1 |
//! | 24 | 4 | index of the (first) word |
//! | 28 | 4 | words of a merge, 1 to 128; else 0 |
//! | 32 | 8 | operand |
//! | 40 | 8 | asked: what compare and swap expects; answered: the result |

/// The bytes of a message without the words of a merge.
pub const MESSAGE_BYTES: usize = 48;

/// The most words of a merge.
pub const MOST_MERGED: usize = 128;

/// How a message begins: a number for the length of its form.
pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"TAM1");

/// Where its parts are.
pub(crate) mod at {
    pub(crate) const SESSION: usize = 4;
    pub(crate) const OPERATION: usize = 6;
    pub(crate) const STATUS: usize = 7;
    pub(crate) const KEY: usize = 8;
    pub(crate) const SEQUENCE: usize = 16;
    pub(crate) const INDEX: usize = 24;
    pub(crate) const COUNT: usize = 28;
    pub(crate) const OPERAND: usize = 32;
    pub(crate) const RESULT: usize = 40;
}

/// Numbers of the operations.
pub(crate) mod operation {
    pub(crate) const ADD: u8 = 1;
    pub(crate) const SWAP: u8 = 2;
    pub(crate) const MAX: u8 = 3;
    pub(crate) const OR: u8 = 4;
    pub(crate) const MERGE: u8 = 5;
}

/// Numbers of the statuses.
pub(crate) mod status {
    pub(crate) const DONE: u8 = 1;
    pub(crate) const DONE_BEFORE: u8 = 2;
    pub(crate) const REFUSED: u8 = 3;
}

/// What is done to words of the responder's memory. Its result is the word before, and for a merge
/// how many words were raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Adds to a word, modulo 2^64.
    Add(u64),
    /// Sets a word if it is as expected.
    CompareAndSwap {
        /// What it is to be.
        expected: u64,
        /// What it becomes.
        new: u64,
    },
    /// Raises a word to this, if it is below.
    Max(u64),
    /// Sets these bits of a word.
    Or(u64),
    /// Raises each of some words in a row to the one that came for it, if it is below: gossip's
    /// merge of entries whose upper bits are incarnation and sequence.
    Merge(&'a [u64]),
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It was done now.
    Done,
    /// It was done when it, or a copy of it, came first.
    DoneBefore,
    /// There is no such operation or word; nothing was done.
    Refused,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Of which session.
    pub session: u16,
    /// With which key.
    pub key: u64,
    /// To which message.
    pub sequence: u64,
    /// What became of it.
    pub status: Status,
    /// Its result.
    pub result: u64,
}

/// Reads a number of up to eight bytes; zeros beyond the end.
pub(crate) fn number<const BYTES: usize>(message: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    if let Some(bytes) = message.get(at..at + BYTES) {
        eight[..BYTES].copy_from_slice(bytes);
    }
    u64::from_le_bytes(eight)
}

/// Writes a message into `bytes`, which are then as long as it is. Of a merge's words only
/// [`MOST_MERGED`] are taken.
pub(crate) fn encode(
    bytes: &mut Vec<u8>,
    (session, key): (u16, u64),
    sequence: u64,
    index: u32,
    change: Change<'_>,
) {
    let (operation, words, operand, expected) = match change {
        Change::Add(operand) => (operation::ADD, &[][..], operand, 0),
        Change::CompareAndSwap { expected, new } => (operation::SWAP, &[][..], new, expected),
        Change::Max(operand) => (operation::MAX, &[][..], operand, 0),
        Change::Or(operand) => (operation::OR, &[][..], operand, 0),
        Change::Merge(words) => (operation::MERGE, &words[..words.len().min(MOST_MERGED)], 0, 0),
    };
    bytes.clear();
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend(session.to_le_bytes());
    bytes.extend([operation, 0]);
    bytes.extend(key.to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(index.to_le_bytes());
    bytes.extend((words.len() as u32).to_le_bytes());
    bytes.extend(operand.to_le_bytes());
    bytes.extend(expected.to_le_bytes());
    for word in words {
        bytes.extend(word.to_le_bytes());
    }
}

impl Status {
    /// By its number.
    pub(crate) fn of(number: u8) -> Option<Self> {
        match number {
            status::DONE => Some(Self::Done),
            status::DONE_BEFORE => Some(Self::DoneBefore),
            status::REFUSED => Some(Self::Refused),
            _ => None,
        }
    }
}

impl Reply {
    /// Reads an answer; `None` if the bytes are none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < MESSAGE_BYTES || number::<4>(bytes, 0) != u64::from(MAGIC) {
            return None;
        }
        Some(Self {
            session: number::<2>(bytes, at::SESSION) as u16,
            key: number::<8>(bytes, at::KEY),
            sequence: number::<8>(bytes, at::SEQUENCE),
            status: Status::of(bytes[at::STATUS])?,
            result: number::<8>(bytes, at::RESULT),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_as_the_table_says() {
        let mut bytes = vec![9; 3];
        let change = Change::CompareAndSwap { expected: 0x28, new: 0x20 };
        encode(&mut bytes, (0x0504, 0x08), 0x10, 0x18, change);
        let mut expected = b"TAM1\x04\x05\x02\x00".to_vec();
        expected.extend([8, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x18, 0, 0, 0]);
        expected.extend([0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0x28, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes, expected);
        encode(&mut bytes, (1, 2), 3, 4, Change::Merge(&[7; 500]));
        assert_eq!(bytes.len(), MESSAGE_BYTES + 8 * MOST_MERGED);
        assert_eq!(number::<4>(&bytes, at::COUNT), MOST_MERGED as u64);
    }

    #[test]
    fn what_is_no_answer_is_not_read_as_one() {
        let mut bytes = Vec::new();
        encode(&mut bytes, (1, 2), 3, 4, Change::Add(5));
        assert_eq!(Reply::decode(&bytes), None, "nobody has answered it");
        bytes[at::STATUS] = status::DONE_BEFORE;
        let reply = Reply::decode(&bytes).expect("an answer");
        assert_eq!((reply.session, reply.key, reply.sequence), (1, 2, 3));
        assert_eq!(reply.status, Status::DoneBefore);
        assert_eq!(Reply::decode(&bytes[..MESSAGE_BYTES - 1]), None, "cut");
        bytes[0] ^= 1;
        assert_eq!(Reply::decode(&bytes), None, "of another kind");
    }
}
