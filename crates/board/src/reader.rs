//! The reader: a board mapped for reading, every number of it bounded.
//!
//! What a file's header says is compared with what its sizes must be, once, when it is opened;
//! afterwards only the shape that was checked is used. Each call checks that the writer still
//! lives, which is two loads and a coarse clock.
//!
//! A reader waits only while the writer is changing what it reads, which takes the writer some tens
//! of nanoseconds: it retries a few times in a row, then it yields the processor, and after a fifth
//! of a second it gives up, because the writer was stopped there.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_gettime};

use crate::entry::{Entry, Head};
use crate::error::BoardError;
use crate::index;
use crate::layout::{self, HEADER_BYTES, ROW_BYTES, Shape, halves, header, life, slot};
use crate::mapping::Mapping;
use crate::name::{ADDRESS_WORDS, Address, NAME_WORDS, Name, Short};
use crate::sequence::{self, Word};

/// Attempts in a row before it yields, the attempt from which it pauses, and how often.
const LOOKS: u32 = 100;
const FIRST_PAUSE: u32 = 200;
const PAUSES: u32 = 2_000;
/// A pause.
const PAUSE: Duration = Duration::from_micros(100);

/// The current time on this machine's `CLOCK_MONOTONIC`, in nanoseconds: the clock of all births.
///
/// It stops while the machine is suspended, as the clocks of the agent and of all readers
/// do, so that a board is as alive after a suspension as before.
pub fn now_ns() -> i64 {
    nanoseconds(ClockId::Monotonic)
}

#[inline]
fn nanoseconds(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// A board, open for reading.
#[derive(Debug)]
pub struct Board {
    path: PathBuf,
    limit_ns: i64,
    mapping: Mapping,
    shape: Shape,
    pid: u32,
    schema: u32,
    unit: Duration,
    cluster: String,
    observer: String,
}

impl Board {
    /// Opens the board at `path` (see [`board_path`](crate::board_path)). Its writer must have
    /// updated its heartbeat within `limit`, now and at each call; the agent gives one with each
    /// datagram and round, so a few units of time are enough.
    ///
    /// # Errors
    /// If there is no such file, it is no board or one of another layout, it is damaged, or its
    /// writer is not alive.
    pub fn open(path: &Path, limit: Duration) -> Result<Self, BoardError> {
        let unreadable = |source| BoardError::Unreadable { path: path.to_owned(), source };
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits() as i32; // a pipe is not waited for
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = file.map_err(unreadable)?;
        let found = file.metadata().map_err(unreadable)?;
        let kind = found.file_type();
        let strange = kind.is_fifo() || kind.is_socket() || kind.is_char_device();
        if strange || kind.is_block_device() || kind.is_dir() || found.len() < 8 {
            return Err(BoardError::NotABoard { path: path.to_owned() });
        }
        let truncated =
            |wanted| BoardError::Truncated { path: path.to_owned(), bytes: found.len(), wanted };
        // Map what was checked to exist: the whole file, or as much as the largest board has.
        let bytes = usize::try_from(found.len()).unwrap_or(usize::MAX).min(layout::MAX_FILE_BYTES);
        let mapping = Mapping::for_reading(&file, bytes).map_err(unreadable)?;
        let words = mapping.words();
        if words[header::MAGIC].get() != layout::MAGIC {
            return Err(BoardError::NotABoard { path: path.to_owned() });
        }
        if bytes < HEADER_BYTES {
            return Err(truncated(HEADER_BYTES as u64));
        }
        let (version, header_bytes) = halves(words[header::VERSION].get());
        if version != layout::VERSION {
            return Err(BoardError::Version { path: path.to_owned(), found: version });
        }
        let damaged = |what| BoardError::Damaged { path: path.to_owned(), what };
        let shape = shape(words, header_bytes).map_err(damaged)?;
        if bytes < shape.file_bytes() {
            return Err(truncated(shape.file_bytes() as u64));
        }
        let (cluster, observer) = (text(words, header::CLUSTER), text(words, header::OBSERVER));
        let board = Self {
            path: path.to_owned(),
            limit_ns: i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX),
            shape,
            pid: words[header::WRITER_PID].get() as u32,
            schema: halves(words[header::ROW_BYTES].get()).1,
            unit: Duration::from_nanos(words[header::UNIT_NS].get()),
            cluster: cluster.ok_or_else(|| damaged("the cluster's name is not valid text"))?,
            observer: observer.ok_or_else(|| damaged("the observer's name is not valid text"))?,
            mapping,
        };
        board.check()?;
        Ok(board)
    }

    /// The same board with another limit for its writer's silence, such as a few units.
    #[must_use]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit_ns: i64::try_from(limit.as_nanos()).unwrap_or(i64::MAX), ..self }
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How it is divided.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The cluster's name.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The name of the node whose vector it is.
    pub fn observer(&self) -> &str {
        &self.observer
    }

    /// The unit of time.
    pub fn unit(&self) -> Duration {
        self.unit
    }

    /// The version of what payloads hold.
    pub fn payload_schema(&self) -> u32 {
        self.schema
    }

    /// The writer's process number, in its own namespace.
    pub fn writer_pid(&self) -> u32 {
        self.pid
    }

    /// Nodes on it.
    pub fn members(&self) -> usize {
        (self.word(header::MEMBERS) as usize).min(self.shape.slots())
    }

    /// A number that changes whenever a node comes, goes, or changes its name or address.
    pub fn generation(&self) -> u64 {
        self.word(header::GENERATION) & !1
    }

    /// Whether the writer lives; [`Board::entry`] and [`Board::snapshot`] check this too.
    ///
    /// # Errors
    /// If it has left, made another file, or has been silent for longer than the limit.
    #[inline]
    pub fn check(&self) -> Result<(), BoardError> {
        let now = nanoseconds(ClockId::MonotonicCoarse);
        let silence_ns = now.saturating_sub(self.word(header::HEARTBEAT_NS) as i64);
        // The coarse clock is some milliseconds behind the writer's.
        let ahead = silence_ns < -1_000_000_000;
        if self.word(header::LIFE) == life::LIVE && silence_ns <= self.limit_ns && !ahead {
            return Ok(());
        }
        Err(self.verdict(silence_ns, ahead))
    }

    /// What is wrong with the writer. A heartbeat in the future is from before the last boot.
    #[cold]
    fn verdict(&self, silence_ns: i64, ahead: bool) -> BoardError {
        let path = self.path.clone();
        let nanos = |ns: i64| Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
        match self.word(header::LIFE) {
            life::LEFT => BoardError::Left { path },
            life::REPLACED => BoardError::Replaced { path },
            life::LIVE if ahead => {
                let what = "its heartbeat is in the future: the file is older than the last boot";
                BoardError::Damaged { path, what }
            }
            life::LIVE => {
                let (silence, limit) = (nanos(silence_ns), nanos(self.limit_ns));
                BoardError::DeadWriter { path, pid: self.pid, silence, limit }
            }
            _ => BoardError::Damaged { path, what: "its state is neither live, left nor replaced" },
        }
    }

    /// The entry of the node called `name`; `None` if there is no such node.
    ///
    /// # Errors
    /// As [`Board::check`]; also if the file is damaged.
    pub fn entry(&self, name: &str) -> Result<Option<Entry>, BoardError> {
        let mut entry = Entry::empty();
        Ok(self.entry_into(name, &mut entry)?.then_some(entry))
    }

    /// As [`Board::entry`], into an existing entry, so that no memory is allocated; `false` if
    /// there is no such node.
    ///
    /// # Errors
    /// As [`Board::entry`].
    pub fn entry_into(&self, name: &str, entry: &mut Entry) -> Result<bool, BoardError> {
        self.check()?;
        let Some(name) = Name::new(name.as_bytes()) else { return Ok(false) };
        let generation = &self.words()[header::GENERATION];
        self.patiently(|| {
            // The name may have been moving in the index.
            let before = generation.get();
            AtomicU64::acquire();
            for slot in index::candidates(self.cells(), name.hash()) {
                if slot >= self.shape.slots() {
                    return Some(Err(self.damaged("its index names a slot that does not exist")));
                }
                match self.look_at(slot, &name, entry)? {
                    Ok(false) => {}
                    found => return Some(found),
                }
            }
            AtomicU64::acquire();
            (before % 2 == 0 && generation.get() == before).then_some(Ok(false))
        })?
    }

    /// Reads the slot if it is that of the node called `name`; `None` if it was being written.
    #[inline]
    fn look_at(
        &self,
        slot: usize,
        name: &Name,
        entry: &mut Entry,
    ) -> Option<Result<bool, BoardError>> {
        let words = self.slot(slot);
        let room = self.shape.payload_bytes();
        entry.payload.resize(room.next_multiple_of(8), 0);
        let (_, (same, head)) = sequence::read(&words[slot::VERSION], || {
            let row = &self.row(slot)[..name.used().len()];
            let same = row.iter().zip(name.used()).all(|(word, &wanted)| word.get() == wanted);
            if same {
                copy(&words[slot::PAYLOAD..], &mut entry.payload);
            }
            (same, Head::read(words))
        })?;
        entry.payload.truncate(room);
        if !same {
            return Some(Ok(false));
        }
        let taken = entry.take_head(&head);
        Some(taken.ok_or_else(|| self.damaged("an entry has a state that does not exist")))
    }

    /// The name and the address in a slot's row; meaningless unless the generation agrees.
    pub(crate) fn row_of(&self, slot: usize) -> (Name, Address) {
        let row = self.row(slot);
        let name = std::array::from_fn::<_, NAME_WORDS, _>(|at| row[at].get());
        let address = std::array::from_fn::<_, ADDRESS_WORDS, _>(|at| row[NAME_WORDS + at].get());
        (Short(name), Short(address))
    }

    /// Tries until it succeeds, or until the writer must have stopped while writing.
    pub(crate) fn patiently<R>(
        &self,
        mut attempt: impl FnMut() -> Option<R>,
    ) -> Result<R, BoardError> {
        for turn in 0..FIRST_PAUSE + PAUSES {
            if let Some(result) = attempt() {
                return Ok(result);
            }
            match turn {
                0..LOOKS => std::hint::spin_loop(),
                LOOKS..FIRST_PAUSE => std::thread::yield_now(),
                _ => std::thread::sleep(PAUSE),
            }
        }
        self.check()?;
        Err(BoardError::Unfinished { path: self.path.clone(), pid: self.pid })
    }

    pub(crate) fn damaged(&self, what: &'static str) -> BoardError {
        BoardError::Damaged { path: self.path.clone(), what }
    }

    #[inline]
    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.mapping.words()
    }

    #[inline]
    fn word(&self, word: usize) -> u64 {
        self.words()[word].get()
    }

    /// The words of all slots up to the last in use.
    #[inline]
    pub(crate) fn used_slots(&self) -> &[AtomicU64] {
        let used = (self.word(header::USED_SLOTS) as usize).min(self.shape.slots());
        let at = layout::SLOTS_AT / 8;
        &self.words()[at..at + used * self.shape.slot_bytes() / 8]
    }

    #[inline]
    pub(crate) fn slot(&self, slot: usize) -> &[AtomicU64] {
        let words = self.shape.slot_bytes() / 8;
        let at = layout::SLOTS_AT / 8 + slot * words;
        &self.words()[at..at + words]
    }

    #[inline]
    fn row(&self, slot: usize) -> &[AtomicU64] {
        let at = (self.shape.rows_at() + slot * ROW_BYTES) / 8;
        &self.words()[at..at + ROW_BYTES / 8]
    }

    #[inline]
    fn cells(&self) -> &[AtomicU64] {
        let at = self.shape.index_at() / 8;
        &self.words()[at..at + self.shape.cells()]
    }
}

/// Copies words to bytes, as many as there is room for.
#[inline]
pub(crate) fn copy<W: Word>(from: &[W], to: &mut [u8]) {
    for (word, room) in from.iter().zip(to.chunks_exact_mut(8)) {
        room.copy_from_slice(&word.get().to_le_bytes());
    }
}

/// The shape that a header states, if all of it agrees.
fn shape(words: &[AtomicU64], header_bytes: u32) -> Result<Shape, &'static str> {
    let (slots, cells) = halves(words[header::SLOTS].get());
    let (slot_bytes, payload_bytes) = halves(words[header::SLOT_BYTES].get());
    let (row_bytes, _) = halves(words[header::ROW_BYTES].get());
    let shape = Shape::new(slots as usize, payload_bytes as usize);
    let shape = shape.ok_or("its header states more slots or longer payloads than allowed")?;
    let at = |word: usize| words[word].get();
    let agrees = header_bytes as usize == HEADER_BYTES
        && cells as usize == shape.cells()
        && slot_bytes as usize == shape.slot_bytes()
        && row_bytes as usize == ROW_BYTES
        && at(header::SLOTS_AT) == layout::SLOTS_AT as u64
        && at(header::ROWS_AT) == shape.rows_at() as u64
        && at(header::INDEX_AT) == shape.index_at() as u64
        && at(header::FILE_BYTES) == shape.file_bytes() as u64;
    agrees.then_some(shape).ok_or("the offsets in its header contradict each other")
}

/// A name in the header.
fn text(words: &[AtomicU64], at: usize) -> Option<String> {
    let name: Name = Short(std::array::from_fn(|word| words[at + word].get()));
    String::from_utf8(name.text()?).ok()
}
