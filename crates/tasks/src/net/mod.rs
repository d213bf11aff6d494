//! Networks: processes of other hosts speak to the one that holds the store.
//!
//! The holder listens on TCP if it was told where, and publishes that place in the record of its
//! role. A process of another host connects, both show each other that they have the cluster's key,
//! and from then on they say the same as on the socket of one host, sealed. A second connection of
//! the same kind carries blobs, so that no heartbeat waits behind a large one.
//!
//! | file | what it holds |
//! |---|---|
//! | [`endpoint`] | `HOST:PORT` |
//! | `greeting` | how both sides show the key and agree on others: bytes in, bytes out |
//! | `handshake` | the greetings over a stream |
//! | `sealed` | the stream that follows: records that open once, in order, on this connection |
//! | `direction` | how one record after the other is sealed |
//! | `route` | the address by which this host reaches others |
//! | [`connect`], [`listen`] | streams of TCP, tuned so that a host that is gone is noticed |
//! | `blobs`, [`depot`], `asking` | blobs in pieces: the side of the folder, and the side without |
//! | `peers` | the folders of other nodes |
//! | [`store`] | a store over a connection: the side that has it, and the side without |
//!
//! Invariants: nothing is read without a bound, nothing of a peer is believed before its greeting
//! opens, and nothing that was recorded opens a second time. A connection that breaks is made again
//! by whoever needs it; what was not answered is asked again.

mod asking;
pub(crate) mod blobs;
pub mod connect;
pub mod depot;
mod direction;
pub mod endpoint;
mod error;
mod greeting;
mod handshake;
pub mod listen;
pub(crate) mod peers;
pub(crate) mod route;
mod sealed;
pub mod store;

pub use error::{Failure, NetError};
pub use handshake::Credentials;
