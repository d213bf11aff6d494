//! Handles: what names a blob, wherever it lies.
//!
//! A handle is the hash of the bytes and how many they are. So it names one content for ever, equal
//! content has one handle, and whoever gets the bytes from anywhere can tell that they are right.
//!
//! To hash takes longer than to write. So a blob in memory that nobody needs to check, since all
//! who read it map it or get it sealed with the cluster's key, may have a *drawn* name in place of
//! its hash: random, and told from hashes by how it begins. It names one content for ever, too.

use core::fmt;
use core::str::FromStr;

use minicbor::decode::Error;
use minicbor::{Decode, Decoder, Encode};
use sha2::{Digest as _, Sha256};

/// The most bytes of a blob: 1 TiB. A handle that says more is refused before it is believed.
pub const MAX_BLOB_BYTES: u64 = 1 << 40;

/// What a handle's text begins with.
const BEGINNING: &str = "sha256:";

/// The longest text of a handle, in bytes.
const MAX_TEXT_BYTES: usize = BEGINNING.len() + 64 + 1 + 13;

/// A blob: which bytes, and how many. In CBOR a map, as text `sha256:HEX:BYTES`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(map)]
pub struct Handle {
    /// SHA-256 of the bytes.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub hash: [u8; 32],
    /// How many they are, at most [`MAX_BLOB_BYTES`].
    #[cbor(n(1), decode_with = "bounded")]
    pub bytes: u64,
}

/// How a name begins that was drawn. One hash in 2⁶⁴ does: its bytes are not checked then.
const DRAWN: [u8; 8] = *b"\0drawn\0\0";

/// What is no handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "no handle of a blob: write sha256:HEX:BYTES with 64 hexadecimal digits in lower case, and at \
     most {MAX_BLOB_BYTES} bytes"
)]
pub struct HandleError;

impl Handle {
    /// The handle of these bytes.
    pub fn of(content: &[u8]) -> Self {
        Self { hash: Sha256::digest(content).into(), bytes: content.len() as u64 }
    }

    /// A handle that no other blob has, for one of so many bytes.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub(crate) fn drawn(bytes: u64) -> std::io::Result<Self> {
        let mut hash = [0; 32];
        hash[..DRAWN.len()].copy_from_slice(&DRAWN);
        let failed = |error: getrandom::Error| std::io::Error::other(error.to_string());
        getrandom::fill(&mut hash[DRAWN.len()..]).map_err(failed)?;
        Ok(Self { hash, bytes })
    }

    /// Whether its name was drawn: nothing tells whether bytes are those of the blob.
    pub(crate) fn is_drawn(&self) -> bool {
        self.hash.starts_with(&DRAWN)
    }

    /// The hash as 64 hexadecimal digits in lower case.
    pub(crate) fn hex(&self) -> String {
        hex(&self.hash)
    }
}

/// A hash as 64 hexadecimal digits in lower case.
pub(crate) fn hex(hash: &[u8; 32]) -> String {
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value)]);
    hash.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The hash with these digits.
pub(crate) fn hash_of(hex: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if hex.len() != 64 {
        return None;
    }
    for (byte, digits) in hash.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = (digit(digits[0])? << 4) | digit(digits[1])?;
    }
    Some(hash)
}

fn bounded<C>(decoder: &mut Decoder<'_>, _: &mut C) -> Result<u64, Error> {
    let at = decoder.position();
    let bytes = decoder.u64()?;
    let error = || Error::message(HandleError.to_string()).at(at);
    (bytes <= MAX_BLOB_BYTES).then_some(bytes).ok_or_else(error)
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{BEGINNING}{}:{}", self.hex(), self.bytes)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Handle {
    type Err = HandleError;

    fn from_str(text: &str) -> Result<Self, HandleError> {
        if text.len() > MAX_TEXT_BYTES {
            return Err(HandleError);
        }
        let (hex, bytes) = text
            .strip_prefix(BEGINNING)
            .and_then(|rest| rest.split_once(':'))
            .ok_or(HandleError)?;
        let bytes: u64 = bytes.parse().map_err(|_| HandleError)?;
        if bytes > MAX_BLOB_BYTES {
            return Err(HandleError);
        }
        let hash = hash_of(hex).ok_or(HandleError)?;
        let handle = Self { hash, bytes };
        // One text for each handle: no signs, no zeros in front.
        (handle.to_string() == text).then_some(handle).ok_or(HandleError)
    }
}

fn digit(of: u8) -> Option<u8> {
    match of {
        b'0'..=b'9' => Some(of - b'0'),
        b'a'..=b'f' => Some(of - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn handles_are_read_as_they_are_written(hash: [u8; 32], bytes in 0..=MAX_BLOB_BYTES) {
            let handle = Handle { hash, bytes };
            prop_assert_eq!(handle.to_string().parse(), Ok(handle));
            let record = minicbor::to_vec(handle).unwrap();
            prop_assert_eq!(minicbor::decode::<Handle>(&record).unwrap(), handle);
        }

        #[test]
        fn no_bytes_and_no_text_make_it_panic(bytes: Vec<u8>, text: String) {
            let _ = minicbor::decode::<Handle>(&bytes);
            let _ = text.parse::<Handle>();
            let _ = format!("sha256:{text}").parse::<Handle>();
        }
    }

    #[test]
    fn a_drawn_name_is_no_other_and_no_hash() {
        let (one, other) = (Handle::drawn(3).unwrap(), Handle::drawn(3).unwrap());
        assert!(one.is_drawn() && one != other);
        assert_eq!(one.to_string().parse(), Ok(one));
        assert!(!Handle::of(b"abc").is_drawn());
    }

    #[test]
    fn the_handle_of_abc_is_that_of_the_standard() {
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad:3";
        assert_eq!(Handle::of(b"abc").to_string(), text);
    }

    #[test]
    fn what_is_outside_of_the_bounds_is_refused() {
        let right = Handle::of(b"abc").to_string();
        let upper = right.to_uppercase().replace("SHA", "sha");
        let long = format!("{right}{}", "0".repeat(20));
        for wrong in ["", "sha256:", "sha256:00:3", &right[7..], &upper, &long] {
            assert_eq!(wrong.parse::<Handle>(), Err(HandleError), "{wrong}");
        }
        for bytes in ["+3", "03", "-1", "1099511627777", ""] {
            let wrong = right.replace(":3", &format!(":{bytes}"));
            assert_eq!(wrong.parse::<Handle>(), Err(HandleError), "{wrong}");
        }
        let large = Handle { hash: [0; 32], bytes: MAX_BLOB_BYTES + 1 };
        let error = minicbor::decode::<Handle>(&minicbor::to_vec(large).unwrap()).unwrap_err();
        assert!(error.to_string().contains("at most"), "{error}");
    }
}
