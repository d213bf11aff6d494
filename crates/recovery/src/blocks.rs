//! The blocks of one worker: those that it owns, and those of which it has the copy.
//!
//! A block is here, is awaited from its owner, or is lost. What arrives for one that is awaited is
//! kept until it is here: it may be in what the owner sends, and then its bit says so.
//!
//! Invariant: elements and bits of a block change together.

use std::collections::BTreeMap;

use crate::array::{Array, Kind};
use crate::ledger::{Entry, Ledger};
use crate::message::Content;
use crate::plan::Mark;

/// A contribution that waits for its block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Who sent it.
    pub from: u32,
    /// Which it is.
    pub mark: Mark,
    /// What it adds.
    pub words: Vec<u64>,
}

/// What became of a contribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// It is held, since now.
    Applied,
    /// It was held, or its block is lost: it is dropped.
    Dropped,
    /// Its block is awaited.
    Kept,
    /// The block does not expect it.
    Undeclared,
    /// It makes no sense here.
    Ignored,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    Here { words: Vec<u64>, ledger: Ledger },
    Awaited(Vec<Waiting>),
    Lost,
}

/// The blocks of one worker, by their numbers among those of all arrays.
#[derive(Debug, Default)]
pub struct Blocks(BTreeMap<u32, State>);

/// The most contributions that wait for one block.
const MOST_WAITING: usize = 1 << 16;

impl Blocks {
    /// A block of zeros is here, to which this was declared. What waited for it is returned.
    pub fn begin(&mut self, index: u32, words: u32, ledger: Ledger) -> Vec<Waiting> {
        self.put(index, State::Here { words: vec![0; words as usize], ledger })
    }

    fn put(&mut self, index: u32, state: State) -> Vec<Waiting> {
        match self.0.insert(index, state) {
            Some(State::Awaited(waiting)) => waiting,
            _ => Vec::new(),
        }
    }

    /// A block will come.
    pub fn await_from_owner(&mut self, index: u32) {
        self.0.entry(index).or_insert(State::Awaited(Vec::new()));
    }

    /// A block is lost. What waited for it is returned.
    pub fn lose(&mut self, index: u32) -> Vec<Waiting> {
        self.put(index, State::Lost)
    }

    /// Whether a block is here.
    pub fn is_here(&self, index: u32) -> bool {
        matches!(self.0.get(&index), Some(State::Here { .. }))
    }

    /// Whether a block is awaited.
    pub fn is_awaited(&self, index: u32) -> bool {
        matches!(self.0.get(&index), Some(State::Awaited(_)))
    }

    /// Whether a block was lost.
    pub fn is_lost(&self, index: u32) -> bool {
        matches!(self.0.get(&index), Some(State::Lost))
    }

    /// The elements of a block that is here.
    pub fn words(&self, index: u32) -> Option<&[u64]> {
        match self.0.get(&index) {
            Some(State::Here { words, .. }) => Some(words),
            _ => None,
        }
    }

    /// The ledger of a block that is here.
    pub fn ledger(&self, index: u32) -> Option<&Ledger> {
        match self.0.get(&index) {
            Some(State::Here { ledger, .. }) => Some(ledger),
            _ => None,
        }
    }

    /// The blocks that are here or lost, in order.
    pub fn indices(&self) -> Vec<u32> {
        self.0.keys().copied().collect()
    }

    /// The phase has another plan: what was held of the last is in the elements, and not noted.
    pub fn declare(&mut self, index: u32, ledger: Ledger) {
        if let Some(State::Here { ledger: old, .. }) = self.0.get_mut(&index) {
            *old = ledger;
        }
    }

    /// All elements of a block are zero, also of one that was lost.
    pub fn zero(&mut self, index: u32, words: u32) {
        if let Some(state @ (State::Here { .. } | State::Lost)) = self.0.get_mut(&index) {
            *state = State::Here { words: vec![0; words as usize], ledger: Ledger::default() };
        }
    }

    /// A contribution arrives.
    pub fn add(&mut self, index: u32, array: &Array, waiting: Waiting) -> Received {
        let is_fitting = [0, array.words as usize].contains(&waiting.words.len());
        match self.0.get_mut(&index) {
            Some(State::Here { words, ledger }) if is_fitting => {
                enter(words, ledger, array.kind, &waiting)
            }
            Some(State::Awaited(all)) if is_fitting && all.len() < MOST_WAITING => {
                all.push(waiting);
                Received::Kept
            }
            Some(State::Lost) => Received::Dropped,
            _ => Received::Ignored,
        }
    }

    /// A block as another worker gets it; nothing if it is lost.
    pub fn content(&self, index: u32) -> Option<Content> {
        match self.0.get(&index)? {
            State::Here { words, ledger } => {
                Some(Content { words: words.clone(), bits: ledger.bits().to_vec() })
            }
            State::Awaited(_) | State::Lost => None,
        }
    }

    /// The owner has sent a block that was awaited. What waited for it is returned, or nothing if
    /// it was not awaited or does not fit.
    pub fn take(
        &mut self,
        index: u32,
        array: &Array,
        content: Option<Content>,
        mut ledger: Ledger,
    ) -> Option<Vec<Waiting>> {
        if !self.is_awaited(index) {
            return None;
        }
        let Some(Content { words, bits }) = content else { return Some(self.lose(index)) };
        let is_fitting = words.len() == array.words as usize;
        if !is_fitting || (!bits.is_empty() && !ledger.take(bits)) {
            return None;
        }
        Some(self.put(index, State::Here { words, ledger }))
    }
}

fn enter(words: &mut [u64], ledger: &mut Ledger, kind: Kind, waiting: &Waiting) -> Received {
    match ledger.enter(waiting.mark) {
        Entry::New => {
            kind.add(words, &waiting.words);
            Received::Applied
        }
        Entry::Again => Received::Dropped,
        Entry::Undeclared => Received::Undeclared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Loss;

    fn array() -> Array {
        let (name, kind, loss) = ("fock".to_owned(), Kind::Integers, Loss::Recompute);
        Array { name, blocks: 8, words: 2, kind, copied: true, loss }
    }

    fn ledger() -> Ledger {
        Ledger::new((0..4).map(|task| Mark { task, output: 0 }).collect())
    }

    fn waiting(task: u64, words: &[u64]) -> Waiting {
        Waiting { from: 3, mark: Mark { task, output: 0 }, words: words.to_vec() }
    }

    #[test]
    fn a_contribution_counts_once() {
        let mut blocks = Blocks::default();
        assert_eq!(blocks.add(5, &array(), waiting(0, &[1, 2])), Received::Ignored);
        blocks.begin(5, 2, ledger());
        assert_eq!(blocks.add(5, &array(), waiting(0, &[1, 2])), Received::Applied);
        assert_eq!(blocks.add(5, &array(), waiting(0, &[1, 2])), Received::Dropped);
        assert_eq!(blocks.add(5, &array(), waiting(1, &[])), Received::Applied);
        assert_eq!(blocks.add(5, &array(), waiting(9, &[1, 2])), Received::Undeclared);
        assert_eq!(blocks.add(5, &array(), waiting(2, &[1])), Received::Ignored);
        assert_eq!(blocks.words(5), Some(&[1, 2][..]));
        assert_eq!(blocks.ledger(5).map(Ledger::lacks), Some(2));
    }

    /// What waited was in what the owner sent: it had got it before.
    #[test]
    fn what_waits_for_a_block_is_added_after_it_unless_it_is_in_it() {
        let (mut owner, mut copy) = (Blocks::default(), Blocks::default());
        owner.begin(5, 2, ledger());
        owner.add(5, &array(), waiting(0, &[10, 20]));
        copy.await_from_owner(5);
        for task in [0, 1] {
            assert_eq!(copy.add(5, &array(), waiting(task, &[10, 20])), Received::Kept);
        }
        let kept = copy.take(5, &array(), owner.content(5), ledger()).unwrap();
        assert_eq!(kept.len(), 2);
        for one in kept {
            copy.add(5, &array(), one);
        }
        owner.add(5, &array(), waiting(1, &[10, 20]));
        assert_eq!((owner.words(5), owner.ledger(5)), (copy.words(5), copy.ledger(5)));
        assert_eq!(copy.take(5, &array(), owner.content(5), ledger()), None);
    }

    #[test]
    fn a_lost_block_takes_what_comes_and_says_nothing() {
        let mut blocks = Blocks::default();
        blocks.await_from_owner(5);
        blocks.add(5, &array(), waiting(0, &[1, 1]));
        assert_eq!(blocks.take(5, &array(), None, ledger()).map(|kept| kept.len()), Some(1));
        assert!(blocks.is_lost(5));
        assert_eq!(blocks.add(5, &array(), waiting(1, &[1, 1])), Received::Dropped);
        assert_eq!((blocks.words(5), blocks.content(5)), (None, None));
        blocks.zero(5, 2);
        assert_eq!(blocks.words(5), Some(&[0, 0][..]));
    }

    #[test]
    fn what_does_not_fit_is_not_taken() {
        let mut blocks = Blocks::default();
        blocks.await_from_owner(5);
        let content = |words, bits| Some(Content { words: vec![0; words], bits });
        assert_eq!(blocks.take(5, &array(), content(3, vec![]), ledger()), None);
        assert_eq!(blocks.take(5, &array(), content(2, vec![1 << 4]), ledger()), None);
        assert!(blocks.is_awaited(5));
        assert!(blocks.take(5, &array(), content(2, vec![1]), ledger()).is_some());
    }
}
