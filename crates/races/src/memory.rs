//! Declared accesses: memory that is shared in other ways than by [`Tracked`](crate::Tracked), such
//! as atomic numbers, what is behind locks, and arrays of other languages.
//!
//! Shadows are kept by address, for each eight bytes, and for single bytes where an access does not
//! take all eight. An access of many bytes costs as much as one for each eight of them: declare
//! the first byte of a block, where blocks are used whole.
//!
//! Memory that is given back and used again has the same address. [`forget`] it before it is given
//! back, or what one task did to it conflicts with what another did to what came after.

use std::panic::Location;

use crate::granules::{GRANULE, Granule};
use crate::here;
use crate::shadow::{Access, Conflict, Kind, Shadow};
use crate::sites::Site;

/// Declares an access to a value. Outside a checked run it does nothing.
#[track_caller]
pub fn declare<T: ?Sized>(kind: Kind, value: &T) {
    let address = core::ptr::from_ref(value).cast::<u8>() as usize;
    declare_bytes(kind, address, size_of_val(value), Location::caller().into());
}

/// Declares an access to so many bytes from an address on.
///
/// Neighbouring bytes that conflict with one step of a task are one race; one access may have
/// several, with several tasks.
pub fn declare_bytes(kind: Kind, address: usize, bytes: usize, site: Site) {
    let end = address.saturating_add(bytes);
    here::with(|run, step, tally| {
        let mut last = None;
        let mut at = address;
        while at < end {
            let granule = at / GRANULE;
            let begin = granule * GRANULE;
            let (from, to) = (at - begin, (end - begin).min(GRANULE));
            let mut shard = run.memory.shard(granule);
            let found = shard.entry(granule).or_insert(Granule::Whole(Shadow::NEW));
            for shadow in found.of(from, to) {
                let conflict = run.access(tally, shadow, kind, Access { step, site });
                let with = conflict.as_ref().map(Conflict::with);
                if let Some(conflict) = conflict.filter(|_| with != last) {
                    run.found(&conflict);
                }
                last = with;
            }
            at = begin + to;
        }
    });
}

/// Forgets what was declared of a value, which is about to be given back.
pub fn forget<T: ?Sized>(value: &T) {
    forget_bytes(core::ptr::from_ref(value).cast::<u8>() as usize, size_of_val(value));
}

/// Forgets what was declared of so many bytes from an address on.
pub fn forget_bytes(address: usize, bytes: usize) {
    let end = address.saturating_add(bytes);
    here::with(|run, _, _| {
        for granule in address / GRANULE..end.div_ceil(GRANULE) {
            let (begin, mut shard) = (granule * GRANULE, run.memory.shard(granule));
            let Some(found) = shard.get_mut(&granule) else { continue };
            let (from, to) = (address.max(begin) - begin, end.min(begin + GRANULE) - begin);
            if to - from == GRANULE {
                shard.remove(&granule);
            } else {
                found.of(from, to).fill(Shadow::NEW);
            }
        }
    });
}
