//! One direction of a sealed stream: its key, its cipher, and how many records went.
//!
//! A record is a frame as [`KeyRing`](tidings_primitives::KeyRing) seals it, byte for byte. Its
//! nonce is the id of the key and the number of the record, so the first half of the nonce is the
//! same for all records, and with it the key that XAES-256-GCM derives. It is derived once here,
//! and AES-256-GCM is that of the crate `ring`, which seals long records in less than half of the
//! time. Datagrams are short and each from another sender: they have the other cipher
//! (docs/decisions/0003-cipher.md).
//!
//! Invariant: a number is used once, whether the record opens or not.
//!
//! Source: C2SP, XAES-256-GCM; times: docs/decisions/0049-bulk-and-one-sided.md.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use tidings_primitives::nonce::{self, KEY_ID_AT};
use tidings_primitives::seal::{HEAD_BYTES, Key, NONCE_AT, TAG_BYTES};

/// Bytes of a length, with which the head of a record begins.
pub(super) const LENGTH_BYTES: usize = 4;

/// Where the half of the nonce begins that differs.
const NUMBERED_AT: usize = nonce::BYTES - NONCE_LEN;

/// Where in a nonce the number of the record lies.
const NUMBER_AT: usize = 16;

pub(super) struct Direction {
    /// Some hundred bytes, which futures with a connection need not have.
    cipher: Box<LessSafeKey>,
    key_id: u8,
    count: u64,
}

impl Direction {
    pub(super) fn new(key: &Key) -> Self {
        let key_id = key.id();
        let mut beginning = [0; NUMBERED_AT];
        beginning[KEY_ID_AT] = key_id;
        let key = key.derived(&beginning);
        let cipher = UnboundKey::new(&AES_256_GCM, key.as_bytes()).expect("a key has 32 bytes");
        Self { cipher: Box::new(LessSafeKey::new(cipher)), key_id, count: 0 }
    }

    /// Seals the next record in place: room for a head, a body, and room for the tag.
    pub(super) fn seal(&mut self, frame: &mut [u8]) {
        let (head, rest) = frame.split_at_mut(HEAD_BYTES);
        let (body, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        let nonce = self.begin(head, body.len());
        let sealed = self.cipher.seal_in_place_separate_tag(nonce, Aad::from(head), body);
        let sealed = sealed.expect("a record is far below the cipher's limit of 64 GiB");
        tag.copy_from_slice(sealed.as_ref());
    }

    /// Opens the next record in place: room for a head, a body, and the tag. Whether it is the next
    /// one; if not it is of no use.
    pub(super) fn open(&mut self, frame: &mut [u8]) -> bool {
        let (head, rest) = frame.split_at_mut(HEAD_BYTES);
        let nonce = self.begin(head, rest.len() - TAG_BYTES);
        self.cipher.open_in_place(nonce, Aad::from(head), rest).is_ok()
    }

    /// Writes the head of the next record. Returns the second half of its nonce.
    fn begin(&mut self, head: &mut [u8], body_bytes: usize) -> Nonce {
        head.fill(0);
        head[..LENGTH_BYTES].copy_from_slice(&(body_bytes as u32).to_le_bytes());
        head[NONCE_AT + KEY_ID_AT] = self.key_id;
        head[NONCE_AT + NUMBER_AT..].copy_from_slice(&self.count.to_le_bytes());
        self.count += 1;
        let half = &head[NONCE_AT + NUMBERED_AT..HEAD_BYTES];
        Nonce::try_assume_unique_for_key(half).expect("the half of a nonce has twelve bytes")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidings_primitives::KeyRing;

    use super::*;

    fn frame(body: &[u8]) -> Vec<u8> {
        [&[0; HEAD_BYTES][..], body, &[0; TAG_BYTES]].concat()
    }

    proptest! {
        /// Programs of before had both ends of a stream sealed by a ring of keys.
        #[test]
        fn a_record_is_a_frame_of_a_ring_of_keys(
            key: [u8; 32],
            body: Vec<u8>,
            before in 0..3_u64,
        ) {
            let key = Key::from_bytes(key);
            let ring = KeyRing::new(core::slice::from_ref(&key)).unwrap();
            let mut here = Direction::new(&key);
            here.count = before;
            let mut sealed = frame(&body);
            here.seal(&mut sealed);

            let mut expected = frame(&body);
            expected[..HEAD_BYTES].copy_from_slice(&sealed[..HEAD_BYTES]);
            ring.seal(&mut expected);
            prop_assert_eq!(&sealed, &expected);
            prop_assert_eq!(ring.unseal(&mut expected).unwrap(), &body);

            let mut there = Direction::new(&key);
            there.count = before;
            prop_assert!(there.open(&mut sealed));
            prop_assert_eq!(&sealed[HEAD_BYTES..HEAD_BYTES + body.len()], &body);
        }
    }

    /// What was sealed at the time of the first release with this format.
    #[test]
    fn the_bytes_of_a_record_stay() {
        let mut sealed = frame(b"block");
        let mut direction = Direction::new(&Key::from_bytes([7; 32]));
        direction.count = 258;
        direction.seal(&mut sealed);
        // The length, the id of the key and the number of the record; the body and the tag.
        assert_eq!(sealed[..4], [5, 0, 0, 0]);
        assert_eq!((sealed[15], &sealed[20..22]), (0x21, &[2, 1][..]));
        assert_eq!(
            sealed[HEAD_BYTES..],
            [
                0x85, 0x31, 0x93, 0x7c, 0xf2, 0x66, 0xf4, 0xd3, 0xa5, 0xba, 0xf9, 0x0d, 0x2d, 0xdd,
                0x54, 0x8c, 0x8b, 0x1b, 0x7f, 0xe7, 0x0e
            ]
        );
    }
}
