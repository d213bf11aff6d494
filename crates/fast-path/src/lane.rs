//! A lane: calls from one thread to the service, each in one cache line, in order.
//!
//! The caller writes seven words and then the word `turn` of a line; the service, which looks at
//! the line that is next, runs what it says, and writes a result and `turn` into the same line. So
//! a call and its answer move one line to the other core and back. How many are done stands in a
//! word apart, which the caller reads only when all lines seem to be in use: firing waits for no
//! other core.
//!
//! Call number `p`, from 0, is in line `p mod n`. A line's `turn` is `2p + 1` once `p` is fired and
//! `2p + 2` once it is done; 0 says that nothing was there yet. Invariants, which a model checker
//! shows over all interleavings (`tests/model.rs`):
//!
//! - *order*: calls are taken in the order in which they were fired, each once and whole;
//! - *back-pressure*: a line is written again only when its last call is done; a caller whose lines
//!   are all in use is refused, and nothing is lost or overwritten;
//! - *result*: who sees `2p + 2` sees the result of `p`.
//!
//! Words are relaxed atomics, ordered by fences, as for the board's sequence lock, whose trait for
//! words serves here: on x86-64 these fences cost no instruction.

pub use tidings_board::sequence::Word;

/// The words of a call, and of its line before `turn`.
pub const CALL_WORDS: usize = 7;

/// How many bytes go with a call that is known by one word.
pub const INLINE_BYTES: usize = (CALL_WORDS - 1) * 8;

/// The most lines of a lane: 64 KiB of them.
pub const MOST_LINES: usize = 1024;

/// The most lanes of a service: it looks at each of them between two looks at one.
pub const MOST_LANES: usize = 64;

/// A cache line: a call, or its result in the first word, and whose turn it is.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Line<W> {
    /// The call.
    pub words: [W; CALL_WORDS],
    /// Which call is here, and whether it is done.
    pub turn: W,
}

/// The lines of one caller, a power of two of them, and how many calls are done.
#[derive(Debug)]
pub struct Lane<'m, W> {
    /// The lines.
    pub lines: &'m [Line<W>],
    /// How many calls are done.
    pub done: &'m W,
}

impl<W> Clone for Lane<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Lane<'_, W> {}

impl<'m, W> Lane<'m, W> {
    #[inline]
    fn line(self, position: u64) -> &'m Line<W> {
        // A power of two of lines, at least one: the mask is below their number.
        &self.lines[position as usize & (self.lines.len() - 1)]
    }
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is waiting, or running.
    Pending,
    /// It is done, with this result.
    Done(u64),
    /// A later call uses its line, so it was done, and its result is gone.
    Passed,
}

/// The caller's end.
#[derive(Debug, Default)]
pub struct Caller {
    at: u64,
    seen_done: u64,
}

impl Caller {
    /// Fires a call; its number. `None` if all lines are in use.
    #[inline]
    pub fn fire<W: Word>(&mut self, lane: Lane<'_, W>, words: &[u64; CALL_WORDS]) -> Option<u64> {
        let lines = lane.lines.len() as u64;
        if self.at - self.seen_done >= lines {
            // The service reports no more than was fired; of a wrong number nothing follows but a
            // refusal.
            self.seen_done = lane.done.get().clamp(self.seen_done, self.at);
            if self.at - self.seen_done >= lines {
                return None;
            }
            W::acquire();
        }
        let here = lane.line(self.at);
        for (word, value) in here.words.iter().zip(words) {
            word.set(*value);
        }
        W::release();
        here.turn.set(2 * self.at + 1);
        self.at += 1;
        Some(self.at - 1)
    }

    /// How many calls were fired.
    pub fn fired(&self) -> u64 {
        self.at
    }

    /// What became of call number `position`.
    #[inline]
    pub fn outcome<W: Word>(&self, lane: Lane<'_, W>, position: u64) -> Outcome {
        if position >= self.at {
            return Outcome::Pending;
        }
        if self.at - position > lane.lines.len() as u64 {
            return Outcome::Passed;
        }
        let here = lane.line(position);
        if here.turn.get() != 2 * position + 2 {
            return Outcome::Pending;
        }
        W::acquire();
        Outcome::Done(here.words[0].get())
    }
}

/// The service's end.
#[derive(Debug, Default)]
pub struct Server {
    at: u64,
}

impl Server {
    /// The call that is next, if one was fired. Until it is [finished](Server::finish) it is next.
    #[inline]
    pub fn next<W: Word>(&self, lane: Lane<'_, W>) -> Option<[u64; CALL_WORDS]> {
        let here = lane.line(self.at);
        if here.turn.get() != 2 * self.at + 1 {
            return None;
        }
        W::acquire();
        Some(std::array::from_fn(|at| here.words[at].get()))
    }

    /// Answers the call that is next.
    #[inline]
    pub fn finish<W: Word>(&mut self, lane: Lane<'_, W>, result: u64) {
        let here = lane.line(self.at);
        here.words[0].set(result);
        W::release();
        here.turn.set(2 * self.at + 2);
        self.at += 1;
        lane.done.set(self.at);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use proptest::prelude::*;

    use super::*;

    fn memory(lines: usize) -> (Vec<Line<AtomicU64>>, AtomicU64) {
        let word = || AtomicU64::new(0);
        let line = |_| Line { words: std::array::from_fn(|_| word()), turn: word() };
        ((0..lines).map(line).collect(), word())
    }

    #[test]
    fn a_line_is_one_cache_line() {
        assert_eq!(size_of::<Line<AtomicU64>>(), 64);
        assert_eq!(align_of::<Line<AtomicU64>>(), 64);
    }

    #[test]
    fn a_full_lane_refuses_and_takes_again_what_is_done_makes_room_for() {
        let (lines, done) = memory(2);
        let lane = Lane { lines: &lines, done: &done };
        let (mut caller, mut server) = (Caller::default(), Server::default());
        assert_eq!(caller.fire(lane, &[7; 7]), Some(0));
        assert_eq!(caller.fire(lane, &[8; 7]), Some(1));
        assert_eq!(caller.fire(lane, &[9; 7]), None, "both lines are in use");
        assert_eq!(server.next(lane), Some([7; 7]));
        assert_eq!(server.next(lane), Some([7; 7]), "until it is finished it is next");
        server.finish(lane, 70);
        assert_eq!(caller.outcome(lane, 0), Outcome::Done(70));
        assert_eq!(caller.outcome(lane, 1), Outcome::Pending);
        assert_eq!(caller.fire(lane, &[9; 7]), Some(2));
        assert_eq!(caller.outcome(lane, 0), Outcome::Passed);
        assert_eq!(caller.outcome(lane, 9), Outcome::Pending, "not fired");
    }

    /// A count that no service writes: the caller believes none of it that cannot be.
    #[test]
    fn a_wrong_count_of_what_is_done_frees_no_line_beyond_those_fired() {
        let (lines, done) = memory(1);
        let lane = Lane { lines: &lines, done: &done };
        let mut caller = Caller::default();
        caller.fire(lane, &[1; 7]).expect("room for one");
        done.set(u64::MAX);
        assert_eq!(caller.fire(lane, &[2; 7]), Some(1));
        done.set(0);
        assert_eq!(caller.fire(lane, &[3; 7]), None);
    }

    proptest! {
        /// Whatever the turns of both ends, calls come in order, once, and none waits in vain.
        #[test]
        fn calls_are_a_queue(
            steps in prop::collection::vec(any::<bool>(), 0..200),
            power in 0..4u32,
        ) {
            let (lines, done) = memory(1 << power);
            let lane = Lane { lines: &lines, done: &done };
            let (mut caller, mut server) = (Caller::default(), Server::default());
            let (mut fired, mut taken) = (0u64, 0u64);
            for fire in steps {
                if fire {
                    let room = fired - taken < 1 << power;
                    let number = caller.fire(lane, &[fired; 7]);
                    prop_assert_eq!(number, room.then_some(fired));
                    fired += u64::from(room);
                } else {
                    let call = server.next(lane);
                    prop_assert_eq!(call, (taken < fired).then_some([taken; 7]));
                    if call.is_some() {
                        server.finish(lane, taken + 1);
                        prop_assert_eq!(caller.outcome(lane, taken), Outcome::Done(taken + 1));
                        taken += 1;
                    }
                }
            }
        }
    }
}
