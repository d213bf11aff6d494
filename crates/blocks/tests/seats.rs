//! Seats: no two threads have the same one at a time, and no count is lost when it changes hands.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]
#![allow(clippy::disallowed_methods, reason = "seats are of threads, so the test has some")]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use tidings_blocks::cores::{Mine, PerCore};
use tidings_blocks::seat::{self, SEATS};

const THREADS: usize = 16;
const TIMES: u64 = 10_000;

/// One test, since seats belong to the process: the second part takes all of them.
#[test]
fn a_seat_has_one_thread_and_its_counts_stay() {
    let cores = Arc::new(PerCore::new(|| AtomicU64::new(0)));
    let taken: Arc<Vec<AtomicU32>> = Arc::new((0..SEATS).map(|_| AtomicU32::new(0)).collect());
    for _ in 0..8 {
        let all = Barrier::new(THREADS);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    all.wait();
                    let own = seat::own().unwrap();
                    assert_eq!(taken[own].fetch_add(1, Ordering::SeqCst), 0);
                    for _ in 0..TIMES {
                        let Mine::Alone(count) = cores.mine() else { panic!("a seat") };
                        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    }
                    assert_eq!(seat::own(), Some(own));
                    all.wait();
                    taken[own].fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
    }
    let sum: u64 = cores.all().map(|count| count.load(Ordering::Relaxed)).sum();
    assert_eq!(sum, 8 * THREADS as u64 * TIMES);
    those_without_a_seat_share(&cores);
}

fn those_without_a_seat_share(cores: &PerCore<AtomicU64>) {
    let before: u64 = cores.all().map(|count| count.load(Ordering::Relaxed)).sum();
    let (all, threads) = (Barrier::new(SEATS + 8), SEATS + 8);
    let shared = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mine = cores.mine();
                // No seat is given back before all have asked.
                all.wait();
                match mine {
                    Mine::Alone(count) => {
                        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    }
                    Mine::Shared(count) => {
                        shared.fetch_add(1, Ordering::Relaxed);
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let after: u64 = cores.all().map(|count| count.load(Ordering::Relaxed)).sum();
    assert_eq!(after - before, threads as u64);
    assert!(shared.load(Ordering::Relaxed) >= 8);
}
