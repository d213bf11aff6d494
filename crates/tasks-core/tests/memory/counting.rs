//! An allocator that adds up what each thread holds: memory counted where it is taken.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread holds.
    pub(crate) static HELD: Cell<i64> = const { Cell::new(0) };
    /// The most it held since this was last set.
    pub(crate) static MOST: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, adding up the bytes that each thread holds.
struct Counting;

fn count(bytes: i64) {
    // A thread that is ending has no count any more, and nothing to prove.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

fn bytes_of(layout: Layout) -> i64 {
    layout.size() as i64
}

// SAFETY: every call is passed on to `System` as it came, and `System` keeps to the contract; the
// counts are thread-locals without destructor, which never allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(bytes_of(layout));
        // SAFETY: the caller keeps to the contract of `alloc`, which is this one.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(bytes_of(layout));
        // SAFETY: the caller keeps to the contract of `alloc_zeroed`, which is this one.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // Both blocks are held while one is copied to the other.
        count(new_size as i64);
        count(-bytes_of(layout));
        // SAFETY: the block is from `System`, to which every allocation is passed on.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-bytes_of(layout));
        // SAFETY: the block is from `System`, to which every allocation is passed on.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
