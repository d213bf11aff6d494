//! The deque in a model of the machine: loom runs all interleavings of an owner and thieves, with
//! the loads and stores in each order that the memory model permits.
//!
//! The code is that of `mod.rs`, over loom's words. The ring has two or four slots, and positions
//! begin just before they wrap around, so slots are used again and the counter passes zero. To
//! validate the model, the same deque without fences is shown to lose or double a job.

use std::ptr::without_provenance_mut;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};
use loom::thread;

use super::{Deque, Index, Machine, Slot, Stolen};

/// Two positions before they wrap around.
const START: u64 = u64::MAX - 1;

/// loom's memory, with the deque's fence or without it.
struct Modelled<const FENCED: bool>;

impl<const FENCED: bool> Machine for Modelled<FENCED> {
    type Index = AtomicU64;
    type Slot = AtomicPtr<()>;

    fn fence() {
        if FENCED {
            fence(Ordering::SeqCst);
        }
    }
}

impl Index for AtomicU64 {
    fn new(position: u64) -> Self {
        AtomicU64::new(position)
    }
    fn relaxed(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }
    fn acquire(&self) -> u64 {
        self.load(Ordering::Acquire)
    }
    fn release(&self, position: u64) {
        self.store(position, Ordering::Release);
    }
    fn exchange(&self, position: u64) -> bool {
        let next = position.wrapping_add(1);
        self.compare_exchange(position, next, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }
}

impl Slot for AtomicPtr<()> {
    fn empty() -> Self {
        AtomicPtr::new(std::ptr::null_mut())
    }
    fn get(&self) -> *mut () {
        self.load(Ordering::Relaxed)
    }
    fn set(&self, job: *mut ()) {
        self.store(job, Ordering::Relaxed);
    }
}

fn job(number: usize) -> *mut () {
    without_provenance_mut(number)
}

/// Steals as often as this and returns what came of it.
fn steal<const N: usize, const F: bool>(
    deque: &Deque<Modelled<F>, N>,
    attempts: usize,
) -> Vec<usize> {
    (0..attempts)
        .filter_map(|_| match deque.steal() {
            Stolen::Job(job) => Some(job.addr()),
            Stolen::Nothing | Stolen::Lost => None,
        })
        .collect()
}

/// The owner pushes one, two, takes, pushes three and takes all, while thieves steal; each job
/// that was added comes out once.
fn check<const FENCED: bool>(thieves: usize, attempts: usize) {
    let mut model = loom::model::Builder::new();
    // Two thieves and all interleavings would take hours: those with two preemptions.
    model.preemption_bound = (thieves > 1).then_some(2);
    model.check(move || {
        let deque = Arc::new(Deque::<Modelled<FENCED>, 2>::starting_at(START));
        // SAFETY: this thread alone is the owner.
        let mut added: Vec<usize> =
            [1, 2].into_iter().filter(|&at| unsafe { deque.push(job(at)) }.is_some()).collect();
        let thieves: Vec<_> = (0..thieves)
            .map(|_| {
                let deque = Arc::clone(&deque);
                thread::spawn(move || steal(&deque, attempts))
            })
            .collect();
        // SAFETY: as above.
        let mut seen: Vec<usize> =
            unsafe { deque.take() }.into_iter().map(<*mut ()>::addr).collect();
        // SAFETY: as above.
        if unsafe { deque.push(job(3)) }.is_some() {
            added.push(3);
        }
        // SAFETY: as above.
        while let Some(job) = unsafe { deque.take() } {
            seen.push(job.addr());
        }
        seen.extend(thieves.into_iter().flat_map(|thief| thief.join().expect("no panic")));
        seen.sort_unstable();
        assert_eq!(seen, added, "each job once");
    });
}

#[test]
fn each_job_leaves_once() {
    check::<true>(1, 2);
}

#[test]
fn each_job_leaves_once_with_two_thieves() {
    check::<true>(2, 1);
}

#[test]
#[should_panic = "each job once"]
fn without_fences_a_job_leaves_twice() {
    check::<false>(1, 2);
}

/// A worker ends one stolen job, says so, and begins what has nothing to do with it. One who waits
/// for the first must not steal what the second pushes.
#[test]
fn a_ticket_from_a_job_steals_nothing_of_the_next() {
    loom::model(|| {
        let deque = Arc::new(Deque::<Modelled<true>, 4>::starting_at(START));
        let is_done = Arc::new(AtomicU64::new(0));
        let (stolen_from, ended) = (Arc::clone(&deque), Arc::clone(&is_done));
        let waiter = thread::spawn(move || {
            let ticket = stolen_from.ticket();
            if ended.load(Ordering::Acquire) == 1 {
                return Stolen::Nothing;
            }
            stolen_from.steal_at(ticket)
        });
        // SAFETY: this thread alone is the owner.
        unsafe {
            deque.push(job(1));
            let _ = deque.take();
            is_done.store(1, Ordering::Release);
            deque.renew();
            deque.push(job(2));
        }
        let stolen = waiter.join().expect("no panic");
        assert_ne!(stolen, Stolen::Job(job(2)), "it descends from something else");
    });
}
