//! What lies in the file: three tables of redb.
//!
//! | table | key | value |
//! |---|---|---|
//! | `records` | the key | revision (8 bytes), session (8 bytes, 0: none), the value |
//! | `leases` | session (8 bytes), the key | nothing: this key vanishes with this session |
//! | `metadata` | a name | a number of 8 bytes, or the name of the cluster |
//!
//! Numbers are big-endian, so that the order of the bytes is theirs.

use redb::{ReadableTable, StorageError, Table, TableDefinition, TableError, WriteTransaction};
use tidings_tasks_core::transaction::{
    CommitError, Event, Expect, Key, Record, Revision, Session, Transaction, Write,
};

type Bytes = &'static [u8];

pub(super) const RECORDS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("records");
pub(super) const LEASES: TableDefinition<'_, Bytes, ()> = TableDefinition::new("leases");
pub(super) const METADATA: TableDefinition<'_, &str, Bytes> = TableDefinition::new("metadata");

/// The last commit, in [`METADATA`].
pub(super) const REVISION: &str = "revision";

/// Revision and session before each value.
const HEAD_BYTES: usize = 16;

/// An error of redb: large, and rare.
#[derive(Debug)]
pub(super) struct RedbError(pub(super) Box<redb::Error>);

impl<E: Into<redb::Error>> From<E> for RedbError {
    fn from(error: E) -> Self {
        Self(Box::new(error.into()))
    }
}

/// The tables while they are written. Dropped before the transaction is committed.
pub(super) struct Tables<'txn> {
    records: Table<'txn, Bytes, Bytes>,
    leases: Table<'txn, Bytes, ()>,
    metadata: Table<'txn, &'static str, Bytes>,
    /// The bytes of a record that is being written.
    buffer: Vec<u8>,
}

impl<'txn> Tables<'txn> {
    pub(super) fn open(transaction: &'txn WriteTransaction) -> Result<Self, TableError> {
        Ok(Self {
            records: transaction.open_table(RECORDS)?,
            leases: transaction.open_table(LEASES)?,
            metadata: transaction.open_table(METADATA)?,
            buffer: Vec::new(),
        })
    }

    /// The first condition that does not hold, as the answer to the commit.
    pub(super) fn conflict(
        &self,
        transaction: &Transaction,
    ) -> Result<Option<CommitError>, StorageError> {
        for (key, expect) in &transaction.conditions {
            let found = self.records.get(key.as_bytes())?;
            let revision = found.and_then(|record| head(record.value())).map(|head| head.0);
            let holds = match expect {
                Expect::Absent => revision.is_none(),
                Expect::Present => revision.is_some(),
                Expect::At(at) => revision == Some(*at),
            };
            if !holds {
                return Ok(Some(CommitError::Conflict { key: key.clone(), revision }));
            }
        }
        Ok(None)
    }

    /// Writes, and says what changed.
    pub(super) fn write(
        &mut self,
        writes: Vec<Write>,
        revision: Revision,
        events: &mut Vec<Event>,
    ) -> Result<(), StorageError> {
        for write in writes {
            let (key, value) = match write {
                Write::Put { key, value, session } => {
                    self.put(&key, &value, revision, session)?;
                    (key, Some(value))
                }
                Write::Delete { key } => {
                    if !self.delete(&key)? {
                        continue;
                    }
                    (key, None)
                }
            };
            events.push(Event { key, value, revision });
        }
        Ok(())
    }

    fn put(
        &mut self,
        key: &Key,
        value: &[u8],
        revision: Revision,
        session: Option<Session>,
    ) -> Result<(), StorageError> {
        self.buffer.clear();
        self.buffer.extend(revision.0.to_be_bytes());
        self.buffer.extend(session.map_or(0, |session| session.0).to_be_bytes());
        self.buffer.extend(value);
        let before = self.records.insert(key.as_bytes(), &self.buffer[..])?;
        let before = before.and_then(|record| head(record.value())).and_then(|head| head.1);
        if before == session {
            return Ok(());
        }
        if let Some(before) = before {
            self.leases.remove(&lease(before, key.as_bytes())[..])?;
        }
        if let Some(session) = session {
            self.leases.insert(&lease(session, key.as_bytes())[..], ())?;
        }
        Ok(())
    }

    /// Deletes a key; whether it was there.
    fn delete(&mut self, key: &Key) -> Result<bool, StorageError> {
        let before = self.records.remove(key.as_bytes())?;
        let Some(before) = before.map(|record| head(record.value()).and_then(|head| head.1)) else {
            return Ok(false);
        };
        if let Some(session) = before {
            self.leases.remove(&lease(session, key.as_bytes())[..])?;
        }
        Ok(true)
    }

    /// Deletes the keys of a session; which they were.
    pub(super) fn end(&mut self, session: Session) -> Result<Vec<Key>, StorageError> {
        let from = lease(session, &[]);
        let until = session.0.checked_add(1).map(|next| lease(Session(next), &[]));
        let mut keys = Vec::new();
        for entry in self.leases.range(&from[..]..)? {
            let (entry, ()) = entry.map(|(key, value)| (key, value.value()))?;
            if until.as_ref().is_some_and(|until| entry.value() >= &until[..]) {
                break;
            }
            keys.extend(Key::new(&entry.value()[size_of::<u64>()..]));
        }
        for key in &keys {
            self.delete(key)?;
        }
        Ok(keys)
    }

    /// The sessions that keys belong to.
    pub(super) fn sessions(&self) -> Result<Vec<Session>, StorageError> {
        let mut sessions: Vec<Session> = Vec::new();
        for entry in self.leases.iter()? {
            let (entry, _) = entry?;
            let session = Session(number(entry.value()).unwrap_or_default());
            if sessions.last() != Some(&session) {
                sessions.push(session);
            }
        }
        Ok(sessions)
    }

    /// A number of the metadata.
    pub(super) fn number(&self, name: &'static str) -> Result<Option<u64>, StorageError> {
        Ok(self.metadata.get(name)?.and_then(|found| number(found.value())))
    }

    pub(super) fn set_number(&mut self, name: &'static str, to: u64) -> Result<(), StorageError> {
        self.metadata.insert(name, &to.to_be_bytes()[..]).map(drop)
    }

    /// A text of the metadata.
    pub(super) fn text(&self, name: &'static str) -> Result<Option<String>, StorageError> {
        let found = self.metadata.get(name)?;
        Ok(found.map(|found| String::from_utf8_lossy(found.value()).into_owned()))
    }

    pub(super) fn set_text(&mut self, name: &'static str, to: &str) -> Result<(), StorageError> {
        self.metadata.insert(name, to.as_bytes()).map(drop)
    }
}

/// A record as it lies in the table; `None` for bytes that are none.
pub(super) fn record(key: Key, bytes: &[u8]) -> Option<Record> {
    let (revision, _) = head(bytes)?;
    Some(Record { key, value: bytes[HEAD_BYTES..].into(), revision })
}

/// The first 8 bytes as a number.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.first_chunk()?))
}

fn head(bytes: &[u8]) -> Option<(Revision, Option<Session>)> {
    let session = number(bytes.get(size_of::<u64>()..)?)?;
    Some((Revision(number(bytes)?), (session > 0).then_some(Session(session))))
}

fn lease(session: Session, key: &[u8]) -> Vec<u8> {
    [&session.0.to_be_bytes(), key].concat()
}
