//! Parts: how many a store has, which is stated before its first coordinator begins.
//!
//! A queue belongs to one part, by the hash of its name, and each part has a coordinator of its
//! own. So the number never changes: what is in a queue would be looked for elsewhere.

use tidings_tasks_core::id::Part;
use tidings_tasks_core::keys;
use tidings_tasks_core::transaction::{CommitError, Expect, Record, Transaction};

use crate::store::{Lost, Store};

/// The most parts of a store.
pub const MAX_PARTS: u16 = 64;

/// Why the number of parts is not known, or was not stated. The store is as it was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PartsError {
    /// The store cannot be reached.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// What is in its place is no such number.
    #[error(
        "its key `parts` has no number from 1 to {MAX_PARTS}: use programs of the version that \
         made the store"
    )]
    Unreadable,
    /// No store has so many.
    #[error("{0} parts: name a number from 1 to {MAX_PARTS}")]
    Number(u16),
    /// Another number was stated before.
    #[error("the store has {0} parts, and keeps them: name another store")]
    Other(u16),
    /// It had a coordinator before.
    #[error("the store was used before, and keeps its one part: name another store")]
    Used,
    /// It was not written, or that is unknown.
    #[error("how many parts there are was not stated: {0}")]
    Commit(CommitError),
}

/// How many parts a store has, and the record that says so, if there is one.
///
/// # Errors
/// The store cannot be reached, or has something else in that place.
pub async fn of(store: &dyn Store) -> Result<(u16, Option<Record>), PartsError> {
    let record = store.get(&[keys::parts()]).await?.records.pop().flatten();
    let Some(record) = record else { return Ok((1, None)) };
    Ok((number_in(&record).ok_or(PartsError::Unreadable)?, Some(record)))
}

/// The number that a record says.
pub(crate) fn number_in(record: &Record) -> Option<u16> {
    let text = std::str::from_utf8(&record.value).ok()?;
    text.parse().ok().filter(|parts| may_be(*parts))
}

/// All parts of a store that has so many.
pub(crate) fn all(parts: u16) -> impl Iterator<Item = Part> {
    (0..parts).map(Part)
}

/// States how many parts a store has that was not used before. Stated again it is the same.
///
/// # Errors
/// Another number was stated, the store was used, or cannot be reached.
pub async fn state(store: &dyn Store, parts: u16) -> Result<(), PartsError> {
    if !may_be(parts) {
        return Err(PartsError::Number(parts));
    }
    match of(store).await? {
        (known, _) if known == parts => return Ok(()),
        (known, Some(_)) => return Err(PartsError::Other(known)),
        (_, None) => {}
    }
    let mut transaction = Transaction::default();
    transaction.expect(keys::parts(), Expect::Absent);
    // A coordinator that begins expects the number as it has read it.
    transaction.expect(keys::role(Part(0)), Expect::Absent);
    transaction.put(keys::parts(), parts.to_string().into_bytes());
    match store.commit(transaction).await {
        Ok(_) => Ok(()),
        Err(CommitError::Conflict { key, .. }) if key == keys::role(Part(0)) => {
            Err(PartsError::Used)
        }
        Err(error) => Err(PartsError::Commit(error)),
    }
}

fn may_be(parts: u16) -> bool {
    (1..=MAX_PARTS).contains(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::Memory;

    #[tokio::test]
    async fn the_number_is_stated_once_and_before_the_store_is_used() {
        let store = Memory::default();
        assert_eq!(of(&store).await, Ok((1, None)));
        assert_eq!(state(&store, 0).await, Err(PartsError::Number(0)));
        assert_eq!(state(&store, MAX_PARTS + 1).await, Err(PartsError::Number(MAX_PARTS + 1)));
        assert_eq!(state(&store, 3).await, Ok(()));
        assert_eq!(state(&store, 3).await, Ok(()));
        assert_eq!(state(&store, 2).await, Err(PartsError::Other(3)));
        assert_eq!(of(&store).await.map(|(parts, _)| parts), Ok(3));
    }

    #[tokio::test]
    async fn a_store_that_was_used_keeps_its_one_part() {
        let store = Memory::default();
        let mut used = Transaction::default();
        used.put(keys::role(Part(0)), *b"a reign");
        store.commit(used).await.unwrap();
        assert_eq!(state(&store, 2).await, Err(PartsError::Used));
        assert_eq!(state(&store, 1).await, Ok(()));
        let mut broken = Transaction::default();
        broken.put(keys::parts(), *b"many");
        store.commit(broken).await.unwrap();
        assert_eq!(of(&store).await, Err(PartsError::Unreadable));
    }
}
