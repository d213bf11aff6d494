//! Which members a reader has to look at again: those of which something changed since it last did.
//!
//! A reader with a picture of its own, such as a board in shared memory, need not walk over all
//! members to find the few that have news. A member's *place* is noted whenever something of it
//! changes, once however often that happens, and forgotten when it is handed out.
//!
//! Invariants: a place is noted at most once, so the list is never longer than there are places;
//! memory is taken when places are added and when noting begins, not when something changes.

/// A member's card (name, address) may have changed, not only its entry.
const CARD: u8 = 2;
/// Something of it has changed: it is on the list.
const NOTED: u8 = 1;

/// The places of members that have changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    marks: Vec<u8>,
    places: Vec<u32>,
}

impl Changes {
    /// Makes room for `places` places.
    pub(crate) fn reserve(&mut self, places: usize) {
        if places > self.marks.len() {
            self.marks.resize(places, 0);
            self.places.reserve(places - self.places.len());
        }
    }

    /// Notes that the entry of the member in `place` has changed; `card`: who it is or where, too.
    #[inline]
    pub(crate) fn note(&mut self, place: u32, card: bool) {
        self.reserve(place as usize + 1);
        let mark = &mut self.marks[place as usize];
        if *mark == 0 {
            self.places.push(place);
        }
        *mark |= NOTED | if card { CARD } else { 0 };
    }

    /// A place that was noted, and whether the card may have changed; it is forgotten.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<(u32, bool)> {
        let place = self.places.pop()?;
        let mark = core::mem::take(&mut self.marks[place as usize]);
        Some((place, mark & CARD != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_handed_out_once_with_all_that_was_noted() {
        let mut changes = Changes::default();
        changes.reserve(2);
        for (place, card) in [(1, false), (7, false), (1, true), (1, false)] {
            changes.note(place, card);
        }
        let mut taken = [changes.take(), changes.take()];
        taken.sort_unstable();
        assert_eq!(taken, [Some((1, true)), Some((7, false))]);
        assert_eq!(changes.take(), None);
        changes.note(1, false);
        assert_eq!(changes.take(), Some((1, false)), "nothing of the past is left");
    }
}
