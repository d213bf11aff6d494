//! Who represents which colony: a rule that every member works out by itself.
//!
//! Colonies, in the order of their ids, are cut into as many rows as the members are (`layout.rs`).
//! The foreign colonies of row *r* are seen to by the members of row *r*: for each there is a place
//! in the row from which on, around the row, the first two fresh members represent it. Rows know
//! well who of them is fresh, since they push to each other each unit.
//!
//! Members need not agree: a colony called twice costs bytes, one called by nobody is older for a
//! while.

use core::ops::Range;

use super::id::{ColonyId, ColonyIds};

/// Every how many units the second representative calls although the first one's record is fresh.
pub const SECOND_CALL_UNITS: u32 = 4;
/// The age in units from which a record counts as late, and the second representative calls too.
pub const LATE_UNITS: i64 = 2;
/// Pushes a member may miss and still counts as fresh within its row.
const MISSED_PUSHES: f64 = 4.0;

/// The age in units up to which a member of the own row counts as fresh.
pub fn silent_units(push_units: f64) -> f64 {
    MISSED_PUSHES * push_units + 0.5
}

/// Colonies over rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Representation {
    colonies: usize,
    rows: usize,
}

impl Representation {
    /// Of so many foreign colonies, among members in so many rows.
    pub fn of(colonies: usize, rows: usize) -> Self {
        Self { colonies, rows: rows.max(1) }
    }

    /// The colonies of a row, by their places in the order of ids.
    pub fn colonies_of(&self, row: usize) -> Range<usize> {
        let start = |row: usize| row * self.colonies / self.rows;
        start(row)..start(row + 1)
    }

    /// The range of ids that a row's colonies span. The ranges of all rows leave no gap, so that a
    /// colony which only some have heard of lies in one of them. `id_at` gives the colony in a
    /// place.
    pub fn ids_of(&self, row: usize, id_at: impl Fn(usize) -> ColonyId) -> Option<ColonyIds> {
        let Range { start, end } = self.colonies_of(row);
        if start == self.colonies && row > 0 {
            return None;
        }
        let first = if row == 0 { ColonyId(0) } else { id_at(start) };
        let last = match end {
            end if end >= self.colonies => u32::MAX,
            end => id_at(end).0.checked_sub(1)?,
        };
        (first.0 <= last).then_some(ColonyIds { first, last: ColonyId(last) })
    }

    /// The first and the second representative of a colony of `row`, by their places in the row.
    pub fn representatives(
        &self,
        row: usize,
        colony: usize,
        members: usize,
        is_fresh: impl Fn(usize) -> bool,
    ) -> [Option<usize>; 2] {
        let colonies = self.colonies_of(row);
        let start = colony.saturating_sub(colonies.start) * members / colonies.len().max(1);
        let mut fresh =
            (0..members).map(|step| (start + step) % members).filter(|&at| is_fresh(at));
        [fresh.next(), fresh.next()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each colony has one row; two members of it represent it while two are fresh, and the
        /// second takes the place of the first.
        #[test]
        fn every_colony_is_represented(
            colonies in 1usize..2000,
            rows in 1usize..300,
            members in 2usize..33,
            dead in any::<u32>(),
        ) {
            let representation = Representation::of(colonies, rows);
            let fresh = |at: usize| dead & (1 << at) == 0;
            let mut next = 0;
            for row in 0..rows {
                let range = representation.colonies_of(row);
                prop_assert_eq!(range.start, next);
                next = range.end;
                for colony in range {
                    let pair = representation.representatives(row, colony, members, fresh);
                    let alive = (0..members).filter(|&at| fresh(at)).count();
                    prop_assert_eq!(pair.iter().flatten().count(), alive.min(2));
                    if let [Some(first), second] = pair {
                        let after = |at| fresh(at) && at != first;
                        let heirs = representation.representatives(row, colony, members, after);
                        prop_assert_eq!(heirs[0], second);
                    }
                }
            }
            prop_assert_eq!(next, colonies);
        }

        /// The ranges of ids of all rows cover every id once.
        #[test]
        fn ranges_leave_no_gap(colonies in 0usize..60, rows in 1usize..90) {
            let id_at = |at: usize| ColonyId(1000 * at as u32 + 77);
            let representation = Representation::of(colonies, rows);
            let mut next = Some(0u32);
            for ids in (0..rows).filter_map(|row| representation.ids_of(row, id_at)) {
                prop_assert_eq!(Some(ids.first.0), next);
                next = ids.last.0.checked_add(1);
            }
            prop_assert_eq!(next, None);
        }
    }
}
