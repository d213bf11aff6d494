//! The sequence lock: how a reader knows that what it read was whole.
//!
//! A version counts the changes of what it guards, twice each: odd while one is under way. A reader
//! looks at the version before and after; if both are the same even number, nothing was written in
//! between. The writer never waits, the reader only repeats.
//!
//! All words are atomics, read and written *relaxed*; order comes from fences alone. The reader
//! does a relaxed load and then a fence, never an acquire load, since Rust allows only relaxed
//! loads on memory that is mapped for reading. The fences pair as follows:
//!
//! - writer: version odd, **release**, words, **release**, version even;
//! - reader: version, **acquire**, words, **acquire**, version.
//!
//! A reader that sees a word of a change sees, behind its second fence, the odd version that came
//! before that word; a reader that sees the even version sees all words before it. The words are a
//! trait so that a model checker can stand in for the machine (`tests/model.rs`, with loom).
//!
//! Source: H. Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A shared word of 64 bits.
pub trait Word {
    /// Reads it, relaxed.
    fn get(&self) -> u64;
    /// Writes it, relaxed.
    fn set(&self, value: u64);
    /// An acquire fence.
    fn acquire();
    /// A release fence.
    fn release();
}

impl Word for AtomicU64 {
    #[inline]
    fn get(&self) -> u64 {
        AtomicU64::load(self, Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, value: u64) {
        AtomicU64::store(self, value, Ordering::Relaxed);
    }

    #[inline]
    fn acquire() {
        fence(Ordering::Acquire);
    }

    #[inline]
    fn release() {
        fence(Ordering::Release);
    }
}

/// Changes what `version` guards. There is one writer: two would overwrite each other.
#[inline]
pub fn write<W: Word, R>(version: &W, change: impl FnOnce() -> R) -> R {
    let before = version.get();
    version.set(before.wrapping_add(1));
    W::release();
    let changed = change();
    W::release();
    version.set(before.wrapping_add(2));
    changed
}

/// Reads what `version` guards; `None` if it was being changed, and what was read must be
/// discarded. The result comes with its version.
#[inline]
pub fn read<W: Word, R>(version: &W, look: impl FnOnce() -> R) -> Option<(u64, R)> {
    let before = version.get();
    if before % 2 == 1 {
        return None;
    }
    W::acquire();
    let seen = look();
    W::acquire();
    (version.get() == before).then_some((before, seen))
}
