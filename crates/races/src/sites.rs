//! Places in the program, by number: four bytes that threads may share without any order.
//!
//! Invariant: a number is given once and for ever, so that each thread may remember some.

use std::cell::Cell;
use std::panic::Location;
use std::sync::Mutex;
use std::sync::PoisonError;

/// How many places a thread remembers. Programs fork at a few.
const REMEMBERED: usize = 64;

/// All places that have a number.
static SITES: Mutex<Vec<&'static Location<'static>>> = Mutex::new(Vec::new());

thread_local! {
    /// Addresses of places, with their numbers.
    static KNOWN: [Cell<(usize, u32)>; REMEMBERED] =
        const { [const { Cell::new((0, 0)) }; REMEMBERED] };
}

/// The number of a place.
pub(crate) fn number(site: &'static Location<'static>) -> u32 {
    let address = core::ptr::from_ref(site).addr();
    KNOWN.with(|known| {
        let slot = &known[address / align_of::<Location<'_>>() % REMEMBERED];
        if slot.get().0 != address {
            slot.set((address, find(site)));
        }
        slot.get().1
    })
}

#[cold]
fn find(site: &'static Location<'static>) -> u32 {
    let mut sites = SITES.lock().unwrap_or_else(PoisonError::into_inner);
    let at = sites.iter().position(|&known| known == site).unwrap_or_else(|| {
        sites.push(site);
        sites.len() - 1
    });
    u32::try_from(at).expect("a program has fewer than 2^32 places")
}

/// The place of a number that was given.
pub(crate) fn site(number: u32) -> &'static Location<'static> {
    SITES.lock().unwrap_or_else(PoisonError::into_inner)[number as usize]
}
