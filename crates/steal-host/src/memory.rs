//! The segment as all its workers see it: seats, shelves, rings, who is gone.
//!
//! Nothing in it is believed but identities, which only their owners write, and what `ring` and
//! `mail` bound.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::Timespec;
use rustix::thread::futex;

use crate::bell;
use crate::identity::{Identity, namespace};
use crate::layout::{self, SHELF_WORDS, Shape, ends, header, seat};
use crate::machine::{RAISED, Word};
use crate::mapping::{self, Mapping};
use crate::ring::Ring;
use crate::rules::Rules;

/// A segment that is mapped.
#[derive(Debug)]
pub(crate) struct Memory {
    mapping: Mapping,
    shape: Shape,
}

/// Why a file is no segment.
#[derive(Debug)]
pub(crate) enum Refusal {
    Io(io::Error),
    /// It is something else.
    Foreign,
    /// Another version made it.
    Version(u64),
    /// Its numbers contradict each other.
    Numbers,
    /// Its processes have numbers of another namespace.
    Namespace,
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Memory {
    /// Makes the file of a segment.
    pub(crate) fn create(path: &Path, shape: Shape, rules: &Rules) -> io::Result<(File, Self)> {
        let (maker, namespace) = (Identity::own()?, namespace()?);
        let file = mapping::create(path, shape.file_bytes())?;
        let mapped = Mapping::of(&file, shape.file_bytes());
        let mapping = mapped.inspect_err(|_| drop(std::fs::remove_file(path)))?;
        let words = mapping.header();
        words[header::VERSION].set(layout::VERSION);
        words[header::FILE_BYTES].set(shape.file_bytes() as u64);
        words[header::WORKERS].set(u64::from(shape.workers()));
        words[header::RING_WORDS].set(shape.ring_words() as u64);
        words[header::MAKER].set(maker.word());
        words[header::NAMESPACE].set(namespace);
        for (to, word) in words[header::RULES..].iter().zip(rules.words()) {
            to.set(word);
        }
        words[header::MAGIC].release(layout::MAGIC);
        Ok((file, Self { mapping, shape }))
    }

    /// Maps the segment that another process has made, with its rules.
    pub(crate) fn open(path: &Path) -> Result<(Self, Rules), Refusal> {
        let file = File::options().read(true).write(true).open(path)?;
        let bytes = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        if bytes < layout::WORDS_AT {
            return Err(Refusal::Foreign);
        }
        let mapping = Mapping::of(&file, bytes)?;
        let words = mapping.header();
        if words[header::MAGIC].acquire() != layout::MAGIC {
            return Err(Refusal::Foreign);
        }
        let version = words[header::VERSION].get();
        if version != layout::VERSION {
            return Err(Refusal::Version(version));
        }
        if words[header::NAMESPACE].get() != namespace()? {
            return Err(Refusal::Namespace);
        }
        let small = |at: usize| u32::try_from(words[at].get()).unwrap_or(0);
        let shape = Shape::new(small(header::WORKERS), small(header::RING_WORDS));
        let shape = shape.filter(|shape| shape.file_bytes() == bytes).ok_or(Refusal::Numbers)?;
        let rules = std::array::from_fn(|at| words[header::RULES + at].get());
        let rules = Rules::of_words(rules, 8 * shape.ring_words() as u32);
        let rules = rules.filter(|rules| rules.shape(shape.workers()) == Some(shape));
        Ok((Self { mapping, shape }, rules.ok_or(Refusal::Numbers)?))
    }

    /// How many workers it is for.
    pub(crate) fn workers(&self) -> u32 {
        self.shape.workers()
    }

    /// A process that lives and belongs to it, if there is one.
    pub(crate) fn living(&self) -> Option<Identity> {
        let maker = Identity::of_word(self.mapping.header()[header::MAKER].get());
        let seated = (0..self.workers()).filter_map(|worker| self.identity(worker));
        maker.into_iter().chain(seated).find(|identity| identity.lives())
    }

    #[inline]
    fn words(&self, at: usize, count: usize) -> &[AtomicU64] {
        &self.mapping.words()[at..at + count]
    }

    #[inline]
    fn seat(&self, worker: u32, word: usize) -> &AtomicU64 {
        &self.mapping.words()[layout::seat_at(worker) + word]
    }

    /// Takes the first free seat: its number.
    pub(crate) fn claim(&self, own: Identity) -> Option<u32> {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let claims = |worker: &u32| {
            let seat = self.seat(*worker, seat::IDENTITY);
            seat.compare_exchange(0, own.word(), success, failure).is_ok()
        };
        (0..self.workers()).find(claims)
    }

    /// Who has a seat.
    pub(crate) fn identity(&self, worker: u32) -> Option<Identity> {
        Identity::of_word(self.seat(worker, seat::IDENTITY).acquire())
    }

    /// How often somebody was found gone.
    #[inline]
    pub(crate) fn departures(&self) -> u64 {
        self.mapping.header()[header::DEPARTURES].acquire()
    }

    /// Whether a worker has ended, or takes part no more.
    pub(crate) fn is_gone(&self, worker: u32) -> bool {
        self.seat(worker, seat::GONE).acquire() != 0
    }

    /// A worker is gone: all that it wrote before can be read before this is seen.
    pub(crate) fn depart(&self, worker: u32) {
        self.seat(worker, seat::GONE).release(1);
        self.mapping.header()[header::DEPARTURES].fetch_add(1, Ordering::AcqRel);
    }

    /// How often a worker has met with the others.
    pub(crate) fn met(&self, worker: u32) -> u64 {
        self.seat(worker, seat::MET).acquire()
    }

    /// A worker is there to meet the others for the `count`-th time, for what the tag says.
    pub(crate) fn meet(&self, worker: u32, count: u64, tag: u64) {
        self.seat(worker, seat::TAGS + (count % 2) as usize).set(tag);
        self.seat(worker, seat::MET).release(count);
    }

    /// What for, of one who has met so often or once more.
    pub(crate) fn tag(&self, worker: u32, count: u64) -> u64 {
        self.seat(worker, seat::TAGS + (count % 2) as usize).get()
    }

    /// How long a worker is busy with what can be stolen, in nanoseconds, if it says so.
    pub(crate) fn work(&self, worker: u32) -> Option<u64> {
        self.seat(worker, seat::WORK).get().checked_sub(1)
    }

    /// A worker says how long it is busy, or says it no more.
    #[inline]
    pub(crate) fn show_work(&self, worker: u32, work_ns: Option<u64>) {
        self.seat(worker, seat::WORK).set(work_ns.map_or(0, |work_ns| work_ns.saturating_add(1)));
    }

    /// Whether a worker has taken in all that another one has written for it.
    pub(crate) fn has_read(&self, from: u32, to: u32) -> bool {
        let ring = self.ring(from, to);
        ring.tail.get() == ring.head.get()
    }

    /// Where a worker runs, as it says.
    pub(crate) fn place(&self, worker: u32) -> u64 {
        self.seat(worker, seat::PLACE).get()
    }

    /// A worker says where it runs.
    pub(crate) fn show_place(&self, worker: u32, place: u64) {
        self.seat(worker, seat::PLACE).set(place);
    }

    /// What a worker shows when all meet for the `count`-th time.
    pub(crate) fn shelf(&self, worker: u32, count: u64) -> &[AtomicU64] {
        self.words(self.shape.shelf(worker, count % 2 == 1), SHELF_WORDS)
    }

    /// The ring from a worker to another.
    #[inline]
    pub(crate) fn ring(&self, from: u32, to: u32) -> Ring<'_, AtomicU64> {
        let ends = self.words(self.shape.ends(from, to), ends::HEAD + 1);
        let words = self.words(self.shape.ring(from, to), self.shape.ring_words());
        Ring { tail: &ends[ends::TAIL], head: &ends[ends::HEAD], words }
    }

    /// Whether the writer of a ring waits for room in it.
    #[inline]
    pub(crate) fn hungry(&self, from: u32, to: u32) -> &AtomicU64 {
        self.words(self.shape.ends(from, to) + ends::HUNGRY, 1).first().expect("it is one word")
    }

    /// Who has something for a worker, as bits.
    #[inline]
    pub(crate) fn news(&self, worker: u32) -> &[AtomicU64] {
        let words = (self.workers() as usize).div_ceil(64);
        debug_assert!(words <= seat::NEWS_WORDS, "a seat has a bit for each worker");
        self.words(layout::seat_at(worker) + seat::NEWS, words)
    }

    /// Tells a worker that another one has something for it.
    #[inline]
    pub(crate) fn tell(&self, from: u32, to: u32) {
        let news = &self.news(to)[from as usize / 64];
        let flag = self.mapping.flag(to);
        if bell::ring(news, 1 << (from % 64), flag) {
            // Nobody can be missing but one that has ended.
            let _ = futex::wake(flag, futex::Flags::empty(), u32::MAX);
        }
    }

    /// Tells all others.
    pub(crate) fn tell_all(&self, from: u32) {
        for to in (0..self.workers()).filter(|to| *to != from) {
            self.tell(from, to);
        }
    }

    /// Sleeps until somebody has something for this worker, or until then.
    pub(crate) fn sleep(&self, me: u32, until: Option<Instant>) {
        let flag = self.mapping.flag(me);
        bell::sleep(self.news(me), flag, || {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left != Some(Duration::ZERO) {
                let left = left.and_then(|left| Timespec::try_from(left).ok());
                // Whatever it returns, the caller looks again.
                let _ = futex::wait(flag, futex::Flags::empty(), RAISED, left.as_ref());
            }
        });
    }
}
