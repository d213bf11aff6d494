//! Three programs, each with a race if that is asked for.

use std::sync::{Mutex, PoisonError};

use tidings_races::{Kind, Tracked, join, memory, scope};

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

/// Cholesky's decomposition of a matrix in tiles: tasks declare which tiles they read and write.
pub(crate) struct Cholesky;

/// Tiles of a side, and numbers of a side of a tile.
const TILES: usize = 12;
const SIDE: usize = 48;

type Tile = Mutex<Vec<f64>>;

struct Matrix(Vec<Tile>);

impl Program for Cholesky {
    fn run(&self, with_race: bool) {
        let matrix = Matrix::example();
        for k in 0..TILES {
            matrix.change((k, k), factor);
            scope(|tasks| {
                let matrix = &matrix;
                for i in k + 1..TILES {
                    tasks.spawn(move |_| matrix.apply((i, k), &[(k, k)], solve));
                    if with_race && i == TILES - 1 {
                        // It does not wait for the tile that it needs.
                        tasks.spawn(move |_| matrix.apply((i, i), &[(i, k)], subtract));
                    }
                }
            });
            scope(|tasks| {
                let matrix = &matrix;
                for i in k + 1..TILES {
                    for j in k + 1..=i {
                        tasks.spawn(move |_| matrix.apply((i, j), &[(i, k), (j, k)], subtract));
                    }
                }
            });
        }
        let corner = matrix.read((0, 0))[0];
        assert!((corner - (2.0 * (TILES * SIDE) as f64).sqrt()).abs() < 1e-9);
    }
}

impl Matrix {
    /// Symmetric, with a large diagonal.
    fn example() -> Self {
        let tile = |at: usize| {
            let (i, j) = (at / TILES, at % TILES);
            let number = |at: usize| {
                let (row, column) = (i * SIDE + at / SIDE, j * SIDE + at % SIDE);
                let diagonal = if row == column { 2 * TILES * SIDE } else { 0 };
                diagonal as f64
                    + 1.0 / (1.0 + row.abs_diff(column) as f64) * f64::from(row != column)
            };
            Mutex::new((0..SIDE * SIDE).map(number).collect())
        };
        Self((0..TILES * TILES).map(tile).collect())
    }

    fn tile(&self, (row, column): (usize, usize)) -> &Tile {
        &self.0[row * TILES + column]
    }

    /// A copy of a tile; its first number stands for all.
    #[track_caller]
    fn read(&self, at: (usize, usize)) -> Vec<f64> {
        let tile = self.tile(at).lock().unwrap_or_else(PoisonError::into_inner);
        memory::declare(Kind::Read, &tile[0]);
        tile.clone()
    }

    #[track_caller]
    fn change(&self, at: (usize, usize), change: impl FnOnce(&mut [f64])) {
        let mut tile = self.tile(at).lock().unwrap_or_else(PoisonError::into_inner);
        memory::declare(Kind::Write, &tile[0]);
        change(&mut tile);
    }

    #[track_caller]
    fn apply(
        &self,
        at: (usize, usize),
        from: &[(usize, usize)],
        kernel: fn(&mut [f64], &[f64], &[f64]),
    ) {
        let first = self.read(from[0]);
        let last = self.read(from[from.len() - 1]);
        self.change(at, |tile| kernel(tile, &first, &last));
    }
}

fn factor(tile: &mut [f64]) {
    for k in 0..SIDE {
        let root = tile[k * SIDE + k].sqrt();
        tile[k * SIDE + k] = root;
        for i in k + 1..SIDE {
            tile[i * SIDE + k] /= root;
        }
        for i in k + 1..SIDE {
            for j in k + 1..=i {
                tile[i * SIDE + j] -= tile[i * SIDE + k] * tile[j * SIDE + k];
            }
        }
    }
}

/// X with X Lᵀ = this tile.
fn solve(tile: &mut [f64], factor: &[f64], _: &[f64]) {
    for row in tile.chunks_exact_mut(SIDE) {
        for k in 0..SIDE {
            let sum: f64 = (0..k).map(|j| row[j] * factor[k * SIDE + j]).sum();
            row[k] = (row[k] - sum) / factor[k * SIDE + k];
        }
    }
}

fn subtract(tile: &mut [f64], one: &[f64], other: &[f64]) {
    for (row, a) in tile.chunks_exact_mut(SIDE).zip(one.chunks_exact(SIDE)) {
        for (number, b) in row.iter_mut().zip(other.chunks_exact(SIDE)) {
            *number -= a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        }
    }
}
