//! From names to slots: a table of cells in the file, probed one after the other.
//!
//! A cell is the high half of a name's hash and, in its low half, the slot's number and one; 0 is
//! free. A reader that finds a cell with its hash still compares the name, under the slot's
//! version; one that finds none checks whether the generation changed meanwhile. The writer closes
//! the gap behind a cell that it removes (Knuth, TAOCP 3, 6.4, algorithm R).
//!
//! Invariant: at most half of the cells are in use, so that every search ends.

use std::sync::atomic::AtomicU64;

use crate::layout::{halves, pair};
use crate::sequence::Word;

/// The cell for `slot` of a name with this hash.
fn cell_of(hash: u64, slot: usize) -> u64 {
    pair(slot as u32 + 1, (hash >> 32) as u32)
}

/// Slots whose names may have this hash, in the order of the search.
#[inline]
pub(crate) fn candidates(cells: &[AtomicU64], hash: u64) -> impl Iterator<Item = usize> {
    let mask = cells.len() - 1;
    let (_, tag) = halves(hash);
    let probed = (0..cells.len()).map(move |step| cells[(hash as usize + step) & mask].get());
    probed.take_while(|&cell| cell != 0).filter_map(move |cell| {
        let (number, other) = halves(cell);
        (other == tag && number != 0).then(|| number as usize - 1)
    })
}

/// Adds a name; there is room, and it is not there yet.
pub(crate) fn insert(cells: &[AtomicU64], hash: u64, slot: usize) {
    let mask = cells.len() - 1;
    let mut at = hash as usize & mask;
    while cells[at].get() != 0 {
        at = (at + 1) & mask;
    }
    cells[at].set(cell_of(hash, slot));
}

/// Removes a name; `hash_of` gives the hashes of the other slots' names.
pub(crate) fn remove(cells: &[AtomicU64], hash: u64, slot: usize, hash_of: impl Fn(usize) -> u64) {
    let mask = cells.len() - 1;
    let (wanted, mut gap) = (cell_of(hash, slot), hash as usize & mask);
    while cells[gap].get() != wanted {
        if cells[gap].get() == 0 {
            return;
        }
        gap = (gap + 1) & mask;
    }
    let mut at = gap;
    loop {
        at = (at + 1) & mask;
        let cell = cells[at].get();
        if cell == 0 {
            break;
        }
        let home = hash_of(halves(cell).0 as usize - 1) as usize & mask;
        let stays = (at.wrapping_sub(home) & mask) < (at.wrapping_sub(gap) & mask);
        if !stays {
            cells[gap].set(cell);
            gap = at;
        }
    }
    cells[gap].set(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a reference map, with hashes that share their low bits so that searches collide.
        #[test]
        fn agrees_with_an_ordered_map(
            ops in prop::collection::vec((any::<bool>(), 0usize..16), 1..200),
        ) {
            let cells: Vec<AtomicU64> = (0..32).map(|_| AtomicU64::new(0)).collect();
            let hash_of = |slot: usize| (slot as u64 % 3) << 40 | (slot as u64 & 5);
            let mut model = BTreeSet::new();
            for (insert_it, slot) in ops {
                if insert_it && model.insert(slot) {
                    insert(&cells, hash_of(slot), slot);
                } else if !insert_it {
                    remove(&cells, hash_of(slot), slot, hash_of);
                    model.remove(&slot);
                }
                for slot in 0..16 {
                    let found = candidates(&cells, hash_of(slot)).any(|other| other == slot);
                    prop_assert_eq!(found, model.contains(&slot));
                }
            }
        }
    }

    /// A hostile file may have no free cell at all.
    #[test]
    fn a_search_in_a_full_table_ends() {
        let cells: Vec<AtomicU64> = (0..8).map(|_| AtomicU64::new(7)).collect();
        assert_eq!(candidates(&cells, 1).count(), 8);
        assert_eq!(candidates(&cells, 1 << 40).count(), 0);
    }
}
