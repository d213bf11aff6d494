//! The memory of a responder, in words of 64 bits: a lock, what was counted, the sessions with
//! their tables, and the words that messages change.
//!
//! It is one value of a map of BPF, or private memory where a thread responds; the process reads it
//! by plain loads. A session's table has one place for each message that may be on its way: the
//! sequence of the last message there, and its result. That suffices, since a caller begins message
//! `s` only when it has the answer to `s - 64`, so an older message in that place has been answered
//! and whatever copy of it still comes is late.

/// How many sessions there are.
pub const SESSIONS: usize = 64;

/// How many messages of a session may be on their way, a power of two.
pub const OPEN_MESSAGES: usize = 64;

/// The most words that messages change: 8 MiB of them.
pub const MOST_WORDS: usize = 1 << 20;

/// The lock that the soft interrupts of several cores take, alone in its line.
pub(crate) const LOCK: usize = 0;
/// Counters, in the order of [`Ledger`].
pub(crate) const COUNTERS: usize = 8;
const SESSIONS_AT: usize = 16;

/// Words of a session before its table: its key, and how many of its messages were done.
const SESSION_HEAD: usize = 8;
pub(crate) const SESSION_WORDS: usize = SESSION_HEAD + 2 * OPEN_MESSAGES;

/// Where the words are that messages change.
pub(crate) const WORDS_AT: usize = SESSIONS_AT + SESSIONS * SESSION_WORDS;

/// Words behind them that nothing changes: the verifier of BPF sees the first word of a merge and
/// its length, each below its bound, but not that their sum is.
pub(crate) const SLACK: usize = super::message::MOST_MERGED;

/// Where the key of a session is; the number of its done messages follows.
pub(crate) const fn session_at(session: usize) -> usize {
    SESSIONS_AT + session * SESSION_WORDS
}

/// Where a message's sequence is in the table of its session; the result follows.
pub(crate) const fn place_at(session: usize, sequence: u64) -> usize {
    let place = sequence as usize & (OPEN_MESSAGES - 1);
    session_at(session) + SESSION_HEAD + 2 * place
}

/// The first place of a session's table, from the session on.
pub(crate) const TABLE: usize = SESSION_HEAD;

/// All words of a memory.
pub(crate) const fn whole(words: usize) -> usize {
    WORDS_AT + words + SLACK
}

/// What a responder has counted, each message once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Done, each once.
    pub done: u64,
    /// Copies of what was done, answered from the table.
    pub done_before: u64,
    /// Copies of what its caller has an answer to: not answered.
    pub late: u64,
    /// Of no operation or word there is: answered so.
    pub refused: u64,
    /// Dropped since another core held the lock for too long; they come again.
    pub busy: u64,
    /// Of no session, or with a wrong key, or answers: dropped.
    pub unknown: u64,
}

/// Where each is, from [`COUNTERS`] on.
pub(crate) mod counter {
    pub(crate) const DONE: usize = 0;
    pub(crate) const DONE_BEFORE: usize = 1;
    pub(crate) const LATE: usize = 2;
    pub(crate) const REFUSED: usize = 3;
    pub(crate) const BUSY: usize = 4;
    pub(crate) const UNKNOWN: usize = 5;
}

impl Ledger {
    /// Of the counters of a memory.
    pub(crate) fn of(mut counter: impl FnMut(usize) -> u64) -> Self {
        Self {
            done: counter(counter::DONE),
            done_before: counter(counter::DONE_BEFORE),
            late: counter(counter::LATE),
            refused: counter(counter::REFUSED),
            busy: counter(counter::BUSY),
            unknown: counter(counter::UNKNOWN),
        }
    }
}
