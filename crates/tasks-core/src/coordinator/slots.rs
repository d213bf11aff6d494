//! Slots: the tries of one worker, and the places that they have, so that who looks on sees which
//! of them came after which.
//!
//! Nothing is decided by them. Two tries may have one place after a commit whose answer was lost.

use std::sync::Arc;

use crate::class::Class;
use crate::id::Attempt;
use crate::view::Progress;

/// The places that are counted; further tries are all shown at the first one that is free.
const MAX_SLOTS: u32 = 1 << 16;

/// A try of a task that a session has.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    pub(super) attempt: Attempt,
    pub(super) class: Arc<Class>,
    /// Its place among the tries of the session.
    pub(super) slot: u32,
    /// Whether the worker was told, or said itself that it has it.
    pub(super) is_told: bool,
    /// Whether the commit by which it ends is on its way: another task may take the slot.
    pub(super) is_ending: bool,
    /// How far it has come, as its worker says.
    pub(super) progress: Option<Box<Progress>>,
}

/// Which places are taken: a bit for each, as far as one was.
#[derive(Debug, Default)]
pub(super) struct Slots(Vec<u64>);

impl Slots {
    /// The lowest that is free.
    pub(super) fn first_free(&self) -> u32 {
        let full = self.0.iter().take_while(|bits| **bits == u64::MAX).count();
        let ones = self.0.get(full).map_or(0, |bits| bits.trailing_ones());
        full as u32 * u64::BITS + ones
    }

    /// A try gets or leaves a place.
    pub(super) fn set(&mut self, slot: u32, is_taken: bool) {
        if slot >= MAX_SLOTS {
            return;
        }
        let (at, bit) = ((slot / u64::BITS) as usize, 1_u64 << (slot % u64::BITS));
        if is_taken && self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        match self.0.get_mut(at) {
            Some(bits) if is_taken => *bits |= bit,
            Some(bits) => *bits &= !bit,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_place_is_taken_first() {
        let mut slots = Slots::default();
        for slot in 0..130 {
            assert_eq!(slots.first_free(), slot);
            slots.set(slot, true);
        }
        slots.set(64, false);
        slots.set(3, false);
        assert_eq!(slots.first_free(), 3);
        slots.set(3, true);
        assert_eq!(slots.first_free(), 64);
    }

    #[test]
    fn a_place_beyond_all_bounds_takes_no_memory() {
        let mut slots = Slots::default();
        slots.set(u32::MAX, true);
        slots.set(u32::MAX, false);
        assert_eq!((slots.first_free(), slots.0.len()), (0, 0));
    }
}
