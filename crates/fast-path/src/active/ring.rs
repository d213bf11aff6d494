//! An active ring: answers that the soft interrupt writes and a process reads without a call.
//!
//! The memory is a value of a map of BPF, which the process has mapped. Its head has a lock, how
//! many answers were written, how many dropped and the key of the session; a line of its own says
//! how many were read, which only the process writes. Answer `p` is in line `p mod n`, whole once
//! the turn of the line is `p + 1`.
//!
//! Source: FOX, section 2.1, "active rings".

use std::sync::atomic::{AtomicU64, Ordering};

use super::message::{Reply, Status};

/// How many answers are in it at most; a power of two, twice as many as can be asked for at a time.
pub(crate) const LINES: usize = 2 * super::layout::OPEN_MESSAGES;
pub(crate) const LINE_WORDS: usize = 8;

/// Words of the head; the lock is the first of all.
pub(crate) const POSITION: usize = 1;
pub(crate) const DROPPED: usize = 2;
pub(crate) const KEY: usize = 3;
pub(crate) const READ: usize = 8;
pub(crate) const LINES_AT: usize = 16;

/// All its words.
pub(crate) const WORDS: usize = LINES_AT + LINES * LINE_WORDS;

/// Words of a line.
pub(crate) mod line {
    pub(crate) const TURN: usize = 0;
    pub(crate) const HEAD: usize = 1;
    pub(crate) const SEQUENCE: usize = 2;
    pub(crate) const RESULT: usize = 3;
}

/// The reader's end.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    read: u64,
}

impl Reader {
    /// The next answer, if one is there. What is no answer is passed over.
    #[inline]
    pub(crate) fn next(&mut self, words: &[AtomicU64]) -> Option<Reply> {
        let at = LINES_AT + (self.read as usize & (LINES - 1)) * LINE_WORDS;
        let line = words.get(at..at + LINE_WORDS)?;
        if line[line::TURN].load(Ordering::Acquire) != self.read + 1 {
            return None;
        }
        let head = line[line::HEAD].load(Ordering::Relaxed).to_le_bytes();
        let reply = Status::of(head[7]).map(|status| Reply {
            session: u16::from_le_bytes([head[4], head[5]]),
            key: words[KEY].load(Ordering::Relaxed),
            sequence: line[line::SEQUENCE].load(Ordering::Relaxed),
            status,
            result: line[line::RESULT].load(Ordering::Relaxed),
        });
        self.read += 1;
        words[READ].store(self.read, Ordering::Release);
        reply
    }
}

/// How many answers found the ring full.
pub(crate) fn dropped(words: &[AtomicU64]) -> u64 {
    words[DROPPED].load(Ordering::Relaxed)
}
