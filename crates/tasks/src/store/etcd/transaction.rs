//! Transactions in etcd's form, and what its answers to them mean.
//!
//! Conditions are compared with the revision that last wrote a key. Where they do not hold, the
//! same transaction reads the revisions of their keys, so that the answer names the first condition
//! that failed as of the moment at which it did.

use tidings_tasks_core::transaction::{CommitError, Expect, Key, Revision, Transaction, Write};

use super::proto::{
    Compare, Delete, Done, EQUAL, Header, OF_MOD_REVISION, Operation, Put, Range, Requested, Txn,
    TxnAnswer,
};
use super::space::Space;

/// A revision that no commit has.
const NEVER: i64 = i64::MAX;

/// The transaction as etcd takes it.
pub(super) fn request(space: &Space, transaction: &Transaction) -> Txn {
    let conditions = &transaction.conditions;
    let mut success: Vec<_> =
        transaction.writes.iter().map(|write| requested(operation(space, write))).collect();
    if success.is_empty() {
        // A transaction that reads nothing is answered from what one server knows, which may be
        // old. One that reads is as recent as a commit.
        success.push(requested(Operation::Range(space.anything())));
    } else if !transaction.writes.iter().any(|write| matches!(write, Write::Put { .. })) {
        // Deletions of nothing have no revision of their own; a commit has one.
        let put = Put { key: space.tick(), ..Put::default() };
        success.push(requested(Operation::Put(put)));
    }
    let failure = |(key, _): &(Key, Expect)| {
        let range = Range { key: space.key(key), keys_only: true, ..Range::default() };
        requested(Operation::Range(range))
    };
    Txn {
        compare: conditions.iter().map(|(key, expect)| compare(space, key, *expect)).collect(),
        success,
        failure: conditions.iter().map(failure).collect(),
    }
}

/// What the answer to a transaction means.
pub(super) fn outcome(
    transaction: &Transaction,
    answer: TxnAnswer,
) -> Result<Revision, CommitError> {
    if answer.succeeded {
        // Without a number the commit stands, but nobody knows where.
        return revision(answer.header.as_ref()).ok_or(CommitError::Unknown);
    }
    let found = answer.responses.into_iter().map(|done| last_written(&done));
    let failed = transaction.conditions.iter().zip(found).find_map(|((key, expect), found)| {
        let conflict = CommitError::Conflict { key: key.clone(), revision: found };
        (!holds(*expect, found)).then_some(conflict)
    });
    let contradiction = || CommitError::Lost("its answer contradicts itself".into());
    Err(failed.unwrap_or_else(contradiction))
}

/// The revision of an answer.
pub(super) fn revision(header: Option<&Header>) -> Option<Revision> {
    header.and_then(|header| u64::try_from(header.revision).ok()).map(Revision)
}

/// A number of etcd for a revision. etcd's own end at [`i64::MAX`].
pub(super) fn number(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(NEVER)
}

/// An operation of a transaction.
pub(super) fn requested(operation: Operation) -> Requested {
    Requested { operation: Some(operation) }
}

fn operation(space: &Space, write: &Write) -> Operation {
    let key = space.key(write.key());
    match write {
        Write::Put { value, session, .. } => {
            let lease = session.map_or(0, |session| session.0 as i64);
            Operation::Put(Put { key, value: value.to_vec(), lease })
        }
        Write::Delete { .. } => Operation::Delete(Delete { key }),
    }
}

fn compare(space: &Space, key: &Key, expect: Expect) -> Compare {
    let (result, revision) = match expect {
        // To etcd, what has no value was last written at 0.
        Expect::Absent => (EQUAL, 0),
        Expect::Present => (super::proto::GREATER, 0),
        Expect::At(Revision(0)) => (EQUAL, NEVER),
        Expect::At(at) => (EQUAL, number(at)),
    };
    Compare {
        result,
        target: OF_MOD_REVISION,
        key: space.key(key),
        mod_revision: Some(revision),
        range_end: Vec::new(),
    }
}

fn holds(expect: Expect, found: Option<Revision>) -> bool {
    match expect {
        Expect::Absent => found.is_none(),
        Expect::Present => found.is_some(),
        Expect::At(at) => found == Some(at),
    }
}

fn last_written(done: &Done) -> Option<Revision> {
    let found = done.range.as_ref()?.kvs.first()?;
    u64::try_from(found.mod_revision).ok().map(Revision)
}

#[cfg(test)]
mod tests {
    use super::super::proto::{KeyValue, RangeAnswer};
    use super::*;

    fn key(name: &str) -> Key {
        Key::new(name.as_bytes()).unwrap()
    }

    fn found(revision: Option<i64>) -> Done {
        let kv = |mod_revision| KeyValue { mod_revision, ..KeyValue::default() };
        let kvs = revision.map(kv).into_iter().collect();
        Done { range: Some(RangeAnswer { header: None, kvs }) }
    }

    #[test]
    fn the_first_condition_that_failed_is_named() {
        let mut transaction = Transaction::default();
        transaction.expect(key("a"), Expect::Absent);
        transaction.expect(key("b"), Expect::At(Revision(7)));
        transaction.expect(key("c"), Expect::Present);
        let responses = vec![found(None), found(Some(9)), found(None)];
        let answer = TxnAnswer { header: None, succeeded: false, responses };
        let conflict = CommitError::Conflict { key: key("b"), revision: Some(Revision(9)) };
        assert_eq!(outcome(&transaction, answer), Err(conflict));
    }

    #[test]
    fn a_success_without_a_number_is_no_failure() {
        let answer = TxnAnswer { header: None, succeeded: true, responses: Vec::new() };
        assert_eq!(outcome(&Transaction::default(), answer), Err(CommitError::Unknown));
    }

    #[test]
    fn a_commit_of_deletions_has_a_revision_of_its_own() {
        let space = Space::new("t");
        let mut transaction = Transaction::default();
        transaction.delete(key("a"));
        assert_eq!(request(&space, &transaction).success.len(), 2);
        transaction.put(key("b"), *b"1");
        assert_eq!(request(&space, &transaction).success.len(), 2);
    }

    #[test]
    fn nothing_was_written_at_zero() {
        let space = Space::new("t");
        let compared = compare(&space, &key("a"), Expect::At(Revision(0)));
        assert_eq!((compared.result, compared.mod_revision), (EQUAL, Some(NEVER)));
    }
}
