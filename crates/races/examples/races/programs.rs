//! Programs, each with a race if that is asked for.

use tidings_races::{Tracked, join, scope};

/// A program that is checked.
pub(crate) trait Program: Sync {
    /// Runs it.
    fn run(&self, with_race: bool);
}

/// Fibonacci numbers: each call writes its result where its caller reads it, and what has forked
/// nothing is counted.
pub(crate) struct Fib;

/// Below it a call forks nothing.
const ALONE: u32 = 10;

impl Program for Fib {
    fn run(&self, with_race: bool) {
        let (result, calls) = (Tracked::new(0), Tracked::new(0));
        fib(30, &result, &calls, with_race);
        assert_eq!((result.into_inner(), calls.into_inner()), (832_040, 28_657));
    }
}

fn fib(n: u32, result: &Tracked<u64>, calls: &Tracked<u64>, with_race: bool) {
    if n < ALONE {
        calls.update(|calls| *calls += 1);
        return result.set(in_order(n));
    }
    let (one, other) = (Tracked::new(0), Tracked::new(0));
    join(
        || fib(n - 1, &one, calls, with_race),
        || {
            fib(n - 2, &other, calls, with_race);
            if with_race && n == ALONE {
                // It does not wait for the other half.
                std::hint::black_box(one.get());
            }
        },
    );
    result.set(one.get() + other.get());
}

fn in_order(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { in_order(n - 1) + in_order(n - 2) }
}

/// Queens on a board: a task for each placement in the first rows.
pub(crate) struct Queens;

const BOARD: u32 = 12;

/// The rows whose placements are tasks.
const ROWS: u32 = 4;

impl Program for Queens {
    fn run(&self, with_race: bool) {
        let total = Tracked::new(0);
        place(0, [0; 3], &total, with_race);
        assert!(with_race || total.into_inner() == 14_200);
    }
}

/// The queens' columns and diagonals, as bits of the row.
fn free([columns, left, right]: [u32; 3]) -> impl Iterator<Item = u32> {
    let mut free = !(columns | left | right) & ((1 << BOARD) - 1);
    std::iter::from_fn(move || {
        let bit = free & free.wrapping_neg();
        free ^= bit;
        (bit != 0).then_some(bit)
    })
}

fn after([columns, left, right]: [u32; 3], bit: u32) -> [u32; 3] {
    [columns | bit, (left | bit) << 1, (right | bit) >> 1]
}

fn place(row: u32, taken: [u32; 3], total: &Tracked<u64>, with_race: bool) {
    if row == ROWS {
        let found = count(row, taken);
        return if with_race {
            total.write(|sum| *sum += found);
        } else {
            total.update(|sum| *sum += found);
        };
    }
    scope(|tasks| {
        for bit in free(taken) {
            tasks.spawn(move |_| place(row + 1, after(taken, bit), total, with_race));
        }
    });
}

fn count(row: u32, taken: [u32; 3]) -> u64 {
    if row == BOARD { 1 } else { free(taken).map(|bit| count(row + 1, after(taken, bit))).sum() }
}
