//! What a report says.

use std::sync::atomic::{AtomicU64, Ordering};

use tidings_fork_join::Pool;
use tidings_races::{Kind, Tracked, check, check_inputs, for_each, join, memory, scope};

fn pool() -> Pool {
    Pool::new(2).expect("two threads can be had")
}

#[test]
fn a_race_names_both_places_the_tasks_and_what_lets_them_be_parallel() {
    let value = Tracked::new(0);
    let (fork, write, read) = (line!() + 2, line!() + 4, line!() + 6);
    let ((), report) = check(&pool(), || {
        let _: ((), i32) = join(
            || {
                value.set(1);
            },
            || value.get(),
        );
    });
    let [race] = &report.races[..] else { panic!("{report:?}") };
    // Whichever came first.
    let (mut sides, here) = (vec![&race.earlier, &race.later], file!());
    sides.sort_by_key(|side| side.kind == Kind::Read);
    let lines = |side: &tidings_races::Side| (side.site.file(), side.site.line());
    assert_eq!((lines(sides[0]), lines(sides[1])), ((here, write), (here, read)));
    assert_eq!((race.ancestor.file(), race.ancestor.line()), (here, fork));
    assert_eq!(sides[0].tasks.len(), 0);
    assert_eq!(sides[1].tasks.iter().map(|task| task.line()).collect::<Vec<_>>(), [fork]);
    let text = race.to_string();
    for part in [format!("write at {here}:{write}"), format!("read at {here}:{read}")] {
        assert!(text.contains(&part), "{text}");
    }
}

#[test]
fn the_first_input_with_a_race_is_named() {
    let pool = pool();
    let program = |&tasks: &usize| {
        let least = Tracked::new(u64::MAX);
        for_each(0..tasks, |at| least.write(|least| *least = (*least).min(at as u64)));
    };
    let (input, report) = check_inputs(&pool, [0, 1, 2, 3], program).expect("two tasks race");
    assert_eq!((input, report.counts.races), (2, 1));
    assert!(check_inputs(&pool, [0, 1], program).is_none());
}

#[test]
fn what_was_forgotten_is_another_place() {
    let pool = pool();
    let words = [AtomicU64::new(0), AtomicU64::new(0)];
    let half = |forgets: bool| {
        memory::declare(Kind::Write, &words[0]);
        words[0].fetch_add(1, Ordering::Relaxed);
        if forgets {
            memory::forget(&words);
        }
    };
    let races = |forgets: bool| {
        // One after the other, as if memory had been given back and used again.
        let turn = AtomicU64::new(0);
        let ((), report) = check(&pool, || {
            join(
                || {
                    half(forgets);
                    turn.store(1, Ordering::Release);
                },
                || {
                    while turn.load(Ordering::Acquire) == 0 {
                        std::thread::yield_now();
                    }
                    half(forgets);
                },
            );
        });
        report.counts.races
    };
    assert_eq!((races(false), races(true)), (1, 0));
}

#[test]
fn parts_of_a_word_are_places_of_their_own() {
    let bytes = [0_u8; 16];
    let use_in_parallel = |one: &[u8], other: &[u8]| {
        let ((), report) = check(&pool(), || {
            join(|| memory::declare(Kind::Write, one), || memory::declare(Kind::Read, other));
        });
        report.counts.races
    };
    assert_eq!(use_in_parallel(&bytes[1..3], &bytes[3..9]), 0);
    assert_eq!(use_in_parallel(&bytes[1..4], &bytes[3..9]), 1);
    assert_eq!(use_in_parallel(&bytes, &bytes[11..12]), 1);
    assert_eq!(use_in_parallel(&bytes[..0], &bytes), 0);
}

/// A kernel that writes into both of its neighbours' blocks had one race or two, by chance: whether
/// it ran after one of them or after both.
#[test]
fn an_access_has_a_race_with_each_task_that_it_conflicts_with() {
    let cells = [0_u64; 32];
    let write = |from: usize, to: usize| memory::declare(Kind::Write, &cells[from..to]);
    // One thread runs them in this order.
    let ((), report) = check(&Pool::new(1).expect("a thread"), || {
        join(|| join(|| write(0, 12), || write(20, 32)), || write(8, 24));
    });
    assert_eq!((report.races.len(), report.counts.races), (2, 2));
    let ((), report) = check(&Pool::new(1).expect("a thread"), || {
        join(|| join(|| write(0, 16), || write(16, 32)), || write(8, 24));
    });
    assert_eq!((report.races.len(), report.counts.races), (2, 2), "without a gap between them");
}

#[test]
fn a_task_of_an_outer_scope_is_counted_as_not_checked() {
    let ((), report) = check(&pool(), || {
        scope(|outer| {
            scope(|inner| inner.spawn(move |_| outer.spawn(|_| {})));
            scope(|inner| inner.spawn(|_| {}));
        });
    });
    assert_eq!((report.counts.escaped, report.counts.races), (1, 0));
}

#[test]
fn a_panic_leaves_the_thread_where_it_was() {
    let pool = pool();
    let value = Tracked::new(0);
    let ((), report) = check(&pool, || {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            join(|| value.set(1), || panic!("on purpose"));
        }));
        assert!(caught.is_err());
        // After the fork, so ordered.
        value.set(2);
    });
    assert_eq!(report.races, []);
    let outside = pool.install(|| join(|| value.set(3), || value.set(4)));
    assert_eq!((outside, value.into_inner() > 2), (((), ()), true));
}
