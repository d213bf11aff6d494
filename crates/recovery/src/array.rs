//! Arrays of blocks: what they are made of, and what may be done when a block is lost.
//!
//! A block is words of 64 bits, integers or doubles, to which tasks add element by element. Sums of
//! integers are the same in any order; sums of doubles differ by their rounding, also between a
//! block and its copy.
//!
//! Invariant: an array is *known* while each of its elements is zero when a phase begins; then a
//! block that is lost can begin again. After a phase it is not, until it is set to zero.

use crate::plan::Place;

/// The most words of a block.
pub const MAX_BLOCK_WORDS: u32 = 1 << 17;

/// The most blocks of all arrays together.
pub const MAX_BLOCKS: u32 = 1 << 24;

/// What an element is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Integers, which wrap.
    Integers,
    /// Doubles, by their bits.
    Doubles,
}

/// What is done about a block of which no copy is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// It begins again, if it was zero when the phase began: all that add to it run again.
    Recompute,
    /// The phase is refused.
    Refuse,
}

/// An array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// What errors call it.
    pub name: String,
    /// How many blocks it has.
    pub blocks: u32,
    /// Words of a block.
    pub words: u32,
    /// What an element is.
    pub kind: Kind,
    /// Whether each block has a copy at another worker.
    pub copied: bool,
    /// What is done about a block of which no copy is left.
    pub loss: Loss,
}

impl Kind {
    /// Adds, element by element, as far as both reach.
    pub fn add(self, to: &mut [u64], from: &[u64]) {
        for (sum, element) in to.iter_mut().zip(from) {
            *sum = match self {
                Self::Integers => sum.wrapping_add(*element),
                Self::Doubles => (f64::from_bits(*sum) + f64::from_bits(*element)).to_bits(),
            };
        }
    }
}

#[derive(Debug)]
struct Made {
    array: Array,
    /// The number of its first block among those of all arrays.
    first: u32,
    is_known: bool,
    /// Whether it is to be zero when the next phase begins.
    is_to_be_zero: bool,
    /// The round in which it was set to zero: what was sent before means nothing.
    zero_since: u32,
}

/// All arrays, in the order in which they were made.
#[derive(Debug, Default)]
pub struct Arrays {
    made: Vec<Made>,
    blocks: u32,
}

impl Arrays {
    /// Adds an array of zeros; its number, or `None` if there is no room.
    pub fn add(&mut self, array: Array) -> Option<u16> {
        let number = u16::try_from(self.made.len()).ok()?;
        let first = self.blocks;
        let blocks = first.checked_add(array.blocks).filter(|blocks| *blocks <= MAX_BLOCKS)?;
        if array.words > MAX_BLOCK_WORDS {
            return None;
        }
        self.blocks = blocks;
        let (is_known, is_to_be_zero, zero_since) = (true, false, 0);
        self.made.push(Made { array, first, is_known, is_to_be_zero, zero_since });
        Some(number)
    }

    /// Blocks of all arrays.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// An array.
    pub fn get(&self, number: u16) -> Option<&Array> {
        self.made.get(usize::from(number)).map(|made| &made.array)
    }

    /// Whether all of it was zero when the phase began.
    pub fn is_known(&self, number: u16) -> bool {
        self.made.get(usize::from(number)).is_some_and(|made| made.is_known)
    }

    /// It is to be zero when the next phase begins.
    pub fn zero(&mut self, number: u16) {
        if let Some(made) = self.made.get_mut(usize::from(number)) {
            made.is_to_be_zero = true;
        }
    }

    /// A phase begins with this round; which arrays are zero from now on.
    pub fn begin_phase(&mut self, round: u32) -> Vec<u16> {
        let mut zeroed = Vec::new();
        for (number, made) in (0..).zip(&mut self.made) {
            if core::mem::take(&mut made.is_to_be_zero) {
                (made.is_known, made.zero_since) = (true, round);
                zeroed.push(number);
            }
        }
        zeroed
    }

    /// Whether what was sent in a round was sent before an array was set to zero.
    pub fn is_before_zero(&self, number: u16, round: u32) -> bool {
        self.made.get(usize::from(number)).is_some_and(|made| round < made.zero_since)
    }

    /// A phase has ended: what is in the blocks is not known any more.
    pub fn end_phase(&mut self) {
        self.made.iter_mut().for_each(|made| made.is_known = false);
    }

    /// The number of a block among those of all arrays; `None` if there is no such block.
    pub fn index(&self, place: Place) -> Option<u32> {
        let made = self.made.get(usize::from(place.array))?;
        (place.block < made.array.blocks).then(|| made.first + place.block)
    }

    /// The place of a block by its number among those of all arrays.
    pub fn place(&self, index: u32) -> Option<Place> {
        let array = self.made.partition_point(|made| made.first <= index).checked_sub(1)?;
        // Arrays without blocks have the same first number as those after them.
        let block = index - self.made[array].first;
        (index < self.blocks).then_some(Place { array: array as u16, block })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(blocks: u32) -> Array {
        let (name, kind, loss) = ("fock".to_owned(), Kind::Integers, Loss::Recompute);
        Array { name, blocks, words: 4, kind, copied: true, loss }
    }

    #[test]
    fn a_place_has_one_number() {
        let mut arrays = Arrays::default();
        for blocks in [3, 0, 5] {
            arrays.add(array(blocks)).unwrap();
        }
        assert_eq!(arrays.blocks(), 8);
        for index in 0..8 {
            let place = arrays.place(index).unwrap();
            assert_eq!(arrays.index(place), Some(index), "{place:?}");
        }
        assert_eq!(arrays.place(8), None);
        assert_eq!(arrays.index(Place { array: 1, block: 0 }), None);
        assert_eq!(arrays.index(Place { array: 3, block: 0 }), None);
    }

    #[test]
    fn what_was_sent_before_an_array_was_zeroed_is_old() {
        let mut arrays = Arrays::default();
        arrays.add(array(3)).unwrap();
        arrays.add(array(3)).unwrap();
        arrays.end_phase();
        arrays.zero(1);
        assert!(!arrays.is_known(1));
        assert_eq!(arrays.begin_phase(7), [1]);
        assert_eq!((arrays.is_known(0), arrays.is_known(1)), (false, true));
        assert!(arrays.is_before_zero(1, 6) && !arrays.is_before_zero(1, 7));
        assert!(!arrays.is_before_zero(0, 6));
        assert_eq!(arrays.begin_phase(8), []);
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let mut arrays = Arrays::default();
        assert_eq!(arrays.add(Array { words: MAX_BLOCK_WORDS + 1, ..array(1) }), None);
        assert_eq!(arrays.add(array(MAX_BLOCKS + 1)), None);
        assert_eq!(arrays.add(array(MAX_BLOCKS)), Some(0));
        assert_eq!(arrays.add(array(1)), None);
    }

    #[test]
    fn integers_wrap_and_doubles_round() {
        let mut words = [u64::MAX, 1];
        Kind::Integers.add(&mut words, &[2, 3]);
        assert_eq!(words, [1, 4]);
        let mut words = [1.5f64.to_bits()];
        Kind::Doubles.add(&mut words, &[(-0.25f64).to_bits()]);
        assert_eq!(words, [1.25f64.to_bits()]);
    }
}
