//! What workers show of their work: the board that all of them see.
//!
//! In a phase a worker writes how long it is still busy whenever that has changed, so what is read
//! is what it has now: an entry of this board has no age. It is on a line of its own, which nobody
//! else writes.
//!
//! Who was sent something and has not taken it in shows what it had before that. If it was sent
//! tasks and the sender believed that it has none, it would send more, and in the end all to one
//! that does not even run: so nothing is known of it to that sender.

use tidings_steal::{Board, Entry};

use crate::memory::Memory;
use crate::place;

/// The work and the places of all workers, as one of them sees them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) memory: &'a Memory,
    pub(crate) me: u32,
}

impl Board for Shown<'_> {
    fn entry(&self, worker: u32) -> Option<Entry> {
        let work_ns = self.memory.work(worker)?;
        self.memory.has_read(self.me, worker).then_some(Entry { work_ns, age_us: 0 })
    }

    fn distance(&self, one: u32, other: u32) -> u32 {
        place::distance(self.memory.place(one), self.memory.place(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::Writer;
    use crate::rules::Rules;

    #[test]
    fn what_one_writes_others_read_of_it_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("segment");
        let shape = Rules::default().shape(3).expect("a shape");
        let (_, own) = Memory::create(&path, shape, &Rules::default()).expect("room");
        let (other, _) = Memory::open(&path).expect("a segment");
        own.show_work(1, Some(7));
        own.show_work(2, Some(0));
        let board = Shown { memory: &other, me: 0 };
        let work = |worker| board.entry(worker).map(|entry| entry.work_ns);
        assert_eq!([0, 1, 2].map(work), [None, Some(7), Some(0)]);
        let wrote = Writer::default().write(other.ring(0, 1), &[1]);
        assert_eq!((wrote, [0, 1, 2].map(work)), (Ok(1), [None, None, Some(0)]));
        own.show_work(2, None);
        assert_eq!(work(2), None);
        own.show_place(0, place::word_of(0));
        own.show_place(2, place::word_of(0));
        assert!(board.distance(0, 2) < board.distance(0, 1));
    }
}
