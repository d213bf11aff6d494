//! A cell: some words that one process changes together and others read whole, whatever becomes of
//! the writer.
//!
//! There are two copies, each under a sequence lock (`tidings_board::sequence`), and a word that
//! says which is current. The writer changes the other copy and then makes it current. A writer
//! that is killed in the middle leaves the copy that nobody reads torn: readers read on at once. A
//! reader repeats only when the writer has begun to change the copy that it is reading, which takes
//! two changes during one read.
//!
//! The next writer finds the torn copy by its odd version, and fills it with what the current one
//! has before its version is even again: a slow reader that still looks at it must not take torn
//! words for whole ones.
//!
//! There is one writer at a time: two would overwrite each other.

use tidings_board::sequence::{self, Word};

/// How many words come before the copies: which is current, then the two versions; a line in all.
pub const HEAD_WORDS: usize = 8;

/// The parts of a cell, in shared words.
#[derive(Debug)]
pub struct Parts<'m, W> {
    current: &'m W,
    versions: [&'m W; 2],
    copies: [&'m [W]; 2],
}

impl<'m, W: Word> Parts<'m, W> {
    /// A cell in these words: a head and two copies of half of the rest. `None` if there is no
    /// word in a copy.
    pub fn of(words: &'m [W]) -> Option<Self> {
        let (head, rest) = words.split_at_checked(HEAD_WORDS)?;
        let (first, second) = rest.split_at(rest.len() / 2);
        let copies = [first, &second[..first.len()]];
        let [current, one, other, ..] = head else { return None };
        (!first.is_empty()).then_some(Self { current, versions: [one, other], copies })
    }

    fn current(&self) -> usize {
        (self.current.get() & 1) as usize
    }

    /// Reads the words into those given, as many as there are; whether it saw them whole. If not,
    /// the writer was at work, and the next look sees a newer copy.
    #[inline]
    pub fn look(&self, into: &mut [u64]) -> bool {
        let at = self.current();
        W::acquire();
        let copy = self.copies[at];
        let read = sequence::read(self.versions[at], || {
            for (to, from) in into.iter_mut().zip(copy) {
                *to = from.get();
            }
        });
        read.is_some()
    }

    /// Makes the cell ready for a new writer: what the last one left torn is whole again.
    pub fn mend(&self) {
        let at = self.current();
        let version = self.versions[1 - at].get();
        if version % 2 == 0 {
            return;
        }
        W::release();
        for (to, from) in self.copies[1 - at].iter().zip(self.copies[at]) {
            to.set(from.get());
        }
        W::release();
        self.versions[1 - at].set(version.wrapping_add(1));
    }

    /// Changes the words, of which as many are set as are given; the rest is what it was two
    /// changes ago.
    #[inline]
    pub fn write(&self, from: &[u64]) {
        let next = 1 - self.current();
        sequence::write(self.versions[next], || {
            for (to, value) in self.copies[next].iter().zip(from) {
                to.set(*value);
            }
        });
        W::release();
        self.current.set(next as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn words() -> Vec<AtomicU64> {
        (0..HEAD_WORDS + 4).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn what_was_written_last_is_read() {
        let words = words();
        let cell = Parts::of(&words).expect("two words");
        let mut seen = [9; 2];
        assert!(cell.look(&mut seen));
        assert_eq!(seen, [0, 0]);
        for value in 1..10 {
            cell.write(&[value, value]);
            assert!(cell.look(&mut seen));
            assert_eq!(seen, [value, value]);
        }
    }

    /// The writer was killed inside a write: its copy has one new word, and an odd version.
    #[test]
    fn a_torn_copy_is_not_read_and_the_next_writer_mends_it() {
        let words = words();
        let cell = Parts::of(&words).expect("two words");
        cell.write(&[1, 1]);
        let torn = 1 - cell.current();
        cell.versions[torn].set(cell.versions[torn].get() + 1);
        cell.copies[torn][0].set(2);
        let mut seen = [9; 2];
        assert!(cell.look(&mut seen), "a reader waits for nobody");
        assert_eq!(seen, [1, 1]);
        cell.mend();
        assert_eq!(cell.versions[torn].get() % 2, 0);
        assert_eq!(cell.copies[torn][0].get(), 1);
        cell.write(&[3, 3]);
        assert!(cell.look(&mut seen));
        assert_eq!(seen, [3, 3]);
    }

    #[test]
    fn no_cell_is_without_words() {
        assert!(Parts::of(&words()[..=HEAD_WORDS]).is_none());
        assert!(Parts::of(&words()[..3]).is_none());
    }
}
