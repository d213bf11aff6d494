//! A Fock matrix: the tasks are divided by halves, read blocks of the density and add to blocks of
//! the matrix.

use std::ops::Range;
use std::sync::LazyLock;

use tidings_applications::scf::matrix::{BLOCK, Block};
use tidings_applications::scf::{Basis, Contribution, Fock};
use tidings_races::{Kind, Tracked, join, memory};

use crate::programs::Program;

/// It.
pub(crate) struct Scf;

/// Eight atoms in a line: 1,296 tasks.
static FOCK: LazyLock<Fock> = LazyLock::new(|| Fock::new(Basis::grid([8, 1, 1])));

/// What tasks share.
struct Shared {
    matrix: Vec<Tracked<Block>>,
    /// A number for each block of the density.
    density: Vec<u64>,
    with_race: bool,
}

impl Program for Scf {
    fn run(&self, with_race: bool) {
        let (side, shared) = (FOCK.blocks(), Shared::new(with_race));
        let all = 0..usize::try_from(FOCK.tasks()).expect("there are some thousands");
        shared.range(all);
        let trace: f64 = (0..side).map(|at| shared.block(at, at).get().elements()[0]).sum();
        assert!(trace.abs() > 1.0, "{trace}");
    }
}

impl Shared {
    fn new(with_race: bool) -> Self {
        let blocks = FOCK.blocks().pow(2);
        let matrix: Vec<_> = (0..blocks).map(|_| Tracked::new(Block::zero())).collect();
        let density: Vec<_> = (0..blocks as u64).collect();
        for (block, density) in matrix.iter().zip(&density) {
            block.set(Block::zero());
            memory::declare(Kind::Write, density);
        }
        Self { matrix, density, with_race }
    }

    fn block(&self, row: usize, column: usize) -> &Tracked<Block> {
        &self.matrix[row * FOCK.blocks() + column]
    }

    fn range(&self, range: Range<usize>) {
        if range.len() > 1 {
            let middle = usize::midpoint(range.start, range.end);
            join(|| self.range(range.start..middle), || self.range(middle..range.end));
        } else {
            self.task(range.start as u64);
        }
    }

    fn task(&self, number: u64) {
        let task = FOCK.quartet(number);
        let Some(Contribution { ij, ik, .. }) = FOCK.contribution(task) else { return };
        for row in [task.k, task.j] {
            memory::declare(Kind::Read, &self.density[row * FOCK.blocks() + task.l]);
        }
        self.add(task.i, task.j, &ij);
        self.add(task.i, task.k, &ik);
    }

    fn add(&self, row: usize, column: usize, more: &Block) {
        let add = |sum: &mut Block| {
            for (at, &value) in more.elements().iter().enumerate() {
                sum.add(at / BLOCK, at % BLOCK, value);
            }
        };
        let block = self.block(row, column);
        if self.with_race { block.write(add) } else { block.update(add) }
    }
}
