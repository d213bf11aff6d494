//! The writer: the one process that changes a board.
//!
//! A board is made under another name, complete with its header, and put in its place by renaming:
//! a reader finds the whole new board or the old one. From then on the writer only
//! stores words; it never waits, makes no system call and allocates no memory. It keeps what it
//! needs to know about its slots in its own memory, so nothing that it does depends on bytes of the
//! file.
//!
//! Nodes get and lose slots by [`seat`](Writer::seat) and [`vacate`](Writer::vacate), which make a
//! new generation; a new entry is written by [`update`](Writer::update), which touches the slot
//! alone.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::entry::State;
use crate::error::WriteError;
use crate::index;
use crate::layout::{self, HEADER_BYTES, ROW_BYTES, Shape, header, life, pair, slot};
use crate::mapping::Mapping;
use crate::name::{Address, NAME_WORDS, Name};
use crate::reader::now_ns;
use crate::sequence::{self, Word};

/// What a board is made for.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The cluster's name, at most 63 bytes.
    pub cluster: String,
    /// The name of the node whose vector it is, at most 63 bytes.
    pub observer: String,
    /// The most nodes it has room for.
    pub slots: usize,
    /// Bytes of a payload.
    pub payload_bytes: usize,
    /// The version of what payloads hold.
    pub payload_schema: u32,
    /// The unit of time.
    pub unit: Duration,
}

/// One node's new entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct News<'a> {
    /// What is known of it.
    pub state: State,
    /// Its id.
    pub node_id: u32,
    /// Its incarnation; 0 if unheard.
    pub incarnation: u32,
    /// Its sequence; 0 if unheard.
    pub sequence: u32,
    /// When the entry was made, on this machine's `CLOCK_MONOTONIC`, in nanoseconds.
    pub birth_ns: i64,
    /// As long as the board's payloads, or empty, which stands for zeros.
    pub payload: &'a [u8],
}

/// A board that is being written. Dropped, it leaves the file as after a crash: see
/// [`leave`](Writer::leave).
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
    mapping: Mapping,
    shape: Shape,
    /// The hash of the name that each slot has; `None` where it is empty.
    seated: Vec<Option<u64>>,
    members: usize,
    used_slots: usize,
    writes: u64,
}

impl Writer {
    /// Makes a board and puts it at `path`, in the place of any other.
    ///
    /// # Errors
    /// If no board has this outline, or the file cannot be made: a full disk, a missing permission.
    pub fn create(path: &Path, outline: &Outline) -> Result<Self, WriteError> {
        let Outline { slots, payload_bytes, .. } = *outline;
        let shape = Shape::new(slots, payload_bytes);
        let shape = shape.ok_or(WriteError::Shape { slots, payload_bytes })?;
        let bytes = shape.file_bytes();
        let unwritable = |source| WriteError::Unwritable { path: path.to_owned(), bytes, source };
        let beside = beside(path).map_err(unwritable)?;
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(error))?,
            _ => {}
        }
        let (file, mapping) = Mapping::create(&beside, bytes).map_err(unwritable)?;
        let writer = Self {
            path: path.to_owned(),
            file,
            mapping,
            shape,
            seated: vec![None; slots],
            members: 0,
            used_slots: 0,
            writes: 0,
        };
        let made = writer.begin(outline);
        let made = made.and_then(|()| fs::rename(&beside, path).map_err(unwritable));
        if made.is_err() {
            let _ = fs::remove_file(&beside); // the first error is reported
        }
        made.map(|()| writer)
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its slots.
    pub fn slots(&self) -> usize {
        self.shape.slots()
    }

    /// Bytes of its file, all of them in memory.
    pub fn file_bytes(&self) -> usize {
        self.shape.file_bytes()
    }

    /// Puts its file on pages of 2 MiB, for all who read it, as far as it fills such pages and the
    /// kernel has them; the report is of these.
    ///
    /// # Errors
    /// If the kernel does not say what it gave.
    pub fn enlarge_pages(&self) -> io::Result<tidings_pages::Report> {
        tidings_pages::enlarge(&self.mapping.extent())
    }

    /// Writes the header, the state of the writer last.
    fn begin(&self, outline: &Outline) -> Result<(), WriteError> {
        let shape = self.shape;
        let words = self.mapping.words();
        let set = |word: usize, value: u64| words[word].set(value);
        set(header::MAGIC, layout::MAGIC);
        set(header::VERSION, pair(layout::VERSION, HEADER_BYTES as u32));
        set(header::FILE_BYTES, shape.file_bytes() as u64);
        set(header::SLOTS, pair(shape.slots() as u32, shape.cells() as u32));
        set(header::SLOT_BYTES, pair(shape.slot_bytes() as u32, shape.payload_bytes() as u32));
        set(header::ROW_BYTES, pair(ROW_BYTES as u32, outline.payload_schema));
        set(header::SLOTS_AT, layout::SLOTS_AT as u64);
        set(header::ROWS_AT, shape.rows_at() as u64);
        set(header::INDEX_AT, shape.index_at() as u64);
        set(header::UNIT_NS, u64::try_from(outline.unit.as_nanos()).unwrap_or(u64::MAX));
        set(header::WRITER_PID, u64::from(std::process::id()));
        set(header::CREATED_NS, now_ns() as u64);
        for (at, what, text) in [
            (header::CLUSTER, "cluster's name", &outline.cluster),
            (header::OBSERVER, "observer's name", &outline.observer),
        ] {
            let bytes = text.len();
            let name = Name::new(text.as_bytes());
            let name = name.ok_or(WriteError::Length { what, slot: 0, bytes })?;
            name.0.iter().enumerate().for_each(|(word, &value)| set(at + word, value));
        }
        self.beat(now_ns());
        set(header::LIFE, life::LIVE);
        Ok(())
    }

    /// Updates the heartbeat.
    #[inline]
    pub fn beat(&self, now_ns: i64) {
        let words = self.mapping.words();
        words[header::HEARTBEAT_NS].set(now_ns as u64);
        words[header::WRITES].set(self.writes);
    }

    /// Gives a slot to a node, or changes the name or address of the node in it.
    ///
    /// # Errors
    /// If there is no such slot, or something does not fit.
    pub fn seat(
        &mut self,
        slot: usize,
        name: &str,
        address: &[u8],
        news: &News<'_>,
    ) -> Result<(), WriteError> {
        let length = |what, bytes| WriteError::Length { what, slot, bytes };
        let text = Name::new(name.as_bytes()).ok_or(length("name", name.len()))?;
        let place = Address::new(address).ok_or(length("address", address.len()))?;
        self.check(slot, news)?;
        let before = self.seated[slot].replace(text.hash());
        self.members += usize::from(before.is_none());
        self.used_slots = self.used_slots.max(slot + 1);
        self.writes += 1;
        let (row, cells) = (self.row(slot), self.cells());
        self.in_a_new_generation(|| {
            if before != Some(text.hash()) {
                self.unlist(slot, before);
                index::insert(cells, text.hash(), slot);
            }
            let version = &self.slot(slot)[slot::VERSION];
            sequence::write(version, || {
                row[..NAME_WORDS].iter().zip(text.0).for_each(|(to, word)| to.set(word));
                row[NAME_WORDS..].iter().zip(place.0).for_each(|(to, word)| to.set(word));
                self.write(slot, news);
            });
        });
        Ok(())
    }

    /// Writes a new entry of the node in the slot.
    ///
    /// # Errors
    /// If the slot is empty, or the payload has another length.
    #[inline]
    pub fn update(&mut self, slot: usize, news: &News<'_>) -> Result<(), WriteError> {
        self.check(slot, news)?;
        if self.seated[slot].is_none() {
            return Err(WriteError::Slot { slot, slots: self.slots() });
        }
        self.writes += 1;
        sequence::write(&self.slot(slot)[slot::VERSION], || self.write(slot, news));
        Ok(())
    }

    /// Removes the node in the slot, if any.
    pub fn vacate(&mut self, slot: usize) {
        let Some(before) = self.seated.get_mut(slot).and_then(Option::take) else { return };
        self.members -= 1;
        self.writes += 1;
        let last = self.seated.iter().rposition(Option::is_some);
        self.used_slots = last.map_or(0, |last| last + 1);
        self.in_a_new_generation(|| {
            self.unlist(slot, Some(before));
            let words = self.slot(slot);
            sequence::write(&words[slot::VERSION], || {
                words[slot::STATE..].iter().for_each(|word| word.set(0));
                self.row(slot).iter().for_each(|word| word.set(0));
            });
        });
    }

    /// Marks the board as left, and removes the file if its name still leads to it.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn leave(self) -> io::Result<()> {
        self.mapping.words()[header::LIFE].set(life::LEFT);
        let same = |other: &fs::Metadata| -> io::Result<bool> {
            let own = self.file.metadata()?;
            Ok((own.dev(), own.ino()) == (other.dev(), other.ino()))
        };
        match fs::symlink_metadata(&self.path) {
            Ok(other) if same(&other)? => fs::remove_file(&self.path),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Marks this board as replaced by another one.
    pub fn replaced(self) {
        self.mapping.words()[header::LIFE].set(life::REPLACED);
    }

    fn check(&self, slot: usize, news: &News<'_>) -> Result<(), WriteError> {
        if slot >= self.slots() {
            return Err(WriteError::Slot { slot, slots: self.slots() });
        }
        let bytes = news.payload.len();
        if bytes != self.shape.payload_bytes() && bytes != 0 {
            return Err(WriteError::Length { what: "payload", slot, bytes });
        }
        Ok(())
    }

    /// Stores the words of a slot behind its version.
    #[inline]
    fn write(&self, slot: usize, news: &News<'_>) {
        let words = self.slot(slot);
        words[slot::STATE].set(pair(news.state.code(), news.node_id));
        words[slot::STAMP].set(pair(news.incarnation, news.sequence));
        words[slot::BIRTH_NS].set(news.birth_ns as u64);
        let room = &words[slot::PAYLOAD..];
        let whole = news.payload.chunks_exact(8);
        let mut last = [0; 8];
        let rest = whole.remainder();
        last[..rest.len()].copy_from_slice(rest);
        let full = whole.map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        let filled = full.chain(std::iter::once(u64::from_le_bytes(last)));
        if news.payload.is_empty() {
            for word in room {
                word.set(0);
            }
        } else {
            room.iter().zip(filled).for_each(|(to, word)| to.set(word));
        }
    }

    fn in_a_new_generation(&self, change: impl FnOnce()) {
        let words = self.mapping.words();
        sequence::write(&words[header::GENERATION], || {
            change();
            words[header::MEMBERS].set(self.members as u64);
            words[header::USED_SLOTS].set(self.used_slots as u64);
        });
    }

    /// Removes a slot's name from the index.
    fn unlist(&self, slot: usize, hash: Option<u64>) {
        let Some(hash) = hash else { return };
        let hash_of = |other: usize| match self.seated[other] {
            _ if other == slot => hash,
            known => known.unwrap_or_default(),
        };
        index::remove(self.cells(), hash, slot, hash_of);
    }

    #[inline]
    fn slot(&self, slot: usize) -> &[AtomicU64] {
        let words = self.shape.slot_bytes() / 8;
        let at = layout::SLOTS_AT / 8 + slot * words;
        &self.mapping.words()[at..at + words]
    }

    fn row(&self, slot: usize) -> &[AtomicU64] {
        let at = (self.shape.rows_at() + slot * ROW_BYTES) / 8;
        &self.mapping.words()[at..at + ROW_BYTES / 8]
    }

    fn cells(&self) -> &[AtomicU64] {
        let at = self.shape.index_at() / 8;
        &self.mapping.words()[at..at + self.shape.cells()]
    }
}

/// The name under which a board is made, in the same directory.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("the path names no file"))?;
    let mut name = name.to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(name))
}
