//! What nodes of different colonies say to each other: call, reply, visit and slice.
//!
//! They have no replay window for each other, so each request names a random token, and an answer
//! is taken only if it has the token of a request that is open. A request is padded: an answer is
//! never larger than what asked for it.
//!
//! | call | bytes | visit | bytes |
//! |---|---|---|---|
//! | token | 8 | token | 8 |
//! | colony that is called | 4 | colony that is visited | 4 |
//! | colony of the caller | 4 | first id of the slice | 4 |
//! | zeros | | zeros | |
//!
//! A reply is the token (8) and one [record](super::record) of the replying colony. A slice is the
//! token (8), the first and the last id that it covers (4 and 4), and the body of an
//! [answer](super::ask) with cards.

use super::body::{BodyError, Reader, Writer};
use crate::colony::id::ColonyId;
use crate::entry::NodeId;
use crate::wire::record::{MAX_RECORD_BYTES, Records, WireRecord};

/// Bytes of a request before its padding.
pub const REQUEST_BYTES: usize = 16;
/// Bytes of a reply before its record.
pub const REPLY_HEAD_BYTES: usize = 8;
/// Bytes of a slice before its entries.
pub const SLICE_HEAD_BYTES: usize = 16;
/// The most bytes of a reply, and so of a call.
pub const MAX_CALL_BYTES: usize = REPLY_HEAD_BYTES + MAX_RECORD_BYTES;

/// A call or a visit, by the kind of its datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The number by which its answer is known.
    pub token: u64,
    /// The colony that it is meant for.
    pub colony: ColonyId,
    /// In a call the colony of the caller, in a visit the first id wanted.
    pub word: u32,
}

impl Request {
    /// Writes the request and fills the rest of `buffer`.
    ///
    /// # Panics
    /// If it has less than [`REQUEST_BYTES`].
    pub fn write(&self, buffer: &mut [u8]) {
        let mut body = Writer::new(buffer);
        body.put(&self.token.to_le_bytes());
        body.put(&self.colony.0.to_le_bytes());
        body.put(&self.word.to_le_bytes());
        body.pad();
    }

    /// Reads a received request; what it is padded with is ignored.
    ///
    /// # Errors
    /// If it is too short.
    pub fn read(body: &[u8]) -> Result<Self, BodyError> {
        let mut body = Reader(body);
        let mut next = || {
            let (token, colony) = (u64::from_le_bytes(body.array()?), ColonyId(body.u32()?));
            Some(Self { token, colony, word: body.u32()? })
        };
        next().ok_or(BodyError::Malformed)
    }
}

/// Reads a reply: its token and its record.
///
/// # Errors
/// If it is not exactly these.
pub fn read_reply(body: &[u8]) -> Result<(u64, WireRecord<'_>), BodyError> {
    let mut body = Reader(body);
    let token = body.array().map(u64::from_le_bytes).ok_or(BodyError::Malformed)?;
    let mut records = Records::of(body.0);
    match (records.next(), records.next()) {
        (Some(Ok(record)), None) => Ok((token, record)),
        _ => Err(BodyError::Malformed),
    }
}

/// A slice before its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SliceHead {
    /// The token of the visit.
    pub token: u64,
    /// First id covered.
    pub first: NodeId,
    /// Last id covered: there is no member in between whose entry is held and not given.
    pub last: NodeId,
}

impl SliceHead {
    /// Writes the head into the first [`SLICE_HEAD_BYTES`] of `buffer`.
    ///
    /// # Panics
    /// If the buffer is shorter than that.
    pub fn write(&self, buffer: &mut [u8]) {
        let mut body = Writer::new(buffer);
        body.put(&self.token.to_le_bytes());
        body.put(&self.first.0.to_le_bytes());
        body.put(&self.last.0.to_le_bytes());
    }

    /// Reads the head of a received slice, and gives the rest.
    ///
    /// # Errors
    /// If it is too short, or covers nothing.
    pub fn read(body: &[u8]) -> Result<(Self, &[u8]), BodyError> {
        let mut body = Reader(body);
        let mut next = || {
            let token = u64::from_le_bytes(body.array()?);
            Some(Self { token, first: NodeId(body.u32()?), last: NodeId(body.u32()?) })
        };
        let head = next().filter(|head| head.first <= head.last).ok_or(BodyError::Malformed)?;
        Ok((head, body.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn requests_and_heads_survive_the_round_trip(
            token in any::<u64>(), a in any::<u32>(), b in any::<u32>(), padding in 0usize..99,
        ) {
            let mut body = vec![9; REQUEST_BYTES + padding];
            let request = Request { token, colony: ColonyId(a), word: b };
            request.write(&mut body);
            prop_assert_eq!(Request::read(&body), Ok(request));
            prop_assert!(body[REQUEST_BYTES..].iter().all(|&byte| byte == 0));
            let head = SliceHead { token, first: NodeId(a.min(b)), last: NodeId(a.max(b)) };
            head.write(&mut body);
            prop_assert_eq!(SliceHead::read(&body), Ok((head, &body[SLICE_HEAD_BYTES..])));
        }

        #[test]
        fn any_bytes_can_be_read(body in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Request::read(&body).is_ok(), body.len() >= REQUEST_BYTES);
            prop_assert!(SliceHead::read(&body).is_err() || body.len() >= SLICE_HEAD_BYTES);
            let reply = read_reply(&body);
            prop_assert!(reply.is_err() || body.len() > REPLY_HEAD_BYTES);
        }
    }

    #[test]
    fn a_reply_is_one_record() {
        let mut body = [0; 64];
        let none = core::iter::empty();
        let written = crate::wire::record::write_record(
            &mut body[REPLY_HEAD_BYTES..],
            (ColonyId(5), 0),
            none,
            &[1; 3],
        );
        let end = REPLY_HEAD_BYTES + written;
        let (token, record) = read_reply(&body[..end]).expect("one record");
        assert_eq!((token, record.colony, record.aggregate), (0, ColonyId(5), &[1; 3][..]));
        assert_eq!(read_reply(&body[..=end]), Err(BodyError::Malformed));
        assert_eq!(read_reply(&body[..REPLY_HEAD_BYTES]), Err(BodyError::Malformed));
    }
}
