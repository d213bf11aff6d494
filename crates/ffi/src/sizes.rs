//! Sizes that a program needs to plan its messages. They are the core's: what differs from the core
//! does not compile.

use tidings_gossip::{config, wire};

/// Bytes of a datagram that carries a window, beside its entries.
pub const TIDINGS_DATAGRAM_OVERHEAD_BYTES: usize = 50;

/// Bytes of an entry beside its payload.
pub const TIDINGS_ENTRY_OVERHEAD_BYTES: usize = 12;

/// The most bytes of a datagram.
pub const TIDINGS_MAX_DATAGRAM_BYTES: usize = 65507;

/// The most bytes of a payload.
pub const TIDINGS_MAX_PAYLOAD_BYTES: usize = 1024;

// cbindgen evaluates no path, so the numbers stand here as such.
const _: () = assert!(
    TIDINGS_DATAGRAM_OVERHEAD_BYTES == wire::OVERHEAD_BYTES
        && TIDINGS_ENTRY_OVERHEAD_BYTES == wire::ENTRY_OVERHEAD_BYTES
        && TIDINGS_MAX_DATAGRAM_BYTES == config::MAX_DATAGRAM_BYTES as usize
        && TIDINGS_MAX_PAYLOAD_BYTES == config::MAX_PAYLOAD_BYTES as usize,
    "the header says other sizes than the core"
);
