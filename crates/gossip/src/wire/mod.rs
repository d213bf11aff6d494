//! The wire: datagrams, byte for byte as docs/protocol.md fixes them.
//!
//! A datagram is a [`header`] of 28 bytes, a sealed body and a tag of 16 bytes. Within a cluster or
//! a colony bodies are of six kinds: a piece of a *window* ([`window`]), a *pull* ([`pull`]) that
//! asks for one, an *ask* and its *answer* ([`ask`]), by which a node that lacks members or
//! entries catches up, and *probes* and *proofs* ([`probe`]) of who lives. Between colonies there
//! are *calls* and *visits* and what answers them ([`call`]); [`record`]s of colonies ride in
//! windows. From version 2 of the format on an [`extension`] stands in front of each body, and
//! in version 3 windows have [changes by bases](crate::delta), of records too (`told_record`).
//! Operators try what lies between two nodes by a [`check`]; why a datagram was dropped is said by
//! a [`reject`].
//! All numbers are little endian.
//!
//! Everything read is bounded by the bytes at hand before it is believed: a count is checked
//! against the length of the body, never used to allocate. Decoding makes no allocation at all;
//! it hands out views of the received bytes.

pub mod ask;
pub(crate) mod body;
pub mod call;
pub mod check;
pub mod extension;
pub mod header;
pub(crate) mod inventory;
pub mod probe;
pub mod pull;
pub mod record;
pub mod reject;
pub mod size;
pub(crate) mod told_record;
pub mod window;

pub use tidings_primitives::seal as keys;

pub use size::{
    ENTRY_OVERHEAD_BYTES, OVERHEAD_BYTES, frame_bytes, least_datagram_bytes, overhead_bytes,
};
