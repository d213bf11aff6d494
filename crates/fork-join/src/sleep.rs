//! Sleep: a worker without work takes no time of a processor, and wakes by an event.
//!
//! Each worker has a word that says whether it sleeps and for what; one number counts those that
//! do. Who makes jobs public looks at that number, which is on a line that changes only when
//! somebody falls asleep or wakes. Nobody polls and nothing has a period: a pool without work makes
//! no system calls.
//!
//! Invariant: no wake-up is lost. A sleeper first says that it sleeps and then looks for work once
//! more; who makes work first makes it and then looks for sleepers; a fence on each side orders the
//! two, so one of them sees the other. Who changes the word back to awake wakes the thread, and
//! only it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::thread::{self, Thread};

use crate::deque::Line;

const AWAKE: usize = 0;
const IDLE: usize = 1;
const ANY: usize = 2;
const WORKER: usize = 3;

/// For what a worker sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// There is any job.
    Work,
    /// Something ended, or jobs are public that descend from what it waits for, anywhere.
    Descendants,
    /// The same, at the worker with this number.
    DescendantsOf(usize),
}

impl Until {
    fn word(self) -> usize {
        match self {
            Self::Work => IDLE,
            Self::Descendants => ANY,
            Self::DescendantsOf(worker) => WORKER + worker,
        }
    }
}

/// A worker's place to sleep.
#[derive(Default)]
pub(crate) struct Bed {
    word: AtomicUsize,
    thread: OnceLock<Thread>,
    sleeps: AtomicU64,
}

impl Bed {
    /// This thread will sleep here.
    pub(crate) fn is_mine(&self) {
        self.thread.get_or_init(thread::current);
    }
}

/// All places.
pub(crate) struct Dormitory {
    beds: Box<[Line<Bed>]>,
    sleeping: Line<AtomicUsize>,
}

impl Dormitory {
    pub(crate) fn new(workers: usize) -> Self {
        let beds = (0..workers).map(|_| Line(Bed::default())).collect();
        Self { beds, sleeping: Line(AtomicUsize::new(0)) }
    }

    pub(crate) fn bed(&self, worker: usize) -> &Bed {
        &self.beds[worker].0
    }

    /// How often workers fell asleep.
    pub(crate) fn sleeps(&self) -> u64 {
        self.beds.iter().map(|bed| bed.0.sleeps.load(Ordering::Relaxed)).sum()
    }

    /// How many sleep.
    pub(crate) fn sleeping(&self) -> usize {
        self.sleeping.0.load(Ordering::Relaxed)
    }

    /// Sleeps until somebody wakes this worker, unless it is `ready` already.
    pub(crate) fn sleep(&self, me: usize, until: Until, ready: impl FnOnce() -> bool) {
        let bed = self.bed(me);
        bed.word.store(until.word(), Ordering::SeqCst);
        self.sleeping.0.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if ready() {
            self.rise(bed, until.word());
            return;
        }
        bed.sleeps.fetch_add(1, Ordering::Relaxed);
        while bed.word.load(Ordering::Acquire) != AWAKE {
            thread::park();
        }
    }

    /// Changes the word to awake; whether this call did.
    fn rise(&self, bed: &Bed, word: usize) -> bool {
        let risen = word != AWAKE
            && bed.word.compare_exchange(word, AWAKE, Ordering::SeqCst, Ordering::Relaxed).is_ok();
        if risen {
            self.sleeping.0.fetch_sub(1, Ordering::SeqCst);
        }
        risen
    }

    fn wake(&self, bed: &Bed, word: usize) -> bool {
        let woken = self.rise(bed, word);
        if let Some(thread) = bed.thread.get().filter(|_| woken) {
            thread.unpark();
        }
        woken
    }

    /// This worker has made jobs public: wakes one that can use them, if one sleeps.
    #[inline]
    pub(crate) fn published(&self, by: usize) {
        fence(Ordering::SeqCst);
        if self.sleeping() > 0 {
            self.wake_one(by);
        }
    }

    /// Those who wait for what this worker does come first: they cannot do anything else.
    #[cold]
    fn wake_one(&self, by: usize) {
        let others = || self.beds.iter().enumerate().filter(|&(at, _)| at != by);
        let word = |bed: &Bed| bed.word.load(Ordering::Acquire);
        let waits = |word: usize| word == ANY || word == WORKER + by;
        for wanted in [&waits as &dyn Fn(usize) -> bool, &|word| word == IDLE] {
            for (_, Line(bed)) in others() {
                let word = word(bed);
                if wanted(word) && self.wake(bed, word) {
                    return;
                }
            }
        }
    }

    /// There is work for any worker: wakes one that is idle.
    pub(crate) fn injected(&self) {
        fence(Ordering::SeqCst);
        let _ = self.beds.iter().any(|Line(bed)| self.wake(bed, IDLE));
    }

    /// What this worker may wait for has ended.
    pub(crate) fn ended(&self, waiting: usize) {
        fence(Ordering::SeqCst);
        let bed = self.bed(waiting);
        let word = bed.word.load(Ordering::Acquire);
        if word != IDLE {
            self.wake(bed, word);
        }
    }

    /// Wakes all, whatever they sleep for.
    pub(crate) fn wake_all(&self) {
        fence(Ordering::SeqCst);
        for Line(bed) in &self.beds {
            self.wake(bed, bed.word.load(Ordering::Acquire));
        }
    }
}
