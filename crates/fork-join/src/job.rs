//! Jobs: work as a pointer that fits into a word, with what other threads do with it.
//!
//! A fork leaves its second half in its own frame, a [`Half`], and pushes a pointer to it. In most
//! cases it takes it back and calls it, and nothing of this file but two stores has happened. Only
//! who stole it goes through the [`Kind`], a table of functions.
//!
//! Invariant: from [`Kind::finish`] on the memory of a job may be gone; nobody touches it after.

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What others do with a job of some type. `run` is called once, `taken` before it if the job was
/// stolen, `finish` after it.
pub(crate) struct Kind {
    /// A worker with this number has stolen it.
    pub(crate) taken: unsafe fn(*const Job, usize),
    /// Runs it, and keeps its result or its panic.
    pub(crate) run: unsafe fn(*const Job),
    /// It has ended with all that it spawned there. With the number of the worker that stole it.
    pub(crate) finish: unsafe fn(*const Job, Option<usize>) -> Awaiting,
}

/// Who may sleep until a job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaiting {
    /// Nobody, or somebody who was woken.
    Nobody,
    /// The worker from which it was stolen.
    Victim,
    /// A worker with this number.
    Worker(usize),
}

/// What each job begins with.
#[repr(C)]
pub(crate) struct Job {
    pub(crate) kind: &'static Kind,
}

const WAITS: usize = 0;
const DONE: usize = 1;
const TAKEN: usize = 2;

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody has begun.
    Waits,
    /// A worker with this number has it.
    Taken(usize),
    /// Its result is there.
    Done,
}

/// The second half of a fork.
#[repr(C)]
pub(crate) struct Half<F, R> {
    job: Job,
    state: AtomicUsize,
    work: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<MaybeUninit<thread::Result<R>>>,
}

impl<F: FnOnce() -> R + Send, R: Send> Half<F, R> {
    const KIND: Kind = Kind { taken: Self::taken, run: Self::run, finish: Self::finish };

    #[inline]
    pub(crate) fn new(work: F) -> Self {
        Self {
            job: Job { kind: &Self::KIND },
            state: AtomicUsize::new(WAITS),
            work: UnsafeCell::new(ManuallyDrop::new(work)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    #[inline]
    pub(crate) fn pointer(&self) -> *mut () {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The work, to be called or dropped here.
    ///
    /// # Safety
    /// Only once, and only by whom took the job off the deque.
    #[inline]
    pub(crate) unsafe fn work(&self) -> F {
        // SAFETY: nobody else has it, as the caller promises.
        unsafe { ManuallyDrop::take(&mut *self.work.get()) }
    }

    /// What came out.
    ///
    /// # Safety
    /// Only once, and only when the state is [`State::Done`].
    pub(crate) unsafe fn result(&self) -> thread::Result<R> {
        // SAFETY: `run` wrote it before the state was set.
        unsafe { (*self.result.get()).assume_init_read() }
    }

    unsafe fn taken(job: *const Job, thief: usize) {
        // SAFETY: a job of this kind begins a `Half`, which its owner keeps until it is done.
        let half = unsafe { &*job.cast::<Self>() };
        half.state.store(TAKEN + thief, Ordering::Release);
    }

    unsafe fn run(job: *const Job) {
        // SAFETY: as in `taken`.
        let half = unsafe { &*job.cast::<Self>() };
        // SAFETY: who runs it took it off the deque.
        let work = unsafe { half.work() };
        let result = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: nobody reads it before the state says so.
        unsafe { (*half.result.get()).write(result) };
    }

    unsafe fn finish(job: *const Job, _thief: Option<usize>) -> Awaiting {
        // SAFETY: as in `taken`; this is the last access.
        let state = unsafe { &(*job.cast::<Self>()).state };
        state.store(DONE, Ordering::Release);
        Awaiting::Victim
    }
}

impl<F, R> Half<F, R> {
    pub(crate) fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            WAITS => State::Waits,
            DONE => State::Done,
            taken => State::Taken(taken - TAKEN),
        }
    }
}
