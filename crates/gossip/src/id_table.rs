//! From node id to place in constant time: a fixed open-addressing hash table.
//!
//! Ids are already uniform (they are cut from a SHA-256), so the low bits are the hash. The table
//! has at least twice as many cells as entries, is probed linearly, and closes the gap behind
//! a removed cell (Knuth, TAOCP 3, 6.4, algorithm R), so it needs no tombstones, never grows and
//! never allocates after it is made.

use crate::entry::NodeId;

/// Marks a free cell; no place has this number.
const FREE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Cell {
    id: u32,
    place: u32,
}

/// Node ids and the place (an index below `u32::MAX`) each stands for.
pub(crate) struct IdTable {
    cells: Vec<Cell>,
    mask: usize,
}

/// Bytes of a table for up to `capacity` ids.
pub(crate) fn bytes(capacity: usize) -> usize {
    cells(capacity) * size_of::<Cell>()
}

fn cells(capacity: usize) -> usize {
    (2 * capacity.max(4)).next_power_of_two()
}

impl IdTable {
    /// A table for up to `capacity` ids.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let cells = cells(capacity);
        Self { cells: vec![Cell { id: 0, place: FREE }; cells], mask: cells - 1 }
    }

    /// The place of `id`.
    #[inline]
    pub(crate) fn get(&self, id: NodeId) -> Option<u32> {
        let cell = self.cells[self.find(id)];
        (cell.place != FREE).then_some(cell.place)
    }

    /// Sets the place of `id`. The caller keeps to the capacity.
    pub(crate) fn insert(&mut self, id: NodeId, place: u32) {
        debug_assert!(place != FREE, "the last number marks free cells");
        let at = self.find(id);
        self.cells[at] = Cell { id: id.0, place };
    }

    /// Removes `id` if it is there.
    pub(crate) fn remove(&mut self, id: NodeId) {
        let mut gap = self.find(id);
        if self.cells[gap].place == FREE {
            return;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & self.mask;
            let cell = self.cells[at];
            if cell.place == FREE {
                break;
            }
            let home = cell.id as usize & self.mask;
            // The cell may move into the gap unless its home lies cyclically in (gap, at].
            let stays = (at.wrapping_sub(home) & self.mask) < (at.wrapping_sub(gap) & self.mask);
            if !stays {
                self.cells[gap] = cell;
                gap = at;
            }
        }
        self.cells[gap].place = FREE;
    }

    /// The cell that holds `id`, or the free cell where it would go.
    #[inline]
    fn find(&self, id: NodeId) -> usize {
        let mut at = id.0 as usize & self.mask;
        loop {
            let cell = self.cells[at];
            if cell.place == FREE || cell.id == id.0 {
                return at;
            }
            at = (at + 1) & self.mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Against a reference map, with ids that share their low bits so that probes collide.
        #[test]
        fn agrees_with_an_ordered_map(
            ops in prop::collection::vec((any::<bool>(), 0u32..40), 1..300),
        ) {
            let mut table = IdTable::with_capacity(40);
            let mut model = BTreeMap::new();
            for (step, (insert, n)) in ops.into_iter().enumerate() {
                let id = NodeId((n << 5) | (n & 3));
                if insert {
                    table.insert(id, step as u32);
                    model.insert(id, step as u32);
                } else {
                    table.remove(id);
                    model.remove(&id);
                }
                for n in 0..40u32 {
                    let id = NodeId((n << 5) | (n & 3));
                    prop_assert_eq!(table.get(id), model.get(&id).copied());
                }
            }
        }
    }
}
