//! The state of a store: a ledger, and how long its sessions last.
//!
//! It knows no time. Whoever keeps a session counts up how often that was kept, and a session is
//! ended by naming that count: so one that was kept meanwhile goes on, whatever the clock said of
//! whoever wanted to end it.
//!
//! It is *founded* once. A copy that was never founded is one of which all was lost, and answers
//! nothing: what it would say could be believed to be what was there before.

use std::collections::BTreeMap;

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};
use tidings_tasks_core::ledger::{Ledger, Page};
use tidings_tasks_core::transaction::{
    CommitError, Durability, Event, Key, Limits, Record, Revision, Session, Transaction, bound,
};

use crate::envelope::{decode, encode};
use crate::pair::State;

/// What a transaction may hold: as much as one message has place for.
pub const LIMITS: Limits =
    Limits { operations: 4_096, bytes: 2 << 20, durability: Durability::Volatile };

/// Values that are read by one call have at most so many bytes, together with their keys.
pub const MAX_READ_BYTES: usize = 4 << 20;

/// Pages, changes and pieces of copies have so many bytes, and one record or revision more.
const PAGE_BYTES: usize = 256 << 10;

/// Records of one page.
const PAGE: usize = 4_096;

/// The bytes of the changes that watchers can go back. Older ones are forgotten.
const HISTORY_BYTES: usize = 16 << 20;

/// What is done with a store.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Op {
    /// It begins, empty, if it has not begun.
    #[n(0)]
    Found,
    /// A commit.
    #[n(1)]
    Commit(#[n(0)] Transaction),
    /// The values of some keys.
    #[n(2)]
    Get(#[n(0)] Vec<Key>),
    /// Some values of a range.
    #[n(3)]
    Scan {
        /// Where it begins.
        #[cbor(n(0), with = "bound")]
        from: Option<Key>,
        /// Where it ends, if it does.
        #[cbor(n(1), with = "bound")]
        end: Option<Key>,
        /// How many.
        #[n(2)]
        limit: u32,
    },
    /// Changes of keys that begin so, after a revision.
    #[n(4)]
    Changes(#[n(0)] ByteVec, #[n(1)] Revision),
    /// A session that lasts so many milliseconds if it is not kept.
    #[n(5)]
    Open(#[n(0)] u64),
    /// A session is kept.
    #[n(6)]
    Keep(#[n(0)] Session),
    /// A session ends.
    #[n(7)]
    Close(#[n(0)] Session),
    /// A session ends that was kept so often and not since.
    #[n(8)]
    Expire(#[n(0)] Session, #[n(1)] u64),
    /// Changes up to here are forgotten.
    #[n(9)]
    Compact(#[n(0)] Revision),
}

/// What a store answers.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Answer {
    /// It is done.
    #[n(0)]
    Done,
    /// What a commit came to.
    #[n(1)]
    Commit(#[n(0)] Result<Revision, CommitError>),
    /// Values, as of a revision.
    #[n(2)]
    Records(#[n(0)] Vec<Option<Record>>, #[n(1)] Revision),
    /// The values of these keys have more bytes than one answer: these many.
    #[n(3)]
    TooLong(#[n(0)] u64),
    /// Some values of a range.
    #[n(4)]
    Page(#[n(0)] Page),
    /// Changes, and up to where these are all.
    #[n(5)]
    Changes(#[n(0)] Vec<Event>, #[n(1)] Revision),
    /// Changes up to here are no longer held.
    #[n(6)]
    Compacted(#[n(0)] Revision),
    /// A session was opened.
    #[n(7)]
    Session(#[n(0)] Session),
    /// A session has ended.
    #[n(8)]
    Ended(#[n(0)] Session),
    /// There is nothing: it was not founded, or all of it was lost.
    #[n(9)]
    Nothing,
}

/// How long a session lasts, and how often it was kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Beat {
    /// Milliseconds without being kept.
    #[n(0)]
    pub ttl_ms: u64,
    /// How often it was kept.
    #[n(1)]
    pub keeps: u64,
}

/// The sessions of a store, as the process has them that owns it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sessions {
    /// How many were ever opened.
    pub opened: u64,
    /// Those that last.
    pub beats: BTreeMap<Session, Beat>,
}

/// The state of a store.
#[derive(Clone, Debug, Default)]
pub struct Records {
    ledger: Ledger,
    beats: BTreeMap<Session, Beat>,
    opened: u64,
    is_founded: bool,
}

/// A piece of a copy.
#[derive(Encode, Decode)]
enum Piece {
    /// What is not a value: the revision, the last session, and those that last.
    #[n(0)]
    Head {
        #[n(0)]
        revision: Revision,
        #[n(1)]
        last_session: Session,
        #[n(2)]
        beats: Vec<(Session, Beat)>,
        #[n(3)]
        opened: u64,
        #[n(4)]
        is_founded: bool,
    },
    #[n(1)]
    Values(#[n(0)] Vec<(Record, Option<Session>)>),
}

impl Records {
    /// The last commit.
    pub fn revision(&self) -> Revision {
        self.ledger.revision()
    }

    /// How many sessions were ever opened.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// The sessions that last.
    pub fn beats(&self) -> impl Iterator<Item = (Session, Beat)> {
        self.beats.iter().map(|(session, beat)| (*session, *beat))
    }

    fn commit(&mut self, transaction: &Transaction) -> Result<Revision, CommitError> {
        if let Some(refusal) = LIMITS.refusal(transaction) {
            return Err(CommitError::Invalid(refusal));
        }
        let revision = self.ledger.commit(transaction)?;
        self.ledger.bound_history(HISTORY_BYTES);
        Ok(revision)
    }

    fn get(&self, keys: &[Key]) -> Answer {
        let records: Vec<Option<Record>> = keys.iter().map(|key| self.ledger.get(key)).collect();
        let bytes = |record: &Record| record.key.as_bytes().len() + record.value.len();
        let bytes: usize = records.iter().flatten().map(bytes).sum();
        if bytes > MAX_READ_BYTES {
            return Answer::TooLong(bytes as u64);
        }
        Answer::Records(records, self.ledger.revision())
    }

    fn scan(&self, from: Option<&Key>, end: Option<&Key>, limit: u32) -> Answer {
        let Some(from) = from else { return Answer::Nothing };
        let limit = (limit as usize).clamp(1, PAGE);
        Answer::Page(self.ledger.scan(from, end, limit).cut(PAGE_BYTES))
    }

    /// Whole revisions, not very many at once.
    fn changes(&self, prefix: &[u8], after: Revision) -> Answer {
        let mut events = match self.ledger.changes(prefix, after) {
            Ok(events) => events,
            Err(compacted) => return Answer::Compacted(compacted.0),
        };
        let mut bytes = 0;
        let mut last = None;
        let fits = events.iter().take_while(|event| {
            let has_place = bytes < PAGE_BYTES || last == Some(event.revision);
            bytes += event.key.as_bytes().len() + event.value.as_deref().map_or(0, <[u8]>::len);
            last = Some(event.revision);
            has_place
        });
        let count = fits.count();
        if count == events.len() {
            return Answer::Changes(events, self.ledger.revision());
        }
        events.truncate(count);
        let until = events.last().map_or(after, |event| event.revision);
        Answer::Changes(events, until)
    }

    fn open(&mut self, ttl_ms: u64) -> Answer {
        let session = self.ledger.open_session();
        self.beats.insert(session, Beat { ttl_ms, keeps: 0 });
        self.opened += 1;
        Answer::Session(session)
    }

    fn keep(&mut self, session: Session) -> Answer {
        match self.beats.get_mut(&session) {
            Some(beat) => {
                beat.keeps += 1;
                Answer::Done
            }
            None => Answer::Ended(session),
        }
    }

    fn end(&mut self, session: Session) -> Answer {
        if self.beats.remove(&session).is_none() || self.ledger.end_session(session).is_err() {
            return Answer::Ended(session);
        }
        self.ledger.bound_history(HISTORY_BYTES);
        Answer::Done
    }

    fn expire(&mut self, session: Session, keeps: u64) -> Answer {
        match self.beats.get(&session) {
            Some(beat) if beat.keeps == keeps => self.end(session),
            // It was kept meanwhile.
            Some(_) => Answer::Done,
            None => Answer::Ended(session),
        }
    }
}

impl State for Records {
    type Op = Op;
    type Answer = Answer;

    fn apply(&mut self, op: &Op) -> Answer {
        if !self.is_founded && *op != Op::Found {
            return Answer::Nothing;
        }
        match op {
            Op::Found => {
                self.is_founded = true;
                Answer::Done
            }
            Op::Commit(transaction) => Answer::Commit(self.commit(transaction)),
            Op::Get(keys) => self.get(keys),
            Op::Scan { from, end, limit } => self.scan(from.as_ref(), end.as_ref(), *limit),
            Op::Changes(prefix, after) => self.changes(prefix, *after),
            Op::Open(ttl_ms) => self.open(*ttl_ms),
            Op::Keep(session) => self.keep(*session),
            Op::Close(session) => self.end(*session),
            Op::Expire(session, keeps) => self.expire(*session, *keeps),
            Op::Compact(before) => {
                self.ledger.compact(*before);
                Answer::Done
            }
        }
    }

    fn is_read(op: &Op) -> bool {
        matches!(op, Op::Get(_) | Op::Scan { .. } | Op::Changes(..))
    }

    /// What an older copy says was overtaken by what is lost.
    fn lose(&mut self) -> bool {
        core::mem::take(self).is_founded
    }

    fn pages(&self) -> Vec<Vec<u8>> {
        let head = Piece::Head {
            revision: self.ledger.revision(),
            last_session: self.ledger.last_session(),
            beats: self.beats().collect(),
            opened: self.opened,
            is_founded: self.is_founded,
        };
        let (mut pages, mut page, mut bytes) = (vec![encode(&head)], Vec::new(), 0);
        for (record, session) in self.ledger.values() {
            bytes += record.key.as_bytes().len() + record.value.len() + 16;
            page.push((record, session));
            if bytes >= PAGE_BYTES {
                pages.push(encode(&Piece::Values(core::mem::take(&mut page))));
                bytes = 0;
            }
        }
        if !page.is_empty() {
            pages.push(encode(&Piece::Values(page)));
        }
        pages
    }

    fn restore(&mut self, page: &[u8]) -> bool {
        match decode::<Piece>(page) {
            Some(Piece::Head { revision, last_session, beats, opened, is_founded }) => {
                let sessions = beats.iter().map(|(session, _)| *session);
                self.ledger = Ledger::at(revision, sessions, last_session);
                self.beats = beats.into_iter().collect();
                (self.opened, self.is_founded) = (opened, is_founded);
                true
            }
            Some(Piece::Values(values)) => {
                for (record, session) in values {
                    self.ledger.restore(record, session);
                }
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::new(text.as_bytes()).unwrap()
    }

    fn founded() -> Records {
        let mut records = Records::default();
        assert_eq!(records.apply(&Op::Found), Answer::Done);
        records
    }

    fn put(name: &str, bytes: usize) -> Op {
        let mut transaction = Transaction::default();
        transaction.put(key(name), vec![1; bytes]);
        Op::Commit(transaction)
    }

    #[test]
    fn what_was_never_founded_says_nothing() {
        let mut records = Records::default();
        for op in [put("a", 1), Op::Get(vec![key("a")]), Op::Open(1)] {
            assert_eq!(records.apply(&op), Answer::Nothing);
        }
        assert_eq!(records.apply(&Op::Found), Answer::Done);
        assert_eq!(records.apply(&put("a", 1)), Answer::Commit(Ok(Revision(1))));
        assert_eq!(records.apply(&Op::Found), Answer::Done);
        assert_eq!(records.revision(), Revision(1));
    }

    #[test]
    fn a_session_ends_only_if_it_was_not_kept_since_it_was_looked_at() {
        let mut records = founded();
        let Answer::Session(session) = records.apply(&Op::Open(500)) else { panic!() };
        assert_eq!(records.apply(&Op::Keep(session)), Answer::Done);
        assert_eq!(records.apply(&Op::Expire(session, 0)), Answer::Done);
        assert_eq!(
            records.beats().collect::<Vec<_>>(),
            [(session, Beat { ttl_ms: 500, keeps: 1 })]
        );
        assert_eq!(records.apply(&Op::Expire(session, 1)), Answer::Done);
        assert_eq!(records.apply(&Op::Keep(session)), Answer::Ended(session));
        assert_eq!(records.apply(&Op::Close(session)), Answer::Ended(session));
        assert_eq!(records.opened(), 1);
    }

    #[test]
    fn a_copy_goes_on_as_the_original() {
        let mut records = founded();
        let Answer::Session(session) = records.apply(&Op::Open(500)) else { panic!() };
        for number in 0..5 {
            records.apply(&put(&format!("k{number}"), 200 << 10));
        }
        let (name, value) = (key("held"), Box::default());
        let write = tidings_tasks_core::transaction::Write::Put {
            key: name.clone(),
            value,
            session: Some(session),
        };
        records.apply(&Op::Commit(Transaction { conditions: vec![], writes: vec![write] }));
        let (mut copy, pages) = (Records::default(), records.pages());
        assert!(pages.len() > 2 && pages.iter().all(|page| copy.restore(page)));
        for op in [
            Op::Scan { from: Some(key("a")), end: None, limit: 9 },
            Op::Close(session),
            Op::Get(vec![name]),
            Op::Open(7),
            put("last", 1),
        ] {
            assert_eq!(copy.apply(&op), records.apply(&op), "{op:?}");
        }
        assert!(!copy.restore(b"no page"));
    }

    #[test]
    fn changes_come_in_whole_revisions_as_many_as_an_answer_has() {
        let mut records = founded();
        for round in 0..4 {
            let mut transaction = Transaction::default();
            for number in 0..3 {
                transaction.put(key(&format!("{round}/{number}")), vec![0; 100 << 10]);
            }
            records.apply(&Op::Commit(transaction));
        }
        let (mut after, mut seen) = (Revision(0), Vec::new());
        while after < records.revision() {
            let changes = records.apply(&Op::Changes(ByteVec::from(vec![]), after));
            let Answer::Changes(events, until) = changes else { panic!() };
            assert!(until > after && events.len() % 3 == 0 && events.len() <= 6);
            seen.extend(events);
            after = until;
        }
        assert_eq!(seen.len(), 12);
    }

    #[test]
    fn old_changes_are_forgotten_and_late_watchers_are_told() {
        let mut records = founded();
        for _ in 0..20 {
            records.apply(&put("a", 1 << 20));
        }
        let changes = |records: &mut Records, after| {
            records.apply(&Op::Changes(ByteVec::from(b"a".to_vec()), Revision(after)))
        };
        // Beside 15 values of a MiB their keys have place.
        assert_eq!(changes(&mut records, 4), Answer::Compacted(Revision(5)));
        assert!(matches!(changes(&mut records, 5), Answer::Changes(..)));
        let long = Op::Get(vec![key("long"); 3]);
        assert_eq!(records.apply(&put("long", 3 << 20)).clone(), {
            let refusal = "3145732 bytes; at most 2097152 are possible".to_owned();
            Answer::Commit(Err(CommitError::Invalid(refusal)))
        });
        records.apply(&put("long", (2 << 20) - 8));
        assert!(matches!(records.apply(&long), Answer::TooLong(_)));
    }
}
