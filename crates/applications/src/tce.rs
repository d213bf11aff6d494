//! A tensor contraction as coupled-cluster programs have them: `C[ab,ij] += A[ab,ef] · B[ef,ij]`.
//!
//! Each index runs over *tiles*: orbitals of one spin and one irreducible representation of the
//! molecule's point group. A block of a tensor is zero by symmetry, and does not exist, unless
//! the spins and the representations of its four tiles multiply to 1: one in eight exists here. A
//! task is the product of two blocks and adds one block to C; it costs 2 · m · n · k operations,
//! so costs are known before and differ as products of six tile sizes do.
//!
//! What is ours: the tiles are drawn from a seed, and elements are small integers that follow from
//! their place. So sums are exact, and a total is the same bit by bit whatever ran where.
//!
//! Source: the Tensor Contraction Engine (Hirata, J. Phys. Chem. A 2003); the tensors of the papers
//! on work stealing are not public.

use tidings_primitives::chance::{Chance, mix};

use crate::Application;

/// Orbitals of a tile: at least and at most.
const SMALLEST: f64 = 8.0;
const LARGEST: f64 = 40.0;

/// The irreducible representations of C₂ᵥ: they multiply as two bits are added without carry.
const REPRESENTATIONS: usize = 4;

/// Consecutive orbitals of one symmetry.
#[derive(Clone, Copy, Debug)]
struct Tile {
    orbitals: usize,
    /// Spin (a bit) and representation (two bits): they multiply by exclusive or.
    symmetry: usize,
}

/// The tiles of a molecule.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// Of a, b, e and f.
    empty: Vec<Tile>,
    /// Of i and j.
    occupied: Vec<Tile>,
    seed: u64,
}

/// A product of two blocks, by the tiles of its six indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// Tiles of a and b: rows.
    pub ab: [u16; 2],
    /// Tiles of e and f: what is summed over.
    pub ef: [u16; 2],
    /// Tiles of i and j: columns.
    pub ij: [u16; 2],
}

/// The sum of all elements of C, each times a number of its place: sensitive to each element,
/// exact, and the same in any order (it wraps).
pub type Checksum = i64;

impl Contraction {
    /// A molecule with this many tiles of empty and of occupied orbitals.
    pub fn new(empty: u16, occupied: u16, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let mut tiles = |count: u16| (0..count).map(|_| tile(&mut chance)).collect();
        Self { empty: tiles(empty), occupied: tiles(occupied), seed }
    }

    /// Rows, columns and length of the sums of a product.
    fn sides(&self, product: &Product) -> [usize; 3] {
        let size = |tiles: &[Tile], [one, other]: [u16; 2]| {
            tiles[usize::from(one)].orbitals * tiles[usize::from(other)].orbitals
        };
        [
            size(&self.empty, product.ab),
            size(&self.occupied, product.ij),
            size(&self.empty, product.ef),
        ]
    }

    /// Pairs of tiles, each with its symmetry.
    fn pairs(tiles: &[Tile]) -> impl Iterator<Item = ([u16; 2], usize)> {
        let count = tiles.len() as u16;
        (0..count).flat_map(move |one| {
            let symmetry = move |at: u16| tiles[usize::from(at)].symmetry;
            (0..count).map(move |other| ([one, other], symmetry(one) ^ symmetry(other)))
        })
    }

    /// The block that a product adds to C, row by row.
    pub fn block(&self, product: &Product) -> Vec<i32> {
        let [rows, columns, length] = self.sides(product);
        let left = elements(self.seed ^ block_number(0, product.ab, product.ef), rows * length);
        let right = elements(self.seed ^ block_number(1, product.ef, product.ij), length * columns);
        let mut sums = vec![0; rows * columns];
        for (row, factors) in sums.chunks_exact_mut(columns).zip(left.chunks_exact(length)) {
            for (factor, others) in factors.iter().zip(right.chunks_exact(columns)) {
                row.iter_mut().zip(others).for_each(|(sum, other)| *sum += factor * other);
            }
        }
        sums
    }
}

fn tile(chance: &mut Chance) -> Tile {
    let orbitals = (SMALLEST * (LARGEST / SMALLEST).powf(chance.real())).round() as usize;
    Tile { orbitals, symmetry: chance.below(2 * REPRESENTATIONS) }
}

/// A number that no other block of the three tensors has.
fn block_number(tensor: u64, rows: [u16; 2], columns: [u16; 2]) -> u64 {
    let joined = [rows[0], rows[1], columns[0], columns[1]];
    let joined = joined.into_iter().fold(0, |sum: u64, part| (sum << 16) | u64::from(part));
    mix(joined ^ mix(tensor))
}

/// The elements of a block, integers from −4 to 3. Sums of 1,600 products are below 2¹⁵.
fn elements(block: u64, count: usize) -> Vec<i32> {
    let of_one = |word: u64| (0..16).map(move |at| (word >> (4 * at) & 7) as i32 - 4);
    let words = (0..count.div_ceil(16) as u64).map(|at| mix(block.wrapping_add(at)));
    words.flat_map(of_one).take(count).collect()
}

impl Application for Contraction {
    type Task = Product;
    type Total = Checksum;

    fn roots(&self) -> impl Iterator<Item = Product> {
        Self::pairs(&self.empty).flat_map(move |(ab, symmetry)| {
            let like = move |pair: &([u16; 2], usize)| pair.1 == symmetry;
            Self::pairs(&self.occupied).filter(like).flat_map(move |(ij, _)| {
                let sums = Self::pairs(&self.empty).filter(like);
                sums.map(move |(ef, _)| Product { ab, ef, ij })
            })
        })
    }

    fn empty(&self) -> Checksum {
        0
    }

    fn run(&self, task: &Product, total: &mut Checksum, _spawn: &mut impl FnMut(Product)) {
        let place = block_number(2, task.ab, task.ij);
        for (at, sum) in (0..).zip(self.block(task)) {
            let weight = mix(place.wrapping_add(at)) as i64;
            *total = total.wrapping_add(weight.wrapping_mul(i64::from(sum)));
        }
    }

    fn merge(&self, total: &mut Checksum, other: &Checksum) {
        *total = total.wrapping_add(*other);
    }

    /// Operations.
    fn cost(&self, task: &Product) -> u64 {
        2 * self.sides(task).into_iter().product::<usize>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_order;

    /// By its definition, element by element.
    #[test]
    fn a_block_is_the_product_of_two() {
        let contraction = Contraction::new(3, 2, 7);
        let task = contraction.roots().next().expect("a product exists");
        let [rows, columns, length] = contraction.sides(&task);
        let left = elements(7 ^ block_number(0, task.ab, task.ef), rows * length);
        let right = elements(7 ^ block_number(1, task.ef, task.ij), length * columns);
        let block = contraction.block(&task);
        for (row, column) in [(0, 0), (rows - 1, columns - 1), (rows / 2, columns / 3)] {
            let term = |at: usize| left[row * length + at] * right[at * columns + column];
            assert_eq!(block[row * columns + column], (0..length).map(term).sum::<i32>());
        }
    }

    #[test]
    fn one_block_in_eight_exists() {
        let contraction = Contraction::new(24, 8, 1);
        let possible = 24_f64.powi(4) * 8_f64.powi(2);
        let share = 64.0 * contraction.roots().count() as f64 / possible;
        // Two conditions, each met by one in eight if symmetries were equally frequent.
        assert!((0.9..1.3).contains(&share), "{share}");
    }

    #[test]
    fn costs_are_as_uneven_as_tiles() {
        let contraction = Contraction::new(24, 8, 1);
        let costs: Vec<u64> = contraction.roots().map(|task| contraction.cost(&task)).collect();
        let (least, most) = (costs.iter().min(), costs.iter().max());
        let ratio = most.zip(least).map(|(most, least)| most / least);
        assert!(ratio > Some(600) && ratio < Some(15_625), "{ratio:?}");
    }

    #[test]
    fn the_checksum_does_not_depend_on_who_ran_what() {
        let contraction = Contraction::new(3, 2, 3);
        let mut total = contraction.empty();
        for one in contraction.roots() {
            let mut part = contraction.empty();
            contraction.run(&one, &mut part, &mut |_| ());
            contraction.merge(&mut total, &part);
        }
        let (reference, tasks) = in_order(&contraction);
        assert_eq!((total, tasks), (reference, contraction.roots().count() as u64));
        assert_ne!(total, 0);
    }
}
