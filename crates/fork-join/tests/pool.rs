//! The pool: what it computes, how it ends, and that it sleeps.

mod programs;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use programs::{Ours, count, fibonacci, placements, run};
use tidings_applications::homology::proteins::Proteins;
use tidings_applications::scf::{Basis, Fock};
use tidings_applications::tce::Contraction;
use tidings_applications::uts::trees::named;
use tidings_applications::{Application, fibonacci as numbers, in_order, queens::Queens};
use tidings_fork_join::{Pool, for_each, is_bare, join, scope};

fn pool(threads: usize) -> Pool {
    Pool::new(threads).expect("the system gives threads")
}

fn same_as_in_order<A>(application: &A)
where
    A: Application<Task: Send, Total: Send + PartialEq + std::fmt::Debug> + Sync,
{
    let (total, _) = in_order(application);
    for threads in [1, 2, 4] {
        assert_eq!(pool(threads).install(|| run(application)), total, "{threads} threads");
    }
}

#[test]
fn applications_come_to_the_same_as_in_order() {
    same_as_in_order(&numbers::Fibonacci(18));
    same_as_in_order(&Queens::new(8).expect("a board"));
    same_as_in_order(&named("T5").expect("a tree").tree);
}

/// Sums of integers, which wrap: the same bit by bit whatever ran where.
#[test]
fn checksums_are_those_of_one_thread() {
    same_as_in_order(&Contraction::new(3, 2, 3));
    same_as_in_order(&Proteins::new(24, 5));
}

/// Sums of doubles depend on their order, by roundings alone.
#[test]
fn a_fock_matrix_is_that_of_one_thread() {
    let fock = Fock::new(Basis::line(4));
    let (matrix, _) = in_order(&fock);
    for threads in [1, 2, 4] {
        let error = pool(threads).install(|| run(&fock)).difference(&matrix);
        assert!(error < 1e-12, "{threads} threads: {error}");
    }
}

#[test]
fn forks_count_a_tree_as_it_is() {
    let tree = named("T1").expect("a tree");
    for threads in [1, 2, 3] {
        let pool = Pool::builder().threads(threads).stack_bytes(64 << 20).build().expect("threads");
        assert!(tree.is(&pool.install(|| count(&tree.tree, Ours))), "{threads} threads");
    }
}

#[test]
fn forks_count_the_placements_of_queens() {
    for threads in [1, 2, 3] {
        assert_eq!(pool(threads).install(|| placements(9, Ours)), 352, "{threads} threads");
    }
}

#[test]
fn both_halves_run_at_the_same_time() {
    let pool = pool(2);
    let meeting = Barrier::new(2);
    // Each half waits until the other is there.
    pool.join(|| meeting.wait(), || meeting.wait());
}

#[test]
fn each_number_of_a_range_is_called_once() {
    for (threads, n) in [(1, 1_000), (3, 0), (3, 1), (2, 100_000), (4, 77_777)] {
        let calls: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        pool(threads).for_each(0..n, |at| {
            calls[at].fetch_add(1, Ordering::Relaxed);
        });
        assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 1), "{threads} of {n}");
    }
}

/// Split once for each thief, not once for each grain.
#[test]
fn a_loop_is_not_split_without_need() {
    let pool = pool(1);
    let names = Mutex::new(BTreeSet::new());
    pool.for_each(0..1_000, |_| {
        names.lock().expect("no panic").insert(format!("{:?}", thread::current().name()));
    });
    assert_eq!(names.into_inner().expect("no panic").len(), 1);
    assert_eq!(pool.counts().steals, 0);
}

#[test]
fn a_scope_returns_when_all_that_was_spawned_has_ended() {
    fn grow<'s>(scope: &tidings_fork_join::Scope<'s>, depth: u32, ended: &'s AtomicUsize) {
        for _ in 0..if depth == 0 { 0 } else { 3 } {
            scope.spawn(move |scope| grow(scope, depth - 1, ended));
        }
        ended.fetch_add(1, Ordering::Relaxed);
    }
    for threads in [1, 2, 4] {
        let ended = AtomicUsize::new(0);
        pool(threads).scope(|scope| grow(scope, 8, &ended));
        assert_eq!(ended.into_inner(), (0..=8).map(|depth| 3_usize.pow(depth)).sum());
    }
}

/// The job lies above the second half in the deque, and belongs to another frame.
#[test]
fn a_fork_may_spawn_into_a_scope_around_it() {
    for threads in [1, 2] {
        let ended = AtomicUsize::new(0);
        let job = || {
            ended.fetch_add(1, Ordering::Relaxed);
        };
        pool(threads).scope(|scope| {
            for _ in 0..1_000 {
                join(|| scope.spawn(|_| job()), || scope.spawn(|_| job()));
            }
        });
        assert_eq!(ended.into_inner(), 2_000);
    }
}

#[test]
fn a_spawn_from_a_thread_outside_runs_there() {
    let ran_on = Mutex::new(None);
    pool(2).scope(|scope| {
        thread::scope(|threads| {
            let outside = threads.spawn(|| {
                scope.spawn(|_| *ran_on.lock().expect("no panic") = Some(thread::current().id()));
                thread::current().id()
            });
            let id = outside.join().expect("no panic");
            assert_eq!(*ran_on.lock().expect("no panic"), Some(id));
        });
    });
}

#[test]
fn functions_without_a_pool_have_one() {
    assert_eq!(fibonacci(15, Ours), 610);
    let ended = AtomicUsize::new(0);
    scope(|scope| {
        scope.spawn(|_| for_each(0..10, |at| _ = ended.fetch_add(at, Ordering::Relaxed)));
    });
    assert_eq!(ended.into_inner(), 45);
    assert!(!is_bare(), "this thread is in no pool");
}

#[test]
fn pools_may_call_each_other_and_end_inside() {
    let (outer, inner) = (pool(2), pool(2));
    assert_eq!(outer.install(|| inner.install(|| fibonacci(12, Ours))), 144);
    assert_eq!(outer.install(move || (inner.threads(), drop(inner)).0), 2);
}

/// Idle workers sleep, each once, and nothing wakes them: no period, no polling.
#[test]
fn an_idle_pool_sleeps_and_stays_asleep() {
    let pool = pool(3);
    pool.install(|| fibonacci(20, Ours));
    while pool.counts().sleeping < 3 {
        thread::yield_now();
    }
    let before = pool.counts();
    // Another pool works meanwhile.
    self::pool(2).install(|| fibonacci(22, Ours));
    assert_eq!(pool.counts(), before);
    assert_eq!(pool.install(|| fibonacci(10, Ours)), 55, "and wakes when there is work");
}

#[test]
fn a_panic_arrives_when_all_has_ended() {
    let pool = pool(2);
    let ended = AtomicUsize::new(0);
    let message = |result: thread::Result<()>| {
        *result.expect_err("it panics").downcast::<&str>().expect("a message")
    };
    let first = catch_unwind(AssertUnwindSafe(|| {
        let meeting = Barrier::new(2);
        pool.join(
            || {
                meeting.wait();
                panic!("the first half")
            },
            || {
                meeting.wait();
                for_each(0..1_000, |_| _ = ended.fetch_add(1, Ordering::Relaxed));
            },
        );
    }));
    assert_eq!((message(first), ended.load(Ordering::Relaxed)), ("the first half", 1_000));
    let second = catch_unwind(|| _ = pool.join(|| fibonacci(10, Ours), || panic!("the second")));
    assert_eq!(message(second), "the second");
    let spawned = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|scope| {
            for at in 0..100 {
                scope.spawn(move |_| assert!(at != 50, "a job"));
                scope.spawn(|_| _ = ended.fetch_add(1, Ordering::Relaxed));
            }
        });
    }));
    assert_eq!((message(spawned), ended.load(Ordering::Relaxed)), ("a job", 1_100));
    assert_eq!(pool.install(|| fibonacci(10, Ours)), 55, "the pool goes on");
}
