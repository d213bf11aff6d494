//! Signatures: what one node alone can have said.
//!
//! The keys of a [ring](crate::KeyRing) are shared, so whoever holds one can speak in
//! anybody's name. A *signer* is the secret of one node, its *public key* is known to all: what the
//! one signs the other verifies, and nobody else can make it.
//!
//! Source: RFC 8032, Ed25519, by the crate `ed25519-dalek`; signatures are verified strictly, so a
//! text has no second signature that others could make of the first.

use core::fmt;
use core::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use thiserror::Error;
use zeroize::Zeroize;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;
/// Bytes of a signer's secret, and of a public key.
const KEY_BYTES: usize = 32;
/// What tells the line of a signer from that of a key of the ring.
const SIGNER_PREFIX: &str = "ed25519-secret:";
/// What tells the text of a public key from others.
const PUBLIC_PREFIX: &str = "ed25519:";

/// The secret with which a node signs. Neither its `Debug` form nor any error shows it.
#[derive(Clone)]
pub struct Signer(SigningKey);

/// What verifies the signatures of one signer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A text is no signer or no public key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// Not the secret of a signer.
    #[error("not the secret of a node: that is `{SIGNER_PREFIX}` and 32 bytes in base64")]
    NotASigner,
    /// Not a public key.
    #[error("not a public key: that is `{PUBLIC_PREFIX}` and 32 bytes in base64")]
    NotAKey,
}

impl Signer {
    /// A signer from 32 random bytes.
    pub fn from_bytes(mut bytes: [u8; KEY_BYTES]) -> Self {
        let signer = Self(SigningKey::from_bytes(&bytes));
        bytes.zeroize();
        signer
    }

    /// The line that stands for it in a file. A secret.
    pub fn to_line(&self) -> String {
        format!("{SIGNER_PREFIX}{}", STANDARD.encode(self.0.to_bytes()))
    }

    /// The signer in a file of one line; `#` begins a comment.
    ///
    /// # Errors
    /// If that is not what the file has.
    pub fn parse(text: &str) -> Result<Self, SignatureError> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let mut lines = lines.filter(|line| !line.is_empty());
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err(SignatureError::NotASigner);
        };
        let bytes = decode(line, SIGNER_PREFIX).ok_or(SignatureError::NotASigner)?;
        Ok(Self::from_bytes(bytes))
    }

    /// What verifies its signatures.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a text.
    pub fn sign(&self, text: &[u8]) -> [u8; SIGNATURE_BYTES] {
        self.0.sign(text).to_bytes()
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.public())
    }
}

impl PublicKey {
    /// Whether its signer has signed the text so.
    pub fn has_signed(&self, text: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
        self.0.verify_strict(text, &Signature::from_bytes(signature)).is_ok()
    }
}

impl FromStr for PublicKey {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Self, SignatureError> {
        let bytes = decode(text, PUBLIC_PREFIX).ok_or(SignatureError::NotAKey)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| SignatureError::NotAKey)?;
        // Of a weak key anybody can make signatures.
        if key.is_weak() { Err(SignatureError::NotAKey) } else { Ok(Self(key)) }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC_PREFIX}{}", STANDARD.encode(self.0.as_bytes()))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

fn decode(text: &str, prefix: &str) -> Option<[u8; KEY_BYTES]> {
    let mut bytes = [0; KEY_BYTES];
    let decoded = STANDARD.decode_slice(text.strip_prefix(prefix)?, &mut bytes);
    (decoded == Ok(KEY_BYTES)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 2: a text of one byte.
    #[test]
    fn signatures_are_those_of_the_standard() {
        let secret = "TM0Imyj/ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U+4pvs=";
        let signer = Signer::parse(&format!("{SIGNER_PREFIX}{secret} # of n1\n")).expect("a line");
        let public = signer.public();
        assert_eq!(public.to_string(), "ed25519:PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=");
        let signature = signer.sign(&[0x72]);
        assert_eq!(signature[..4], [0x92, 0xa0, 0x09, 0xa9]);
        assert!(public.has_signed(&[0x72], &signature));
        assert!(!public.has_signed(&[0x73], &signature));
        assert_eq!(Signer::parse(&signer.to_line()).expect("a line").public(), public);
    }

    #[test]
    fn what_is_no_key_is_refused_and_no_secret_is_shown() {
        let signer = Signer::from_bytes([7; KEY_BYTES]);
        assert!(!format!("{signer:?}").contains(&STANDARD.encode([7; KEY_BYTES])));
        for text in ["", "rubbish", "ed25519-secret:AAAA", "ed25519-secret:"] {
            assert_eq!(Signer::parse(text).err(), Some(SignatureError::NotASigner), "{text}");
        }
        let two = format!("{0}\n{0}\n", signer.to_line());
        assert!(Signer::parse(&two).is_err());
        let weak = format!("{PUBLIC_PREFIX}{}", STANDARD.encode([0; KEY_BYTES]));
        for text in ["", "ed25519:", &signer.to_line(), &weak] {
            assert_eq!(text.parse::<PublicKey>(), Err(SignatureError::NotAKey), "{text}");
        }
    }
}
