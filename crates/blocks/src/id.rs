//! Ids: which block, and which process.

use core::fmt;

use minicbor::{Decode, Encode};

/// Blocks that a cluster can have: a table of them is at most 32 MiB then.
pub const MAX_BLOCKS: u32 = 1 << 20;

/// A block, in the whole cluster and for as long as its store lasts. The store counts them from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(transparent)]
pub struct BlockId(#[n(0)] pub u32);

/// A process that takes part, for as long as it does. One that comes back is another: so a message
/// for an earlier life never reaches a later one, and a node that is lost stays lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(transparent)]
pub struct Node(#[n(0)] pub u64);

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
