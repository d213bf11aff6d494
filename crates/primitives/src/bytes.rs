//! Bytes read and written front to back, within their bounds. Numbers are little endian.

/// Reads bytes front to back; every read is checked against what is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    /// The next `count` bytes.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    /// The next byte.
    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    /// The next two bytes, little endian.
    #[inline]
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// The next four bytes, little endian.
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
}

/// Writes bytes front to back into a buffer the caller has made large enough.
pub struct Writer<'a> {
    buffer: &'a mut [u8],
    len: usize,
}

impl<'a> Writer<'a> {
    /// A writer at the start of `buffer`.
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    /// Bytes still free.
    #[inline]
    pub fn room(&self) -> usize {
        self.buffer.len() - self.len
    }

    /// Bytes written.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was written yet.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes `bytes`; the caller has seen that there is room.
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        self.buffer[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// The next `count` bytes, to be filled by the caller, who has seen that there is room.
    #[inline]
    pub fn take(&mut self, count: usize) -> &mut [u8] {
        self.len += count;
        &mut self.buffer[self.len - count..self.len]
    }

    /// All bytes that are free, to be tried: they count as written once they are taken.
    #[inline]
    pub fn rest(&mut self) -> &mut [u8] {
        &mut self.buffer[self.len..]
    }

    /// Overwrites two bytes written before.
    #[inline]
    pub fn patch_u16(&mut self, at: usize, value: u16) {
        self.buffer[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// Fills the rest with zeros.
    #[inline]
    pub fn pad(&mut self) {
        self.buffer[self.len..].fill(0);
        self.len = self.buffer.len();
    }
}
