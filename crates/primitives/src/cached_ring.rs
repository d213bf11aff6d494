//! A key ring that caches the ciphers of the frames it sealed and opened last.
//!
//! All frames of a sender's life have nonces that begin alike, so what it seals has one derived
//! key, and so has each run of frames that a receiver opens of one sender: a window of many
//! datagrams, or what two nodes exchange. Deriving a key takes about half of the time of a short
//! frame.
//!
//! Invariant: what is sealed and opened is what the [`KeyRing`] alone would seal and open. A frame
//! that does not open changes nothing of what is cached.

use xaes_256_gcm::aes_gcm::Aes256Gcm;

use crate::derivation::BEGINNING_BYTES;
use crate::seal::{KeyRing, Unopened, beginning, body, is_opened, must_be_frame, seal};

/// A [`KeyRing`] that caches the cipher of the frame it sealed last, and of the one it opened last:
/// 2 kB beside the ring.
#[derive(Clone)]
pub struct CachedRing {
    ring: KeyRing,
    sealed: Cached,
    opened: Cached,
}

/// Its place on the heap is there from the start, so that sealing and opening allocate nothing.
type Cached = Box<Option<Derived>>;

/// The cipher of the frames whose nonces begin so, under one key of a ring.
#[derive(Clone)]
struct Derived {
    beginning: [u8; BEGINNING_BYTES],
    cipher: Aes256Gcm,
}

impl CachedRing {
    /// A ring of which nothing is cached yet.
    pub fn new(ring: KeyRing) -> Self {
        Self { ring, sealed: Box::new(None), opened: Box::new(None) }
    }

    /// The ring itself.
    pub fn ring(&self) -> &KeyRing {
        &self.ring
    }

    /// Seals a frame in place, as [`KeyRing::seal`].
    ///
    /// # Panics
    /// If it is shorter than a head and a tag.
    pub fn seal(&mut self, frame: &mut [u8]) {
        let beginning = beginning(frame);
        match &*self.sealed {
            Some(derived) if derived.beginning == beginning => seal(&derived.cipher, frame),
            _ => {
                let cipher = self.ring.sealing().cipher(&beginning);
                seal(&cipher, frame);
                *self.sealed = Some(Derived { beginning, cipher });
            }
        }
    }

    /// Opens a frame in place and returns its body, as [`KeyRing::unseal`].
    ///
    /// # Errors
    /// No key of the ring opens it; it is as it was.
    pub fn unseal<'a>(&mut self, frame: &'a mut [u8]) -> Result<&'a [u8], Unopened> {
        must_be_frame(frame)?;
        let beginning = beginning(frame);
        let cached = (*self.opened).as_ref().filter(|derived| derived.beginning == beginning);
        // Two keys may share the id that the nonce has: what one does not open, the other may.
        if !cached.is_some_and(|derived| is_opened(&derived.cipher, frame)) {
            let cipher = self.ring.open_by_any(frame)?;
            *self.opened = Some(Derived { beginning, cipher });
        }
        Ok(body(frame))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::seal::{HEAD_BYTES, KEY_BYTES, Key, NONCE_AT, TAG_BYTES};

    fn ring(keys: &[u8]) -> KeyRing {
        let keys: Vec<Key> = keys.iter().map(|key| Key::from_bytes([*key; KEY_BYTES])).collect();
        KeyRing::new(&keys).expect("one key or two")
    }

    /// A frame of a sender, with the number as its body and the end of its nonce.
    fn frame(ring: &KeyRing, sender: u8, number: u8) -> Vec<u8> {
        let mut frame = vec![number; HEAD_BYTES + 10 + TAG_BYTES];
        frame[NONCE_AT..NONCE_AT + BEGINNING_BYTES].fill(sender);
        frame[NONCE_AT + crate::nonce::KEY_ID_AT] = ring.sealing_id();
        frame
    }

    proptest! {
        /// Whoever seals, in whatever order, under whichever of two keys, damaged or whole: a ring
        /// that caches does what one does that does not.
        #[test]
        fn a_cache_changes_nothing(
            frames in prop::collection::vec(
                (0u8..3, any::<bool>(), prop::option::of(0usize..54)),
                1..40,
            ),
        ) {
            let rings = [ring(&[1, 2]), ring(&[2, 1])];
            let mut cached = rings.clone().map(CachedRing::new);
            let mut opening = CachedRing::new(ring(&[1, 2]));
            for (number, (sender, second, damaged)) in frames.into_iter().enumerate() {
                let at = usize::from(second);
                let mut plain = frame(&rings[at], sender, number as u8);
                let mut same = plain.clone();
                rings[at].seal(&mut plain);
                cached[at].seal(&mut same);
                prop_assert_eq!(&plain, &same);
                if let Some(byte) = damaged {
                    plain[byte] ^= 1;
                    same[byte] ^= 1;
                }
                prop_assert_eq!(opening.unseal(&mut same), rings[0].unseal(&mut plain));
                prop_assert_eq!(same, plain);
            }
        }
    }

    #[test]
    fn what_is_shorter_than_a_frame_is_refused() {
        let mut cached = CachedRing::new(ring(&[1]));
        for bytes in 0..HEAD_BYTES + TAG_BYTES {
            assert_eq!(cached.unseal(&mut vec![0; bytes]), Err(Unopened::Damaged));
        }
    }
}
