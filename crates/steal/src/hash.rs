//! Hashes of bytes: the same on all machines, and not against anybody who wants them to collide.

use tidings_primitives::chance::mix;

/// The hash of these bytes after what was hashed before them.
pub(crate) fn bytes(before: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(before, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash ^ u64::from_le_bytes(word))
    })
}
