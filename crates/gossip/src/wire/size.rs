//! Sizes: what datagrams and entries take beside their payloads.

use tidings_primitives::seal::TAG_BYTES;

use super::{extension, header};

/// Bytes of a window's body before its entries.
pub const PREAMBLE_BYTES: usize = 6;
/// Bytes of a datagram of version 1 that are neither entries nor asks: header, body preamble and
/// tag.
pub const OVERHEAD_BYTES: usize = header::BYTES + PREAMBLE_BYTES + TAG_BYTES;

/// The same in any version that this code writes.
pub const fn overhead_bytes(version: u8) -> usize {
    OVERHEAD_BYTES + extension::bytes_before_body(version)
}

/// The same as it is on average in version 3, whose block is empty but in requests, and as it is at
/// most in others: what a budget reckons with.
pub const fn frame_bytes(version: u8) -> usize {
    if version >= header::CHANGES_VERSION { OVERHEAD_BYTES + 1 } else { overhead_bytes(version) }
}

/// Bytes that go with each entry's payload: origin 4, stamp 6, age 2.
pub const ENTRY_OVERHEAD_BYTES: usize = 12;

/// The least size of datagrams for a payload: an ask must hold its sender's card and entry, and
/// some ids beside. With the largest payload it is what IPv6 carries everywhere (an MTU of 1,280).
pub const fn least_datagram_bytes(payload_bytes: u16) -> usize {
    208 + payload_bytes as usize
}
