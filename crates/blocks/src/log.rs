//! A log of the cluster's: entries that any process appends, in one order for all.
//!
//! It is one part with two copies ([`pair`](crate::pair)): the owner numbers the entries. An entry
//! that was answered stays at its place when a process dies, and is read by all. A log is in
//! memory: who appends for long trims it.

use std::collections::VecDeque;

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

use crate::block::{Block, Handler, Here};
use crate::envelope::{Refusal, decode, encode};
use crate::pair::{Call, State, Twins};
use crate::reply::{self, Reply, Unanswered};

/// The longest entry, in bytes.
pub const MAX_ENTRY_BYTES: usize = 512 << 10;

/// One answer has entries of so many bytes, and one more; so has a piece of a copy.
const PAGE_BYTES: usize = 256 << 10;

/// The kind of logs.
#[derive(Clone, Copy, Debug, Default)]
pub struct DistributedLog;

/// Why a call of a log was not answered as asked.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LogError {
    /// The entry is too long. Nothing was appended.
    #[error("an entry has {0} bytes; at most {MAX_ENTRY_BYTES} are possible")]
    TooLong(usize),
    /// A process that takes part has no such log. Whether anything was appended is unknown.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There is no answer. Whether anything was appended is unknown.
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
}

/// A log, as programs call it.
#[derive(Debug)]
pub struct Log {
    here: Here,
}

/// Some entries of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Extract {
    /// The number of the first of them: larger than asked for where those before were trimmed.
    #[n(0)]
    pub first: u64,
    /// The entries, in order.
    #[n(1)]
    pub entries: Vec<ByteVec>,
    /// The number that the next entry of the log will have.
    #[n(2)]
    pub end: u64,
}

impl Log {
    /// Appends an entry; its number, from 0.
    ///
    /// # Errors
    /// It is too long, this process takes part no more, or another has no such log.
    pub async fn append(&self, entry: &[u8]) -> Result<u64, LogError> {
        if entry.len() > MAX_ENTRY_BYTES {
            return Err(LogError::TooLong(entry.len()));
        }
        Ok(self.call(Op::Append(entry.to_vec())).await??.first)
    }

    /// Extract from a number on, as many as one answer has.
    ///
    /// # Errors
    /// This process takes part no more, or another has no such log.
    pub async fn read(&self, from: u64) -> Result<Extract, LogError> {
        Ok(self.call(Op::Read(from)).await??)
    }

    /// Forgets the entries before a number.
    ///
    /// # Errors
    /// As with [`Log::read`].
    pub async fn trim(&self, before: u64) -> Result<(), LogError> {
        self.call(Op::Trim(before)).await??;
        Ok(())
    }

    fn call(&self, op: Op) -> Reply<Result<Extract, Refusal>> {
        let (asker, reply) = reply::ask();
        self.here.call(Call::<Tape> { part: 0, op, asker });
        reply
    }
}

/// What is done with a log.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Op {
    /// One entry more.
    #[n(0)]
    Append(#[cbor(n(0), with = "minicbor::bytes")] Vec<u8>),
    /// Extract from here on.
    #[n(1)]
    Read(#[n(0)] u64),
    /// No entry before this any more.
    #[n(2)]
    Trim(#[n(0)] u64),
}

/// The state of a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tape {
    first: u64,
    entries: VecDeque<Vec<u8>>,
}

impl Tape {
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    fn read(&self, from: u64) -> Extract {
        let first = from.clamp(self.first, self.end());
        let (mut bytes, mut entries) = (0, Vec::new());
        for entry in self.entries.range((first - self.first) as usize..) {
            entries.push(entry.clone().into());
            bytes += entry.len() + 16;
            if bytes >= PAGE_BYTES {
                break;
            }
        }
        Extract { first, entries, end: self.end() }
    }
}

impl State for Tape {
    type Op = Op;
    type Answer = Extract;

    fn apply(&mut self, op: &Op) -> Extract {
        match op {
            Op::Append(entry) => {
                let first = self.end();
                self.entries.push_back(entry.clone());
                Extract { first, entries: Vec::new(), end: self.end() }
            }
            Op::Read(from) => self.read(*from),
            Op::Trim(before) => {
                let gone = (*before).clamp(self.first, self.end()) - self.first;
                self.entries.drain(..gone as usize);
                self.first += gone;
                Extract { first: self.first, entries: Vec::new(), end: self.end() }
            }
        }
    }

    fn is_read(op: &Op) -> bool {
        matches!(op, Op::Read(_))
    }

    fn pages(&self) -> Vec<Vec<u8>> {
        let mut pages = Vec::new();
        let mut from = self.first;
        loop {
            let page = self.read(from);
            from += page.entries.len() as u64;
            pages.push(encode(&page));
            if from >= self.end() {
                return pages;
            }
        }
    }

    fn restore(&mut self, page: &[u8]) -> bool {
        let Some(page) = decode::<Extract>(page) else { return false };
        if self.entries.is_empty() {
            self.first = page.first;
        }
        self.entries.extend(page.entries.into_iter().map(Vec::from));
        true
    }
}

impl Block for DistributedLog {
    const KIND: &'static str = "log";
    const VERSION: u32 = 1;
    type Interface = Log;

    fn represent(&self, here: Here) -> (Box<Log>, Box<dyn Handler>) {
        let twins = Twins::<Tape>::new(&here, 1, |_| ());
        (Box::new(Log { here }), Box::new(twins))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_a_trimmed_log_is_that_log() {
        let mut tape = Tape::default();
        for number in 0..5_u64 {
            let answer = tape.apply(&Op::Append(vec![number as u8; 200 << 10]));
            assert_eq!((answer.first, answer.end), (number, number + 1));
        }
        tape.apply(&Op::Trim(2));
        let mut copy = Tape::default();
        let pages = tape.pages();
        assert!(pages.len() > 1 && pages.iter().all(|page| copy.restore(page)));
        assert_eq!(copy, tape);
        let read = tape.apply(&Op::Read(0));
        assert_eq!((read.first, read.entries.len(), read.end), (2, 2, 5));
        tape.apply(&Op::Trim(9));
        let mut copy = Tape::default();
        assert!(tape.pages().iter().all(|page| copy.restore(page)));
        assert_eq!((copy.end(), copy.entries.len()), (5, 0));
    }
}
