//! Data under the cluster's key, which is opened before anything of it is unpickled.

use tidings_primitives::nonce;
use tidings_primitives::{Key, KeyRing};
use tidings_tasks_core::seal::{Unread, is_sealed, open, seal};

/// What the inputs that open are about, and the key under which some were sealed.
const ABOUT: &[u8] = b"call of task 7";
const KEY: [u8; 32] = [7; 32];

/// Any bytes open, or do not for a reason; what opens is byte for byte what sealing makes of it. So
/// nobody makes such bytes without the key.
///
/// The input is data as well, the beginning of which is what it is about: sealed, it opens for that
/// and for nothing else, and under no other key; with one bit changed, or cut, it does not.
pub fn seals(bytes: &[u8]) {
    let ring = ring(KEY);
    if let Ok(data) = open(&ring, ABOUT, bytes) {
        let nonce = nonce_of(bytes.get(12..).expect("a head"));
        let again = seal(&ring, nonce, ABOUT, &data).expect("short");
        assert_eq!(again, bytes, "other bytes open than those that were sealed");
    }
    let length = bytes.first().map_or(0, |first| usize::from(*first)).min(bytes.len());
    let (about, data) = bytes.split_at(length);
    let sealed = seal(&ring, nonce_of(bytes), about, data).expect("short");
    assert!(is_sealed(&sealed));
    assert_eq!(open(&ring, about, &sealed).as_deref(), Ok(data));
    let other = [about, b"x"].concat();
    assert_eq!(open(&ring, &other, &sealed), Err(Unread::Elsewhere));
    assert!(open(&self::ring([8; 32]), about, &sealed).is_err(), "another key opens it");
    let place = bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % sealed.len();
    let mut damaged = sealed.clone();
    damaged[place] ^= 1 << (length % 8);
    assert!(open(&ring, about, &damaged).is_err(), "byte {place} was changed");
    assert!(open(&ring, about, &sealed[..place]).is_err(), "only {place} bytes are left");
}

fn ring(key: [u8; 32]) -> KeyRing {
    KeyRing::parse(&Key::from_bytes(key).to_line()).expect("a key")
}

/// As many bytes as there are; random ones do not matter to what is checked here.
fn nonce_of(bytes: &[u8]) -> [u8; nonce::BYTES] {
    core::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0))
}
