//! The deque on the hardware: an owner and thieves over a ring of eight slots whose positions wrap
//! around, each job counted.
//!
//! `.ci/threads steals` has a billion stolen under ThreadSanitizer, in pieces. Positions wrap
//! around at the end of 64 bits in each round of a million.

use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use super::{Deque, Hardware, Stolen};

type Small = Deque<Hardware, 8>;

const THIEVES: usize = 2;

/// How many jobs thieves take at least.
fn wanted() -> u64 {
    let few = if cfg!(miri) { 100 } else { 20_000 };
    std::env::var("TIDINGS_STEALS").map_or(few, |count| count.parse().expect("a number"))
}

/// The most that they take of one deque.
const ROUND: u64 = 1_000_000;

/// The sum and the sum of squares of numbers seen, which tell a lost job from a doubled one, and
/// how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    count: u64,
    sum: u64,
    squares: u64,
}

impl Tally {
    fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(number);
        self.squares = self.squares.wrapping_add(number.wrapping_mul(number));
    }

    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.squares = self.squares.wrapping_add(other.squares);
    }
}

fn number(job: *mut ()) -> u64 {
    job.addr() as u64
}

fn thief(deque: &Small, stolen: &AtomicU64, ended: &AtomicBool) -> Tally {
    let mut tally = Tally::default();
    loop {
        match deque.steal() {
            Stolen::Job(job) => {
                tally.add(number(job));
                stolen.fetch_add(1, Ordering::Relaxed);
            }
            Stolen::Nothing if ended.load(Ordering::Acquire) => return tally,
            Stolen::Nothing => thread::yield_now(),
            Stolen::Lost => {}
        }
    }
}

/// Pushes a few and takes some back, in a pattern that goes through all fillings of the ring.
fn owner(deque: &Small, stolen: &AtomicU64, wanted: u64) -> (Tally, Tally) {
    let (mut added, mut taken, mut next) = (Tally::default(), Tally::default(), 1_u64);
    while stolen.load(Ordering::Relaxed) < wanted {
        for _ in 0..next % 11 {
            // SAFETY: this thread alone is the owner.
            if unsafe { deque.push(without_provenance_mut(next as usize)) }.is_some() {
                added.add(next);
            }
            next += 1;
        }
        next += 1;
        for _ in 0..next % 5 {
            // SAFETY: as above.
            match unsafe { deque.take() } {
                Some(job) => taken.add(number(job)),
                // SAFETY: as above, and it is empty.
                None => unsafe { deque.renew() },
            }
        }
    }
    // SAFETY: as above.
    while let Some(job) = unsafe { deque.take() } {
        taken.add(number(job));
    }
    (added, taken)
}

#[test]
fn each_job_leaves_once_while_the_ring_wraps_around() {
    let mut left = wanted();
    while left > 0 {
        let round = left.min(ROUND);
        each_job_leaves_once(round);
        left -= round;
    }
}

/// Of a deque whose positions wrap around thieves take so many jobs.
fn each_job_leaves_once(wanted: u64) {
    let deque = Small::starting_at(u64::MAX - 50);
    let (stolen, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let (added, mut seen) = thread::scope(|scope| {
        let spawn = || scope.spawn(|| thief(&deque, &stolen, &ended));
        let thieves: Vec<_> = (0..THIEVES).map(|_| spawn()).collect();
        let (added, mut seen) = owner(&deque, &stolen, wanted);
        ended.store(true, Ordering::Release);
        for thief in thieves {
            seen.merge(thief.join().expect("no panic"));
        }
        (added, seen)
    });
    assert_eq!(seen, added);
    assert!(stolen.into_inner() >= wanted && added.count > 50, "positions have wrapped around");
    seen.add(1);
    assert_ne!(seen, added, "a job too many would be noticed");
}

#[test]
fn a_full_ring_refuses_a_job_and_keeps_the_others() {
    let deque = Small::starting_at(0);
    // SAFETY: this thread alone is the owner.
    unsafe {
        let pushed: Vec<_> = (1..=9).map(|at| deque.push(without_provenance_mut(at))).collect();
        assert_eq!(pushed[..4], [Some(true); 4], "the oldest are public");
        assert_eq!(pushed[4..8], [Some(false); 4], "the others private");
        assert_eq!(pushed[8], None);
        assert_eq!(deque.steal(), Stolen::Job(without_provenance_mut(1)));
        assert_eq!(deque.push(without_provenance_mut(9)), Some(true));
        let left: Vec<_> = std::iter::from_fn(|| deque.take()).map(number).collect();
        assert_eq!(left, [9, 8, 7, 6, 5, 4, 3, 2]);
        assert!(deque.is_bare() && !deque.is_public());
    }
}

#[test]
fn only_the_newest_private_job_is_taken_by_name() {
    let deque = Small::starting_at(0);
    let job = without_provenance_mut;
    // SAFETY: this thread alone is the owner.
    unsafe {
        (1..=6).for_each(|at| assert!(deque.push(job(at)).is_some()));
        assert!(!deque.take_private(job(5)));
        assert!(deque.take_private(job(6)) && deque.take_private(job(5)));
        assert!(!deque.take_private(job(4)), "it is public");
        assert_eq!(deque.take(), Some(job(4)));
    }
}
