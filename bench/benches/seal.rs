//! What does a seal cost, of which cipher?
//!
//! A window's 1,638 datagrams of one entry of 1 KiB, and as many of 256 bytes, are sealed and
//! opened with the cipher of the wire format (XAES-256-GCM): with a key derived for each, as a
//! receiver does that hears another sender each time, and with one key, as a sender does. Beside
//! them XChaCha20-Poly1305, which needs no instructions of its own. Each begins with a copy of
//! what is to be sealed or opened, and stands beside that copy alone, within the caches.
//!
//! What processors without AES instructions take is measured on one that has them, with a build
//! that leaves them out: `studies/round-cost/run`.

use std::hint::black_box;
use std::io::Write as _;

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use tidings_bench::{Comparison, compare};
use tidings_gossip::wire::keys::{HEAD_BYTES, NONCE_AT, TAG_BYTES};
use tidings_gossip::{Key, KeyRing};
use tidings_primitives::CachedRing;
use tidings_primitives::nonce::KEY_ID_AT;

const WINDOW: usize = 1638;
const REPETITIONS: usize = 200;
/// An entry of 1 KiB to a datagram, and the windows of small entries.
const DATAGRAMS: [usize; 2] = [1086, 256];

fn main() {
    // `cargo test` runs this too, without `--bench`: one small pass then keeps it from rotting.
    let has = |flag: &str| std::env::args().any(|argument| argument == flag);
    let repetitions = if has("--bench") { REPETITIONS } else { 2 };
    let mut out = std::io::stdout().lock();
    for bytes in DATAGRAMS {
        for comparison in of_datagrams(bytes, repetitions) {
            let json = || serde_json::to_string(&comparison).unwrap_or_default();
            let line = if has("--json") { json() } else { comparison.line() };
            if writeln!(out, "{line}").is_err() {
                return;
            }
        }
    }
}

fn ring() -> KeyRing {
    KeyRing::new(&[Key::from_bytes([7; 32])]).expect("one key is a ring")
}

/// All ciphers with datagrams of so many bytes.
fn of_datagrams(bytes: usize, repetitions: usize) -> [Comparison; 5] {
    let plain = window(bytes);
    let mut sealed = plain.clone();
    sealed.chunks_mut(bytes).for_each(|frame| ring().seal(frame));
    let (ring, mut sealing, mut opening) =
        (ring(), CachedRing::new(ring()), CachedRing::new(ring()));
    let chacha = XChaCha20Poly1305::new(&[7; 32].into());
    let each = |what: &str, source: &[u8], of_frame: &mut dyn FnMut(&mut [u8])| {
        let question = format!("{what}, {WINDOW} datagrams of {bytes} B");
        let (mut to, mut frames) = (source.to_vec(), source.to_vec());
        let copy = || black_box(&mut to[..]).copy_from_slice(black_box(source));
        let run = || {
            // What was opened cannot be opened again.
            black_box(&mut frames[..]).copy_from_slice(black_box(source));
            frames.chunks_mut(bytes).for_each(&mut *of_frame);
        };
        compare(&question, "cached memcpy", repetitions, copy, run)
    };
    [
        each("seal, a key derived for each", &plain, &mut |frame| ring.seal(frame)),
        each("seal, one key", &plain, &mut |frame| sealing.seal(frame)),
        each("open, a key derived for each", &sealed, &mut |frame| {
            ring.unseal(frame).expect("it was sealed so");
        }),
        each("open, one key", &sealed, &mut |frame| {
            opening.unseal(frame).expect("it was sealed so");
        }),
        each("seal, XChaCha20-Poly1305", &plain, &mut |frame| seal_by_chacha(&chacha, frame)),
    ]
}

/// Frames of a life, each with its number.
fn window(bytes: usize) -> Vec<u8> {
    let mut frames = vec![1; WINDOW * bytes];
    for (number, frame) in frames.chunks_mut(bytes).enumerate() {
        frame[NONCE_AT + KEY_ID_AT] = ring().sealing_id();
        frame[HEAD_BYTES - 8..HEAD_BYTES].copy_from_slice(&(number as u64).to_le_bytes());
    }
    frames
}

fn seal_by_chacha(cipher: &XChaCha20Poly1305, frame: &mut [u8]) {
    let (head, rest) = frame.split_at_mut(HEAD_BYTES);
    let (body, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
    let nonce = XNonce::try_from(&head[NONCE_AT..]).expect("the nonce of a head has 24 bytes");
    let sealed = cipher.encrypt_inout_detached(&nonce, head, body.into());
    tag.copy_from_slice(&sealed.expect("a frame is far below the cipher's limit of 256 GiB"));
}
