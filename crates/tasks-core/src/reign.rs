//! Reigns: who coordinates a part, since when, and how another takes the role.
//!
//! The role of a part is one record, which stays, with an epoch that rises each time it is taken.
//! Beside it lies a key that vanishes with the store's session of whoever has the role. Others take
//! the role when that key is gone, or when the detector of failures says that the host is dead:
//! whichever comes first, and whether or not it is true. For by taking the role its record is
//! written, and each transaction of the one before requires it as it was.

use crate::id::{Epoch, Part};
use crate::keys;
use crate::record::{RecordError, Reign, decode, encode};
use crate::transaction::{Expect, Record, Session, Transaction, Write};

/// Who wants a role.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// A name that no other candidate has.
    pub name: String,
    /// Its host, as the board names it.
    pub host: String,
    /// Where it takes requests.
    pub address: String,
    /// With which the sign that it lives vanishes; none where the store has one holder only, whose
    /// death frees the store itself.
    pub session: Option<Session>,
}

/// Whether the role may be taken: nobody has it, the one that has it shows no sign of life, or its
/// host is gone.
pub fn is_vacant(reign: Option<&Reign>, lives: bool, is_lost: impl Fn(&str) -> bool) -> bool {
    reign.is_none_or(|reign| reign.coordinator.is_empty() || !lives || is_lost(&reign.host))
}

/// The transaction by which a candidate takes the role of a part from whoever had it when its
/// record was read, and the reign that begins with it. Its revision is that of the role.
///
/// # Errors
/// The record cannot be read.
pub fn take(
    part: Part,
    seen: Option<&Record>,
    candidate: &Candidate,
) -> Result<(Transaction, Reign), RecordError> {
    let last = seen.map(decode::<Reign>).transpose()?;
    let epoch = Epoch(last.map_or(0, |last| last.epoch.0) + 1);
    let reign = Reign {
        epoch,
        coordinator: candidate.name.clone(),
        host: candidate.host.clone(),
        address: candidate.address.clone(),
    };
    let mut transaction = Transaction::default();
    let expect = seen.map_or(Expect::Absent, |seen| Expect::At(seen.revision));
    transaction.expect(keys::role(part), expect);
    transaction.put(keys::role(part), encode(&reign));
    transaction.put(keys::fence(part), reign.epoch.0.to_be_bytes());
    transaction.writes.push(Write::Put {
        key: keys::lives(part),
        value: candidate.name.as_bytes().into(),
        session: candidate.session,
    });
    Ok((transaction, reign))
}

/// The transaction by which a coordinator gives its role back, so that another one need not wait
/// for its session to end. `seen` is the record of the role as it took it.
pub fn give_back(part: Part, reign: &Reign, seen: &Record) -> Transaction {
    let vacant = Reign { epoch: reign.epoch, coordinator: String::new(), ..reign.clone() };
    let mut transaction = Transaction::default();
    transaction.expect(keys::role(part), Expect::At(seen.revision));
    transaction.put(keys::role(part), encode(&vacant));
    transaction.delete(keys::lives(part));
    transaction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;
    use crate::transaction::CommitError;

    fn candidate(name: &str, session: Option<Session>) -> Candidate {
        let (host, address) = (format!("host-{name}"), String::new());
        Candidate { name: name.to_owned(), host, address, session }
    }

    #[test]
    fn of_two_that_saw_the_same_one_gets_the_role() {
        let (mut ledger, part) = (Ledger::default(), Part(0));
        let (first, reign) = take(part, None, &candidate("a", None)).unwrap();
        let (second, _) = take(part, None, &candidate("b", None)).unwrap();
        ledger.commit(&first).unwrap();
        assert_eq!(reign.epoch, Epoch(1));
        assert!(matches!(ledger.commit(&second), Err(CommitError::Conflict { .. })));
    }

    #[test]
    fn whoever_was_replaced_writes_nothing() {
        let (mut ledger, part) = (Ledger::default(), Part(0));
        let role = ledger.commit(&take(part, None, &candidate("a", None)).unwrap().0).unwrap();
        let seen = ledger.get(&keys::role(part));
        let (taken, reign) = take(part, seen.as_ref(), &candidate("b", None)).unwrap();
        ledger.commit(&taken).unwrap();
        assert_eq!(reign.epoch, Epoch(2));
        let mut late = Transaction::default();
        late.expect(keys::role(part), Expect::At(role));
        late.put(keys::semaphore(part, "s"), *b"too late");
        let refused = ledger.commit(&late).unwrap_err();
        assert!(matches!(refused, CommitError::Conflict { key, .. } if key == keys::role(part)));
    }

    #[test]
    fn a_role_is_vacant_without_a_sign_of_life() {
        let (mut ledger, part) = (Ledger::default(), Part(0));
        let session = ledger.open_session();
        let (transaction, reign) = take(part, None, &candidate("a", Some(session))).unwrap();
        ledger.commit(&transaction).unwrap();
        let lives = |ledger: &Ledger| ledger.get(&keys::lives(part)).is_some();
        assert!(!is_vacant(Some(&reign), lives(&ledger), |_| false));
        assert!(is_vacant(Some(&reign), lives(&ledger), |host| host == "host-a"));
        ledger.end_session(session).unwrap();
        assert!(is_vacant(Some(&reign), lives(&ledger), |_| false));
        assert!(is_vacant(None, false, |_| false));
    }

    #[test]
    fn a_role_that_was_given_back_is_vacant_at_once() {
        let (mut ledger, part) = (Ledger::default(), Part(0));
        let (taken, reign) = take(part, None, &candidate("a", None)).unwrap();
        ledger.commit(&taken).unwrap();
        let seen = ledger.get(&keys::role(part)).unwrap();
        ledger.commit(&give_back(part, &reign, &seen)).unwrap();
        let now = ledger.get(&keys::role(part)).unwrap();
        let vacant: Reign = decode(&now).unwrap();
        assert!(is_vacant(Some(&vacant), true, |_| false));
        let (_, next) = take(part, Some(&now), &candidate("b", None)).unwrap();
        assert_eq!(next.epoch, Epoch(2));
    }
}
