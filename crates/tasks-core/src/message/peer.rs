//! Peers of a coordinator, and how they number their requests.

use minicbor::{Decode, Encode};

/// A connection of a worker or client, numbered by the driver. No number is used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Peer(pub u64);

/// A peer's own number of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(transparent)]
pub struct Call(#[n(0)] pub u64);
