//! Bits, and whole numbers in as few of them as small numbers need.
//!
//! A number of *order* `k` is an Exp-Golomb code (Teuhola, Inf. Process. Lett. 7, 1978): of
//! `m = ⌊number / 2^k⌋ + 1` first as many ones as `m` has bits behind its highest and a zero, then
//! those bits, then the `k` low bits of the number. It is near the best code for numbers whose mean
//! is about 2^k, needs no table, and a number far above the mean costs two bits for each doubling.
//! Bits fill a byte from the lowest on, and numbers are written lowest bit first.
//!
//! Invariants, tested below: each number has one code of each order; any bits are read without a
//! panic, and never more of them than there are.

/// The largest order that a heading can state.
pub(super) const MAX_ORDER: u32 = 15;

/// Takes bits: writes them, or counts what writing them would take.
pub(super) trait Sink {
    /// The low `count` bits, at most 32; those above them are 0.
    fn put(&mut self, bits: u32, count: u32);

    /// A number in the code of an order.
    fn put_number(&mut self, number: u32, order: u32) {
        let above = u64::from(number >> order) + 1;
        let length = above.ilog2();
        self.put(ones(length), length);
        self.put(0, 1);
        self.put(above as u32 & ones(length), length);
        self.put(number & ones(order), order);
    }
}

/// The lowest `count` bits, all set.
fn ones(count: u32) -> u32 {
    ((1u64 << count) - 1) as u32
}

/// The order that suits numbers with this sum.
pub(super) fn order_for(sum: u64, count: usize) -> u32 {
    let mean = sum / (count as u64).max(1);
    mean.checked_ilog2().unwrap_or(0).min(MAX_ORDER)
}

/// Counts bits.
#[derive(Clone, Copy, Default)]
pub(super) struct Count(pub(super) usize);

impl Sink for Count {
    fn put(&mut self, _: u32, count: u32) {
        self.0 += count as usize;
    }
}

/// Writes bits into a buffer that the caller has found to be long enough.
pub(super) struct BitWriter<'a> {
    buffer: &'a mut [u8],
    bytes: usize,
    held: u64,
    held_bits: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, bytes: 0, held: 0, held_bits: 0 }
    }

    /// Fills the last byte with zeros; returns the bytes written.
    pub(super) fn finish(mut self) -> usize {
        if self.held_bits > 0 {
            self.put(0, 8 - self.held_bits);
        }
        self.bytes
    }
}

impl Sink for BitWriter<'_> {
    fn put(&mut self, bits: u32, count: u32) {
        self.held |= u64::from(bits) << self.held_bits;
        self.held_bits += count;
        while self.held_bits >= 8 {
            self.buffer[self.bytes] = self.held as u8;
            self.bytes += 1;
            self.held >>= 8;
            self.held_bits -= 8;
        }
    }
}

/// Reads bits front to back; every read is checked against what is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bytes that were taken into `held`.
    taken: usize,
    held: u64,
    held_bits: u32,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, taken: 0, held: 0, held_bits: 0 }
    }

    fn fill(&mut self) {
        while self.held_bits <= 56 {
            let Some(&byte) = self.bytes.get(self.taken) else { return };
            self.held |= u64::from(byte) << self.held_bits;
            self.held_bits += 8;
            self.taken += 1;
        }
    }

    /// The next `count` bits, at most 32.
    pub(super) fn take(&mut self, count: u32) -> Option<u32> {
        if self.held_bits < count {
            self.fill();
            if self.held_bits < count {
                return None;
            }
        }
        let bits = self.held as u32 & ones(count);
        self.held >>= count;
        self.held_bits -= count;
        Some(bits)
    }

    /// The next number, in the code of an order.
    pub(super) fn number(&mut self, order: u32) -> Option<u32> {
        self.fill();
        // What is not there is 0, so this is at most what there is.
        let length = self.held.trailing_ones();
        if length > 32 || length >= self.held_bits {
            return None;
        }
        self.held >>= length + 1;
        self.held_bits -= length + 1;
        let above = ((1u64 << length) | u64::from(self.take(length)?)) - 1;
        let number = (above << order) | u64::from(self.take(order)?);
        u32::try_from(number).ok()
    }

    /// The bytes behind the one that was begun; `None` if ones are left in that.
    pub(super) fn rest(self) -> Option<&'a [u8]> {
        let begun = self.held & u64::from(ones(self.held_bits % 8));
        let behind = self.taken - (self.held_bits / 8) as usize;
        (begun == 0).then(|| &self.bytes[behind..])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_survive_the_round_trip(
            numbers in prop::collection::vec(
                ((any::<u32>(), 0u32..32).prop_map(|(n, shift)| n >> shift), 0..=MAX_ORDER), 0..40,
            ),
        ) {
            let mut count = Count::default();
            for &(number, order) in &numbers {
                count.put_number(number, order);
            }
            let mut bytes = vec![0; count.0.div_ceil(8)];
            let mut bits = BitWriter::new(&mut bytes);
            for &(number, order) in &numbers {
                bits.put_number(number, order);
            }
            prop_assert_eq!(bits.finish(), bytes.len());
            let mut read = BitReader::new(&bytes);
            for (number, order) in numbers {
                prop_assert_eq!(read.number(order), Some(number));
            }
            prop_assert_eq!(read.rest(), Some(&[][..]));
        }

        #[test]
        fn any_bytes_can_be_read(
            bytes in prop::collection::vec(any::<u8>(), 0..60), order in 0..=MAX_ORDER,
        ) {
            let mut read = BitReader::new(&bytes);
            let mut numbers = 0;
            while read.number(order).is_some() {
                numbers += 1;
            }
            prop_assert!(numbers <= bytes.len() * 8);
        }
    }

    #[test]
    fn small_numbers_take_few_bits() {
        let bits = |number, order| {
            let mut count = Count::default();
            count.put_number(number, order);
            count.0
        };
        assert_eq!([0, 1, 2, 3, 6, 7].map(|number| bits(number, 0)), [1, 3, 3, 5, 5, 7]);
        assert_eq!([0, 255, 256, 1000].map(|number| bits(number, 8)), [9, 9, 11, 13]);
        assert_eq!(bits(u32::MAX, 0), 65);
    }
}
