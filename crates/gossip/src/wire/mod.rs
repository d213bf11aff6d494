//! The wire: datagrams, byte for byte as docs/protocol.md fixes them.
//!
//! A datagram is a [`header`] of 28 bytes, a sealed body and a tag of 16 bytes. Within a cluster or
//! a colony bodies are of six kinds: a piece of a *window* ([`window`]), a *pull* ([`pull`]) that
//! asks for one, an *ask* and its *answer* ([`ask`]), by which a node that lacks members or
//! entries catches up, and *probes* and *proofs* ([`probe`]) of who lives. Between colonies there
//! are *calls* and *visits* and what answers them ([`call`]); [`record`]s of colonies ride in
//! windows. In version 2 of the format an [`extension`] stands in front of each body.
//! All numbers are little endian.
//!
//! Everything read is bounded by the bytes at hand before it is believed: a count is checked
//! against the length of the body, never used to allocate. Decoding makes no allocation at all;
//! it hands out views of the received bytes.

pub mod ask;
pub mod call;
pub mod extension;
pub mod header;
pub mod keys;
pub mod probe;
pub mod pull;
pub mod record;
pub mod window;

/// Bytes of a datagram of version 1 that are neither entries nor asks: header, body preamble and
/// tag.
pub const OVERHEAD_BYTES: usize = header::BYTES + window::PREAMBLE_BYTES + keys::TAG_BYTES;

/// The same in any version that this code writes.
pub const fn overhead_bytes(version: u8) -> usize {
    OVERHEAD_BYTES + extension::bytes_before_body(version)
}

/// Bytes that go with each entry's payload: origin 4, stamp 6, age 2.
pub const ENTRY_OVERHEAD_BYTES: usize = 12;

/// The least size of datagrams for a payload: an ask must hold its sender's card and entry, and
/// some ids beside.
pub const fn least_datagram_bytes(payload_bytes: u16) -> usize {
    256 + payload_bytes as usize
}

/// Reads a body front to back; every read is checked against what is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    /// The next `count` bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
}

/// Writes a body front to back into a buffer the caller has made large enough.
pub(crate) struct Writer<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    /// Bytes still free.
    pub(crate) fn room(&self) -> usize {
        self.buffer.len() - self.len
    }

    /// Bytes written.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Writes `bytes`; the caller has seen that there is room.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.buffer[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// The next `count` bytes, to be filled by the caller, who has seen that there is room.
    pub(crate) fn take(&mut self, count: usize) -> &mut [u8] {
        self.len += count;
        &mut self.buffer[self.len - count..self.len]
    }

    /// Overwrites two bytes written before.
    pub(crate) fn patch_u16(&mut self, at: usize, value: u16) {
        self.buffer[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// Fills the rest with zeros.
    pub(crate) fn pad(&mut self) {
        self.buffer[self.len..].fill(0);
        self.len = self.buffer.len();
    }
}
