//! The caller's ledger: which messages are on their way, which answers are still due, and when to
//! ask again.
//!
//! Messages have sequences from 1 on, of which at most [`OPEN_MESSAGES`] are open: message `s` is
//! begun only once `s - 64` was answered, which is what lets the responder keep so few results. An
//! answer counts once; copies of it are counted apart. Whoever loses, doubles or reorders messages
//! and answers changes the counts of copies, never what was done.
//!
//! No clock of its own: instants are passed in.

use std::time::{Duration, Instant};

use super::layout::OPEN_MESSAGES;
use super::message::{Change, Reply, encode};

/// After which time a message is sent again first; each time it doubles, up to the next.
const PATIENCE: Duration = Duration::from_micros(250);
const MOST_PATIENCE: Duration = Duration::from_millis(64);

/// How much later a message is whose answer shows that an earlier one is lost.
const OVERTAKEN: u64 = 16;

/// A message that is open, or the room for one.
#[derive(Debug, Default)]
struct Open {
    sequence: u64,
    waits: bool,
    bytes: Vec<u8>,
    tries: u32,
    /// When it is sent again; none before the first look at a clock.
    due: Option<Instant>,
}

/// What a caller has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages begun.
    pub begun: u64,
    /// Messages answered, each once.
    pub answered: u64,
    /// Copies of messages, sent since an answer had not come in time.
    pub sent_again: u64,
    /// Answers to what was answered already, or of another session.
    pub surplus: u64,
}

/// The messages of a session.
#[derive(Debug)]
pub(crate) struct Window {
    open: Box<[Open]>,
    next: u64,
    /// The oldest that is open, or the next.
    oldest: u64,
    tally: Tally,
}

impl Default for Window {
    fn default() -> Self {
        let open = (0..OPEN_MESSAGES).map(|_| Open::default()).collect();
        Self { open, next: 1, oldest: 1, tally: Tally::default() }
    }
}

impl Window {
    fn place(sequence: u64) -> usize {
        sequence as usize & (OPEN_MESSAGES - 1)
    }

    /// Whether another message may begin.
    pub(crate) fn has_room(&self) -> bool {
        self.next - self.oldest < OPEN_MESSAGES as u64
    }

    /// Whether any is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.oldest
    }

    /// What was counted.
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// Begins a message; its sequence and bytes. `None` if too many are open.
    pub(crate) fn begin(
        &mut self,
        session: (u16, u64),
        index: u32,
        change: Change<'_>,
    ) -> Option<(u64, &[u8])> {
        if !self.has_room() {
            return None;
        }
        let sequence = self.next;
        let open = &mut self.open[Self::place(sequence)];
        encode(&mut open.bytes, session, sequence, index, change);
        (open.sequence, open.waits, open.tries, open.due) = (sequence, true, 1, None);
        self.next += 1;
        self.tally.begun += 1;
        Some((sequence, &open.bytes))
    }

    /// Takes an answer of this session; whether it is the first to its message.
    pub(crate) fn answered(&mut self, reply: &Reply) -> bool {
        let open = &mut self.open[Self::place(reply.sequence)];
        if open.sequence != reply.sequence || !open.waits {
            self.tally.surplus += 1;
            return false;
        }
        open.waits = false;
        self.tally.answered += 1;
        while self.oldest < self.next && !self.open[Self::place(self.oldest)].waits {
            self.oldest += 1;
        }
        true
    }

    /// What is to be sent again at once, after an answer: the oldest message, if it was sent once,
    /// and one so much later is answered. Then it, or its answer, is lost rather than late.
    pub(crate) fn overtaken(&mut self, by: u64) -> Option<&[u8]> {
        let open = &mut self.open[Self::place(self.oldest)];
        if by < self.oldest + OVERTAKEN || !open.waits || open.tries > 1 {
            return None;
        }
        (open.tries, open.due) = (2, None);
        self.tally.sent_again += 1;
        Some(&open.bytes)
    }

    /// Counts an answer that is none of this session.
    pub(crate) fn foreign(&mut self) {
        self.tally.surplus += 1;
    }

    /// Sends what is due again, oldest first; how often the one was sent that was sent most.
    pub(crate) fn send_due<E>(
        &mut self,
        now: Instant,
        mut send: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<u32, E> {
        let mut most = 0;
        for sequence in self.oldest..self.next {
            let open = &mut self.open[Self::place(sequence)];
            if !open.waits {
                continue;
            }
            let patience = MOST_PATIENCE.min(PATIENCE * (1 << (open.tries - 1).min(16)));
            let due = *open.due.get_or_insert(now + patience);
            if due <= now {
                send(&open.bytes)?;
                open.tries += 1;
                open.due = Some(now + MOST_PATIENCE.min(patience * 2));
                self.tally.sent_again += 1;
            }
            most = most.max(open.tries);
        }
        Ok(most)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;
    use crate::active::message::{Status, at, number};

    fn reply(sequence: u64) -> Reply {
        Reply { session: 1, key: 2, sequence, status: Status::Done, result: 0 }
    }

    #[test]
    fn a_message_waits_for_the_answer_to_the_one_64_before_it() {
        let mut window = Window::default();
        for expected in 1..=OPEN_MESSAGES as u64 {
            let (sequence, _) = window.begin((1, 2), 0, Change::Add(1)).expect("room");
            assert_eq!(sequence, expected);
        }
        assert!(window.answered(&reply(2)));
        assert!(window.begin((1, 2), 0, Change::Add(1)).is_none(), "the first is open");
        assert!(window.answered(&reply(1)));
        assert!(!window.answered(&reply(1)), "a copy");
        assert_eq!(window.begin((1, 2), 0, Change::Add(1)).map(|(sequence, _)| sequence), Some(65));
        assert!(!window.answered(&reply(1)), "a copy of what was in the place of 65");
        assert_eq!(window.tally().surplus, 2);
    }

    #[test]
    fn what_is_not_answered_is_sent_again_and_less_often_each_time() {
        let mut window = Window::default();
        window.begin((1, 2), 0, Change::Add(1)).expect("room");
        let (began, mut sent) = (Instant::now(), Vec::new());
        for quarter in 0..1200u64 {
            let now = began + PATIENCE * quarter as u32;
            let most = window.send_due(now, |bytes| {
                sent.push((quarter, number::<8>(bytes, at::SEQUENCE)));
                Ok::<_, Infallible>(())
            });
            assert_eq!(most, Ok(sent.len() as u32 + 1));
        }
        let at: Vec<u64> = sent.iter().map(|(at, _)| *at).collect();
        assert_eq!(at, [1, 3, 7, 15, 31, 63, 127, 255, 511, 767, 1023]);
        assert!(sent.iter().all(|(_, sequence)| *sequence == 1));
    }

    #[test]
    fn what_later_messages_have_overtaken_is_sent_again_once_and_at_once() {
        let mut window = Window::default();
        for _ in 0..OPEN_MESSAGES {
            window.begin((1, 2), 0, Change::Add(1)).expect("room");
        }
        for sequence in 2..=OVERTAKEN {
            assert!(window.answered(&reply(sequence)));
            assert!(window.overtaken(sequence).is_none(), "{sequence} may have come before");
        }
        assert!(window.answered(&reply(OVERTAKEN + 1)));
        let again = window.overtaken(OVERTAKEN + 1).map(|bytes| number::<8>(bytes, at::SEQUENCE));
        assert_eq!(again, Some(1));
        assert!(window.overtaken(OVERTAKEN + 1).is_none(), "once");
        assert!(window.answered(&reply(1)));
        assert!(window.overtaken(OVERTAKEN + 1).is_none(), "the oldest is the next to that");
    }

    proptest! {
        /// Whatever answers come, each message is answered once, and none that was not begun.
        #[test]
        fn answers_count_once(steps in prop::collection::vec((any::<bool>(), 0..200u64), 0..400)) {
            let (mut window, mut open, mut all) = (Window::default(), BTreeSet::new(), 0u64);
            for (begin, sequence) in steps {
                if begin {
                    let oldest = open.first().copied().unwrap_or(all + 1);
                    let began = window.begin((1, 2), 0, Change::Add(1)).map(|(number, _)| number);
                    let room = all + 1 - oldest < OPEN_MESSAGES as u64;
                    prop_assert_eq!(began, room.then_some(all + 1));
                    open.extend(began);
                    all += u64::from(room);
                } else {
                    prop_assert_eq!(window.answered(&reply(sequence)), open.remove(&sequence));
                }
            }
            prop_assert_eq!(window.is_empty(), open.is_empty());
            prop_assert_eq!(window.tally().begun - window.tally().answered, open.len() as u64);
        }
    }
}
