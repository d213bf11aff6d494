//! The sequence lock in a model of the machine: loom runs all interleavings of one writer and one
//! reader, with relaxed stores and loads in each order that the memory model permits.
//!
//! The code is that of `sequence.rs`, over loom's words in place of the machine's. To validate the
//! model, the same protocol without its fences is shown to tear.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use tidings_board::sequence::{self, Word};

struct Modelled(AtomicU64);

impl Word for Modelled {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
    fn acquire() {
        fence(Ordering::Acquire);
    }
    fn release() {
        fence(Ordering::Release);
    }
}

/// A word whose protocol lacks one or both of its kinds of fence.
struct Unfenced<const ACQUIRE: bool, const RELEASE: bool>(AtomicU64);

impl<const ACQUIRE: bool, const RELEASE: bool> Word for Unfenced<ACQUIRE, RELEASE> {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
    fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
    fn acquire() {
        if ACQUIRE {
            fence(Ordering::Acquire);
        }
    }
    fn release() {
        if RELEASE {
            fence(Ordering::Release);
        }
    }
}

/// A version and two words, which are equal whenever nobody writes.
fn check<W: Word + Send + Sync + 'static>(word: fn(u64) -> W) {
    loom::model(move || {
        let words = Arc::new([word(0), word(0), word(0)]);
        let shared = Arc::clone(&words);
        let writer = loom::thread::spawn(move || {
            for value in 1..=2 {
                sequence::write(&shared[0], || {
                    shared[1].set(value);
                    shared[2].set(value);
                });
            }
        });
        let seen = sequence::read(&words[0], || (words[1].get(), words[2].get()));
        if let Some((version, (one, other))) = seen {
            assert_eq!(one, other, "torn");
            assert_eq!(version, 2 * one, "whole, but not what this version has");
        }
        writer.join().expect("the writer does not panic");
        let at_rest = sequence::read(&words[0], || words[1].get());
        assert_eq!(at_rest, Some((4, 2)), "a later reader sees the last");
    });
}

#[test]
fn no_reader_sees_a_torn_entry() {
    check(|value| Modelled(AtomicU64::new(value)));
}

#[test]
#[should_panic = "torn"]
fn without_the_writers_fences_entries_tear() {
    check(|value| Unfenced::<true, false>(AtomicU64::new(value)));
}

#[test]
#[should_panic = "torn"]
fn without_the_readers_fences_entries_tear() {
    check(|value| Unfenced::<false, true>(AtomicU64::new(value)));
}
