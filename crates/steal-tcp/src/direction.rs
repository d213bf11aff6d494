//! One direction of a connection: a stream of records, each sealed and numbered.
//!
//! A record is a frame as [`KeyRing`] seals it: its length in four bytes, the nonce, a body, a tag.
//! The nonce is the id of the connection's key and the number of the record, so a record opens at
//! its own place of its own connection only, and what was recorded is of no use elsewhere.
//!
//! Invariants: a number is used once. A length is bounded before anything is kept for it, and a
//! body is passed on only if its seal holds.

use tidings_primitives::nonce::{self, KEY_ID_AT};
use tidings_primitives::seal::{HEAD_BYTES, Key, KeyRing, NONCE_AT, TAG_BYTES};

/// The longest body of a record: half of it is more than the longest letter, a block of an array.
pub(crate) const MAX_BODY_BYTES: usize = 20 << 20;

/// Where in a nonce the number of a record lies.
const NUMBER_AT: usize = 16;

/// What arrived is not the next record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Garbage;

/// The key of a direction, and how many records went.
#[derive(Debug)]
struct Sealer {
    ring: KeyRing,
    key_id: u8,
    count: u64,
}

impl Sealer {
    fn new(key: &Key) -> Self {
        let ring = KeyRing::new(core::slice::from_ref(key)).expect("one key is a ring");
        Self { ring, key_id: key.id(), count: 0 }
    }

    /// The head of the next record.
    fn head(&mut self, body_bytes: usize) -> [u8; HEAD_BYTES] {
        let (mut head, mut nonce) = ([0; HEAD_BYTES], [0; nonce::BYTES]);
        nonce[KEY_ID_AT] = self.key_id;
        nonce[NUMBER_AT..].copy_from_slice(&self.count.to_le_bytes());
        head[..NONCE_AT].copy_from_slice(&(body_bytes as u32).to_le_bytes());
        head[NONCE_AT..].copy_from_slice(&nonce);
        self.count += 1;
        head
    }
}

/// The sending side: what is staged, and what the socket has not taken yet.
#[derive(Debug)]
pub(crate) struct Sealing {
    sealer: Sealer,
    /// Room for a head, then the body of the next record.
    staged: Vec<u8>,
    waiting: Vec<u8>,
    /// How much of that is gone.
    gone: usize,
}

impl Sealing {
    /// Before anything was sent.
    pub(crate) fn new(key: &Key) -> Self {
        let (staged, waiting) = (vec![0; HEAD_BYTES], Vec::new());
        Self { sealer: Sealer::new(key), staged, waiting, gone: 0 }
    }

    /// Adds to the body of the next record what `put` appends, at most [`MAX_BODY_BYTES`] / 2.
    pub(crate) fn stage(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.staged);
        if self.staged.len() > MAX_BODY_BYTES / 2 {
            self.seal();
        }
    }

    /// Seals what is staged.
    pub(crate) fn seal(&mut self) {
        let body_bytes = self.staged.len() - HEAD_BYTES;
        if body_bytes == 0 {
            return;
        }
        self.staged[..HEAD_BYTES].copy_from_slice(&self.sealer.head(body_bytes));
        self.staged.extend([0; TAG_BYTES]);
        self.sealer.ring.seal(&mut self.staged);
        self.waiting.extend_from_slice(&self.staged);
        self.staged.truncate(HEAD_BYTES);
    }

    /// What the socket is to take.
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.waiting[self.gone..]
    }

    /// The socket has taken so many bytes.
    pub(crate) fn took(&mut self, bytes: usize) {
        self.gone += bytes;
        if self.gone == self.waiting.len() {
            self.waiting.clear();
            self.gone = 0;
        } else if self.gone > MAX_BODY_BYTES / 4 {
            self.waiting.drain(..self.gone);
            self.gone = 0;
        }
    }
}

/// The receiving side: bytes that are not a whole record yet.
#[derive(Debug)]
pub(crate) struct Opening {
    sealer: Sealer,
    bytes: Vec<u8>,
}

impl Opening {
    /// Before anything came.
    pub(crate) fn new(key: &Key) -> Self {
        Self { sealer: Sealer::new(key), bytes: Vec::new() }
    }

    /// Takes what came, and passes on the bodies of the records that are whole.
    pub(crate) fn take<E>(
        &mut self,
        bytes: &[u8],
        mut pass: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E>
    where
        E: From<Garbage>,
    {
        self.bytes.extend_from_slice(bytes);
        let mut used = 0;
        while let Some(length) = self.bytes[used..].first_chunk::<NONCE_AT>() {
            let body_bytes = u32::from_le_bytes(*length) as usize;
            if body_bytes > MAX_BODY_BYTES {
                return Err(Garbage.into());
            }
            let end = used + HEAD_BYTES + body_bytes + TAG_BYTES;
            let Some(frame) = self.bytes.get_mut(used..end) else { break };
            if frame[..HEAD_BYTES] != self.sealer.head(body_bytes) {
                return Err(Garbage.into());
            }
            pass(self.sealer.ring.unseal(frame).map_err(|_| Garbage)?)?;
            used = end;
        }
        self.bytes.drain(..used);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ends() -> (Sealing, Opening) {
        let key = Key::from_bytes([7; 32]);
        (Sealing::new(&key), Opening::new(&key))
    }

    fn opened(opening: &mut Opening, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Garbage> {
        let mut bodies = Vec::new();
        opening.take(bytes, |body| {
            bodies.push(body.to_vec());
            Ok::<_, Garbage>(())
        })?;
        Ok(bodies)
    }

    fn sealed(sealing: &mut Sealing, body: &[u8]) -> Vec<u8> {
        sealing.stage(|to| to.extend_from_slice(body));
        sealing.seal();
        let bytes = sealing.waiting().to_vec();
        sealing.took(bytes.len());
        bytes
    }

    proptest! {
        #[test]
        fn records_come_back_however_they_are_cut(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 1..10),
            cuts in prop::collection::vec(1usize..200, 1..20),
        ) {
            let (mut sealing, mut opening) = ends();
            let sealed = bodies.iter().flat_map(|body| sealed(&mut sealing, body));
            let bytes: Vec<u8> = sealed.collect();
            let (mut rest, mut got, mut cuts) = (&bytes[..], Vec::new(), cuts.into_iter().cycle());
            while !rest.is_empty() {
                let (head, tail) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
                got.extend(opened(&mut opening, head).expect("honest"));
                rest = tail;
            }
            prop_assert_eq!(got, bodies);
        }

        #[test]
        fn a_changed_bit_is_noticed(body in prop::collection::vec(any::<u8>(), 1..50), at: usize) {
            let (mut sealing, mut opening) = ends();
            let mut bytes = sealed(&mut sealing, &body);
            let at = at % (8 * bytes.len());
            bytes[at / 8] ^= 1 << (at % 8);
            // A length that has grown waits for more, but is not believed.
            let said = opened(&mut opening, &bytes);
            prop_assert!(said == Err(Garbage) || (at < 32 && said == Ok(Vec::new())));
        }
    }

    #[test]
    fn a_record_opens_once_and_in_its_place() {
        let (mut sealing, mut opening) = ends();
        let (first, second) = (sealed(&mut sealing, b"one"), sealed(&mut sealing, b"two"));
        assert_eq!(opened(&mut Opening::new(&Key::from_bytes([7; 32])), &second), Err(Garbage));
        assert_eq!(opened(&mut opening, &first), Ok(vec![b"one".to_vec()]));
        assert_eq!(opened(&mut opening, &first), Err(Garbage));
        let long = (MAX_BODY_BYTES as u32 + 1).to_le_bytes();
        assert_eq!(opened(&mut Opening::new(&Key::from_bytes([7; 32])), &long), Err(Garbage));
    }
}
