//! Transactions: what a machine asks of a store, and what the store answers.
//!
//! A store maps keys to values, in the order of the keys. Each commit that changes it has a
//! revision, larger than all before; a key has the revision of the commit that last wrote it. A
//! transaction names what must hold (*conditions*) and what is written then, all of it at one
//! revision, or nothing. So two machines that read the same and want to change it exclude each
//! other without a lock, and a machine that was replaced cannot write: each of its transactions
//! names the revision at which it got its role.
//!
//! The answer to a commit may get lost ([`CommitError::Unknown`]). That is a normal result: whether
//! it happened is read from the keys that it would have written.

use core::fmt;

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;

/// The name of a value: 1 to [`MAX_KEY_BYTES`] bytes, ordered as bytes are.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Box<[u8]>);

/// What no key can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a key has 1 to {MAX_KEY_BYTES} bytes, this has {0}")]
pub struct KeyError(pub usize);

impl Key {
    /// The key with these bytes.
    ///
    /// # Errors
    /// No bytes, or more than [`MAX_KEY_BYTES`].
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Result<Self, KeyError> {
        let bytes = bytes.into();
        if bytes.is_empty() || bytes.len() > MAX_KEY_BYTES {
            return Err(KeyError(bytes.len()));
        }
        Ok(Self(bytes))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first key after all that begin with this one; `None` if there is none.
    #[must_use]
    pub fn after_prefix(&self) -> Option<Self> {
        let last = self.0.iter().rposition(|&byte| byte < u8::MAX)?;
        let mut bytes = self.0[..=last].to_vec();
        bytes[last] += 1;
        Some(Self(bytes.into()))
    }

    /// The key that follows this one at once: the same bytes and a zero. It may be one byte longer
    /// than a key that is written.
    #[must_use]
    pub fn successor(&self) -> Self {
        Self([&self.0, &[0][..]].concat().into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// What a key holds.
pub type Value = Box<[u8]>;

/// A point in the history of a store: 0 before its first commit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Revision(pub u64);

/// The store's own number of a session. Keys that are put with a session vanish when it ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Session(pub u64);

/// What must hold of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    /// It has no value.
    Absent,
    /// It has one.
    Present,
    /// Its value was written at this revision.
    At(Revision),
}

/// A change of one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Write {
    /// The key has this value from now on, until `session` ends if there is one.
    Put {
        /// The key.
        key: Key,
        /// Its value.
        value: Value,
        /// With which it vanishes.
        session: Option<Session>,
    },
    /// The key has no value.
    Delete {
        /// The key.
        key: Key,
    },
}

impl Write {
    /// The key that is written.
    pub fn key(&self) -> &Key {
        match self {
            Self::Put { key, .. } | Self::Delete { key } => key,
        }
    }

    /// The bytes of key and value.
    pub fn bytes(&self) -> usize {
        let value = match self {
            Self::Put { value, .. } => value.len(),
            Self::Delete { .. } => 0,
        };
        self.key().as_bytes().len() + value
    }
}

/// Conditions, and what is written if all of them hold. No key is written twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Transaction {
    /// What must hold.
    pub conditions: Vec<(Key, Expect)>,
    /// What is written then.
    pub writes: Vec<Write>,
}

impl Transaction {
    /// Requires something of a key.
    pub fn expect(&mut self, key: Key, expect: Expect) {
        self.conditions.push((key, expect));
    }

    /// Writes a value.
    pub fn put(&mut self, key: Key, value: impl Into<Value>) {
        self.writes.push(Write::Put { key, value: value.into(), session: None });
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: Key) {
        self.writes.push(Write::Delete { key });
    }

    /// Conditions and writes together, which engines limit.
    pub fn operations(&self) -> usize {
        self.conditions.len() + self.writes.len()
    }

    /// The bytes of its keys and values.
    pub fn bytes(&self) -> usize {
        let conditions: usize = self.conditions.iter().map(|(key, _)| key.as_bytes().len()).sum();
        conditions + self.writes.iter().map(Write::bytes).sum::<usize>()
    }
}

/// Why a transaction did not happen, or may not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommitError {
    /// A condition does not hold: the first such key, and the revision of its value if it has one.
    /// Nothing was written.
    #[error("{key} has changed: it is at revision {revision:?}")]
    Conflict {
        /// The key of the first condition that does not hold.
        key: Key,
        /// The revision of its value.
        revision: Option<Revision>,
    },
    /// The answer was lost. All of it was written, or nothing.
    #[error("the store did not answer; whether it has committed is unknown")]
    Unknown,
    /// There is no space for it. Nothing was written.
    #[error("the store is full: {0}")]
    Full(String),
    /// The transaction is larger than the engine's limits, or writes a key twice. Nothing was
    /// written.
    #[error("the transaction is not acceptable: {0}")]
    Invalid(String),
    /// The store cannot be reached, or is closed. Nothing was written.
    #[error("the store cannot be reached: {0}")]
    Lost(String),
}

/// A value as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The key.
    pub key: Key,
    /// Its value.
    pub value: Value,
    /// The commit that wrote it.
    pub revision: Revision,
}

/// A change as a watcher sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The key that was written.
    pub key: Key,
    /// Its value; `None` if it was deleted, or its session ended.
    pub value: Option<Value>,
    /// The commit that did it.
    pub revision: Revision,
}

/// Whether an acknowledged commit survives a loss of power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// It does, as far as the disk keeps what it has acknowledged.
    Synced,
    /// It is gone with the process that holds it.
    Volatile,
}

/// What an engine can carry, and promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Conditions and writes of one transaction.
    pub operations: usize,
    /// Bytes of keys and values of one transaction.
    pub bytes: usize,
    /// What an acknowledgement means.
    pub durability: Durability,
}

impl Limits {
    /// Why a transaction cannot be committed whatever the store holds; `None` if it can.
    pub fn refusal(&self, transaction: &Transaction) -> Option<String> {
        let (operations, bytes) = (transaction.operations(), transaction.bytes());
        if operations > self.operations {
            return Some(format!(
                "{operations} operations; at most {} are possible",
                self.operations
            ));
        }
        if bytes > self.bytes {
            return Some(format!("{bytes} bytes; at most {} are possible", self.bytes));
        }
        let mut keys: Vec<&Key> = transaction.writes.iter().map(Write::key).collect();
        keys.sort_unstable();
        let twice = keys.windows(2).find(|pair| pair[0] == pair[1])?;
        Some(format!("{} is written twice", twice[0]))
    }
}
