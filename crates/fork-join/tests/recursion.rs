//! Recursion deeper than a stack: by forks, scopes and loops it is a panic, by jobs it works.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use tidings_fork_join::{Pool, Scope, for_each, join, scope};

const LEVELS: usize = 1_000_000;

fn pool() -> Pool {
    Pool::builder().threads(2).stack_bytes(2 << 20).build().expect("the system gives threads")
}

/// The work panics with the text that names the remedy, and its pool goes on.
fn overruns(work: impl Fn() -> usize + Sync) {
    let pool = pool();
    for _ in 0..2 {
        let outcome = catch_unwind(AssertUnwindSafe(|| pool.install(&work)));
        let text = *outcome.expect_err("it panics").downcast::<String>().expect("a message");
        assert!(text.contains("256 KiB of this thread's stack of 2048 KiB"), "{text}");
        assert!(text.contains("set Builder::stack_bytes"), "{text}");
    }
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
}

#[test]
fn deep_first_halves_panic() {
    fn down(levels: usize) -> usize {
        if levels == 0 { 0 } else { join(|| down(levels - 1), || 1).0 }
    }
    overruns(|| down(LEVELS));
}

/// The deep half is what thieves take.
#[test]
fn deep_second_halves_panic() {
    fn down(levels: usize) -> usize {
        if levels == 0 { 0 } else { join(|| 1, || down(levels - 1)).1 }
    }
    overruns(|| down(LEVELS));
}

#[test]
fn deep_scopes_panic() {
    fn down(levels: usize) -> usize {
        if levels == 0 { 0 } else { scope(|_| black_box(down(levels - 1))) }
    }
    overruns(|| down(LEVELS));
}

/// One call a loop goes down. If both did, a thread that waits for the other would find a part that
/// is one level less deep, and go down again: there are more leaves than anybody can visit.
#[test]
fn deep_loops_panic() {
    fn down(levels: usize) {
        if levels > 0 {
            for_each(0..2, |at| {
                if at == 0 {
                    down(black_box(levels - 1));
                }
            });
        }
    }
    overruns(|| {
        down(LEVELS);
        0
    });
}

/// With room for what is left the job runs on top of its caller, as many times as there are.
#[test]
fn jobs_that_run_first_in_each_other_panic() {
    fn down(scope: &Scope<'_>, levels: usize) {
        if levels > 0 {
            scope.spawn_first(|scope| down(scope, levels - 1), |_| ());
        }
    }
    overruns(|| {
        scope(|scope| down(scope, LEVELS));
        0
    });
}

#[test]
fn a_chain_of_a_hundred_thousand_jobs_works_by_both_policies() {
    fn help_first<'s>(scope: &Scope<'s>, levels: usize, ran: &'s AtomicUsize) {
        ran.fetch_add(1, Ordering::Relaxed);
        if levels > 0 {
            scope.spawn(move |scope| help_first(scope, levels - 1, ran));
        }
    }
    fn work_first<'s>(scope: &Scope<'s>, levels: usize, ran: &'s AtomicUsize) {
        if levels > 0 {
            scope.spawn_first(
                |_| _ = ran.fetch_add(1, Ordering::Relaxed),
                move |scope| work_first(scope, levels - 1, ran),
            );
        }
    }
    let (pool, ran) = (pool(), AtomicUsize::new(0));
    pool.scope(|scope| help_first(scope, 100_000, &ran));
    assert_eq!(ran.swap(0, Ordering::Relaxed), 100_001);
    pool.scope(|scope| work_first(scope, 100_000, &ran));
    assert_eq!(ran.into_inner(), 100_000);
}
