//! A snapshot: all entries of a board, copied at once into memory that is reused.
//!
//! Each entry is whole; they are of slightly different moments, as entries of a vector are anyway.
//! Names and addresses are read once a generation, so a snapshot copies what changes and nothing
//! else. All entries and names are of one generation: no entry carries another node's name.

use std::time::Duration;

use crate::entry::{State, age};
use crate::error::BoardError;
use crate::layout::{HEAD_BYTES, halves, header, slot};
use crate::name::{Address, Name};
use crate::reader::{Board, copy, now_ns};
use crate::sequence;

/// Generations that may change under a snapshot before it gives up.
const ATTEMPTS: usize = 1_000;

/// All entries of a board, as they were. Made empty, and filled by [`Board::snapshot`].
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    taken_ns: i64,
    slot_bytes: usize,
    payload_bytes: usize,
    /// The slots as they lie in the file, the version left out.
    slots: Vec<u8>,
    generation: Option<u64>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    name: String,
    address: Vec<u8>,
}

/// One entry of a snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen<'a> {
    /// The node's name.
    pub name: &'a str,
    /// Where its datagrams go: 4 or 16 bytes of IP, two of port, big endian.
    pub address: &'a [u8],
    /// What is known of it.
    pub state: State,
    /// Its id.
    pub node_id: u32,
    /// Its incarnation; 0 if unheard.
    pub incarnation: u32,
    /// Its sequence; 0 if unheard.
    pub sequence: u32,
    /// How old its entry was when the snapshot was taken; `None` if unheard.
    pub age: Option<Duration>,
    /// Its payload.
    pub payload: &'a [u8],
}

impl Snapshot {
    /// An empty snapshot, to be filled.
    pub fn new() -> Self {
        Self::default()
    }

    /// When it was taken, in nanoseconds on this machine's `CLOCK_MONOTONIC`.
    pub fn taken_ns(&self) -> i64 {
        self.taken_ns
    }

    /// The generation that it is of.
    pub fn generation(&self) -> u64 {
        self.generation.unwrap_or_default()
    }

    /// Its entries, in the order of their slots.
    pub fn entries(&self) -> impl Iterator<Item = Seen<'_>> {
        let slots = self.slots.chunks_exact(self.slot_bytes.max(HEAD_BYTES));
        slots.zip(&self.rows).filter_map(|(bytes, row)| self.seen(bytes, row))
    }

    fn seen<'a>(&self, bytes: &'a [u8], row: &'a Row) -> Option<Seen<'a>> {
        let (code, node_id) = halves(word(bytes, slot::STATE)?);
        let (incarnation, sequence) = halves(word(bytes, slot::STAMP)?);
        let birth_ns = word(bytes, slot::BIRTH_NS)? as i64;
        let state = State::of_code(code)?;
        Some(Seen {
            name: &row.name,
            address: &row.address,
            state,
            node_id,
            incarnation,
            sequence,
            age: age(state, birth_ns, self.taken_ns),
            payload: bytes.get(HEAD_BYTES..HEAD_BYTES + self.payload_bytes)?,
        })
    }
}

fn word(slot: &[u8], at: usize) -> Option<u64> {
    let bytes = slot.get(8 * at..8 * at + 8)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

impl Board {
    /// Copies all entries into `snapshot`. It allocates memory only when there are more nodes, or
    /// others, than before.
    ///
    /// # Errors
    /// As [`Board::check`]; also if the file is damaged.
    pub fn snapshot(&self, snapshot: &mut Snapshot) -> Result<(), BoardError> {
        self.check()?;
        let generation = &self.words()[header::GENERATION];
        for _ in 0..ATTEMPTS {
            let seen = self.patiently(|| {
                let seen = sequence::read(generation, || self.copy_all(snapshot));
                seen.map(|(generation, copied)| copied.map(|()| generation))
            })?;
            match seen {
                Ok(generation) if snapshot.generation == Some(generation) => return Ok(()),
                Ok(_) => self.take_rows(snapshot)?,
                Err(error) => return Err(error),
            }
        }
        Err(BoardError::Unfinished { path: self.path().to_owned(), pid: self.writer_pid() })
    }

    fn copy_all(&self, snapshot: &mut Snapshot) -> Result<(), BoardError> {
        let slots = self.used_slots();
        let slot_bytes = self.shape().slot_bytes();
        (snapshot.slot_bytes, snapshot.payload_bytes) = (slot_bytes, self.shape().payload_bytes());
        snapshot.slots.resize(8 * slots.len(), 0);
        let rooms = snapshot.slots.chunks_exact_mut(slot_bytes);
        for (words, room) in slots.chunks_exact(slot_bytes / 8).zip(rooms) {
            let copied = sequence::read(&words[slot::VERSION], || copy(words, room));
            if copied.is_none() {
                self.patiently(|| sequence::read(&words[slot::VERSION], || copy(words, room)))?;
            }
        }
        snapshot.taken_ns = now_ns();
        Ok(())
    }

    /// Reads the names and addresses of a generation, and records its number.
    fn take_rows(&self, snapshot: &mut Snapshot) -> Result<(), BoardError> {
        let generation = &self.words()[header::GENERATION];
        let rows = &mut snapshot.rows;
        let (generation, good) = self.patiently(|| {
            sequence::read(generation, || {
                rows.clear();
                let used = self.used_slots().len() * 8 / self.shape().slot_bytes();
                (0..used).all(|slot| self.text_row(slot).map(|row| rows.push(row)).is_some())
            })
        })?;
        if !good {
            return Err(self.damaged("a name or an address in it is not valid text"));
        }
        snapshot.generation = Some(generation);
        Ok(())
    }

    fn text_row(&self, slot: usize) -> Option<Row> {
        let (name, address): (Name, Address) = self.row_of(slot);
        Some(Row { name: String::from_utf8(name.text()?).ok()?, address: address.text()? })
    }
}
