//! Bodies: read and written front to back, within their bounds.

/// Why a body was refused as a whole; nothing of it was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BodyError {
    /// Its length contradicts its counts.
    Malformed,
    /// Payloads of another schema or length.
    Schema,
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
