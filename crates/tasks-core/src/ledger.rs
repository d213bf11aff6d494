//! The ledger: what a store does, as a data structure without input, output or clock.
//!
//! It is the definition that engines are compared with, the engine *memory* (for tests), and the
//! store of the simulator. All of it lies in memory; a commit costs O(k log n) for k keys.
//!
//! Invariants: a commit happens as a whole or not at all; revisions rise by one with each commit
//! that writes; the history holds each change after [`Ledger::compacted`] once, in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use minicbor::{Decode, Encode};

use crate::transaction::{
    CommitError, Event, Expect, Key, Record, Revision, Session, Transaction, Value, Write,
};

/// A value, the commit that wrote it, and the session with which it vanishes.
#[derive(Clone, Debug)]
struct Held {
    value: Value,
    revision: Revision,
    session: Option<Session>,
}

/// Some of the keys of a range, in order.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Page {
    /// The values as of `revision`.
    #[n(0)]
    pub records: Vec<Record>,
    /// The last commit that these values can show.
    #[n(1)]
    pub revision: Revision,
    /// Where the rest of the range begins; `None` if this is all.
    #[cbor(n(2), with = "crate::transaction::bound")]
    pub next: Option<Key>,
}

impl Page {
    /// The first of the records: as many as have so many bytes of keys and values, and one more.
    #[must_use]
    pub fn cut(mut self, most: usize) -> Self {
        let mut bytes = 0;
        let fits = self.records.iter().take_while(|record| {
            let has_place = bytes < most;
            bytes += record.key.as_bytes().len() + record.value.len();
            has_place
        });
        let count = fits.count();
        if let Some(rest) = self.records.get(count) {
            self.next = Some(rest.key.clone());
            self.records.truncate(count);
        }
        self
    }
}

/// Changes of that time are no longer held: read the keys, and watch from the revision read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("changes up to revision {} were compacted", .0.0)]
pub struct Compacted(pub Revision);

/// The session has ended, or never was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("session {} has ended", .0.0)]
pub struct SessionEnded(pub Session);

/// A store in memory.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    values: BTreeMap<Key, Held>,
    revision: Revision,
    history: VecDeque<Event>,
    history_bytes: usize,
    compacted: Revision,
    sessions: BTreeMap<Session, BTreeSet<Key>>,
    last_session: u64,
}

impl Ledger {
    /// The last commit.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The last revision whose changes are no longer in the history.
    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    /// How many keys have a value.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Writes all that the transaction writes if all its conditions hold. Without writes nothing
    /// changes, and the revision is the present one.
    ///
    /// # Errors
    /// [`CommitError::Conflict`] for the first condition that does not hold;
    /// [`CommitError::Invalid`] for a session that has ended. Nothing was written.
    pub fn commit(&mut self, transaction: &Transaction) -> Result<Revision, CommitError> {
        self.check(transaction)?;
        self.write_all(transaction.writes.iter().cloned());
        Ok(self.revision)
    }

    /// As [`Ledger::commit`], of a transaction that is of no other use.
    ///
    /// # Errors
    /// The same.
    pub fn take(&mut self, transaction: Transaction) -> Result<Revision, CommitError> {
        self.check(&transaction)?;
        self.write_all(transaction.writes.into_iter());
        Ok(self.revision)
    }

    /// Whether all conditions hold, and all sessions last.
    fn check(&self, transaction: &Transaction) -> Result<(), CommitError> {
        for (key, expect) in &transaction.conditions {
            let revision = self.values.get(key).map(|held| held.revision);
            let holds = match expect {
                Expect::Absent => revision.is_none(),
                Expect::Present => revision.is_some(),
                Expect::At(at) => revision == Some(*at),
            };
            if !holds {
                return Err(CommitError::Conflict { key: key.clone(), revision });
            }
        }
        let ended = transaction.writes.iter().find_map(|write| match write {
            Write::Put { session: Some(session), .. } => {
                (!self.sessions.contains_key(session)).then_some(*session)
            }
            _ => None,
        });
        match ended {
            Some(session) => Err(CommitError::Invalid(SessionEnded(session).to_string())),
            None => Ok(()),
        }
    }

    /// Does what was found to be possible, at the next revision if there is anything.
    fn write_all(&mut self, writes: impl ExactSizeIterator<Item = Write>) {
        self.revision.0 += u64::from(writes.len() > 0);
        writes.for_each(|write| self.write(write));
    }

    /// The value of a key.
    pub fn get(&self, key: &Key) -> Option<Record> {
        self.values.get(key).map(|held| record(key, held))
    }

    /// The first `limit` values of the keys from `from` on, up to and without `end`.
    pub fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Page {
        let mut records = Vec::new();
        let mut next = None;
        for (key, held) in self.values.range(from.clone()..) {
            if end.is_some_and(|end| key >= end) {
                break;
            }
            if records.len() == limit {
                next = Some(key.clone());
                break;
            }
            records.push(record(key, held));
        }
        Page { records, revision: self.revision, next }
    }

    /// Each change after the revision `after` of keys that begin with `prefix`, in order.
    ///
    /// # Errors
    /// Some of them are no longer held.
    pub fn changes(&self, prefix: &[u8], after: Revision) -> Result<Vec<Event>, Compacted> {
        if after < self.compacted {
            return Err(Compacted(self.compacted));
        }
        let first = self.history.partition_point(|event| event.revision <= after);
        let later = self.history.range(first..);
        Ok(later.filter(|event| event.key.as_bytes().starts_with(prefix)).cloned().collect())
    }

    /// Forgets the changes up to and including `before`.
    pub fn compact(&mut self, before: Revision) {
        self.compacted = self.compacted.max(before.min(self.revision));
        let gone = self.history.partition_point(|event| event.revision <= self.compacted);
        let gone = self.history.drain(..gone);
        self.history_bytes -= gone.map(|event| event.bytes()).sum::<usize>();
    }

    /// Forgets the oldest changes while those that are held take more than so many bytes. The last
    /// commit is held in any case.
    pub fn bound_history(&mut self, most: usize) {
        while self.history_bytes > most {
            let oldest = self.history.front().map(|event| event.revision);
            let Some(oldest) = oldest.filter(|oldest| *oldest < self.revision) else { return };
            self.compact(oldest);
        }
    }

    /// A new session.
    pub fn open_session(&mut self) -> Session {
        self.last_session += 1;
        let session = Session(self.last_session);
        self.sessions.insert(session, BTreeSet::new());
        session
    }

    /// Whether the session has not ended.
    pub fn has_session(&self, session: Session) -> bool {
        self.sessions.contains_key(&session)
    }

    /// Ends a session: its keys vanish, all at one revision.
    ///
    /// # Errors
    /// It had ended. Nothing has changed.
    pub fn end_session(&mut self, session: Session) -> Result<Revision, SessionEnded> {
        let keys = self.sessions.remove(&session).ok_or(SessionEnded(session))?;
        if !keys.is_empty() {
            self.revision.0 += 1;
            for key in keys {
                self.values.remove(&key);
                self.note(key, None);
            }
        }
        Ok(self.revision)
    }

    /// All values, each with the session that it was written with.
    pub fn values(&self) -> impl Iterator<Item = (Record, Option<Session>)> {
        self.values.iter().map(|(key, held)| (record(key, held), held.session))
    }

    /// The number of the session that was opened last.
    pub fn last_session(&self) -> Session {
        Session(self.last_session)
    }

    /// A ledger that stands at a revision, and has these sessions and no values: the beginning of a
    /// copy of another, of which [`Ledger::restore`] takes the values. What has changed until then
    /// is not in its history.
    pub fn at(
        revision: Revision,
        sessions: impl IntoIterator<Item = Session>,
        last_session: Session,
    ) -> Self {
        let sessions = sessions.into_iter().map(|session| (session, BTreeSet::new())).collect();
        let last_session = last_session.0;
        Self { revision, compacted: revision, sessions, last_session, ..Self::default() }
    }

    /// Adds a value of the ledger of which this is a copy.
    pub fn restore(&mut self, record: Record, session: Option<Session>) {
        let Record { key, value, revision } = record;
        if let Some(keys) = session.and_then(|session| self.sessions.get_mut(&session)) {
            keys.insert(key.clone());
        }
        self.values.insert(key, Held { value, revision, session });
    }

    /// Ends all sessions, as a restart of a store does. Later ones get numbers beyond `used`.
    pub fn end_sessions(&mut self, used: Session) {
        self.last_session = self.last_session.max(used.0);
        while let Some((&session, _)) = self.sessions.first_key_value() {
            let _ = self.end_session(session); // it is there
        }
    }

    fn write(&mut self, write: Write) {
        match write {
            Write::Put { key, value, session } => {
                if let Some(keys) = session.and_then(|session| self.sessions.get_mut(&session)) {
                    keys.insert(key.clone());
                }
                let held = Held { value: value.clone(), revision: self.revision, session };
                let before = match self.values.get_mut(&key) {
                    Some(before) => Some(core::mem::replace(before, held)),
                    None => self.values.insert(key.clone(), held),
                };
                self.release(&key, before, session);
                self.note(key, Some(value));
            }
            Write::Delete { key } => {
                let Some(before) = self.values.remove(&key) else { return };
                self.release(&key, Some(before), None);
                self.note(key, None);
            }
        }
    }

    /// A change of the present revision is held.
    fn note(&mut self, key: Key, value: Option<Value>) {
        let event = Event { key, value, revision: self.revision };
        self.history_bytes += event.bytes();
        self.history.push_back(event);
    }

    /// A key no longer belongs to the session it was written with, unless it was written with it
    /// again.
    fn release(&mut self, key: &Key, before: Option<Held>, now: Option<Session>) {
        let Some(session) = before.and_then(|held| held.session) else { return };
        if now == Some(session) {
            return;
        }
        if let Some(keys) = self.sessions.get_mut(&session) {
            keys.remove(key);
        }
    }
}

fn record(key: &Key, held: &Held) -> Record {
    Record { key: key.clone(), value: held.value.clone(), revision: held.revision }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        Key::new(text.as_bytes()).unwrap()
    }

    fn put(text: &str, value: &str) -> Transaction {
        let mut transaction = Transaction::default();
        transaction.put(key(text), value.as_bytes());
        transaction
    }

    #[test]
    fn all_is_written_or_nothing() {
        let mut ledger = Ledger::default();
        let first = ledger.commit(&put("a", "1")).unwrap();
        let mut transaction = put("b", "2");
        transaction.expect(key("a"), Expect::At(first));
        transaction.expect(key("c"), Expect::Present);
        let refused = ledger.commit(&transaction).unwrap_err();
        assert_eq!(refused, CommitError::Conflict { key: key("c"), revision: None });
        assert_eq!((ledger.get(&key("b")), ledger.revision()), (None, first));
    }

    #[test]
    fn a_deletion_of_nothing_is_no_change() {
        let mut ledger = Ledger::default();
        let mut transaction = Transaction::default();
        transaction.delete(key("a"));
        ledger.commit(&transaction).unwrap();
        assert_eq!(ledger.changes(b"", Revision(0)), Ok(Vec::new()));
    }

    #[test]
    fn keys_vanish_with_the_session_that_wrote_them_last() {
        let mut ledger = Ledger::default();
        let session = ledger.open_session();
        for name in ["mine", "taken"] {
            let value = Value::default();
            let write = Write::Put { key: key(name), value, session: Some(session) };
            ledger.commit(&Transaction { conditions: vec![], writes: vec![write] }).unwrap();
        }
        let taken = ledger.commit(&put("taken", "by another")).unwrap();
        let ended = ledger.end_session(session).unwrap();
        assert_eq!(ledger.get(&key("mine")), None);
        assert_eq!(ledger.get(&key("taken")).map(|record| record.revision), Some(taken));
        let gone = Event { key: key("mine"), value: None, revision: ended };
        assert_eq!(ledger.changes(b"", taken), Ok(vec![gone]));
        assert_eq!(ledger.end_session(session), Err(SessionEnded(session)));
    }

    #[test]
    fn a_restart_ends_all_sessions() {
        let mut ledger = Ledger::default();
        let session = ledger.open_session();
        let write = Write::Put { key: key("a"), value: Value::default(), session: Some(session) };
        ledger.commit(&Transaction { conditions: vec![], writes: vec![write] }).unwrap();
        ledger.end_sessions(Session(7));
        assert!(ledger.is_empty() && !ledger.has_session(session));
        assert_eq!((ledger.revision(), ledger.open_session()), (Revision(2), Session(8)));
    }

    #[test]
    fn a_page_is_cut_where_it_is_full_and_says_where_it_goes_on() {
        let mut ledger = Ledger::default();
        for name in ["a", "b", "c", "d"] {
            ledger.commit(&put(name, "1234567")).unwrap();
        }
        let page = ledger.scan(&key("a"), None, 9);
        assert_eq!(page.clone().cut(32), page);
        let cut = page.clone().cut(17);
        assert_eq!((&cut.records[..], cut.next), (&page.records[..3], Some(key("d"))));
        assert_eq!(page.cut(0).records.len(), 0);
    }

    #[test]
    fn a_copy_goes_on_as_the_original() {
        let mut ledger = Ledger::default();
        let session = ledger.open_session();
        let write = Write::Put { key: key("a"), value: Value::default(), session: Some(session) };
        ledger.commit(&Transaction { conditions: vec![], writes: vec![write] }).unwrap();
        let last = ledger.commit(&put("b", "1")).unwrap();
        let mut copy = Ledger::at(last, [session], ledger.last_session());
        ledger.values().for_each(|(record, session)| copy.restore(record, session));
        assert!(copy.values().eq(ledger.values()));
        assert_eq!(copy.changes(b"", Revision(0)), Err(Compacted(last)));
        assert_eq!(copy.end_session(session), ledger.end_session(session));
        assert_eq!(copy.changes(b"", last), ledger.changes(b"", last));
        assert_eq!((copy.open_session(), copy.len()), (ledger.open_session(), 1));
    }

    #[test]
    fn a_watcher_who_is_too_late_is_told_so() {
        let mut ledger = Ledger::default();
        let first = ledger.commit(&put("a", "1")).unwrap();
        let second = ledger.commit(&put("a", "2")).unwrap();
        ledger.compact(first);
        assert_eq!(ledger.changes(b"", Revision(0)), Err(Compacted(first)));
        let changes = ledger.changes(b"a", first).unwrap();
        assert_eq!(changes.iter().map(|event| event.revision).collect::<Vec<_>>(), [second]);
    }

    #[test]
    fn a_history_is_bounded_by_its_bytes() {
        let mut ledger = Ledger::default();
        let long = "v".repeat(1_000);
        for _ in 0..100 {
            ledger.commit(&put("a", &long)).unwrap();
            ledger.bound_history(10_000);
        }
        let Err(Compacted(until)) = ledger.changes(b"", Revision(0)) else { panic!("all of it") };
        let held = ledger.changes(b"", until).unwrap();
        assert_eq!((until.0 + held.len() as u64, held.len()), (100, 9));
        ledger.bound_history(0);
        assert_eq!(ledger.compacted(), Revision(99));
        assert_eq!(ledger.changes(b"", Revision(99)).unwrap().len(), 1);
    }

    #[test]
    fn pages_of_a_range_are_all_of_it() {
        let mut ledger = Ledger::default();
        for name in ["a", "b1", "b2", "b3", "c"] {
            ledger.commit(&put(name, name)).unwrap();
        }
        let (prefix, mut from, mut found) = (key("b"), key("b"), Vec::new());
        loop {
            let page = ledger.scan(&from, prefix.after_prefix().as_ref(), 2);
            found.extend(page.records.into_iter().map(|record| record.key));
            let Some(next) = page.next else { break };
            from = next;
        }
        assert_eq!(found, [key("b1"), key("b2"), key("b3")]);
    }
}
