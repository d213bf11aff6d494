//! The layout of a segment, version 2: where what lies, in words of 64 bits.
//!
//! A header; flags on which workers sleep; a seat for each worker; two shelves for each, for what
//! it shows to all; a ring from each worker to each. What different processes write often lies on
//! different cache lines.
//!
//! Invariant: a [`Shape`] is in bounds, and no sum of it overflows.

/// The first eight bytes of a segment, `TIDSTEAL`.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"TIDSTEAL");
/// The version of this layout.
pub(crate) const VERSION: u64 = 2;
/// The most workers of a segment.
pub(crate) const MAX_WORKERS: u32 = 256;
/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = 8;
/// Words of the header.
pub(crate) const HEADER_WORDS: usize = 8 * LINE_WORDS;
/// Where the flags begin, in bytes; each has a line.
pub(crate) const FLAGS_AT: usize = 8 * HEADER_WORDS;
/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = 8 * LINE_WORDS;
/// Where the words behind the flags begin, in bytes.
pub(crate) const WORDS_AT: usize = FLAGS_AT + MAX_WORKERS as usize * LINE_BYTES;
/// Words of a seat.
const SEAT_WORDS: usize = 3 * LINE_WORDS;
/// Words of a shelf.
pub(crate) const SHELF_WORDS: usize = 512;
/// Words before those of a ring: a line for each side.
const ENDS_WORDS: usize = 2 * LINE_WORDS;

/// Words of the header.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 1;
    pub(crate) const FILE_BYTES: usize = 2;
    pub(crate) const WORKERS: usize = 3;
    pub(crate) const RING_WORDS: usize = 4;
    /// The identity of its maker.
    pub(crate) const MAKER: usize = 5;
    /// The namespace of its maker's process number.
    pub(crate) const NAMESPACE: usize = 6;
    /// Four words.
    pub(crate) const RULES: usize = 8;
    /// How often somebody was found gone.
    pub(crate) const DEPARTURES: usize = 16;
}

/// Words of a seat.
pub(crate) mod seat {
    /// The identity of its process; 0: free.
    pub(crate) const IDENTITY: usize = 0;
    /// Whether it has ended, or wants no more.
    pub(crate) const GONE: usize = 1;
    /// How many times it has met with the others.
    pub(crate) const MET: usize = 2;
    /// For what: the last time and the one before, by the parity of their numbers.
    pub(crate) const TAGS: usize = 3;
    /// A bit for each worker that has something for this one; on a line of its own.
    pub(crate) const NEWS: usize = super::LINE_WORDS;
    pub(crate) const NEWS_WORDS: usize = super::MAX_WORKERS as usize / 64;
    /// How long it is busy with what can be stolen, and 1 more; 0: it does not say so. On a line
    /// that others read only to choose whom they ask.
    pub(crate) const WORK: usize = 2 * super::LINE_WORDS;
    /// Where in the host it runs.
    pub(crate) const PLACE: usize = WORK + 1;
}

/// Words before those of a ring.
pub(crate) mod ends {
    pub(crate) const TAIL: usize = 0;
    /// Whether the writer waits for room.
    pub(crate) const HUNGRY: usize = 1;
    pub(crate) const HEAD: usize = super::LINE_WORDS;
}

/// How a segment is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    workers: u32,
    ring_words: u32,
}

/// The word behind the flags where a seat begins.
pub(crate) fn seat_at(worker: u32) -> usize {
    SEAT_WORDS * worker as usize
}

impl Shape {
    /// Of so many workers, and words a ring.
    pub(crate) fn new(workers: u32, ring_words: u32) -> Option<Self> {
        let fits = (1..=MAX_WORKERS).contains(&workers)
            && ring_words.is_power_of_two()
            && (512..=1 << 17).contains(&ring_words);
        fits.then_some(Self { workers, ring_words })
    }

    /// How many workers.
    pub(crate) fn workers(self) -> u32 {
        self.workers
    }

    /// Words of a ring.
    pub(crate) fn ring_words(self) -> usize {
        self.ring_words as usize
    }

    /// The word behind the flags where one of a worker's two shelves begins.
    pub(crate) fn shelf(self, worker: u32, odd: bool) -> usize {
        seat_at(self.workers) + SHELF_WORDS * (2 * worker as usize + usize::from(odd))
    }

    /// The word behind the flags where the ends of a ring begin, which it follows.
    pub(crate) fn ends(self, from: u32, to: u32) -> usize {
        let before = self.workers as usize * from as usize + to as usize;
        self.shelf(self.workers, false) + before * (ENDS_WORDS + self.ring_words())
    }

    /// The word behind the flags where a ring's words begin.
    pub(crate) fn ring(self, from: u32, to: u32) -> usize {
        self.ends(from, to) + ENDS_WORDS
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(self) -> usize {
        WORDS_AT + 8 * self.ends(self.workers, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_on_lines_of_their_own() {
        for (workers, ring_words) in [(1, 512), (3, 1024), (256, 512)] {
            let shape = Shape::new(workers, ring_words).expect("in bounds");
            let last = workers - 1;
            assert_eq!(seat_at(last) + SEAT_WORDS, shape.shelf(0, false));
            assert_eq!(shape.shelf(last, true) + SHELF_WORDS, shape.ends(0, 0));
            let end = shape.ring(last, last) + shape.ring_words();
            assert_eq!(WORDS_AT + 8 * end, shape.file_bytes());
            for at in [seat_at(last), shape.shelf(last, true), shape.ends(last, last)] {
                assert_eq!(at % LINE_WORDS, 0);
            }
        }
        assert_eq!(WORDS_AT % LINE_BYTES, 0);
        assert_eq!(Shape::new(2, 513), None);
    }
}
