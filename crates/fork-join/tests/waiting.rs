//! What a thread may do while it waits: traps in which a pool whose threads run any job meanwhile
//! stops for ever or overflows.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use tidings_fork_join::{Pool, for_each, join, scope};

/// A job takes a lock and forks while it has it. If the thread ran another such job while it waits
/// for the fork, it would wait for itself.
#[test]
fn a_lock_may_be_held_across_a_fork() {
    let pool = Pool::new(4).expect("threads");
    let lock = Mutex::new(0_u64);
    let work = || {
        let mut sum = lock.lock().expect("no panic");
        let (one, other) = join(|| spread(8), || spread(8));
        *sum += one + other;
    };
    pool.for_each(0..200, |_| work());
    pool.scope(|scope| (0..200).for_each(|_| scope.spawn(|_| work())));
    assert_eq!(lock.into_inner().expect("no panic"), 400 * 2 * 256);
}

/// 2ⁿ leaves, by forks.
fn spread(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let (one, other) = join(|| spread(depth - 1), || spread(depth - 1));
    one + other
}

/// The second half of a fork is stolen and spawns work; the thread that waits for it does that
/// work, and not what its own frames have pending.
#[test]
fn who_waits_runs_what_descends_from_what_it_waits_for() {
    thread_local! {
        static WAITS_FOR: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    static NAMES: AtomicU64 = AtomicU64::new(1);
    /// Forks below this name; what runs on top of a frame that waits must have its name.
    fn tree(depth: u32, line: &[u64]) {
        let above = WAITS_FOR.get();
        assert!(above == 0 || line.contains(&above), "{above} is no ancestor: {line:?}");
        if depth == 0 {
            return;
        }
        let name = NAMES.fetch_add(1, Ordering::Relaxed);
        let line = [line, &[name]].concat();
        WAITS_FOR.set(name);
        join(|| run_half(depth, &line, name), || run_half(depth, &line, name));
        WAITS_FOR.set(above);
    }
    fn run_half(depth: u32, line: &[u64], name: u64) {
        let above = WAITS_FOR.get();
        assert!(above == 0 || line.contains(&above), "{above} is no ancestor: {line:?}");
        WAITS_FOR.set(name);
        tree(depth - 1, line);
        WAITS_FOR.set(above);
    }
    let pool = Pool::new(4).expect("threads");
    for _ in 0..20 {
        pool.install(|| tree(10, &[]));
    }
}

/// Each level has a fork whose second half may be stolen.
#[test]
fn recursion_of_a_hundred_thousand_levels_works() {
    fn down(depth: u32) -> u64 {
        if depth == 0 {
            return 0;
        }
        let (below, one) = join(|| down(depth - 1), || 1);
        below + one
    }
    let pool = Pool::builder().threads(2).stack_bytes(512 << 20).build().expect("threads");
    assert_eq!(pool.install(|| down(100_000)), 100_000);
}

/// The second half is the deep one, so it is what thieves take.
#[test]
fn a_long_chain_of_stolen_halves_works() {
    fn down(depth: u32) -> u64 {
        if depth == 0 {
            return 0;
        }
        let (one, below) = join(|| 1, || down(depth - 1));
        below + one
    }
    let pool = Pool::builder().threads(3).stack_bytes(512 << 20).build().expect("threads");
    assert_eq!(pool.install(|| down(100_000)), 100_000);
}

/// More jobs than the ring has room for, without a thief.
#[test]
fn spawns_beyond_the_room_run_at_once() {
    let ended = AtomicUsize::new(0);
    let pool = Pool::new(1).expect("a thread");
    pool.scope(|scope| {
        for _ in 0..20_000 {
            scope.spawn(|_| _ = ended.fetch_add(1, Ordering::Relaxed));
        }
        assert_eq!(ended.load(Ordering::Relaxed), 20_000 - 8_192);
    });
    assert_eq!(ended.into_inner(), 20_000);
}

/// Woken in time, again and again: a lost wake-up would leave a thread asleep for ever.
#[test]
fn no_wake_up_is_lost() {
    let pool = Pool::new(3).expect("threads");
    for round in 0..300 {
        let meeting = Barrier::new(3);
        // All three threads must come, from whatever sleep they are in.
        pool.scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|_| _ = meeting.wait());
            }
        });
        if round % 3 == 0 {
            while pool.counts().sleeping < 3 {
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn nested_scopes_and_loops_end() {
    let sum = AtomicU64::new(0);
    let pool = Pool::new(3).expect("threads");
    pool.for_each(0..50, |outer| {
        scope(|jobs| {
            jobs.spawn(|_| for_each(0..50, |at| _ = sum.fetch_add(at as u64, Ordering::Relaxed)));
            jobs.spawn(|_| _ = sum.fetch_add(outer as u64, Ordering::Relaxed));
        });
    });
    assert_eq!(sum.into_inner(), 50 * 1_225 + 1_225);
}
