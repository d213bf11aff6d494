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
pub(crate) const MAX_ORDER: u32 = 15;

/// Bits of the codes that are read at one look. The numbers of those are below 2^32.
const MAX_SHORT_BITS: u32 = 32;

/// The most bits that are written or looked at in one: seven more may be held.
pub(crate) const MAX_BITS: u32 = 56;

/// Bits that are said together, at most 64 and the lowest first; those above them are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Code {
    pub(crate) bits: u64,
    pub(crate) count: u32,
}

impl Code {
    /// The low `count` bits; those above them are 0.
    pub(crate) const fn new(bits: u32, count: u32) -> Self {
        Self { bits: bits as u64, count }
    }

    /// A number below 2^16 in the code of an order: at most 33 bits.
    pub(crate) const fn number(number: u16, order: u32) -> Self {
        let above = (number as u64 >> order) + 1;
        let length = above.ilog2();
        let low = number as u64 & ones(order);
        let behind = above & ones(length) | low << length;
        Self { bits: ones(length) | behind << (length + 1), count: 2 * length + 1 + order }
    }

    /// These bits, fewer than 64, and then those; they are at most 64 together.
    pub(crate) const fn then(self, next: Self) -> Self {
        Self { bits: self.bits | next.bits << self.count, count: self.count + next.count }
    }
}

/// The lowest `count` bits, all set; fewer than 64.
pub(crate) const fn ones(count: u32) -> u64 {
    (1 << count) - 1
}

/// The order that suits numbers with this sum.
pub(crate) fn order_for(sum: u64, count: u64) -> u32 {
    let mean = sum / count.max(1);
    mean.checked_ilog2().unwrap_or(0).min(MAX_ORDER)
}

/// How far a [`BitWriter`] has come: it can go back to where it was.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    bytes: usize,
    /// Bits behind those bytes, fewer than eight between two calls.
    held: u64,
    held_bits: u32,
}

impl Place {
    /// Bits up to here.
    pub(crate) fn bits(self) -> usize {
        8 * self.bytes + self.held_bits as usize
    }

    /// Bytes up to here, with the one that was begun.
    pub(crate) fn bytes(self) -> usize {
        self.bits().div_ceil(8)
    }
}

/// Writes bits into a buffer. Those behind its end are counted only, so the caller sees afterwards
/// whether there was room, and goes back if not. What lies behind its place it may overwrite.
pub(crate) struct BitWriter<'a> {
    buffer: &'a mut [u8],
    place: Place,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, place: Place::default() }
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Forgets what was written behind a place where it was before.
    pub(crate) fn go_back(&mut self, place: Place) {
        self.place = place;
    }

    /// The bits of a code.
    #[inline]
    pub(crate) fn put(&mut self, code: Code) {
        if code.count > MAX_BITS {
            return self.put_in_halves(code);
        }
        self.place.held |= code.bits << self.place.held_bits;
        self.place.held_bits += code.count;
        self.store();
        let whole = self.place.held_bits / 8;
        self.place.bytes += whole as usize;
        self.place.held >>= 8 * whole;
        self.place.held_bits %= 8;
    }

    #[cold]
    fn put_in_halves(&mut self, code: Code) {
        self.put(Code::new(code.bits as u32, 32));
        self.put(Code { bits: code.bits >> 32, count: code.count - 32 });
    }

    /// A number in the code of an order.
    #[inline]
    pub(crate) fn put_number(&mut self, number: u32, order: u32) {
        match u16::try_from(number) {
            Ok(number) => self.put(Code::number(number, order)),
            Err(_) => self.put_large(number, order),
        }
    }

    /// A number whose code may have more bits than are put at a time: 65 at most.
    #[cold]
    fn put_large(&mut self, number: u32, order: u32) {
        let above = u64::from(number >> order) + 1;
        let length = above.ilog2();
        self.put(Code { bits: ones(length), count: length + 1 });
        self.put(Code { bits: above & ones(length), count: length });
        self.put(Code { bits: u64::from(number) & ones(order), count: order });
    }

    /// Stores what is held, with zeros behind it, where there is room for it: all eight bytes are
    /// one store, and the next one begins where the whole ones of these end.
    #[inline]
    fn store(&mut self) {
        let Some(room) = self.buffer.get_mut(self.place.bytes..) else { return };
        let held = self.place.held.to_le_bytes();
        match room.first_chunk_mut() {
            Some(room) => *room = held,
            None => room.copy_from_slice(&held[..room.len()]),
        }
    }

    /// Fills the last byte with zeros; returns the bytes written.
    pub(crate) fn finish(mut self) -> usize {
        self.store();
        self.place.bytes()
    }
}

/// Reads bits front to back; every read is checked against what is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bits that were read.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bits that were read.
    pub(crate) fn at(self) -> usize {
        self.at
    }

    /// The same bits, of which so many were read.
    pub(crate) fn moved_to(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// The next bits, [`MAX_BITS`] or more, with zeros behind the last ones: whoever uses some of
    /// them [skips](BitReader::skip) these, and hears whether there were so many.
    #[inline]
    pub(crate) fn look(&self) -> u64 {
        let left = self.bytes.get(self.at / 8..).unwrap_or_default();
        let next = match left.first_chunk() {
            Some(next) => u64::from_le_bytes(*next),
            None => last_bytes(left),
        };
        next >> (self.at % 8)
    }

    /// Goes past bits; `None` if there are not so many.
    #[inline]
    pub(crate) fn skip(&mut self, count: u32) -> Option<()> {
        self.at += count as usize;
        (self.at <= 8 * self.bytes.len()).then_some(())
    }

    /// The next `count` bits, at most 32.
    #[inline]
    pub(crate) fn take(&mut self, count: u32) -> Option<u32> {
        let bits = self.look() & ones(count);
        self.skip(count)?;
        Some(bits as u32)
    }

    /// The next number, in the code of an order.
    #[inline]
    pub(crate) fn number(&mut self, order: u32) -> Option<u32> {
        let bits = self.look();
        let length = bits.trailing_ones();
        let count = 2 * length + 1 + order;
        if count > MAX_SHORT_BITS {
            return self.long_number(order);
        }
        self.skip(count)?;
        Some(short_number(bits, length, order))
    }

    /// A number whose code may have more bits than can be looked at in one.
    #[cold]
    fn long_number(&mut self, order: u32) -> Option<u32> {
        let length = self.look().trailing_ones();
        if length > 32 {
            return None;
        }
        self.skip(length + 1)?;
        let above = ones(length) + u64::from(self.take(length)?);
        let number = above << order | u64::from(self.take(order)?);
        u32::try_from(number).ok()
    }

    /// The bytes behind the one that was begun; `None` if ones are left in that.
    pub(crate) fn rest(self) -> Option<&'a [u8]> {
        let behind = self.at.div_ceil(8);
        let begun = self.look() & ones((8 * behind - self.at) as u32);
        (begun == 0).then(|| &self.bytes[behind..])
    }
}

/// The number whose code, of at most [`MAX_SHORT_BITS`], has `length` ones in front of these bits.
#[inline]
pub(crate) const fn short_number(bits: u64, length: u32, order: u32) -> u32 {
    let above = ones(length) + (bits >> (length + 1) & ones(length));
    (above << order | bits >> (2 * length + 1) & ones(order)) as u32
}

/// Fewer than eight bytes, with zeros behind them.
#[cold]
fn last_bytes(left: &[u8]) -> u64 {
    left.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delta::plain;

    proptest! {
        #[test]
        fn numbers_survive_the_round_trip(
            numbers in prop::collection::vec(
                ((any::<u32>(), 0u32..32).prop_map(|(n, shift)| n >> shift), 0..=MAX_ORDER), 0..40,
            ),
        ) {
            let mut count = BitWriter::new(&mut []);
            for &(number, order) in &numbers {
                count.put_number(number, order);
            }
            let mut bytes = vec![0; count.finish()];
            let mut bits = BitWriter::new(&mut bytes);
            for &(number, order) in &numbers {
                bits.put_number(number, order);
            }
            prop_assert_eq!(bits.finish(), bytes.len());
            let mut plain = plain::Bits::default();
            for &(number, order) in &numbers {
                plain.put_number(number, order);
            }
            prop_assert_eq!(&bytes, &plain.bytes());
            let mut read = BitReader::new(&bytes);
            for (number, order) in numbers {
                prop_assert_eq!(read.number(order), Some(number));
            }
            prop_assert_eq!(read.rest(), Some(&[][..]));
        }

        /// Whatever was written behind a place to which the writer went back, and however little
        /// room there is: bytes are those of what counts, as far as there is room.
        #[test]
        fn what_a_writer_goes_back_from_leaves_nothing(
            (kept, tried, behind) in {
                let codes = || prop::collection::vec((any::<u32>(), 0u32..=32), 0..12);
                (codes(), codes(), codes())
            },
            room in 0usize..160,
        ) {
            let code = |&(bits, count): &(u32, u32)| Code::new(bits & ones(count) as u32, count);
            let mut plain = plain::Bits::default();
            kept.iter().chain(&behind).for_each(|&(bits, count)| plain.put(bits, count));
            let mut bytes = vec![0xA5; room];
            let mut bits = BitWriter::new(&mut bytes);
            for pair in &kept {
                bits.put(code(pair));
            }
            let place = bits.place();
            for pair in tried.chunks(2) {
                // Two together have up to 64 bits.
                bits.put(pair.iter().map(code).fold(Code::default(), Code::then));
            }
            bits.go_back(place);
            for pair in &behind {
                bits.put(code(pair));
            }
            prop_assert_eq!(bits.place().bits(), plain.bits.len());
            let told = plain.bytes();
            prop_assert_eq!(bits.finish(), told.len());
            let fits = room.min(told.len());
            prop_assert_eq!(&bytes[..fits], &told[..fits]);
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
            let mut count = BitWriter::new(&mut []);
            count.put_number(number, order);
            count.place().bits()
        };
        assert_eq!([0, 1, 2, 3, 6, 7].map(|number| bits(number, 0)), [1, 3, 3, 5, 5, 7]);
        assert_eq!([0, 255, 256, 1000].map(|number| bits(number, 8)), [9, 9, 11, 13]);
        assert_eq!(bits(u32::MAX, 0), 65);
    }
}
