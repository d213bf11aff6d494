//! Seals: data under the cluster's key, so that none is read that somebody else has made.
//!
//! To unpickle is to run what the writer wanted. In a store that several hosts reach, a pickle is
//! therefore sealed by who makes it, and opened before anything of it is read. What it is *about*,
//! such as the task whose call it is, is sealed with it: data that is moved elsewhere, or is passed
//! off as something else, does not open.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | a mark: `\xffsealed\x01` |
//! | 28 | head: `data`, and a random nonce with the key's id |
//! | n | sealed: two bytes, the length of what it is about, little endian; that; the data |
//! | 16 | tag |
//!
//! Invariant: what opens is, byte for byte, what [`seal`] has made of it.

use tidings_primitives::KeyRing;
use tidings_primitives::nonce::{self, KEY_ID_AT};
use tidings_primitives::seal::{HEAD_BYTES, NONCE_AT, TAG_BYTES, Unopened};

/// What begins with it is sealed. No pickle and no JSON does.
const MARK: [u8; 8] = *b"\xffsealed\x01";

/// The head's first bytes: no frame of another protocol under the same key has them.
const HEAD: [u8; NONCE_AT] = *b"data";

/// Bytes of the length of what data is about.
const LENGTH_BYTES: usize = 2;

/// The most bytes of what data is about.
pub const MAX_ABOUT_BYTES: usize = u16::MAX as usize;

/// Why data is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unread {
    /// It is not sealed, or under no cluster's key.
    #[error("is not sealed with the cluster's key")]
    Unsealed,
    /// It is sealed with a key that the ring has not.
    #[error("is sealed with another key")]
    OtherKey,
    /// The seal does not hold.
    #[error("is sealed, and damaged or forged")]
    Damaged,
    /// It is about something else.
    #[error("was sealed for another place")]
    Elsewhere,
}

/// What data is about has more than [`MAX_ABOUT_BYTES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("what data is about has at most {MAX_ABOUT_BYTES} bytes")]
pub struct TooLong;

/// Seals data that is about something, under a nonce that was never used before: 24 random bytes,
/// one of which becomes the key's id.
///
/// # Errors
/// What it is about is too long.
pub fn seal(
    ring: &KeyRing,
    mut nonce: [u8; nonce::BYTES],
    about: &[u8],
    data: &[u8],
) -> Result<Vec<u8>, TooLong> {
    let length = u16::try_from(about.len()).map_err(|_| TooLong)?;
    nonce[KEY_ID_AT] = ring.sealing_id();
    let body_bytes = LENGTH_BYTES + about.len() + data.len();
    let mut sealed = Vec::with_capacity(MARK.len() + HEAD_BYTES + body_bytes + TAG_BYTES);
    sealed.extend(MARK);
    sealed.extend(HEAD);
    sealed.extend(nonce);
    sealed.extend(length.to_le_bytes());
    sealed.extend(about);
    sealed.extend(data);
    sealed.extend([0; TAG_BYTES]);
    ring.seal(&mut sealed[MARK.len()..]);
    Ok(sealed)
}

/// The data that was sealed about something.
///
/// # Errors
/// It does not open; nothing of it may be read.
pub fn open(ring: &KeyRing, about: &[u8], sealed: &[u8]) -> Result<Vec<u8>, Unread> {
    let mut frame = sealed.strip_prefix(&MARK).ok_or(Unread::Unsealed)?.to_vec();
    if frame.len() < HEAD_BYTES || frame[..NONCE_AT] != HEAD {
        return Err(Unread::Unsealed);
    }
    let body = ring.unseal(&mut frame).map_err(|unopened| match unopened {
        Unopened::WrongKey => Unread::OtherKey,
        Unopened::Damaged => Unread::Damaged,
    })?;
    let (length, rest) = body.split_first_chunk::<LENGTH_BYTES>().ok_or(Unread::Elsewhere)?;
    let length = usize::from(u16::from_le_bytes(*length));
    let (own, data) = rest.split_at_checked(length).ok_or(Unread::Elsewhere)?;
    if own == about { Ok(data.to_vec()) } else { Err(Unread::Elsewhere) }
}

/// Whether data says of itself that it is sealed.
#[must_use]
pub fn is_sealed(data: &[u8]) -> bool {
    data.starts_with(&MARK)
}

#[cfg(test)]
mod tests {
    use tidings_primitives::Key;

    use super::*;

    fn ring(byte: u8) -> KeyRing {
        KeyRing::parse(&Key::from_bytes([byte; 32]).to_line()).unwrap()
    }

    #[test]
    fn what_is_sealed_opens_for_what_it_is_about() {
        let sealed = seal(&ring(1), [9; nonce::BYTES], b"about", b"data").unwrap();
        assert!(is_sealed(&sealed) && !is_sealed(b"data"));
        assert_eq!(open(&ring(1), b"about", &sealed), Ok(b"data".to_vec()));
        assert_eq!(open(&ring(1), b"abou", &sealed), Err(Unread::Elsewhere));
        assert_eq!(open(&ring(1), b"aboutd", &sealed), Err(Unread::Elsewhere));
        assert_eq!(open(&ring(1), b"about", b"data"), Err(Unread::Unsealed));
        assert_eq!(open(&ring(2), b"about", &sealed), Err(Unread::OtherKey));
    }

    /// A frame under the cluster's key that is no such data: none of its lengths is believed.
    #[test]
    fn a_body_that_is_shorter_than_it_says_does_not_open() {
        for body in [&b""[..], b"\x05", b"\x06\0about", b"\xff\xff"] {
            let mut frame = [&HEAD[..], &[9; nonce::BYTES], body, &[0; TAG_BYTES]].concat();
            frame[NONCE_AT + KEY_ID_AT] = ring(1).sealing_id();
            ring(1).seal(&mut frame);
            let sealed = [&MARK[..], &frame].concat();
            assert_eq!(open(&ring(1), b"about", &sealed), Err(Unread::Elsewhere), "{body:?}");
        }
    }

    #[test]
    fn what_data_is_about_is_bounded() {
        let sealed = |bytes| seal(&ring(1), [9; nonce::BYTES], &vec![7; bytes], b"data");
        assert!(sealed(MAX_ABOUT_BYTES).is_ok());
        assert_eq!(sealed(MAX_ABOUT_BYTES + 1), Err(TooLong));
    }
}
