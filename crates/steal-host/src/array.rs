//! Global arrays: matrices of doubles in blocks, which any task reads and adds to.
//!
//! A block has as many elements as was said, row by row, whether or not it is the last one of a row
//! or column, which the matrix does not fill. All blocks lie in memory that all processes map; an
//! owner is the worker at which a task that needs a block runs best, as it is among ranks of MPI.
//!
//! A get, a put or an accumulate has happened when it returns. Accumulates of several workers to
//! one block all count; a get beside them may see some of their elements and not the others; puts
//! beside other accesses to the same block are an error of the program. The sum depends on the
//! order of accumulates as sums of doubles do.
//!
//! What tasks of a phase have done, all see after it; between phases [`sync`](Host::sync)
//! separates.
//!
//! Invariant: an element is one atomic word, so no process holds a lock that could die with it.
//! One that is killed in an access leaves some elements changed; its phase is lost anyway.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::ArrayError;
use crate::host::Host;
use crate::machine::Word;
use crate::mapping::{self, Words};

/// How large an array is, and its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Rows of elements.
    pub rows: usize,
    /// Columns of elements.
    pub columns: usize,
    /// Rows of a block.
    pub block_rows: usize,
    /// Columns of a block.
    pub block_columns: usize,
}

/// An array of doubles.
#[derive(Debug)]
pub struct Array {
    words: Words,
    /// Rows and columns of blocks.
    rows: usize,
    columns: usize,
    block_elements: usize,
    worker: u32,
    workers: u32,
}

impl Array {
    /// Makes an array of zeros. All workers meet for it, between phases, with the same sizes; if
    /// one fails, all do.
    ///
    /// # Errors
    /// If there is no such array, no room for it, or workers do not meet.
    pub fn create(host: &mut Host, sizes: Sizes) -> Result<Self, ArrayError> {
        let divided = divide(sizes);
        let Sizes { rows, columns, block_rows, block_columns } = sizes;
        let said = [rows, columns, block_rows, block_columns].map(|size| size as u64);
        let all = host.gather(&said)?;
        let differs = |(_, words): &(u32, &Option<Vec<u64>>)| {
            words.as_ref().is_some_and(|words| words[..] != said)
        };
        if let Some((other, _)) = (0..).zip(&all).find(differs) {
            return Err(ArrayError::Different { other });
        }
        let (rows, columns, block_elements) = divided.ok_or(ArrayError::Sizes)?;
        let words = share(host, 8 * rows * columns * block_elements)?;
        let (worker, workers) = (host.number(), host.workers());
        Ok(Self { words, rows, columns, block_elements, worker, workers })
    }

    /// Blocks in a column, and in a row.
    pub fn blocks(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Elements of a block.
    pub fn block_elements(&self) -> usize {
        self.block_elements
    }

    /// The worker that has a block; `None` if there is no such block.
    pub fn owner(&self, row: usize, column: usize) -> Option<u32> {
        let is_there = row < self.rows && column < self.columns;
        let number = row * self.columns + column;
        is_there.then_some((number % self.workers as usize) as u32)
    }

    /// Reads a block.
    ///
    /// # Errors
    /// If there is no such block, or it has another number of elements.
    pub fn get(&self, row: usize, column: usize, into: &mut [f64]) -> Result<(), ArrayError> {
        let block = self.block(row, column, into.len())?;
        for (to, word) in into.iter_mut().zip(block) {
            *to = f64::from_bits(word.get());
        }
        Ok(())
    }

    /// Writes a block.
    ///
    /// # Errors
    /// As [`Array::get`].
    pub fn put(&self, row: usize, column: usize, from: &[f64]) -> Result<(), ArrayError> {
        for (word, element) in self.block(row, column, from.len())?.iter().zip(from) {
            word.set(element.to_bits());
        }
        Ok(())
    }

    /// Adds to a block, element by element.
    ///
    /// # Errors
    /// As [`Array::get`].
    pub fn accumulate(&self, row: usize, column: usize, from: &[f64]) -> Result<(), ArrayError> {
        for (word, element) in self.block(row, column, from.len())?.iter().zip(from) {
            add(word, *element);
        }
        Ok(())
    }

    /// Sets all elements to 0. All meet for it, between phases.
    ///
    /// # Errors
    /// If others do not come.
    pub fn zero(&self, host: &mut Host) -> Result<(), ArrayError> {
        host.sync()?;
        let (own, lost): (u32, Vec<u32>) = (self.worker, host.lost().collect());
        for (number, block) in self.words.all().chunks(self.block_elements).enumerate() {
            let owner = (number % self.workers as usize) as u32;
            // The blocks of those who have ended are everybody's: a zero is a zero.
            if owner == own || lost.contains(&owner) {
                for word in block {
                    word.set(0);
                }
            }
        }
        Ok(host.sync()?)
    }

    fn block(&self, row: usize, column: usize, given: usize) -> Result<&[AtomicU64], ArrayError> {
        let Self { rows, columns, block_elements: elements, .. } = *self;
        if row >= rows || column >= columns {
            return Err(ArrayError::Block { row, column, rows, columns });
        }
        if given != elements {
            return Err(ArrayError::Length { given, elements });
        }
        let at = (row * columns + column) * elements;
        Ok(&self.words.all()[at..at + elements])
    }
}

/// Adds to an element.
#[inline]
fn add(word: &AtomicU64, element: f64) {
    let mut bits = word.get();
    loop {
        let sum = (f64::from_bits(bits) + element).to_bits();
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        match word.compare_exchange_weak(bits, sum, success, failure) {
            Ok(_) => return,
            Err(other) => bits = other,
        }
    }
}

/// Rows and columns of blocks, and elements of a block; `None` if that is no array.
fn divide(sizes: Sizes) -> Option<(usize, usize, usize)> {
    let Sizes { rows, columns, block_rows, block_columns } = sizes;
    if [rows, columns, block_rows, block_columns].contains(&0) {
        return None;
    }
    let (rows, columns) = (rows.div_ceil(block_rows), columns.div_ceil(block_columns));
    let elements = block_rows.checked_mul(block_columns)?;
    let all = rows.checked_mul(columns)?.checked_mul(elements)?;
    (all < 1 << 60).then_some((rows, columns, elements))
}

/// Memory that all map: a file that the first makes beside the segment, and that has no name any
/// more when all have it.
fn share(host: &mut Host, bytes: usize) -> Result<Words, ArrayError> {
    let (path, is_maker) = (host.beside(), host.is_first());
    let made = if is_maker { make(&path, bytes).map(Some) } else { Ok(None) };
    let said = host.gather(&[made.as_ref().map_or_else(code, |_| 0)]);
    if is_maker && said.is_err() {
        let _ = fs::remove_file(&path); // the first error is reported
    }
    if let Some(code) = failure(&said?) {
        return Err(refused(&path, bytes, code));
    }
    let mapped = match made {
        Ok(Some(words)) => Ok(words),
        _ => File::options().read(true).write(true).open(&path).and_then(|file| {
            let is_whole = file.metadata()?.len() >= bytes as u64;
            if is_whole { Words::of(&file, bytes) } else { Err(io::ErrorKind::Other.into()) }
        }),
    };
    let said = host.gather(&[mapped.as_ref().map_or_else(code, |_| 0)]);
    if is_maker {
        let _ = fs::remove_file(&path); // all have it, or nobody will
    }
    let code = failure(&said?);
    match (mapped, code) {
        (Ok(words), None) => Ok(words),
        (_, code) => Err(refused(&path, bytes, code.unwrap_or(u64::MAX))),
    }
}

fn make(path: &Path, bytes: usize) -> io::Result<Words> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error)?,
        _ => {}
    }
    Words::of(&mapping::create(path, bytes)?, bytes)
}

/// What went wrong at a worker, if anything.
fn failure(said: &[Option<Vec<u64>>]) -> Option<u64> {
    said.iter().flatten().map(|words| words[0]).find(|code| *code != 0)
}

/// An error as a word that others can read, never 0.
fn code(error: &io::Error) -> u64 {
    error.raw_os_error().map_or(u64::MAX, |code| u64::from(code.unsigned_abs()).max(1))
}

fn refused(path: &Path, bytes: usize, code: u64) -> ArrayError {
    let known = i32::try_from(code).map(io::Error::from_raw_os_error);
    let source = known.unwrap_or_else(|_| io::Error::other("a worker could not map the array"));
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull => ArrayError::Full { path, bytes },
        _ => ArrayError::Io { path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_array() {
        let sizes = |rows, columns, block_rows, block_columns| {
            divide(Sizes { rows, columns, block_rows, block_columns })
        };
        assert_eq!(sizes(96, 96, 20, 20), Some((5, 5, 400)));
        assert_eq!(sizes(1, 7, 2, 7), Some((1, 1, 14)));
        assert_eq!((sizes(0, 1, 1, 1), sizes(1, 1, 1, 0)), (None, None));
        assert_eq!(sizes(1 << 32, 1 << 32, 1, 1), None);
        assert_eq!(sizes(1, 1, usize::MAX, 2), None);
    }

    #[test]
    fn all_that_threads_add_to_an_element_counts() {
        const EACH: u32 = if cfg!(miri) { 50 } else { 50_000 };
        let word = AtomicU64::new(0.5_f64.to_bits());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..EACH).for_each(|_| add(&word, 1.0)));
            }
        });
        assert!((f64::from_bits(word.get()) - (0.5 + 3.0 * f64::from(EACH))).abs() < 1e-9);
    }

    #[test]
    fn an_error_of_another_worker_is_the_same_here() {
        let full = io::Error::from_raw_os_error(28);
        let error = refused(Path::new("a"), 800, code(&full));
        assert!(matches!(error, ArrayError::Full { bytes: 800, .. }));
        let other = refused(Path::new("a"), 800, code(&io::Error::other("b")));
        assert!(matches!(other, ArrayError::Io { .. }));
    }
}
