//! A change: what an aggregate says otherwise than an earlier one of its colony, its *base*.
//!
//! From unit to unit few nodes of a colony move from one bin to another, and the ends of what they
//! say stay where they are. So each field is told by the same field of the base: numbers of nodes,
//! ages, and of each reading count, ends, sum and bins, and what is the same takes a bit. Bins are
//! told by those of the base where these are at least as fine, or as they are if that is shorter.
//!
//! | bits | field |
//! |---|---|
//! | 1 | whether numbers of nodes differ; if so fresh, stale, left, dead, unheard, by the base's |
//! | if any is fresh | largest age (its code) and sum of the ages, by the base's |
//! | each reading: 1 | whether its sketch differs; if so: |
//! | 1 | whether its count is another than if fresh nodes came or went with it; by that |
//! | if any has it: 1, 1 | whether its smallest code is another, and that: 16; so its largest |
//! | if any has it | the sum, by the base's |
//! | if it has two bins: 1, 3 | whether bins are told by the base's, and the order of the numbers |
//! | each bin but the last | by the base's: twice the difference, less one if negative |
//!
//! A number *by* another is the length of the difference in bits, in the code of order 3 (of order
//! 1 for nodes); then, unless it is 0, whether it is negative, and its bits below the highest.
//!
//! Invariants: what is read is an aggregate that [`Aggregate::decode`] takes, or it is refused as a
//! whole; any bytes are read without a panic. Whose base it is, others see to
//! (`wire/told_record.rs`).

use super::nodes::Aggregate;
use super::reading::Reading;
use super::sketch::{BINS, Sketch};
use super::wire::{MAX_BYTES, MAX_NODES, SUM_BITS};
use crate::delta::bits::{BitReader, BitWriter, Code, ones, order_for};

/// The order of the lengths of differences between numbers of nodes, and of others.
const NODES_ORDER: u32 = 1;
const LENGTH_ORDER: u32 = 3;
/// Bits of a code, of the order of bins, and at most read in one.
const CODE_BITS: u32 = 16;
const BIN_ORDER_BITS: u32 = 3;
const WORD_BITS: u32 = 32;

impl Aggregate {
    /// Writes what it says otherwise than `base` to the start of `out`; returns the bytes, `None`
    /// if they are more than there is room for, or it is of more than [`MAX_NODES`] nodes.
    pub fn encode_change(&self, base: &Self, out: &mut [u8]) -> Option<usize> {
        if self.nodes() > MAX_NODES || base.nodes() > MAX_NODES {
            return None;
        }
        let room = out.len();
        let mut bits = BitWriter::new(out);
        let (was, is) = (base.numbers(), self.numbers());
        put_bit(&mut bits, was != is);
        if was != is {
            for (was, is) in was.into_iter().zip(is) {
                put_by(&mut bits, u64::from(was), u64::from(is), NODES_ORDER);
            }
        }
        if self.fresh > 0 {
            put_by(&mut bits, base.age_max.into(), self.age_max.into(), LENGTH_ORDER);
            put_by(&mut bits, base.age_steps, self.age_steps, LENGTH_ORDER);
        }
        for (was, is) in base.sketches.iter().zip(&self.sketches) {
            put_bit(&mut bits, was != is);
            if was != is {
                put_sketch(&mut bits, (was, is), expected_count(was, base.fresh, self.fresh));
            }
        }
        let bytes = bits.finish();
        (bytes <= room).then_some(bytes)
    }

    /// Reads one from exactly the bytes of a change by `base`; `None` if they are none, or give no
    /// aggregate.
    pub fn decode_change(base: &Self, bytes: &[u8]) -> Option<Self> {
        let mut bits = BitReader::new(bytes);
        let mut is = Self::default();
        let mut numbers = base.numbers();
        if take_bit(&mut bits)? {
            for number in &mut numbers {
                let nodes = take_by(&mut bits, u64::from(*number), NODES_ORDER)?;
                *number = u32::try_from(nodes).ok().filter(|&nodes| nodes <= MAX_NODES)?;
            }
        }
        [is.fresh, is.stale, is.left, is.dead, is.unheard] = numbers;
        if is.nodes() > MAX_NODES {
            return None;
        }
        if is.fresh > 0 {
            let age_max = take_by(&mut bits, base.age_max.into(), LENGTH_ORDER)?;
            is.age_max = u16::try_from(age_max).ok()?;
            is.age_steps = take_by(&mut bits, base.age_steps, LENGTH_ORDER)?;
        }
        for ((reading, was), sketch) in
            Reading::ALL.into_iter().zip(&base.sketches).zip(&mut is.sketches)
        {
            *sketch = if take_bit(&mut bits)? {
                let expected = expected_count(was, base.fresh, is.fresh);
                take_sketch(&mut bits, was, (reading, is.fresh), expected)?
            } else {
                was.clone()
            };
            if sketch.count() > is.fresh {
                return None;
            }
        }
        let is_through = bits.rest().is_some_and(<[u8]>::is_empty);
        (is_through && is.is_possible()).then_some(is)
    }

    fn numbers(&self) -> [u32; 5] {
        [self.fresh, self.stale, self.left, self.dead, self.unheard]
    }

    /// Whether it is one that is read where it travels whole.
    fn is_possible(&self) -> bool {
        let mut room = [0; MAX_BYTES];
        let written = self.encode(&mut room).ok();
        let read = written.and_then(|bytes| Self::decode(&room[..bytes]).ok());
        read.is_some_and(|read| read == *self)
    }
}

/// How many nodes have a reading if all that came since have it, or all that went had it.
fn expected_count(was: &Sketch, fresh_before: u32, fresh: u32) -> u32 {
    (was.count() + fresh).saturating_sub(fresh_before).min(fresh)
}

fn put_sketch(bits: &mut BitWriter<'_>, (was, is): (&Sketch, &Sketch), expected: u32) {
    put_bit(bits, is.count() != expected);
    if is.count() != expected {
        put_by(bits, u64::from(expected), u64::from(is.count()), NODES_ORDER);
    }
    let Some(ends) = is.ends() else { return };
    let before = was.ends();
    for (was, is) in [(before.map(|b| b.0), ends.0), (before.map(|b| b.1), ends.1)] {
        put_bit(bits, was != Some(is));
        if was != Some(is) {
            bits.put(Code::new(u32::from(is), CODE_BITS));
        }
    }
    put_by(bits, was.sum(), is.sum(), LENGTH_ORDER);
    if is.used().start() < is.used().end() {
        put_bins(bits, was, is);
    }
}

/// Bins but the last, by those of the base or as they are, whichever is shorter.
fn put_bins(bits: &mut BitWriter<'_>, was: &Sketch, is: &Sketch) {
    let (mut whole, mut folded, mut count) = ([0; BINS], [0; BINS], 0);
    let expected = was.bins_as_in(is);
    for bin in *is.used().start()..*is.used().end() {
        whole[count] = is.in_bin(bin);
        folded[count] = expected.map_or(0, |all| fold(all[bin as usize % BINS], whole[count]));
        count += 1;
    }
    let (whole, folded) = (&whole[..count], &folded[..count]);
    let (order, folded_order) = (order_of(whole), order_of(folded));
    let by_base = expected.is_some() && bits_of(folded, folded_order) <= bits_of(whole, order);
    let (numbers, order) = if by_base { (folded, folded_order) } else { (whole, order) };
    put_bit(bits, by_base);
    bits.put(Code::new(order, BIN_ORDER_BITS));
    for &number in numbers {
        bits.put_number(number, order);
    }
}

/// The order that suits numbers, of those that there is room for.
fn order_of(numbers: &[u32]) -> u32 {
    let sum = numbers.iter().map(|&number| u64::from(number)).sum();
    order_for(sum, numbers.len() as u64).min((1 << BIN_ORDER_BITS) - 1)
}

/// Bits that numbers take in the code of an order.
fn bits_of(numbers: &[u32], order: u32) -> usize {
    let mut count = BitWriter::new(&mut []);
    for &number in numbers {
        count.put_number(number, order);
    }
    count.place().bits()
}

fn take_sketch(
    bits: &mut BitReader<'_>,
    was: &Sketch,
    (reading, fresh): (Reading, u32),
    expected: u32,
) -> Option<Sketch> {
    let count = if take_bit(bits)? {
        let count = take_by(bits, u64::from(expected), NODES_ORDER)?;
        u32::try_from(count).ok().filter(|&count| count <= fresh)?
    } else {
        expected
    };
    if count == 0 {
        return Some(Sketch::default());
    }
    let before = was.ends();
    let mut end = |was: Option<u16>| {
        let differs = take_bit(bits)?;
        if differs { bits.take(CODE_BITS).map(|code| code as u16) } else { was }
    };
    let (min, max) = (end(before.map(|b| b.0))?, end(before.map(|b| b.1))?);
    if min > max || max > reading.max_code() {
        return None;
    }
    let sum = take_by(bits, was.sum(), LENGTH_ORDER)?;
    let mut is = Sketch::unfilled(count, sum, (min, max));
    let (first, last) = (*is.used().start(), *is.used().end());
    let mut left = count;
    if first < last {
        let by_base = take_bit(bits)?;
        let order = bits.take(BIN_ORDER_BITS)?;
        let expected = if by_base { was.bins_as_in(&is)? } else { [0; BINS] };
        for bin in first..last {
            let number = bits.number(order)?;
            let expected = expected[bin as usize % BINS];
            let number = if by_base { unfold(expected, number)? } else { number };
            left = left.checked_sub(number)?;
            *is.bin_mut(bin) = number;
        }
    }
    *is.bin_mut(last) = left;
    Some(is)
}

/// A number of nodes by another, as a number that is not negative.
fn fold(was: u32, is: u32) -> u32 {
    2 * was.abs_diff(is) - u32::from(is < was)
}

/// The number that was folded so; `None` if there is none.
fn unfold(was: u32, folded: u32) -> Option<u32> {
    let size = folded.div_ceil(2);
    if folded % 2 == 1 { was.checked_sub(size) } else { was.checked_add(size) }
}

fn put_bit(bits: &mut BitWriter<'_>, is_set: bool) {
    bits.put(Code::new(u32::from(is_set), 1));
}

fn take_bit(bits: &mut BitReader<'_>) -> Option<bool> {
    bits.take(1).map(|bit| bit == 1)
}

/// A number by another.
fn put_by(bits: &mut BitWriter<'_>, was: u64, is: u64, order: u32) {
    let size = was.abs_diff(is);
    let length = u64::BITS - size.leading_zeros();
    bits.put_number(length, order);
    if let Some(below) = length.checked_sub(1) {
        put_bit(bits, is < was);
        bits.put(Code { bits: size & ones(below), count: below });
    }
}

/// A number by another, of at most [`SUM_BITS`] bits.
fn take_by(bits: &mut BitReader<'_>, was: u64, order: u32) -> Option<u64> {
    let length = bits.number(order).filter(|&length| length <= SUM_BITS)?;
    let Some(below) = length.checked_sub(1) else { return Some(was) };
    let is_less = take_bit(bits)?;
    let low_bits = below.min(WORD_BITS);
    let low = u64::from(bits.take(low_bits)?);
    let high = u64::from(bits.take(below - low_bits)?);
    let size = 1 << below | high << low_bits | low;
    let is = if is_less { was.checked_sub(size) } else { was.checked_add(size) };
    is.filter(|is| is >> SUM_BITS == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_nodes_fold_and_unfold() {
        for (was, is) in [(0, 0), (0, 7), (7, 0), (9, 8), (65_536, 0), (0, 65_536)] {
            assert_eq!(unfold(was, fold(was, is)), Some(is));
        }
        assert_eq!([(5, 5), (5, 4), (5, 6)].map(|(was, is)| fold(was, is)), [0, 1, 2]);
        assert_eq!((unfold(1, 5), unfold(1, u32::MAX)), (None, None), "less than none");
    }

    #[test]
    fn a_number_by_another_takes_what_the_difference_needs() {
        let most = (1 << SUM_BITS) - 1;
        for (was, is) in [(0, 0), (5, 4), (4, 1_000_000), (0, most), (most, 0), (7, 1 << 40)] {
            let mut bytes = [0; 16];
            let mut bits = BitWriter::new(&mut bytes);
            put_by(&mut bits, was, is, LENGTH_ORDER);
            let length = u64::BITS - was.abs_diff(is).leading_zeros();
            assert!(bits.place().bits() as u32 <= length + 10, "{was} {is}");
            let written = bits.finish();
            let mut bits = BitReader::new(&bytes[..written]);
            assert_eq!(take_by(&mut bits, was, LENGTH_ORDER), Some(is));
        }
        let mut bytes = [0; 16];
        let mut bits = BitWriter::new(&mut bytes);
        put_by(&mut bits, 0, most + 1, LENGTH_ORDER);
        assert_eq!(take_by(&mut BitReader::new(&bytes), 0, LENGTH_ORDER), None, "too large");
    }
}
