//! Seals: who may speak and listen, and how keys change without a pause.
//!
//! A *frame* is a head of [`HEAD_BYTES`] in clear, a body, and a tag of [`TAG_BYTES`]. The body is
//! sealed with XAES-256-GCM under a key that all nodes of the cluster share. The head ends with the
//! [nonce] and is authenticated with the body; what its other bytes mean is for who
//! sends frames to say. A *key ring* holds up to [`MAX_KEYS`] keys: the first seals, all open. To
//! change keys, append the new one on every node, then move it to the front on every node, then
//! drop the old one: at each moment every node opens what every other seals.
//!
//! Without a key a ring is *open*: it seals under a key that anyone can derive from the cluster's
//! name. That detects damage, and keeps nobody out; only loopback is fit for it.
//!
//! Source: C2SP, XAES-256-GCM; the cipher is the RustCrypto crate `xaes-256-gcm`. Why this one:
//! docs/decisions/0003-cipher.md.

use core::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use thiserror::Error;
use xaes_256_gcm::aead::{AeadInOut, Nonce, Tag};
use xaes_256_gcm::aes_gcm::Aes256Gcm;
use zeroize::{Zeroize, ZeroizeOnDrop};

pub use crate::derivation::KEY_BYTES;
use crate::derivation::{BEGINNING_BYTES, Root};
use crate::nonce::{self, KEY_ID_AT};

/// Bytes of a frame's head: four that the frame's protocol gives a meaning, and the nonce.
pub const HEAD_BYTES: usize = NONCE_AT + nonce::BYTES;
/// Where in a head the nonce begins.
pub const NONCE_AT: usize = 4;
/// Bytes that a seal adds to a body.
pub const TAG_BYTES: usize = 16;
/// The most keys on a ring.
pub const MAX_KEYS: usize = 8;
/// Bytes of a fingerprint.
pub const FINGERPRINT_BYTES: usize = 4;

/// What tells a key from another and may be shown: the beginning of its SHA-256. Nothing but the
/// key itself, 32 random bytes, is of help to find it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Fingerprint(pub [u8; FINGERPRINT_BYTES]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", u32::from_be_bytes(self.0))
    }
}

/// A shared secret of 32 bytes. Neither its `Debug` form nor any error shows it.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct Key([u8; KEY_BYTES]);

impl Key {
    /// A key from 32 random bytes.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// The line that stands for the key in a key file: base64, 44 characters. A secret.
    pub fn to_line(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// The number by which frames name the key: 1 to 255, from its SHA-256.
    pub fn id(&self) -> u8 {
        let digest = Sha256::new().chain_update("tidings key id").chain_update(self.0).finalize();
        digest[0] % 255 + 1
    }

    /// What tells it from other keys.
    pub fn fingerprint(&self) -> Fingerprint {
        let hash = Sha256::new().chain_update("tidings key fingerprint").chain_update(self.0);
        let digest: [u8; 32] = hash.finalize().into();
        Fingerprint(core::array::from_fn(|at| digest[at]))
    }

    /// The key under which AES-256-GCM seals each frame whose nonce begins so, with the rest of the
    /// nonce. Who seals many such frames derives it once.
    #[must_use]
    pub fn derived(&self, beginning: &[u8; BEGINNING_BYTES]) -> Self {
        Self(*Root::new(&self.0).derived(beginning))
    }

    /// Its bytes, for a cipher. A secret.
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(id {})", self.id())
    }
}

/// What is wrong with a key file; no ring was made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A line that is no key.
    #[error(
        "line {line}: not a key: a key is 32 bytes in base64, 44 characters (`tidings keys generate`)"
    )]
    NotAKey {
        /// Its number, from 1.
        line: usize,
    },
    /// The same key twice.
    #[error("line {line}: the same key as on line {first}: remove one")]
    Repeated {
        /// Its number, from 1.
        line: usize,
        /// That of the first.
        first: usize,
    },
    /// No key at all.
    #[error("no key: make one with `tidings keys generate`")]
    Empty,
    /// Too many keys.
    #[error("more than {MAX_KEYS} keys: drop the oldest")]
    TooMany,
}

/// The keys of a cluster; the first seals, all open.
#[derive(Clone)]
pub struct KeyRing {
    keys: Vec<(u8, Root)>,
    /// Those of the keys, in their order; none without a secret.
    fingerprints: Vec<Fingerprint>,
    secret: bool,
}

impl KeyRing {
    /// A ring without a secret, for loopback alone: a program that knows the cluster's name can
    /// speak.
    pub fn open(cluster: &str) -> Self {
        let public = Sha256::new().chain_update("tidings open cluster").chain_update(cluster);
        let root = Root::new(&public.finalize().into());
        Self { keys: vec![(0, root)], fingerprints: Vec::new(), secret: false }
    }

    /// A ring from keys, the sealing one first; `None` if there is none or more than
    /// [`MAX_KEYS`].
    pub fn new(keys: &[Key]) -> Option<Self> {
        let roots = keys.iter().map(|key| (key.id(), Root::new(&key.0)));
        let within = (1..=MAX_KEYS).contains(&keys.len());
        let fingerprints = keys.iter().map(Key::fingerprint).collect();
        within.then(|| Self { keys: roots.collect(), fingerprints, secret: true })
    }

    /// A ring from a key file: a key a line, the sealing one first; `#` begins a comment.
    ///
    /// # Errors
    /// Names the line that is no key or repeats one.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut keys: Vec<(usize, Key)> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            let text = line.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let mut bytes = [0; KEY_BYTES];
            match STANDARD.decode_slice(text, &mut bytes) {
                Ok(KEY_BYTES) => {}
                _ => return Err(KeyError::NotAKey { line: line_number }),
            }
            let key = Key::from_bytes(bytes);
            bytes.zeroize();
            if let Some((first, _)) = keys.iter().find(|(_, other)| *other == key) {
                return Err(KeyError::Repeated { line: line_number, first: *first });
            }
            if keys.len() == MAX_KEYS {
                return Err(KeyError::TooMany);
            }
            keys.push((line_number, key));
        }
        let keys: Vec<Key> = keys.into_iter().map(|(_, key)| key).collect();
        Self::new(&keys).ok_or(KeyError::Empty)
    }

    /// Whether the ring keeps anybody out.
    pub fn is_secret(&self) -> bool {
        self.secret
    }

    /// The fingerprints of its keys, that of the sealing one first; none without a secret.
    pub fn fingerprints(&self) -> &[Fingerprint] {
        &self.fingerprints
    }

    /// Keys on the ring.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Never: a ring has a key.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The id of the key that seals.
    pub fn sealing_id(&self) -> u8 {
        self.keys[0].0
    }

    /// The key that seals.
    pub(crate) fn sealing(&self) -> &Root {
        &self.keys[0].1
    }

    /// Seals a frame in place: a head, a body, and room for the tag behind it. Who seals many in
    /// one life has a [`CachedRing`](crate::CachedRing).
    ///
    /// # Panics
    /// If it is shorter than a head and a tag.
    pub fn seal(&self, frame: &mut [u8]) {
        seal(&self.sealing().cipher(&beginning(frame)), frame);
    }

    /// Opens a frame in place and returns its body.
    ///
    /// # Errors
    /// No key of the ring opens it; it is as it was.
    pub fn unseal<'a>(&self, frame: &'a mut [u8]) -> Result<&'a [u8], Unopened> {
        must_be_frame(frame)?;
        self.open_by_any(frame)?;
        Ok(body(frame))
    }

    /// Opens a frame in place by whichever key does. Returns that key's cipher.
    pub(crate) fn open_by_any(&self, frame: &mut [u8]) -> Result<Aes256Gcm, Unopened> {
        let beginning = beginning(frame);
        let mut outcome = Unopened::WrongKey;
        for (_, root) in self.keys.iter().filter(|(id, _)| *id == beginning[KEY_ID_AT]) {
            let cipher = root.cipher(&beginning);
            if is_opened(&cipher, frame) {
                return Ok(cipher);
            }
            outcome = Unopened::Damaged;
        }
        Err(outcome)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing({} keys, secret: {})", self.keys.len(), self.secret)
    }
}

/// Why a frame was not opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unopened {
    /// No key on the ring has the id that the frame names.
    WrongKey,
    /// The key is known, but the seal does not hold: damaged or forged.
    Damaged,
}

/// Refuses what has no room for a head and a tag.
pub(crate) fn must_be_frame(frame: &[u8]) -> Result<(), Unopened> {
    if frame.len() < HEAD_BYTES + TAG_BYTES { Err(Unopened::Damaged) } else { Ok(()) }
}

/// The beginning of a frame's nonce, which derives its key.
pub(crate) fn beginning(frame: &[u8]) -> [u8; BEGINNING_BYTES] {
    let beginning = frame[NONCE_AT..].first_chunk();
    *beginning.expect("a frame has a head, with a nonce of 24 bytes")
}

/// What lies between a frame's head and its tag.
pub(crate) fn body(frame: &[u8]) -> &[u8] {
    &frame[HEAD_BYTES..frame.len() - TAG_BYTES]
}

/// Seals a frame in place with the cipher of its nonce's beginning.
pub(crate) fn seal(cipher: &Aes256Gcm, frame: &mut [u8]) {
    let (head, rest) = frame.split_at_mut(HEAD_BYTES);
    let (body, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
    let sealed = cipher.encrypt_inout_detached(&rest_of_nonce(head), head, body.into());
    tag.copy_from_slice(&sealed.expect("a frame is far below the cipher's limit of 64 GiB"));
}

/// Opens a frame in place with a cipher. False if it is not sealed by that; it is as it was then,
/// since the tag is checked before the body is touched.
pub(crate) fn is_opened(cipher: &Aes256Gcm, frame: &mut [u8]) -> bool {
    let (head, rest) = frame.split_at_mut(HEAD_BYTES);
    let (body, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
    let tag = Tag::<Aes256Gcm>::try_from(&*tag).expect("the slice has the tag's 16 bytes");
    cipher.decrypt_inout_detached(&rest_of_nonce(head), head, body.into(), &tag).is_ok()
}

/// What of a head's nonce derives no key.
fn rest_of_nonce(head: &[u8]) -> Nonce<Aes256Gcm> {
    let rest = &head[NONCE_AT + BEGINNING_BYTES..HEAD_BYTES];
    Nonce::<Aes256Gcm>::try_from(rest).expect("the slice has the other 12 of the nonce's 24 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::from_bytes([byte; KEY_BYTES])
    }

    fn sealed(ring: &KeyRing) -> Vec<u8> {
        let mut frame = vec![7; HEAD_BYTES + 10 + TAG_BYTES];
        frame[NONCE_AT + KEY_ID_AT] = ring.sealing_id();
        ring.seal(&mut frame);
        frame
    }

    #[test]
    fn what_one_seals_the_other_opens() {
        let ring = KeyRing::new(&[key(1)]).expect("one key");
        assert_eq!(ring.unseal(&mut sealed(&ring)), Ok(&[7u8; 10][..]));
    }

    /// The first vector of the specification, which shows the derived key, too.
    #[test]
    fn a_key_is_derived_as_the_specification_says() {
        let derived = key(1).derived(b"ABCDEFGHIJKL");
        let (first, second) = derived.as_bytes().split_at(KEY_BYTES / 2);
        let number = |half: &[u8]| u128::from_be_bytes(half.try_into().expect("sixteen bytes"));
        assert_eq!(number(first), 0xc861_2c9e_d53f_e43e_8e00_5b82_8a16_31a0);
        assert_eq!(number(second), 0xbbcb_6ab2_f465_14ec_4f43_9fcf_d0fa_969b);
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let ring = KeyRing::open("test");
        let whole = sealed(&ring);
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(ring.unseal(&mut damaged).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn keys_rotate_without_a_pause() {
        let steps = [vec![1u8], vec![1, 2], vec![2, 1], vec![2]];
        let rings = steps.map(|step| {
            let keys: Vec<Key> = step.into_iter().map(key).collect();
            KeyRing::new(&keys).expect("one or two keys")
        });
        for pair in rings.windows(2) {
            assert!(pair[1].unseal(&mut sealed(&pair[0])).is_ok());
            assert!(pair[0].unseal(&mut sealed(&pair[1])).is_ok());
        }
        assert_eq!(rings[3].unseal(&mut sealed(&rings[0])), Err(Unopened::WrongKey));
    }

    /// A key's id has 255 values: among a few hundred keys some share one.
    #[test]
    fn keys_that_share_an_id_are_both_tried() {
        let many = (0..=255).map(|n| [n; KEY_BYTES]).map(Key::from_bytes);
        let first = key(1);
        let twin = many
            .chain((0..=255).map(|n| {
                Key::from_bytes([n, n, 1, 2].repeat(8).try_into().expect("eight times four bytes"))
            }))
            .find(|other| *other != first && other.id() == first.id());
        let twin = twin.expect("512 fixed keys, one of which has this id");
        let both = KeyRing::new(&[first.clone(), twin.clone()]).expect("two keys");
        for one in [first, twin] {
            let one = KeyRing::new(&[one]).expect("one key");
            assert_eq!(both.unseal(&mut sealed(&one)), Ok(&[7u8; 10][..]));
        }
    }

    #[test]
    fn key_files_are_read_and_faults_named_by_line() {
        let line = key(3).to_line();
        let ring = KeyRing::parse(&format!("# ring\n{line}  # in use\n\n{}\n", key(4).to_line()));
        assert_eq!(ring.map(|r| r.len()), Ok(2));
        assert_eq!(KeyRing::parse("\n# none\n").err(), Some(KeyError::Empty));
        assert_eq!(KeyRing::parse("\nabc").err(), Some(KeyError::NotAKey { line: 2 }));
        let twice = KeyRing::parse(&format!("{line}\n{line}")).err();
        assert_eq!(twice, Some(KeyError::Repeated { line: 2, first: 1 }));
        let many: String = (0..9).map(|n| key(n).to_line() + "\n").collect();
        assert_eq!(KeyRing::parse(&many).err(), Some(KeyError::TooMany));
    }

    #[test]
    fn no_form_of_a_key_shows_it() {
        let ring = KeyRing::new(&[key(9)]).expect("one key");
        let shown = format!("{:?} {ring:?}", key(9));
        assert!(!shown.contains(&key(9).to_line()) && !shown.contains("9, 9"), "{shown}");
    }

    #[test]
    fn fingerprints_tell_keys_apart_and_say_which_one_seals() {
        let ring = KeyRing::new(&[key(1), key(2)]).expect("two keys");
        let [first, second] = ring.fingerprints() else { panic!("two: {ring:?}") };
        assert_eq!(first.to_string(), "06aa201b", "fixed: nodes of all releases compare them");
        assert_ne!(first, second);
        assert_eq!(KeyRing::new(&[key(2), key(1)]).expect("two").fingerprints()[1], *first);
        assert_eq!(KeyRing::open("tidings").fingerprints(), []);
    }
}
