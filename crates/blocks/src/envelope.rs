//! Envelopes: messages of representatives on their way.
//!
//! They are CBOR. A block is named by its id, a process by its life, so a message finds the
//! representative of that block there, or is refused with a reason.

use minicbor::{Decode, Encode};

use crate::id::{BlockId, Node};

/// The longest message, in bytes: what is longer is sent in several.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// From one process to another.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Envelope {
    /// Who sends it.
    #[n(0)]
    pub from: Node,
    /// Who is to get it.
    #[n(1)]
    pub to: Node,
    /// For the representative of this block.
    #[n(2)]
    pub block: BlockId,
    /// What it says.
    #[n(3)]
    pub body: Body,
}

/// What an envelope carries.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Body {
    /// What a representative says to another.
    #[n(0)]
    Message(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// A message found no representative.
    #[n(1)]
    Refused(#[n(0)] Refusal),
}

/// Why a block has no representative in a process. Nothing has changed by asking.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, thiserror::Error)]
pub enum Refusal {
    /// The store knows no such block.
    #[n(0)]
    #[error("there is no block with the id {0}: is it of another store?")]
    Unknown(#[n(0)] BlockId),
    /// The program does not know what it is.
    #[n(1)]
    #[error("block {id} is a `{kind}`, which this program has not: link it, and register it")]
    Kind {
        /// The block.
        #[n(0)]
        id: BlockId,
        /// What it is.
        #[n(1)]
        kind: String,
    },
    /// The program has other code for it.
    #[n(2)]
    #[error(
        "block {id} is a `{kind}` of version {made}, this program has version {known}: use \
         programs of one version, or another name for the block"
    )]
    Version {
        /// The block.
        #[n(0)]
        id: BlockId,
        /// What it is.
        #[n(1)]
        kind: String,
        /// The version of those who have made it.
        #[n(2)]
        made: u32,
        /// That of the program.
        #[n(3)]
        known: u32,
    },
    /// It was asked for as something else.
    #[n(3)]
    #[error("block {id} is a `{kind}`, and no `{wanted}`: ask for what it is")]
    Other {
        /// The block.
        #[n(0)]
        id: BlockId,
        /// What it is.
        #[n(1)]
        kind: String,
        /// What was asked for.
        #[n(2)]
        wanted: String,
    },
}

/// Bytes of what a representative says.
///
/// # Panics
/// Never: it is written to memory.
pub fn encode(said: &impl Encode<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    match minicbor::encode(said, &mut bytes) {
        Ok(()) => bytes,
        Err(_) => unreachable!("writing to memory does not fail, nor do derived encoders"),
    }
}

/// What a representative has said; `None` if these bytes say nothing.
pub fn decode<'b, T: Decode<'b, ()>>(bytes: &'b [u8]) -> Option<T> {
    minicbor::decode(bytes).ok()
}
