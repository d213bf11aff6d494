//! What can go wrong, with what to do.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tidings_steal::{Lost, frame::TooLarge};

use crate::layout::SHELF_WORDS;

/// Why a segment was not made. Nothing has changed.
#[derive(Debug, Error)]
pub enum CreateError {
    /// No segment is like that.
    #[error(
        "a segment for {workers} workers with these rules: 1 to 256 workers, tasks of at most \
         4,096 bytes, rings of a power of two from 4 KiB to 1 MiB"
    )]
    Rules {
        /// How many workers were asked for.
        workers: u32,
    },
    /// Another program uses what is there.
    #[error("{path}: process {pid} uses this segment; choose another path, or end that run")]
    InUse {
        /// Where.
        path: PathBuf,
        /// One of its processes.
        pid: u32,
    },
    /// What is there is no segment of this version.
    #[error(
        "{path}: there is a file that is no segment of this version; remove it, or choose \
             another path"
    )]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// There is no room.
    #[error(
        "{path}: its file system has no room for {bytes} bytes; free some, or make smaller \
             rings or fewer workers"
    )]
    Full {
        /// Where.
        path: PathBuf,
        /// What the segment takes.
        bytes: usize,
    },
    /// The system refuses.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

/// Why a process has not joined. It is no worker.
#[derive(Debug, Error)]
pub enum JoinError {
    /// There is no segment.
    #[error("{path}: this is no segment; is it the path that its maker was given?")]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// Another version of this library made it.
    #[error(
        "{path}: a segment of version {found}, and this program has version {own}; build all \
             programs of a run from one release"
    )]
    Version {
        /// Where.
        path: PathBuf,
        /// Of the segment.
        found: u64,
        /// Of this program.
        own: u64,
    },
    /// Its header makes no sense.
    #[error(
        "{path}: the numbers in this segment contradict each other; end its run, and remove it"
    )]
    Numbers {
        /// Where.
        path: PathBuf,
    },
    /// Its maker's process numbers mean nothing here.
    #[error(
        "{path}: this segment was made in another namespace of process numbers; start all \
             workers in one container"
    )]
    Namespace {
        /// Where.
        path: PathBuf,
    },
    /// It is for another number of workers.
    #[error("{path}: a segment for {found} workers, and this process is one of {own}")]
    Workers {
        /// Where.
        path: PathBuf,
        /// Of the segment.
        found: u32,
        /// Of this program.
        own: u32,
    },
    /// All its seats are taken.
    #[error(
        "{path}: all {workers} workers have joined, or had when they ended; make a new segment"
    )]
    Taken {
        /// Where.
        path: PathBuf,
        /// How many.
        workers: u32,
    },
    /// Others have not joined.
    #[error("{path}: of {workers} workers {joined} have joined after {patience:?}")]
    Alone {
        /// Where.
        path: PathBuf,
        /// How many there should be.
        workers: u32,
        /// How many there are, with this one.
        joined: u32,
        /// How long it waited.
        patience: Duration,
    },
    /// The system refuses.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

/// Why a task was not added. Nothing has changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SpawnError {
    /// It exceeds a slot.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// It names no function.
    #[error("a task of function {function}, and the phase has {functions}")]
    Function {
        /// What it names.
        function: u16,
        /// How many there are.
        functions: usize,
    },
}

/// Why an array was not made, or a block not accessed. Nothing has changed.
#[derive(Debug, Error)]
pub enum ArrayError {
    /// No array is like that, or too large to count.
    #[error("an array has rows and columns, and blocks of both, and fewer than 2^60 elements")]
    Sizes,
    /// Workers want different ones.
    #[error("worker {other} makes an array of other sizes: all have to make the same")]
    Different {
        /// One of them.
        other: u32,
    },
    /// There is no room.
    #[error(
        "{path}: its file system has no room for {bytes} bytes; free some, or make smaller \
             arrays"
    )]
    Full {
        /// Where.
        path: PathBuf,
        /// What the array takes.
        bytes: usize,
    },
    /// The system refuses, at one worker at least.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
    /// There is no such block.
    #[error("block ({row}, {column}) of an array of {rows} by {columns} blocks")]
    Block {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// Rows of blocks.
        rows: usize,
        /// Columns of blocks.
        columns: usize,
    },
    /// A block has another number of elements.
    #[error("{given} elements for a block of {elements}")]
    Length {
        /// What was given.
        given: usize,
        /// What a block has.
        elements: usize,
    },
    /// Workers have not met.
    #[error(transparent)]
    Phase(#[from] PhaseError),
}

/// Why a phase, or another meeting of all workers, has not come to its end.
#[derive(Debug, Error)]
pub enum PhaseError {
    /// A task of the list cannot run. The phase was not entered, and can be.
    #[error("task {at} of the list: {source}")]
    List {
        /// Which.
        at: usize,
        /// Why.
        source: SpawnError,
    },
    /// A task could not end as it wanted to, as what follows it cannot run. All others ran.
    #[error("a task of function {function} ended with one that cannot run: {source}")]
    Rest {
        /// What the first one ran.
        function: u16,
        /// Why.
        source: SpawnError,
    },
    /// Workers have ended: what they had, or had not shown yet, is missing. All that was left ran,
    /// and the others can go on.
    #[error("{0}")]
    Lost(Lost),
    /// Some workers have not come. This one takes part no more.
    #[error("workers {missing:?} have not come within {patience:?}; all have to enter a phase")]
    Alone {
        /// Who.
        missing: Vec<u32>,
        /// How long this one waited.
        patience: Duration,
    },
    /// Workers have come for different things. None takes part any more.
    #[error(
        "worker {other} has come for another phase, or with other functions: all have to \
             enter the same ones, in the same order"
    )]
    Different {
        /// One of them.
        other: u32,
    },
    /// What another worker wrote makes no sense. This one takes part no more.
    #[error("worker {from} has written what no worker writes: its memory is damaged")]
    Corrupt {
        /// Who.
        from: u32,
    },
    /// An error before this one has ended it.
    #[error("this worker takes part no more since an earlier error: end the process")]
    Ended,
    /// More was to be shown than a shelf holds.
    #[error("{words} words to show, and there is room for {SHELF_WORDS}")]
    Shelf {
        /// How many.
        words: usize,
    },
}
