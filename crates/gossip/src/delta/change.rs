//! Changes: how one payload differs from another of the same length.
//!
//! Payloads are compared as words of two bytes, little endian, as most readings are; a last odd
//! byte is a word too. A change is the number of words that differ, then for each of them
//!
//! | bits | field |
//! |---|---|
//! | order 1 | words in between that do not differ |
//! | 1 | whether it ends in as many zeros as the one before; not of the first |
//! | 4 | zeros at the end of the difference, *z*, if those are others |
//! | 1 | whether it is negative |
//! | order 0 | its length without these zeros, less one |
//! | length − 2 | its bits between the highest and the lowest, which are ones |
//!
//! The difference is between the words as numbers modulo 2^16, its size at most 2^15. Readings that
//! were [settled](crate::payload::Settled) end in zeros, so that a difference has few bits besides;
//! and readings of one kind, as devices have them, end in as many.
//! Payloads that are equal take one bit.
//!
//! Where that would take more, the number of words is one more than there are, and the payload
//! follows as it is. So what is all new takes hardly more bits than it has, and its base still
//! tells whose it is and of which life.
//!
//! A change reads nothing of the payload's schema: user metrics and payloads of other schemas are
//! changed in the same way.

use super::bits::{BitReader, BitWriter, Code};
use super::differences::{each_difference, words_in};
use super::word::{Coder, NO_ZEROS, Word};

/// The bits that a change takes.
pub(super) fn bits(base: &[u8], payload: &[u8]) -> usize {
    let (mut coder, mut bits, mut words) = (Coder::new(), 0, 0);
    each_difference(base, payload, |at, difference| {
        bits += coder.code(at, difference).count as usize;
        words += 1;
    });
    (bits + Code::number(words, 0).count as usize).min(most_bits(payload.len()))
}

/// The bits that any change of so many bytes takes at most: those of a payload as it is.
pub(super) fn most_bits(payload_bytes: usize) -> usize {
    as_it_is(payload_bytes).count as usize + 8 * payload_bytes
}

/// What says that a payload of so many bytes, which are told in 16 bits, follows as it is.
fn as_it_is(payload_bytes: usize) -> Code {
    Code::number(words_in(payload_bytes) as u16 + 1, 0)
}

/// Room for the words of a payload that differ, to be used again for each: so a change is looked
/// for once, although their number stands in front of them.
pub(super) struct Differences {
    words: [(u16, i16); MAX_GATHERED],
}

/// The most of them that are kept. Where more differ they are looked for twice.
const MAX_GATHERED: usize = 128;

impl Differences {
    pub(super) fn new() -> Self {
        Self { words: [(0, 0); MAX_GATHERED] }
    }

    /// How many there are; keeps the first ones.
    #[inline]
    fn gather(&mut self, base: &[u8], payload: &[u8]) -> usize {
        let mut count = 0;
        each_difference(base, payload, |at, difference| {
            if let Some(word) = self.words.get_mut(count) {
                *word = (at as u16, difference);
            }
            count += 1;
        });
        count
    }

    /// Writes what makes `payload` of `base`.
    pub(super) fn put(&mut self, bits: &mut BitWriter<'_>, base: &[u8], payload: &[u8]) {
        let (start, count) = (bits.place(), self.gather(base, payload));
        let mut coder = Coder::new();
        bits.put(Code::number(count as u16, 0));
        match self.words.get(..count) {
            Some(words) => {
                for &(at, difference) in words {
                    bits.put(coder.code(at.into(), difference));
                }
            }
            None => each_difference(base, payload, |at, difference| {
                bits.put(coder.code(at, difference));
            }),
        }
        if bits.place().bits() - start.bits() > most_bits(payload.len()) {
            bits.go_back(start);
            put_as_it_is(bits, payload);
        }
    }
}

fn put_as_it_is(bits: &mut BitWriter<'_>, payload: &[u8]) {
    bits.put(as_it_is(payload.len()));
    let chunks = payload.chunks_exact(4);
    let last = chunks.remainder();
    for chunk in chunks {
        // It has four bytes, so there is no default.
        bits.put(Code::new(u32::from_le_bytes(chunk.try_into().unwrap_or_default()), 32));
    }
    for &byte in last {
        bits.put(Code::new(byte.into(), 8));
    }
}

/// A change in a received body, as far as it was read: the number of words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'a> {
    /// What follows the number of its words.
    pub(super) bits: BitReader<'a>,
    /// Words that differ; one more than there are where the payload is there as it is.
    pub(super) words: u32,
}

/// What is told of a word.
pub(super) enum Told {
    /// By how much it differs from that of the base.
    Difference(i16),
    /// The bytes that are there.
    Bytes(u16),
}

impl Told {
    /// Makes of a word of the base, which `payload` has, what is told.
    #[inline]
    pub(super) fn put(self, payload: &mut [u8], at: usize) {
        let bytes = &mut payload[2 * at..];
        if let Some(bytes) = bytes.first_chunk_mut() {
            let word = match self {
                Self::Difference(by) => u16::from_le_bytes(*bytes).wrapping_add(by as u16),
                Self::Bytes(word) => word,
            };
            *bytes = word.to_le_bytes();
        } else {
            // A last odd byte.
            bytes[0] = match self {
                Self::Difference(by) => bytes[0].wrapping_add(by as u8),
                Self::Bytes(word) => word as u8,
            };
        }
    }
}

impl<'a> Change<'a> {
    /// Begins to read one.
    #[inline]
    pub(super) fn begin(mut bits: BitReader<'a>) -> Option<Self> {
        let words = bits.number(0)?;
        Some(Self { bits, words })
    }

    /// The bits behind it; `None` if it is cut off or reaches beyond a payload of so many bytes.
    #[inline]
    pub(super) fn behind(mut self, payload_bytes: usize) -> Option<BitReader<'a>> {
        self.walk(payload_bytes, |_, _| ())?;
        Some(self.bits)
    }

    /// Makes of a base, which `payload` holds, what the origin said; gives the bits behind it. If
    /// it is `None` the change is malformed and `payload` nothing.
    #[inline]
    pub(super) fn apply(mut self, payload: &mut [u8]) -> Option<BitReader<'a>> {
        self.walk(payload.len(), |at, told| told.put(payload, at))?;
        Some(self.bits)
    }

    /// Whether the payload is there as it is.
    #[inline]
    pub(super) fn is_as_it_is(self, payload_bytes: usize) -> bool {
        self.words == words_in(payload_bytes) + 1
    }

    /// Gives each word and what is told of it, and leaves the bits behind them; `None` if it is cut
    /// off or reaches beyond the payload.
    #[inline]
    pub(super) fn walk(
        &mut self,
        payload_bytes: usize,
        mut take: impl FnMut(usize, Told),
    ) -> Option<()> {
        let (words, mut next) = (words_in(payload_bytes), 0u32);
        if self.is_as_it_is(payload_bytes) {
            for at in 0..words as usize {
                let bytes = (payload_bytes - 2 * at).min(2);
                take(at, Told::Bytes(self.bits.take(8 * bytes as u32)? as u16));
            }
            return Some(());
        }
        let (mut bits, mut zeros) = (self.bits, NO_ZEROS);
        for _ in 0..self.words {
            let word = Word::read(bits.look(), zeros)?;
            bits.skip(word.bits.into())?;
            let at = next + u32::from(word.gap);
            if at >= words {
                return None;
            }
            (next, zeros) = (at + 1, word.zeros.into());
            take(at as usize, Told::Difference(word.difference));
        }
        self.bits = bits;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delta::plain;
    use crate::delta::word::ZEROS_BITS;

    /// A change in bytes of its own.
    fn written(base: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; bits(base, payload).div_ceil(8)];
        let mut writer = BitWriter::new(&mut bytes);
        Differences::new().put(&mut writer, base, payload);
        assert_eq!(writer.finish(), bytes.len());
        bytes
    }

    fn reads(bytes: &[u8], payload_bytes: usize) -> bool {
        let change = Change::begin(BitReader::new(bytes));
        change.is_some_and(|change| change.behind(payload_bytes).is_some())
    }

    fn applied(base: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
        let bytes = written(base, payload);
        let change = Change::begin(BitReader::new(&bytes))?;
        let mut made = base.to_vec();
        made.resize(payload.len(), 0);
        let behind = change.apply(&mut made)?.rest();
        assert_eq!(behind, Some(&[][..]));
        assert_eq!(change.behind(payload.len())?.rest(), behind);
        Some(made)
    }

    #[test]
    fn what_is_settled_takes_few_bits() {
        let (mut base, mut now) = ([0u8; 64], [0u8; 64]);
        assert_eq!(bits(&base, &now), 1, "nothing changed");
        // A rate whose code went from 17 · 2^11 to 19 · 2^10, one hundredth of a load.
        base[26..28].copy_from_slice(&(17u16 << 11).to_le_bytes());
        now[26..28].copy_from_slice(&(19u16 << 10).to_le_bytes());
        now[10] = 1;
        assert_eq!(bits(&base, &now), 3 + (4 + 6) + (6 + 1 + 12));
        assert_eq!(applied(&base, &now), Some(now.to_vec()));
    }

    #[test]
    fn readings_of_one_kind_say_their_zeros_once() {
        let (base, mut now) = ([0u8; 64], [0u8; 64]);
        for device in 0..8 {
            now[8 * device] = 16;
        }
        let (count, places) = (7, 2 + 7 * 4);
        assert_eq!(bits(&base, &now), count + places + (4 + 2) + 7 * (1 + 2));
        assert_eq!(applied(&base, &now), Some(now.to_vec()));
    }

    #[test]
    fn zeros_that_are_said_again_are_refused() {
        let mut bytes = [0; 4];
        let mut bits = BitWriter::new(&mut bytes);
        bits.put_number(2, 0);
        for same_bits in [0, 1] {
            bits.put_number(0, 1);
            bits.put(Code::new(0, same_bits));
            bits.put(Code::new(4, ZEROS_BITS));
            bits.put(Code::new(0, 1));
            bits.put_number(0, 0);
        }
        bits.finish();
        assert!(!reads(&bytes, 8));
    }

    #[test]
    fn changes_that_reach_beyond_the_payload_are_refused() {
        let (base, mut now) = ([0; 8], [0; 8]);
        now[7] = 1;
        let bytes = written(&base, &now);
        for payload_bytes in 1..9 {
            assert_eq!(reads(&bytes, payload_bytes), payload_bytes > 6, "{payload_bytes}");
        }
        for cut in 0..bytes.len() {
            assert!(!reads(&bytes[..cut], 8), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn a_change_makes_of_the_base_what_was_said(
            (base, payload) in (0usize..70).prop_flat_map(|bytes| {
                let one = || prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], bytes);
                (one(), one())
            }),
        ) {
            prop_assert_eq!(applied(&base, &payload), Some(payload.clone()));
            prop_assert!(bits(&base, &payload) <= most_bits(payload.len()));
        }

        #[test]
        fn what_is_all_new_takes_hardly_more_bits_than_it_has(
            (base, payload) in (0usize..70).prop_flat_map(|bytes| {
                let one = || prop::collection::vec(any::<u8>(), bytes);
                (one(), one())
            }),
        ) {
            prop_assert_eq!(applied(&base, &payload), Some(payload.clone()));
            prop_assert!(bits(&base, &payload) <= 8 * payload.len() + 11);
        }

        /// Few words that differ, more than are kept, and so many that the payload follows.
        #[test]
        fn a_change_has_the_bits_that_the_tables_say(
            payload in prop::collection::vec(any::<u8>(), 0..700),
            base_bytes in 0usize..700,
            changed in prop::collection::vec((0usize..700, any::<u8>()), 0..12),
            every in 1usize..20,
            by in 1u8..4,
        ) {
            let mut base = payload.clone();
            base.truncate(base_bytes);
            base.iter_mut().step_by(every).for_each(|byte| *byte = byte.wrapping_add(by));
            for (at, byte) in changed {
                if let Some(old) = base.get_mut(at) {
                    *old = byte;
                }
            }
            let mut told = plain::Bits::default();
            told.put_change(&base, &payload);
            prop_assert_eq!(bits(&base, &payload), told.bits.len());
            prop_assert_eq!(written(&base, &payload), told.bytes());
        }

        /// Any bits, and a change of which one bit is another.
        #[test]
        fn what_is_read_is_what_the_tables_say_or_nothing(
            any_bytes in prop::collection::vec(any::<u8>(), 0..80),
            base in prop::collection::vec(any::<u8>(), 0..70),
            changed in prop::collection::vec((0usize..70, any::<u8>()), 0..12),
            flipped in any::<prop::sample::Index>(),
        ) {
            let mut payload = base.clone();
            for (at, byte) in changed {
                if let Some(old) = payload.get_mut(at) {
                    *old = byte;
                }
            }
            let mut other = written(&base, &payload);
            let at = flipped.index(8 * other.len());
            other[at / 8] ^= 1 << (at % 8);
            for bytes in [any_bytes, other] {
                let (mut told, mut by_tables, mut made) =
                    (plain::Bits::of(&bytes), base.clone(), base.clone());
                let is_told = told.apply_change(&mut by_tables).is_some();
                let behind = |bits: BitReader<'_>| bits.rest().map(<[u8]>::len);
                let change = Change::begin(BitReader::new(&bytes));
                let walked = change.and_then(|change| change.behind(base.len())).map(behind);
                let applied = change.and_then(|change| change.apply(&mut made)).map(behind);
                prop_assert_eq!(walked, applied);
                prop_assert_eq!(walked.is_some(), is_told);
                if is_told {
                    prop_assert_eq!(made, by_tables);
                    if let Some(Some(left)) = walked {
                        prop_assert_eq!(left, bytes.len() - told.at.div_ceil(8));
                    }
                }
            }
        }

        #[test]
        fn any_bits_are_a_change_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..80), payload_bytes in 0usize..70,
        ) {
            let Some(change) = Change::begin(BitReader::new(&bytes)) else { return Ok(()) };
            let walked = change.behind(payload_bytes).map(BitReader::rest);
            let applied = change.apply(&mut vec![0xA5; payload_bytes]).map(BitReader::rest);
            prop_assert_eq!(walked, applied);
            if walked.is_some() {
                prop_assert!(change.words as usize <= payload_bytes.div_ceil(2) + 1);
            }
        }
    }
}
