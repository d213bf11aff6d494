//! A ring: words from one writer to one reader, in order.
//!
//! The writer counts the words that it has ever written, the reader those that it has read; both
//! counts are shared, and their difference is what lies in the ring. Each side keeps its own count
//! for itself and never reads it back. A writer that dies has published whole words only: what it
//! was about to publish is as if it had never been.
//!
//! Invariants: the counts differ by at most the ring's words. If the other side's count says
//! otherwise, nothing is read or written and [`Corrupt`] says so. Counts wrap around at 2⁶⁴, which
//! the number of words, a power of two, divides.
//!
//! Source: Lamport, "Proving the correctness of multiprocess programs", IEEE TSE, 1977.

use crate::machine::Word;

/// The ring as both see it.
#[derive(Debug)]
pub struct Ring<'a, W> {
    /// How many words were written.
    pub tail: &'a W,
    /// How many were read.
    pub head: &'a W,
    /// The words; their number is a power of two.
    pub words: &'a [W],
}

/// The other side's count is impossible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Corrupt;

impl<W> Clone for Ring<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Ring<'_, W> {}

impl<W: Word> Ring<'_, W> {
    /// Where in the ring `count` words after `at` lie: from there on, then from its start on.
    fn parts(&self, at: u64, count: usize) -> (&[W], &[W]) {
        let start = at as usize & (self.words.len() - 1);
        let first = count.min(self.words.len() - start);
        (&self.words[start..start + first], &self.words[..count - first])
    }
}

/// The side that writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writer {
    tail: u64,
    /// Of the reader, as it was last seen.
    head: u64,
}

impl Writer {
    /// One that begins where both counts are this.
    pub fn at(count: u64) -> Self {
        Self { tail: count, head: count }
    }

    /// Writes as many of these words, from the first on, as there is room for: how many.
    ///
    /// # Errors
    /// If the reader's count is impossible.
    #[inline]
    pub fn write<W: Word>(&mut self, ring: Ring<'_, W>, from: &[u64]) -> Result<usize, Corrupt> {
        let capacity = ring.words.len() as u64;
        if capacity - self.tail.wrapping_sub(self.head) < from.len() as u64 {
            let head = ring.head.acquire();
            if self.tail.wrapping_sub(head) > capacity {
                return Err(Corrupt);
            }
            self.head = head;
        }
        let room = capacity - self.tail.wrapping_sub(self.head);
        let count = from.len().min(room as usize);
        let (first, second) = ring.parts(self.tail, count);
        for (to, word) in first.iter().chain(second).zip(from) {
            to.set(*word);
        }
        self.tail = self.tail.wrapping_add(count as u64);
        if count > 0 {
            ring.tail.release(self.tail);
        }
        Ok(count)
    }
}

/// The side that reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reader {
    head: u64,
}

impl Reader {
    /// One that begins where both counts are this.
    pub fn at(count: u64) -> Self {
        Self { head: count }
    }

    /// Adds all that lies in the ring to `into`: how many words.
    ///
    /// # Errors
    /// If the writer's count is impossible.
    #[inline]
    pub fn read<W: Word>(
        &mut self,
        ring: Ring<'_, W>,
        into: &mut Vec<u64>,
    ) -> Result<usize, Corrupt> {
        let there = ring.tail.acquire().wrapping_sub(self.head);
        if there > ring.words.len() as u64 {
            return Err(Corrupt);
        }
        let (first, second) = ring.parts(self.head, there as usize);
        into.extend(first.iter().chain(second).map(Word::get));
        self.head = self.head.wrapping_add(there);
        if there > 0 {
            ring.head.release(self.head);
        }
        Ok(there as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use proptest::prelude::*;

    use super::*;

    struct Memory {
        tail: AtomicU64,
        head: AtomicU64,
        words: Vec<AtomicU64>,
    }

    impl Memory {
        fn new(words: usize, at: u64) -> Self {
            let words = (0..words).map(|_| AtomicU64::new(0)).collect();
            Self { tail: AtomicU64::new(at), head: AtomicU64::new(at), words }
        }

        fn ring(&self) -> Ring<'_, AtomicU64> {
            Ring { tail: &self.tail, head: &self.head, words: &self.words }
        }
    }

    proptest! {
        #[test]
        fn all_words_arrive_in_order(
            bits in 0u32..6,
            before_the_end in 0u64..100,
            steps in prop::collection::vec((any::<bool>(), 0usize..50), 0..200),
        ) {
            let at = 0u64.wrapping_sub(before_the_end);
            let memory = Memory::new(1 << bits, at);
            let (mut writer, mut reader) = (Writer::at(at), Reader::at(at));
            let (mut sent, mut got) = (0u64, Vec::new());
            for (writes, count) in steps {
                if writes {
                    let words: Vec<u64> = (sent..sent + count as u64).collect();
                    let written = writer.write(memory.ring(), &words).expect("an honest reader");
                    let room = (1 << bits) - (sent as usize - got.len());
                    prop_assert_eq!(written, count.min(room));
                    sent += written as u64;
                } else {
                    reader.read(memory.ring(), &mut got).expect("an honest writer");
                    prop_assert_eq!(got.len() as u64, sent);
                }
            }
            reader.read(memory.ring(), &mut got).expect("an honest writer");
            prop_assert_eq!(got, (0..sent).collect::<Vec<_>>());
        }

        #[test]
        fn no_count_of_the_other_side_is_believed(count in any::<u64>()) {
            let memory = Memory::new(8, 100);
            memory.tail.set(count);
            let (mut into, honest) = (Vec::new(), (100..=108).contains(&count));
            prop_assert_eq!(Reader::at(100).read(memory.ring(), &mut into).is_ok(), honest);
            prop_assert!(into.len() <= 8);
            let memory = Memory::new(8, 100);
            let mut writer = Writer::at(100);
            prop_assert_eq!(writer.write(memory.ring(), &[0; 8]), Ok(8));
            memory.head.set(count);
            prop_assert_eq!(writer.write(memory.ring(), &[0; 3]).is_ok(), honest);
        }
    }

    #[test]
    fn two_threads_pass_words_through_a_small_ring() {
        const COUNT: u64 = if cfg!(miri) { 200 } else { 200_000 };
        let memory = Memory::new(8, u64::MAX - 50);
        let mut got = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut writer = Writer::at(u64::MAX - 50);
                let mut next = 0;
                while next < COUNT {
                    let end = COUNT.min(next + 1 + next % 11);
                    let words: Vec<u64> = (next..end).collect();
                    next += writer.write(memory.ring(), &words).expect("honest") as u64;
                    std::thread::yield_now();
                }
            });
            let mut reader = Reader::at(u64::MAX - 50);
            while (got.len() as u64) < COUNT {
                reader.read(memory.ring(), &mut got).expect("honest");
                std::thread::yield_now();
            }
        });
        assert_eq!(got, (0..COUNT).collect::<Vec<_>>());
    }
}
