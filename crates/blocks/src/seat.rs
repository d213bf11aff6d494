//! Seats: the core on which a thread counts.
//!
//! A thread that runs on one core should write memory that no other core writes. Which core it runs
//! on is known to the system alone, may change at any instruction, and costs tens of nanoseconds to
//! ask. So a thread takes a *seat*, a small number that no other thread has at the same time, and
//! keeps it until it ends. A program has as many busy threads as cores, or little to gain.
//!
//! Invariant: two threads never have the same seat at a time, and what one wrote before it gave its
//! seat back is seen by the next. So what belongs to a seat has one writer, and counts with a load
//! and a store. A thread that gets none, since there are more than [`SEATS`], has to share.

use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

/// Threads that can have a seat at a time.
pub const SEATS: usize = 256;

const WORDS: usize = SEATS / 64;

/// Not asked for yet.
const UNKNOWN: u32 = u32::MAX;

/// There was none left.
const NONE: u32 = u32::MAX - 1;

/// The seats that are taken, a bit each. They belong to the process, as its threads do.
static TAKEN: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

thread_local! {
    /// Without a destructor: reading it is one load.
    static OWN: Cell<u32> = const { Cell::new(UNKNOWN) };
    /// Gives the seat back when the thread ends.
    static KEPT: Cell<Option<Kept>> = const { Cell::new(None) };
}

struct Kept(u32);

impl Drop for Kept {
    fn drop(&mut self) {
        // What the thread still does in later destructors is shared.
        let _ = OWN.try_with(|own| own.set(NONE));
        let (word, bit) = (self.0 as usize / 64, 1 << (self.0 % 64));
        TAKEN[word].fetch_and(!bit, Ordering::Release);
    }
}

/// The seat of this thread, below [`SEATS`]; none if all are taken.
#[inline]
pub fn own() -> Option<usize> {
    match OWN.try_with(Cell::get) {
        Ok(seat) if seat < NONE => Some(seat as usize),
        Ok(UNKNOWN) => take(),
        _ => None,
    }
}

#[cold]
fn take() -> Option<usize> {
    let seat = free();
    if let Some(seat) = seat {
        // Where the thread is ending nothing would give it back.
        if KEPT.try_with(|kept| kept.set(Some(Kept(seat)))).is_err() {
            return None;
        }
    }
    let _ = OWN.try_with(|own| own.set(seat.unwrap_or(NONE)));
    seat.map(|seat| seat as usize)
}

/// Takes the first seat that is free.
fn free() -> Option<u32> {
    for (at, word) in TAKEN.iter().enumerate() {
        let mut taken = word.load(Ordering::Relaxed);
        while taken != u64::MAX {
            let bit = (!taken).trailing_zeros();
            let with = taken | 1 << bit;
            match word.compare_exchange_weak(taken, with, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(at as u32 * 64 + bit),
                Err(now) => taken = now,
            }
        }
    }
    None
}
