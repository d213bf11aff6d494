//! Signed payloads: what a node says of itself, so that no other can have said it.
//!
//! All nodes share the cluster's keys, so whoever holds them can make entries about anybody. Where
//! entries are *signed*, each node has a secret of its own, and a node that was given the public
//! keys of the members takes no news but what its origin has signed. Ages are not signed, since
//! they grow on the way; nor are tombstones, which others make, and farewells: a node that lives
//! refutes those. Their payloads are not looked at.
//!
//! A signature lies at the end of a payload, behind a zero that ends the user metrics of the
//! default schema, so that a reader needs to know nothing of it:
//!
//! | bytes | field |
//! |---|---|
//! | 0 … | content, zeros behind it |
//! | the last 66th | 0 |
//! | the 64 behind it | Ed25519, over cluster, node id, stamp and content |
//! | the last | 1, so that zeros behind a payload say nothing |
//!
//! Source: RFC 8032. Why so, and at what price: docs/decisions/0069-signed-entries.md.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::entry::{NodeId, Stamp};
use crate::signature::{PublicKey, SIGNATURE_BYTES, SignatureError, Signer};
use crate::wire::ask::is_name;

/// Bytes that a signature takes of a payload.
pub const SIGNED_BYTES: u16 = SIGNATURE_BYTES as u16 + 2;
/// The end of a signed payload.
const MARK: u8 = 1;
/// The most members whose public keys are known.
pub const MAX_IDENTITIES: usize = 1 << 20;
/// Bytes of memory that a public key takes, in a tree whose leaves may be half empty.
pub const IDENTITY_BYTES: u64 = 2 * (core::mem::size_of::<PublicKey>() as u64 + 8);

/// The public keys of members, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identities(BTreeMap<String, PublicKey>);

/// What is wrong with a list of public keys. Nothing of it is used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum IdentitiesError {
    /// A line that is not a name and a public key.
    #[error("line {line}: {problem}; a line is a node's name and its public key")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong there.
        problem: String,
    },
    /// Two lines of one node.
    #[error("line {line}: there is a line of {name} already: keep one")]
    Repeated {
        /// Its number, from 1.
        line: usize,
        /// The node.
        name: String,
    },
    /// No line at all.
    #[error("it names no node: `tidings keys identity` prints a node's line")]
    Empty,
    /// Too many lines.
    #[error("more than {MAX_IDENTITIES} nodes")]
    TooMany,
}

impl Identities {
    /// The keys in a text: a node's name and its public key a line; `#` begins a comment.
    ///
    /// # Errors
    /// Names the first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, IdentitiesError> {
        let mut known = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let line_number = at + 1;
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(name) = words.next() else { continue };
            let wrong = |problem: String| IdentitiesError::Line { line: line_number, problem };
            if !is_name(name) {
                // It may be a secret, in the wrong file.
                return Err(wrong("the first word is not the name of a node".to_owned()));
            }
            let (Some(key), None) = (words.next(), words.next()) else {
                return Err(wrong("there are not two words".to_owned()));
            };
            let key = key.parse().map_err(|error: SignatureError| wrong(error.to_string()))?;
            if known.len() == MAX_IDENTITIES {
                return Err(IdentitiesError::TooMany);
            }
            if known.insert(name.to_owned(), key).is_some() {
                return Err(IdentitiesError::Repeated { line: line_number, name: name.to_owned() });
            }
        }
        if known.is_empty() { Err(IdentitiesError::Empty) } else { Ok(Self(known)) }
    }

    /// The public key of a node.
    pub fn get(&self, name: &str) -> Option<PublicKey> {
        self.0.get(name).copied()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys by node id.
    pub(crate) fn by_id(&self, salt: u32) -> BTreeMap<NodeId, PublicKey> {
        self.0.iter().map(|(name, &key)| (NodeId::of_name(name, salt), key)).collect()
    }
}

/// What is signed beside the content: which cluster, whose entry, and how new it is.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    pub(crate) cluster: [u8; 32],
    pub(crate) id: NodeId,
    pub(crate) stamp: Stamp,
}

/// The number of a cluster in what is signed.
pub(crate) fn cluster_number(cluster: &str) -> [u8; 32] {
    Sha256::new().chain_update("tidings signed entry 1 ").chain_update(cluster).finalize().into()
}

impl Claim {
    /// The text that is signed, into a buffer that is used again.
    fn text<'a>(&self, content: &[u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        buffer.clear();
        buffer.extend_from_slice(&self.cluster);
        buffer.extend_from_slice(&self.id.0.to_le_bytes());
        buffer.extend_from_slice(&self.stamp.to_wire());
        buffer.extend_from_slice(content);
        buffer
    }

    /// Writes the payload of so many bytes, at least [`SIGNED_BYTES`], that says `content` under
    /// this claim.
    pub(crate) fn sign(
        &self,
        signer: &Signer,
        content: &[u8],
        payload: &mut [u8],
        buffer: &mut Vec<u8>,
    ) {
        let (says, tail) = payload.split_at_mut(payload.len() - usize::from(SIGNED_BYTES));
        let content = &content[..content.len().min(says.len())];
        says.fill(0);
        says[..content.len()].copy_from_slice(content);
        tail[0] = 0;
        tail[1..=SIGNATURE_BYTES].copy_from_slice(&signer.sign(self.text(says, buffer)));
        tail[SIGNATURE_BYTES + 1] = MARK;
    }

    /// Whether the holder of `key` has said this payload under this claim.
    pub(crate) fn is_signed(&self, key: &PublicKey, payload: &[u8], buffer: &mut Vec<u8>) -> bool {
        let end = payload.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
        let Some(at) = end.checked_sub(SIGNED_BYTES.into()) else { return false };
        let (says, tail) = payload[..end].split_at(at);
        let [0, signature @ .., MARK] = tail else { return false };
        let Ok(signature) = <&[u8; SIGNATURE_BYTES]>::try_from(signature) else { return false };
        key.has_signed(self.text(says, buffer), signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Incarnation;

    fn claim() -> Claim {
        let (id, stamp) = (NodeId(7), Stamp::new(Incarnation::new(3), 40));
        Claim { cluster: cluster_number("c"), id, stamp }
    }

    #[test]
    fn every_byte_of_a_signed_payload_counts_but_zeros_behind_it() {
        let signer = Signer::from_bytes([1; 32]);
        let (mut payload, mut buffer) = ([9; 80], Vec::new());
        claim().sign(&signer, b"news", &mut payload, &mut buffer);
        assert_eq!(payload[..15], *b"news\0\0\0\0\0\0\0\0\0\0\0");
        let mut holds =
            |claim: Claim, payload: &[u8]| claim.is_signed(&signer.public(), payload, &mut buffer);
        assert!(holds(claim(), &payload));
        assert!(holds(claim(), &[&payload[..], &[0; 9]].concat()));
        for at in 0..payload.len() {
            let mut other = payload;
            other[at] ^= 1;
            assert!(!holds(claim(), &other), "byte {at}");
            assert!(!holds(claim(), &payload[..at]), "{at} bytes");
        }
        assert!(!holds(Claim { id: NodeId(8), ..claim() }, &payload));
        assert!(!holds(Claim { cluster: cluster_number("d"), ..claim() }, &payload));
        let later = Stamp::new(Incarnation::new(3), 41);
        assert!(!holds(Claim { stamp: later, ..claim() }, &payload));
    }

    #[test]
    fn a_list_says_what_is_wrong_and_where() {
        let key = Signer::from_bytes([1; 32]).public();
        let list = Identities::parse(&format!("# ours\nn1 {key}\n\n n2\t{key} # new\n"));
        let list = list.expect("two lines");
        assert_eq!((list.len(), list.get("n2"), list.get("n3")), (2, Some(key), None));
        for (text, said) in [
            ("\n# none\n".to_owned(), "it names no node"),
            (format!("n1 {key}\nn1 {key}"), "line 2: there is a line of n1 already"),
            ("n1".to_owned(), "line 1: there are not two words"),
            (format!("n1 {key} n2"), "line 1: there are not two words"),
            (format!("n/1 {key}"), "line 1: the first word is not the name"),
            ("n1 ed25519:AAAA".to_owned(), "line 1: not a public key"),
        ] {
            let error = Identities::parse(&text).expect_err(&text).to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
