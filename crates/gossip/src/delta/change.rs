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

use super::bits::{BitReader, Count, Sink};

/// Bits that say how many zeros a difference ends in.
const ZEROS_BITS: u32 = 4;

/// Words of a payload.
fn words_in(bytes: usize) -> u32 {
    bytes.div_ceil(2) as u32
}

fn word(payload: &[u8], at: usize) -> u16 {
    let byte = |at: usize| payload.get(at).copied().unwrap_or(0);
    u16::from_le_bytes([byte(2 * at), byte(2 * at + 1)])
}

/// Bytes that are compared at a time where nothing differs: most of a payload.
const STRETCH: usize = 32;

/// The words that differ: place and difference. Of a base that is shorter the rest is zeros.
#[derive(Clone)]
struct Differences<'a> {
    base: &'a [u8],
    payload: &'a [u8],
    /// The byte at which the next word begins.
    from: usize,
}

fn differences<'a>(base: &'a [u8], payload: &'a [u8]) -> Differences<'a> {
    Differences { base, payload, from: 0 }
}

impl<'a> Differences<'a> {
    /// What lies next in both, if both have so many bytes.
    fn both<const BYTES: usize>(&self) -> Option<(&'a [u8; BYTES], &'a [u8; BYTES])> {
        let next = |bytes: &'a [u8]| bytes.get(self.from..)?.first_chunk::<BYTES>();
        Some((next(self.base)?, next(self.payload)?))
    }

    /// Whether the next word differs, and by how much.
    fn word(&mut self) -> Option<(u32, i16)> {
        let at = self.from / 2;
        self.from += 2;
        let (old, new) = (word(self.base, at), word(self.payload, at));
        (old != new).then(|| (at as u32, new.wrapping_sub(old) as i16))
    }
}

impl Iterator for Differences<'_> {
    type Item = (u32, i16);

    fn next(&mut self) -> Option<(u32, i16)> {
        while self.both::<STRETCH>().is_some_and(|(old, new)| old == new) {
            self.from += STRETCH;
        }
        while let Some((old, new)) = self.both::<8>() {
            let differs = u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new);
            if differs != 0 {
                self.from += (differs.trailing_zeros() / 16 * 2) as usize;
                return self.word();
            }
            self.from += 8;
        }
        while self.from < self.payload.len() {
            if let Some(difference) = self.word() {
                return Some(difference);
            }
        }
        None
    }
}

/// The bits that a change takes.
pub(super) fn bits(base: &[u8], payload: &[u8]) -> usize {
    let mut count = Count::default();
    put_differences(&mut count, base, payload);
    count.0.min(most_bits(payload.len()))
}

/// The bits that any change of so many bytes takes at most: those of a payload as it is.
pub(super) fn most_bits(payload_bytes: usize) -> usize {
    let mut count = Count::default();
    count.put_number(words_in(payload_bytes) + 1, 0);
    count.0 + 8 * payload_bytes
}

/// Writes what makes `payload` of `base`.
pub(super) fn put(sink: &mut impl Sink, base: &[u8], payload: &[u8]) {
    let mut count = Count::default();
    put_differences(&mut count, base, payload);
    if count.0 <= most_bits(payload.len()) {
        return put_differences(sink, base, payload);
    }
    sink.put_number(words_in(payload.len()) + 1, 0);
    for &byte in payload {
        sink.put(byte.into(), 8);
    }
}

fn put_differences(sink: &mut impl Sink, base: &[u8], payload: &[u8]) {
    let differences = differences(base, payload);
    sink.put_number(differences.clone().count() as u32, 0);
    let (mut next, mut before) = (0, None);
    for (at, difference) in differences {
        sink.put_number(at - next, 1);
        next = at + 1;
        before = Some(put_difference(sink, difference, before));
    }
}

/// Writes a difference behind one that ends in so many zeros; returns how many it ends in.
fn put_difference(sink: &mut impl Sink, difference: i16, before: Option<u32>) -> u32 {
    let size = u32::from(difference.unsigned_abs());
    let zeros = size.trailing_zeros();
    let odd = size >> zeros;
    let length = odd.ilog2() + 1;
    if before.is_some() {
        sink.put(u32::from(before == Some(zeros)), 1);
    }
    if before != Some(zeros) {
        sink.put(zeros, ZEROS_BITS);
    }
    sink.put(u32::from(difference < 0), 1);
    sink.put_number(length - 1, 0);
    if length > 2 {
        sink.put((odd >> 1) & ((1 << (length - 2)) - 1), length - 2);
    }
    zeros
}

/// A change in a received body, as far as it was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'a> {
    bits: BitReader<'a>,
    /// Words that differ; one more than there are where the payload is there as it is.
    pub(super) words: u32,
}

/// What is told of a word.
enum Told {
    /// By how much it differs from that of the base.
    Difference(i16),
    /// The bytes that are there.
    Bytes(u16),
}

impl<'a> Change<'a> {
    /// Reads a change of a payload of so many bytes and leaves `bits` behind it; `None` if it is
    /// cut off or reaches beyond the payload.
    pub(super) fn read(bits: &mut BitReader<'a>, payload_bytes: usize) -> Option<Self> {
        let words = bits.number(0)?;
        let change = Self { bits: *bits, words };
        change.walk(bits, payload_bytes, |_, _| ())?;
        Some(change)
    }

    /// Makes of a base, which `payload` holds, what the origin said.
    pub(super) fn apply(self, payload: &mut [u8]) {
        let (mut bits, bytes) = (self.bits, payload.len());
        let walked = self.walk(&mut bits, bytes, |at, told| {
            let changed = match told {
                Told::Difference(difference) => word(payload, at).wrapping_add(difference as u16),
                Told::Bytes(word) => word,
            };
            let changed = changed.to_le_bytes();
            let end = (2 * at + 2).min(bytes);
            payload[2 * at..end].copy_from_slice(&changed[..end - 2 * at]);
        });
        debug_assert!(walked.is_some(), "it was read before, of a payload of these bytes");
    }

    fn walk(
        self,
        bits: &mut BitReader<'a>,
        payload_bytes: usize,
        mut take: impl FnMut(usize, Told),
    ) -> Option<()> {
        let (words, mut next) = (words_in(payload_bytes), 0u32);
        if self.words == words + 1 {
            for at in 0..words as usize {
                let bytes = (payload_bytes - 2 * at).min(2);
                take(at, Told::Bytes(bits.take(8 * bytes as u32)? as u16));
            }
            return Some(());
        }
        let mut before = None;
        for _ in 0..self.words {
            let at = next.checked_add(bits.number(1)?).filter(|&at| at < words)?;
            next = at + 1;
            let (difference, zeros) = read_difference(bits, before)?;
            before = Some(zeros);
            take(at as usize, Told::Difference(difference));
        }
        Some(())
    }
}

/// Reads a difference behind one that ends in so many zeros, and how many it ends in.
fn read_difference(bits: &mut BitReader<'_>, before: Option<u32>) -> Option<(i16, u32)> {
    let zeros = match before {
        Some(zeros) if bits.take(1)? == 1 => zeros,
        // What is alike has one code, the short one.
        _ => bits.take(ZEROS_BITS).filter(|&zeros| before != Some(zeros))?,
    };
    let negative = bits.take(1)? == 1;
    let length = bits.number(0)?.checked_add(1).filter(|length| length + zeros <= 16)?;
    let odd = match length {
        1 => 1,
        _ => (1 << (length - 1)) | (bits.take(length - 2)? << 1) | 1,
    };
    let size = i32::try_from(odd << zeros).ok()?;
    let difference = i16::try_from(if negative { -size } else { size }).ok()?;
    Some((difference, zeros))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delta::bits::BitWriter;

    /// A change in bytes of its own.
    fn written(base: &[u8], payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; bits(base, payload).div_ceil(8)];
        let mut writer = BitWriter::new(&mut bytes);
        put(&mut writer, base, payload);
        writer.finish();
        bytes
    }

    fn applied(base: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
        let bytes = written(base, payload);
        let mut bits = BitReader::new(&bytes);
        let change = Change::read(&mut bits, payload.len())?;
        let mut made = base.to_vec();
        made.resize(payload.len(), 0);
        change.apply(&mut made);
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
            bits.put(0, same_bits);
            bits.put(4, ZEROS_BITS);
            bits.put(0, 1);
            bits.put_number(0, 0);
        }
        bits.finish();
        assert!(Change::read(&mut BitReader::new(&bytes), 8).is_none());
    }

    #[test]
    fn changes_that_reach_beyond_the_payload_are_refused() {
        let (base, mut now) = ([0; 8], [0; 8]);
        now[7] = 1;
        let bytes = written(&base, &now);
        for payload_bytes in 1..9 {
            let read = Change::read(&mut BitReader::new(&bytes), payload_bytes);
            assert_eq!(read.is_some(), payload_bytes > 6, "{payload_bytes}");
        }
        for cut in 0..bytes.len() {
            assert!(Change::read(&mut BitReader::new(&bytes[..cut]), 8).is_none(), "{cut}");
        }
    }

    proptest! {
        /// What is passed over in stretches is what is alike word by word.
        #[test]
        fn the_words_that_differ_are_found(
            payload in prop::collection::vec(any::<u8>(), 0..200),
            base_bytes in 0usize..200,
            changed in prop::collection::vec((0usize..200, any::<u8>()), 0..6),
        ) {
            let mut base = payload.clone();
            base.truncate(base_bytes);
            for (at, byte) in changed {
                if let Some(old) = base.get_mut(at) {
                    *old = byte;
                }
            }
            let by_word = (0..words_in(payload.len())).filter_map(|at| {
                let (old, new) = (word(&base, at as usize), word(&payload, at as usize));
                (old != new).then(|| (at, new.wrapping_sub(old) as i16))
            });
            prop_assert!(differences(&base, &payload).eq(by_word));
        }

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

        #[test]
        fn any_bits_are_a_change_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..80), payload_bytes in 0usize..70,
        ) {
            let mut bits = BitReader::new(&bytes);
            if let Some(change) = Change::read(&mut bits, payload_bytes) {
                change.apply(&mut vec![0xA5; payload_bytes]);
                prop_assert!(change.words as usize <= payload_bytes.div_ceil(2) + 1);
            }
        }
    }
}
