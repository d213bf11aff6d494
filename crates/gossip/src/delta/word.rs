//! A word of a payload that differs from that of its base: its code, and how that is read.
//!
//! The code (`change.rs` has its table) is put together in a register and written at once, and read
//! from bits that were looked at once. Where a word is, in which direction it differs and how long
//! the difference is are as good as random, so a branch for any of it would be guessed wrongly
//! about as often as not, and cost more than all else: choices are made by arithmetic.

use super::bits::{Code, MAX_BITS, ones, short_number};

/// Bits that say how many zeros a difference ends in.
pub(super) const ZEROS_BITS: u32 = 4;
/// The zeros of the word before the first: no difference ends in so many.
pub(super) const NO_ZEROS: u32 = 16;

/// Tells one difference after the other.
pub(super) struct Coder {
    /// The word behind the one before.
    next: u32,
    /// The zeros that the one before ends in.
    zeros: u32,
}

impl Coder {
    pub(super) fn new() -> Self {
        Self { next: 0, zeros: NO_ZEROS }
    }

    /// At most 59 bits: 30 that say where it is, and 29 of the difference.
    #[inline]
    pub(super) fn code(&mut self, at: u32, difference: i16) -> Code {
        let place = Code::number((at - self.next) as u16, 1);
        self.next = at + 1;
        // Neither is 0. The ones that are set here change nothing, and spare a look whether it is.
        let size = u32::from(difference.unsigned_abs());
        let zeros = (size | 1 << 16).trailing_zeros();
        let before = core::mem::replace(&mut self.zeros, zeros);
        let odd = size >> zeros | 1;
        let length = odd.ilog2() + 1;
        let zeros = match before {
            NO_ZEROS => Code::new(zeros, ZEROS_BITS),
            _ if before == zeros => Code::new(1, 1),
            _ => Code::new(zeros << 1, 1 + ZEROS_BITS),
        };
        let inner_bits = length.saturating_sub(2);
        let inner = Code::new((odd >> 1) & ((1 << inner_bits) - 1), inner_bits);
        place
            .then(zeros)
            .then(Code::new(u32::from(difference < 0), 1))
            .then(LENGTHS[length as usize % LENGTHS.len()])
            .then(inner)
    }
}

/// Codes of lengths, of which the largest is 16.
static LENGTHS: [Code; 32] = {
    let (mut codes, mut length) = ([Code::new(0, 0); 32], 1);
    while length <= 16 {
        codes[length] = Code::number(length as u16 - 1, 0);
        length += 1;
    }
    codes
};

/// The most ones in front of a place: one more says that 16,382 words lie in between or more, and
/// no payload that is read has so many.
const MAX_PLACE_LENGTH: u32 = 12;
/// The most ones in front of a length, which is at most 16.
const MAX_LENGTH_LENGTH: u32 = 4;
const _: () = assert!(
    (2 * MAX_PLACE_LENGTH + 2) + (1 + ZEROS_BITS) + 1 + (2 * MAX_LENGTH_LENGTH + 1) + 14
        <= MAX_BITS,
    "a word is read in one look"
);

/// A word that differs.
#[derive(Clone, Copy)]
pub(super) struct Word {
    /// Words in between that do not differ.
    pub(super) gap: u16,
    pub(super) difference: i16,
    /// How many zeros the difference ends in.
    pub(super) zeros: u8,
    /// What it takes.
    pub(super) bits: u8,
}

impl Word {
    /// Reads one, behind one that ends in so many zeros, from the bits that are next; `None` if it
    /// is malformed. That there are so many bits the caller has to see.
    #[expect(clippy::inline_always, reason = "as a call the next word waits for all of this one")]
    #[inline(always)]
    pub(super) fn read(held: u64, before: u32) -> Option<Self> {
        let place_length = held.trailing_ones();
        if place_length > MAX_PLACE_LENGTH {
            return None;
        }
        let gap = short_number(held, place_length, 1);
        let place_bits = 2 * place_length + 2;
        let held = (held >> place_bits) as u32;

        // One bit says whether the zeros are those of the word before, of all words but the first.
        let flag_bits = u32::from(before != NO_ZEROS);
        let is_same = held & flag_bits;
        let told = held >> flag_bits & 15;
        // What is alike has one code, the short one.
        let is_told_again = is_same == 0 && told == before;
        let zeros = told ^ (told ^ before) & is_same.wrapping_neg();
        let zeros_bits = flag_bits + ZEROS_BITS * (1 - is_same);
        let held = held >> zeros_bits;
        let is_negative = held & 1;
        let held = u64::from(held >> 1);

        let prefix = held.trailing_ones();
        if prefix > MAX_LENGTH_LENGTH {
            return None;
        }
        let length = short_number(held, prefix, 0) + 1;
        let inner_bits = length.saturating_sub(2);
        let inner = (held >> (2 * prefix + 1) & ones(inner_bits)) as u32;
        // Its highest and its lowest one, which are one bit if it has no other.
        let size = (1 << (length - 1) | inner << 1 | 1) << zeros;
        // At most 2^15, and that only downwards.
        let is_too_large = length + zeros > 16 || size >= (1 << 15) + is_negative;
        let bits = place_bits + zeros_bits + 1 + 2 * prefix + 1 + inner_bits;
        if is_told_again || is_too_large {
            return None;
        }
        let difference = (size ^ is_negative.wrapping_neg()).wrapping_add(is_negative) as i16;
        Some(Self { gap: gap as u16, difference, zeros: zeros as u8, bits: bits as u8 })
    }
}
