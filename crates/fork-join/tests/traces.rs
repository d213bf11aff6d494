//! Traces of what a pool's threads took from each other.

use std::sync::atomic::{AtomicBool, Ordering};

use tidings_fork_join::Pool;
use tidings_steal::trace::{File, Tree};

fn tree(pool: &Pool) -> Tree {
    let file = pool.trace().expect("a log has room for so little").encode();
    let (_, events) = File::decode(&file).expect("it was just written");
    Tree::of(&events).expect("what a pool notes goes together")
}

/// Has one half of a fork stolen.
fn have_a_half_stolen(pool: &Pool) {
    let is_taken = AtomicBool::new(false);
    pool.install(|| {
        pool.join(
            || {
                while !is_taken.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
            },
            || is_taken.store(true, Ordering::Release),
        );
    });
}

#[test]
fn a_steal_is_below_what_it_was_taken_from() {
    let pool = Pool::new(2).expect("two threads can be had");
    have_a_half_stolen(&pool);
    let tree = tree(&pool);
    assert_eq!((tree.statistics.workers, tree.statistics.steals), (2, 1));
    let thief = tree.phases.iter().find(|phase| phase.parent.is_some()).expect("there was a steal");
    let victim = &tree.phases[thief.parent.expect("it was just found")];
    assert_eq!((thief.depth, victim.gifts, victim.parent), (1, 1, None));
    assert_ne!(thief.worker, victim.worker);
    // What is taken is not there again.
    assert_eq!(self::tree(&pool).statistics.steals, 0);
}

#[test]
fn a_pool_that_is_not_traced_notes_no_steal() {
    let pool = Pool::builder().threads(2).traced(false).build().expect("two threads can be had");
    have_a_half_stolen(&pool);
    assert_eq!((pool.counts().steals, tree(&pool).statistics.steals), (1, 0));
}

#[test]
fn each_steal_of_many_forks_is_in_the_trace() {
    let pool = Pool::new(4).expect("four threads can be had");
    for _ in 0..20 {
        let before = pool.counts().steals;
        pool.install(|| fork(12));
        let steals = pool.counts().steals - before;
        assert_eq!(tree(&pool).statistics.steals, steals);
    }
}

fn fork(depth: u32) {
    if depth > 0 {
        tidings_fork_join::join(|| fork(depth - 1), || fork(depth - 1));
    } else {
        std::thread::yield_now();
    }
}
