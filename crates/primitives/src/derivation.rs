//! Derivation: XAES-256-GCM is AES-256-GCM under a key that the first half of the nonce derives.
//!
//! Deriving a key takes two blocks of AES under the shared key, and the schedule and the hash key
//! under the derived one: as long as sealing half a kilobyte. Frames whose nonces begin alike, as
//! all of one sender's life do, have one derived key, which a
//! [`CachedRing`](crate::CachedRing) keeps.
//!
//! Source: C2SP, XAES-256-GCM, steps 1 to 5.

use xaes_256_gcm::aead::KeyInit;
use xaes_256_gcm::aes::cipher::BlockCipherEncrypt;
use xaes_256_gcm::aes::{Aes256, Block};
use xaes_256_gcm::aes_gcm::Aes256Gcm;
use zeroize::Zeroizing;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Bytes of a nonce that derive a key.
pub(crate) const BEGINNING_BYTES: usize = 12;

/// A shared key, ready to derive others.
#[derive(Clone)]
pub(crate) struct Root {
    cipher: Aes256,
    /// What the key makes of zeros, doubled in GF(2^128), as in CMAC.
    mask: Zeroizing<[u8; 16]>,
}

impl Root {
    pub(crate) fn new(key: &[u8; KEY_BYTES]) -> Self {
        let cipher = Aes256::new(key.into());
        let mut zeros = Block::default();
        cipher.encrypt_block(&mut zeros);
        let zeros = u128::from_be_bytes(zeros.into());
        let mask = ((zeros << 1) ^ ((zeros >> 127) * 0x87)).to_be_bytes();
        Self { cipher, mask: Zeroizing::new(mask) }
    }

    /// The key of all frames whose nonce begins so.
    pub(crate) fn derived(&self, beginning: &[u8; BEGINNING_BYTES]) -> Zeroizing<[u8; KEY_BYTES]> {
        let mut derived = Zeroizing::new([0; KEY_BYTES]);
        for (half, number) in derived.chunks_exact_mut(KEY_BYTES / 2).zip([1, 2]) {
            let mut block = Block::from(*self.mask);
            let prefix = [0, number, b'X', 0];
            let plain = prefix.iter().chain(beginning);
            block.iter_mut().zip(plain).for_each(|(masked, plain)| *masked ^= plain);
            self.cipher.encrypt_block(&mut block);
            half.copy_from_slice(&block);
        }
        derived
    }

    /// The cipher of all frames whose nonce begins so.
    pub(crate) fn cipher(&self, beginning: &[u8; BEGINNING_BYTES]) -> Aes256Gcm {
        Aes256Gcm::new((&*self.derived(beginning)).into())
    }
}
