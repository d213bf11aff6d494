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
//!
//! All of it has a form in CBOR, for stores that are reached through other processes. A key that is
//! read is bounded before it is believed.

use core::fmt;
use std::sync::Arc;

use minicbor::decode::{Decoder, Error as DecodeError};
use minicbor::encode::{Encoder, Error as EncodeError, Write as Sink};
use minicbor::{Decode, Encode};

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;

/// The name of a value: 1 to [`MAX_KEY_BYTES`] bytes, ordered as bytes are. Clones share them: one
/// transaction has most keys twice, and a ledger holds them as long as it holds their values.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<[u8]>);

/// What no key can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a key has 1 to {MAX_KEY_BYTES} bytes, this has {0}")]
pub struct KeyError(pub usize);

impl Key {
    /// The key with these bytes.
    ///
    /// # Errors
    /// No bytes, or more than [`MAX_KEY_BYTES`].
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Result<Self, KeyError> {
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

impl<C> Encode<C> for Key {
    fn encode<W: Sink>(
        &self,
        encoder: &mut Encoder<W>,
        _: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        encoder.bytes(&self.0)?.ok()
    }
}

impl<'b, C> Decode<'b, C> for Key {
    fn decode(decoder: &mut Decoder<'b>, _: &mut C) -> Result<Self, DecodeError> {
        Self::new(decoder.bytes()?).map_err(DecodeError::message)
    }
}

/// The form of where a range begins or ends: a key, or the [successor](Key::successor) of one.
pub mod bound {
    use super::{DecodeError, Decoder, Encode, EncodeError, Encoder, Key, Sink};

    /// Writes it.
    ///
    /// # Errors
    /// It cannot be written there.
    pub fn encode<C, W: Sink>(
        bound: &impl Encode<C>,
        encoder: &mut Encoder<W>,
        context: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        bound.encode(encoder, context)
    }

    /// Reads it.
    ///
    /// # Errors
    /// It is no key, nor the successor of one.
    pub fn decode<C>(decoder: &mut Decoder<'_>, _: &mut C) -> Result<Option<Key>, DecodeError> {
        if decoder.datatype()? == minicbor::data::Type::Null {
            return decoder.null().map(|()| None);
        }
        let bytes = decoder.bytes()?;
        let whole = Key::new(bytes);
        let successor = || Key::new(bytes.strip_suffix(&[0])?).ok().map(|key| key.successor());
        match whole {
            Ok(key) => Ok(Some(key)),
            Err(error) => successor().map(Some).ok_or_else(|| DecodeError::message(error)),
        }
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
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Encode, Decode)]
#[cbor(transparent)]
pub struct Revision(pub u64);

/// The store's own number of a session. Keys that are put with a session vanish when it ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Encode, Decode)]
#[cbor(transparent)]
pub struct Session(pub u64);

/// What must hold of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Expect {
    /// It has no value.
    #[n(0)]
    Absent,
    /// It has one.
    #[n(1)]
    Present,
    /// Its value was written at this revision.
    #[n(2)]
    At(#[n(0)] Revision),
}

/// A change of one key.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Write {
    /// The key has this value from now on, until `session` ends if there is one.
    #[n(0)]
    Put {
        /// The key.
        #[n(0)]
        key: Key,
        /// Its value.
        #[cbor(n(1), with = "minicbor::bytes")]
        value: Value,
        /// With which it vanishes.
        #[n(2)]
        session: Option<Session>,
    },
    /// The key has no value.
    #[n(1)]
    Delete {
        /// The key.
        #[n(0)]
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
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
pub struct Transaction {
    /// What must hold.
    #[n(0)]
    pub conditions: Vec<(Key, Expect)>,
    /// What is written then.
    #[n(1)]
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

    /// How many conditions and writes it has.
    pub fn extent(&self) -> Extent {
        Extent { conditions: self.conditions.len(), writes: self.writes.len() }
    }

    /// Leaves out all that came after it had this extent.
    pub fn cut(&mut self, extent: Extent) {
        self.conditions.truncate(extent.conditions);
        self.writes.truncate(extent.writes);
    }

    /// Conditions and writes together, which engines limit.
    pub fn operations(&self) -> usize {
        self.conditions.len() + self.writes.len()
    }

    /// The bytes of its keys and values.
    pub fn bytes(&self) -> usize {
        self.bytes_after(Extent::default())
    }

    /// The bytes of what came after it had this extent.
    pub fn bytes_after(&self, extent: Extent) -> usize {
        let conditions = self.conditions.iter().skip(extent.conditions);
        let keys: usize = conditions.map(|(key, _)| key.as_bytes().len()).sum();
        keys + self.writes.iter().skip(extent.writes).map(Write::bytes).sum::<usize>()
    }
}

/// How many conditions and writes a transaction had at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    conditions: usize,
    writes: usize,
}

/// Why a transaction did not happen, or may not have.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode, thiserror::Error)]
pub enum CommitError {
    /// A condition does not hold: the first such key, and the revision of its value if it has one.
    /// Nothing was written.
    #[n(0)]
    #[error("{key} has changed: it is at revision {revision:?}")]
    Conflict {
        /// The key of the first condition that does not hold.
        #[n(0)]
        key: Key,
        /// The revision of its value.
        #[n(1)]
        revision: Option<Revision>,
    },
    /// The answer was lost. All of it was written, or nothing.
    #[n(1)]
    #[error("the store did not answer; whether it has committed is unknown")]
    Unknown,
    /// There is no space for it. Nothing was written.
    #[n(2)]
    #[error("the store is full: {0}")]
    Full(#[n(0)] String),
    /// The transaction is larger than the engine's limits, or writes a key twice. Nothing was
    /// written.
    #[n(3)]
    #[error("the transaction is not acceptable: {0}")]
    Invalid(#[n(0)] String),
    /// The store cannot be reached, or is closed. Nothing was written.
    #[n(4)]
    #[error("the store cannot be reached: {0}")]
    Lost(#[n(0)] String),
}

/// A value as it was read.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Record {
    /// The key.
    #[n(0)]
    pub key: Key,
    /// Its value.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub value: Value,
    /// The commit that wrote it.
    #[n(2)]
    pub revision: Revision,
}

/// A change as a watcher sees it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Event {
    /// The key that was written.
    #[n(0)]
    pub key: Key,
    /// Its value; `None` if it was deleted, or its session ended.
    #[cbor(n(1), with = "minicbor::bytes")]
    pub value: Option<Value>,
    /// The commit that did it.
    #[n(2)]
    pub revision: Revision,
}

impl Event {
    /// The bytes of memory that it takes, those of the allocator aside.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let value = self.value.as_ref().map_or(0, |value| value.len());
        size_of::<Self>() + self.key.as_bytes().len() + value
    }
}

/// Whether an acknowledged commit survives a loss of power.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Durability {
    /// It does, as far as the disk keeps what it has acknowledged.
    #[n(0)]
    Synced,
    /// It is gone with the process that holds it.
    #[n(1)]
    Volatile,
}

/// What an engine can carry, and promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
pub struct Limits {
    /// Conditions and writes of one transaction.
    #[n(0)]
    pub operations: usize,
    /// Bytes of keys and values of one transaction.
    #[n(1)]
    pub bytes: usize,
    /// What an acknowledgement means.
    #[n(2)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Encode, Decode, PartialEq, Debug)]
    struct Range(#[cbor(n(0), with = "bound")] Option<Key>);

    fn again<T: Encode<()> + for<'b> Decode<'b, ()> + PartialEq + fmt::Debug>(one: &T) {
        let bytes = minicbor::to_vec(one).unwrap();
        assert_eq!(&minicbor::decode::<T>(&bytes).unwrap(), one);
    }

    #[test]
    fn what_is_asked_of_a_store_is_read_as_it_is_written() {
        let key = |byte| Key::new([byte; MAX_KEY_BYTES]).unwrap();
        let mut transaction = Transaction::default();
        transaction.expect(key(1), Expect::At(Revision(7)));
        transaction.put(key(2), &b""[..]);
        transaction.delete(key(3));
        again(&transaction);
        again(&CommitError::Conflict { key: key(1), revision: None });
        again(&CommitError::Full("no space".to_owned()));
        again(&Event { key: key(1), value: None, revision: Revision(1) });
        again(&Event { key: key(1), value: Some(b"v"[..].into()), revision: Revision(1) });
        for range in [None, Some(key(9)), Some(key(9).successor())] {
            again(&Range(range));
        }
    }

    #[test]
    fn a_key_that_is_none_is_not_read() {
        for bytes in [&[0x40][..], &[&[0x59, 2, 1][..], &[7; 513]].concat()] {
            assert!(minicbor::decode::<Key>(bytes).is_err());
            assert!(minicbor::decode::<Range>(&[&[0x81], bytes].concat()).is_err());
        }
    }
}
