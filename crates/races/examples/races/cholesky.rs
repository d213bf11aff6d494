//! Cholesky's decomposition of a matrix in tiles, by halves: tasks declare which tiles they read
//! and write.
//!
//! Source: the program `cholesky` of Cilk (Frigo, Leiserson, Randall, PLDI 1998), which divides a
//! matrix in the same way, here without sparse parts.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use tidings_races::{Kind, join, memory};

use crate::programs::Program;

/// It.
pub(crate) struct Cholesky;

/// Tiles of a side, and numbers of a side of a tile.
const TILES: usize = 16;
const SIDE: usize = 48;

type Tile = Mutex<Vec<f64>>;

struct Matrix {
    tiles: Vec<Tile>,
    with_race: bool,
}

impl Program for Cholesky {
    fn run(&self, with_race: bool) {
        let matrix = Matrix::example(with_race);
        matrix.decompose(0..TILES);
        // The square of the last row is the last number of the diagonal.
        let last = |column| matrix.read((TILES - 1, column))[SIDE * (SIDE - 1)..].to_vec();
        let square: f64 = (0..TILES).flat_map(last).map(|number| number * number).sum();
        assert!(with_race || (square - (2 * TILES * SIDE) as f64).abs() < 1e-9, "{square}");
    }
}

fn halves(range: &Range<usize>) -> [Range<usize>; 2] {
    let middle = usize::midpoint(range.start, range.end);
    [range.start..middle, middle..range.end]
}

impl Matrix {
    /// Symmetric, with a large diagonal.
    fn example(with_race: bool) -> Self {
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
        Self { tiles: (0..TILES * TILES).map(tile).collect(), with_race }
    }

    /// The tiles of a range in both directions.
    fn decompose(&self, all: Range<usize>) {
        if all.len() == 1 {
            return self.change((all.start, all.start), factor);
        }
        let [one, other] = halves(&all);
        self.decompose(one.clone());
        if self.with_race && all == (0..2) {
            // The last does not wait for the tile that it needs.
            let solve = || self.solve(other.clone(), one.clone());
            join(solve, || self.subtract(other.clone(), other.clone(), &one));
        } else {
            self.solve(other.clone(), one.clone());
            self.subtract(other.clone(), other.clone(), &one);
        }
        self.decompose(other);
    }

    /// Rows right of what is decomposed, below it.
    fn solve(&self, rows: Range<usize>, columns: Range<usize>) {
        if rows.len() > 1 {
            let [one, other] = halves(&rows);
            join(|| self.solve(one, columns.clone()), || self.solve(other, columns.clone()));
        } else if columns.len() > 1 {
            let [one, other] = halves(&columns);
            self.solve(rows.clone(), one.clone());
            self.subtract(rows.clone(), other.clone(), &one);
            self.solve(rows, other);
        } else {
            let at = (rows.start, columns.start);
            self.apply(at, [(at.1, at.1); 2], solve);
        }
    }

    /// From tiles of rows and columns the product of both rows, in the columns of `by`. What is
    /// above the diagonal stays.
    fn subtract(&self, rows: Range<usize>, columns: Range<usize>, by: &Range<usize>) {
        if rows.end <= columns.start {
            return;
        }
        if rows.len().max(columns.len()) == 1 {
            for k in by.clone() {
                let (i, j) = (rows.start, columns.start);
                self.apply((i, j), [(i, k), (j, k)], subtract);
            }
        } else if rows.len() >= columns.len() {
            let [one, other] = halves(&rows);
            join(
                || self.subtract(one, columns.clone(), by),
                || self.subtract(other, columns.clone(), by),
            );
        } else {
            let [one, other] = halves(&columns);
            join(
                || self.subtract(rows.clone(), one, by),
                || self.subtract(rows.clone(), other, by),
            );
        }
    }

    fn tile(&self, (row, column): (usize, usize)) -> &Tile {
        &self.tiles[row * TILES + column]
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
        from: [(usize, usize); 2],
        kernel: fn(&mut [f64], &[f64], &[f64]),
    ) {
        let [first, last] = from.map(|from| self.read(from));
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
