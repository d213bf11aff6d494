//! A square matrix as blocks of 20 × 20, which is what tasks read and add to: 3,200 bytes each.

/// Rows and columns of a block.
pub const BLOCK: usize = 20;

const ELEMENTS: usize = BLOCK * BLOCK;

/// A block, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Block(Box<[f64; ELEMENTS]>);

/// What is seen of a block that a matrix has.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(&'a [f64]);

/// A matrix whose side is a multiple of [`BLOCK`].
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    blocks: usize,
    elements: Vec<f64>,
}

impl Block {
    /// A block of zeros.
    pub fn zero() -> Self {
        Self(Box::new([0.0; ELEMENTS]))
    }

    /// Adds to an element.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        self.0[row * BLOCK + column] += value;
    }

    /// Its elements, row by row.
    pub fn elements(&self) -> &[f64] {
        &self.0[..]
    }
}

impl View<'_> {
    /// An element.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.0[row * BLOCK + column]
    }

    /// The largest element.
    pub fn largest(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Its elements, row by row.
    pub fn elements(&self) -> &[f64] {
        self.0
    }
}

impl Matrix {
    /// The matrix of this side with these elements.
    ///
    /// # Panics
    /// If the side is no multiple of [`BLOCK`].
    pub fn of(side: usize, element: impl Fn(usize, usize) -> f64) -> Self {
        assert!(side % BLOCK == 0, "{side} is no multiple of {BLOCK}");
        let blocks = side / BLOCK;
        let mut elements = Vec::with_capacity(side * side);
        for block in 0..blocks * blocks {
            for at in 0..ELEMENTS {
                let row = block / blocks * BLOCK + at / BLOCK;
                elements.push(element(row, block % blocks * BLOCK + at % BLOCK));
            }
        }
        Self { blocks, elements }
    }

    /// The elements, block by block.
    pub fn elements(&self) -> &[f64] {
        &self.elements
    }

    /// The same, to be changed.
    pub fn elements_mut(&mut self) -> &mut [f64] {
        &mut self.elements
    }

    /// Blocks in a row.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    fn start(&self, row: usize, column: usize) -> usize {
        (row * self.blocks + column) * ELEMENTS
    }

    /// A block.
    pub fn block(&self, row: usize, column: usize) -> View<'_> {
        let start = self.start(row, column);
        View(&self.elements[start..start + ELEMENTS])
    }

    /// An element.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.block(row / BLOCK, column / BLOCK).at(row % BLOCK, column % BLOCK)
    }

    /// The largest element.
    pub fn largest(&self) -> f64 {
        View(&self.elements).largest()
    }

    /// Adds a block to one of its own.
    pub fn accumulate(&mut self, row: usize, column: usize, block: &Block) {
        let start = self.start(row, column);
        let own = &mut self.elements[start..start + ELEMENTS];
        own.iter_mut().zip(block.elements()).for_each(|(own, other)| *own += other);
    }

    /// Adds a matrix of the same size.
    ///
    /// # Panics
    /// If it has another one.
    pub fn add(&mut self, other: &Self) {
        assert_eq!(self.blocks, other.blocks, "both belong to one application");
        self.elements.iter_mut().zip(&other.elements).for_each(|(own, other)| *own += other);
    }

    /// The largest difference of an element from the other's, relative to the largest element.
    pub fn difference(&self, other: &Self) -> f64 {
        let pairs = self.elements.iter().zip(&other.elements);
        let most = pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
        most / other.elements.iter().fold(0.0, |most: f64, one| most.max(one.abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_in_their_blocks() {
        let element = |row: usize, column: usize| (100 * row + column) as f64;
        let matrix = Matrix::of(40, element);
        assert!((matrix.at(39, 3) - 3903.0).abs() < 1e-12);
        assert!((matrix.block(1, 0).at(19, 3) - 3903.0).abs() < 1e-12);
        assert!((matrix.largest() - 3939.0).abs() < 1e-12);
    }

    #[test]
    fn a_block_is_added_to_one_place() {
        let mut matrix = Matrix::of(40, |_, _| 0.0);
        let mut block = Block::zero();
        block.add(2, 3, 1.5);
        matrix.accumulate(1, 0, &block);
        matrix.accumulate(1, 0, &block);
        assert!((matrix.at(22, 3) - 3.0).abs() < 1e-12);
        let mut doubled = matrix.clone();
        doubled.add(&matrix);
        assert!((doubled.at(22, 3) - 6.0).abs() < 1e-12);
        assert!((matrix.difference(&doubled) - 0.5).abs() < 1e-12);
    }
}
