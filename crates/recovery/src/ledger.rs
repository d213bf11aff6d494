//! The ledger of a block: which of the contributions that were declared it holds, a bit each.
//!
//! Invariant: a contribution is applied when its bit is set and not before, so at most once; what
//! was not declared has no bit.

use crate::plan::Mark;

/// What becomes of a contribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// It was not there: it is to be added now.
    New,
    /// It is there already: it is to be dropped.
    Again,
    /// The block does not expect it.
    Undeclared,
}

/// Which contributions a block holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// What was declared, in order.
    declared: Vec<Mark>,
    bits: Vec<u64>,
    held: usize,
}

impl Ledger {
    /// None of these is held.
    pub fn new(mut declared: Vec<Mark>) -> Self {
        declared.sort_unstable();
        let bits = vec![0; declared.len().div_ceil(64)];
        Self { declared, bits, held: 0 }
    }

    /// Notes a contribution.
    pub fn enter(&mut self, mark: Mark) -> Entry {
        let Ok(at) = self.declared.binary_search(&mark) else { return Entry::Undeclared };
        let (word, bit) = (&mut self.bits[at / 64], 1 << (at % 64));
        if *word & bit != 0 {
            return Entry::Again;
        }
        *word |= bit;
        self.held += 1;
        Entry::New
    }

    /// Whether a contribution is held.
    pub fn holds(&self, mark: Mark) -> bool {
        let at = self.declared.binary_search(&mark);
        at.is_ok_and(|at| self.bits[at / 64] & 1 << (at % 64) != 0)
    }

    /// Whether all that was declared is held.
    pub fn is_complete(&self) -> bool {
        self.held == self.declared.len()
    }

    /// How many are missing.
    pub fn lacks(&self) -> u64 {
        (self.declared.len() - self.held) as u64
    }

    /// What is missing, in order.
    pub fn missing(&self) -> impl Iterator<Item = Mark> + '_ {
        let is_held = |at: usize| self.bits[at / 64] & 1 << (at % 64) != 0;
        let declared = self.declared.iter().copied().enumerate();
        declared.filter(move |(at, _)| !is_held(*at)).map(|(_, mark)| mark)
    }

    /// The bits, as a copy gets them.
    pub fn bits(&self) -> &[u64] {
        &self.bits
    }

    /// Takes the bits of the same block elsewhere in the place of its own; whether they fit.
    pub fn take(&mut self, bits: Vec<u64>) -> bool {
        let beyond = self.declared.len() % 64;
        let is_short = beyond == 0 || bits.last().is_none_or(|last| last >> beyond == 0);
        if bits.len() != self.bits.len() || !is_short {
            return false;
        }
        self.held = bits.iter().map(|word| word.count_ones() as usize).sum();
        self.bits = bits;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn mark(number: u64) -> Mark {
        Mark { task: number / 2, output: (number % 2) as u8 }
    }

    proptest! {
        #[test]
        fn held_and_missing_are_what_was_declared(
            declared in prop::collection::btree_set(0u64..400, 0..200),
            entered in prop::collection::vec(0u64..400, 0..300),
        ) {
            let mut ledger = Ledger::new(declared.iter().rev().copied().map(mark).collect());
            let mut model = BTreeSet::new();
            for number in entered {
                let expected = match (declared.contains(&number), model.contains(&number)) {
                    (false, _) => Entry::Undeclared,
                    (true, true) => Entry::Again,
                    (true, false) => Entry::New,
                };
                prop_assert_eq!(ledger.enter(mark(number)), expected);
                if expected == Entry::New {
                    model.insert(number);
                }
            }
            let missing: Vec<Mark> = declared.difference(&model).copied().map(mark).collect();
            prop_assert_eq!(ledger.missing().collect::<Vec<_>>(), missing);
            prop_assert_eq!(ledger.is_complete(), model.len() == declared.len());
            prop_assert!(model.iter().all(|number| ledger.holds(mark(*number))));
            let mut copy = Ledger::new(declared.iter().copied().map(mark).collect());
            prop_assert!(copy.take(ledger.bits().to_vec()));
            prop_assert_eq!(copy, ledger);
        }
    }

    #[test]
    fn bits_of_another_block_are_refused() {
        let mut ledger = Ledger::new((0..65).map(mark).collect());
        assert!(!ledger.take(vec![0]));
        assert!(!ledger.take(vec![0, 2]));
        assert!(ledger.take(vec![3, 1]));
        assert_eq!(ledger.lacks(), 62);
    }
}
