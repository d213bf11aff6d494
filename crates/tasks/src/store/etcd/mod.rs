//! The engine *etcd*: several servers that agree on each commit, so that the loss of one loses
//! nothing.
//!
//! A commit is one of etcd's transactions, and the store's revisions are etcd's own, which rise
//! with every change of anything in it. Sessions are etcd's leases: the lease of a session lasts at
//! least as long as asked for, in whole seconds, and etcd takes no less than one and a half times
//! its election timeout (2 s by default). When another of its servers leads, all leases get their
//! whole time again.
//!
//! Invariants:
//! * A commit whose answer is lost is [`CommitError::Unknown`] and is never sent again. It is sent
//!   to another server only where none can have taken it: no connection, no leader.
//! * All that is read is as recent as the last commit acknowledged to anyone: nothing is read from
//!   what one server alone knows.
//! * Only keys below the prefix are touched, and none below it that is not the store's.
//!
//! Not there: users and passwords, and TLS. A server that syncs nothing is found out where it shows
//! its metrics (`synced`).
//!
//! Source: etcd's API version 3; [decision 0024](../../../../../docs/decisions/0024-etcd.md).

mod call;
mod client;
mod compaction;
mod elections;
mod error;
mod examined;
mod failure;
mod follow;
mod metrics;
mod open;
mod place;
mod proto;
mod space;
mod synced;
mod transaction;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{
    CommitError, Durability, Key, Limits, Record, Revision, Session, Transaction,
};

use self::client::{COMPACT, Client, GRANT, RANGE, REVOKE, Repeat, STATUS};
use self::compaction::{Compaction, bytes_of};
use self::failure::Failure;
use self::proto::{
    Grant, Granted, KeyValue, Lease, Nothing, Operation, Range, RangeAnswer, Txn, TxnAnswer,
};
use self::space::Space;
use self::transaction::{number, outcome, request, requested, revision};
use crate::store::{Lost, SessionError, Snapshot, Store, Watch, WatchError};

pub use self::error::OpenError;
pub use self::examined::{Examined, Latency, Server, Status, examine};
pub use self::place::{MAX_SERVERS, Place, PlaceError};
pub use self::space::MAX_PREFIX_BYTES;

/// What etcd takes with its usual settings (`--max-txn-ops`, `--max-request-bytes`). Of its 1.5 MiB
/// some are for prefixes, lengths, and the keys of conditions, which are sent twice.
pub const LIMITS: Limits = Limits {
    operations: OPERATIONS,
    bytes: MAX_REQUEST_BYTES - OPERATIONS * OVERHEAD_BYTES,
    durability: Durability::Synced,
};

const OPERATIONS: usize = 128;
const MAX_REQUEST_BYTES: usize = 1536 << 10;
/// A condition is sent with a prefix and a key more than it counts for, and with 64 bytes around
/// them.
const OVERHEAD_BYTES: usize =
    2 * MAX_PREFIX_BYTES + tidings_tasks_core::transaction::MAX_KEY_BYTES + 64;

/// The most records of one page.
const MAX_PAGE: usize = 10_000;

/// A store in an etcd. It may be opened by many processes at a time.
pub struct Etcd {
    client: Client,
    space: Space,
    compaction: Arc<Compaction>,
}

impl Etcd {
    /// Finds the store of a cluster at a place, or makes it where nothing is. Needs a runtime of
    /// tokio with time and I/O, on which its connections live.
    ///
    /// # Errors
    /// Nothing has changed.
    pub async fn open(place: &Place, cluster: &str) -> Result<Self, OpenError> {
        let unnamed = || OpenError::Unreachable {
            place: place.to_string(),
            why: "a server has no name that can be looked up".into(),
        };
        let client = Client::new(&place.servers).ok_or_else(unnamed)?;
        let space = Space::new(&place.prefix);
        open::open(&client, &space, place, cluster).await?;
        Ok(Self { client, space, compaction: Arc::default() })
    }

    /// Gives up old history when it is time; nobody waits for it.
    fn compact_after(&self, committed: Revision, bytes: u64) {
        let now = tokio::time::Instant::now();
        let Some(before) = self.compaction.committed(committed, bytes, now) else { return };
        let (client, compaction) = (self.client.clone(), self.compaction.clone());
        crate::spawn::spawn(async move {
            // If it fails, the next one makes up for it.
            let _ = compact(&client, before).await;
            let status: Result<proto::Status, _> =
                client.call(STATUS, Nothing {}, Repeat::Always).await;
            // Servers before 3.4 do not say what of their file is in use.
            if let Ok(status) = status {
                compaction.holds(u64::try_from(status.in_use_bytes).unwrap_or(0));
            }
        });
    }

    /// Some keys as of a revision, or as of now.
    async fn read(&self, keys: &[Key], at: Option<Revision>) -> Result<TxnAnswer, Failure> {
        let range = |key| Range {
            key: self.space.key(key),
            revision: at.map_or(0, number),
            ..Range::default()
        };
        let mut success: Vec<_> =
            keys.iter().map(|key| requested(Operation::Range(range(key)))).collect();
        if success.is_empty() {
            success.push(requested(Operation::Range(self.space.anything())));
        }
        self.client.txn(Txn { success, ..Txn::default() }, Repeat::Always).await
    }

    /// Keys of one revision, however many transactions it takes to read them. `None` if that
    /// revision was compacted meanwhile.
    async fn read_all(&self, keys: &[Key]) -> Result<Option<Snapshot>, Failure> {
        let (mut records, mut at, mut most) = (Vec::new(), None, OPERATIONS);
        loop {
            let rest: &[Key] = &keys[records.len()..];
            let some = &rest[..rest.len().min(most)];
            let answer = match self.read(some, at).await {
                Err(Failure::TooLong) if most > 1 => {
                    most = (some.len() / 2).max(1);
                    continue;
                }
                Err(Failure::Compacted) => return Ok(None),
                answer => answer?,
            };
            let revision =
                at.or_else(|| revision(answer.header.as_ref())).ok_or_else(unnumbered)?;
            at = Some(revision);
            let found = answer.responses.into_iter().take(some.len());
            let before = records.len();
            records.extend(found.map(|done| {
                let kv = done.range?.kvs.into_iter().next()?;
                self.record(kv)
            }));
            if records.len() < before + some.len() {
                return Err(Failure::Unanswered("it does not answer all that was asked".into()));
            }
            if records.len() == keys.len() {
                return Ok(Some(Snapshot { records, revision }));
            }
        }
    }

    async fn page(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Failure> {
        let mut limit = limit.clamp(1, MAX_PAGE);
        loop {
            let range = Range {
                key: self.space.key(from),
                end: self.space.end(end),
                // One more, where the next page begins.
                limit: limit as i64 + 1,
                ..Range::default()
            };
            let answer = self.client.call::<_, RangeAnswer>(RANGE, range, Repeat::Always).await;
            let answer = match answer {
                Err(Failure::TooLong) if limit > 1 => {
                    limit /= 2;
                    continue;
                }
                answer => answer?,
            };
            let revision = revision(answer.header.as_ref()).ok_or_else(unnumbered)?;
            let mut records: Vec<_> =
                answer.kvs.into_iter().filter_map(|kv| self.record(kv)).collect();
            let next = records.get(limit).map(|record| record.key.clone());
            records.truncate(limit);
            return Ok(Page { records, revision, next });
        }
    }

    fn record(&self, kv: KeyValue) -> Option<Record> {
        let revision = Revision(u64::try_from(kv.mod_revision).ok()?);
        Some(Record { key: self.space.own(&kv.key)?, value: kv.value.into(), revision })
    }
}

#[async_trait]
impl Store for Etcd {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        if let Some(refusal) = LIMITS.refusal(&transaction) {
            return Err(CommitError::Invalid(refusal));
        }
        let (txn, bytes) = (request(&self.space, &transaction), bytes_of(&transaction));
        let repeat = if transaction.writes.is_empty() { Repeat::Always } else { Repeat::Undone };
        let answer = self.client.txn(txn, repeat).await.map_err(not_committed)?;
        let revision = outcome(&transaction, answer)?;
        self.compact_after(revision, bytes);
        Ok(revision)
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        loop {
            if let Some(snapshot) = self.read_all(keys).await.map_err(lost)? {
                return Ok(snapshot);
            }
        }
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        self.page(from, end, limit).await.map_err(lost)
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        let (client, space) = (self.client.clone(), self.space.clone());
        Ok(Box::new(follow::Follower::begin(client, space, prefix, after).await?))
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        // etcd counts in seconds; a part of one is rounded up.
        let seconds = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
        let grant = Grant { ttl: i64::try_from(seconds).unwrap_or(i64::MAX).clamp(1, MAX_TTL_S) };
        let granted = self.client.call::<_, Granted>(GRANT, grant, Repeat::Always).await;
        Ok(Session(granted.map_err(lost)?.id as u64))
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        match self.client.keep(session.0 as i64).await {
            Ok(1..) => Ok(()),
            Ok(_) | Err(Failure::NoLease) => Err(SessionError::Ended(session)),
            Err(failure) => Err(lost(failure).into()),
        }
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        let lease = Lease { id: session.0 as i64 };
        match self.client.call::<_, Nothing>(REVOKE, lease, Repeat::Undone).await {
            Ok(_) => Ok(()),
            Err(Failure::NoLease) => Err(SessionError::Ended(session)),
            Err(failure) => Err(lost(failure).into()),
        }
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        match compact(&self.client, before).await {
            Err(Failure::Future) => {
                let last = self.get(&[]).await?.revision;
                compact(&self.client, last).await.map_err(lost)
            }
            done => done.map_err(lost),
        }
    }

    fn limits(&self) -> Limits {
        LIMITS
    }
}

/// The longest lease that etcd grants, in seconds: 285 years.
const MAX_TTL_S: i64 = 9_000_000_000;

/// Forgets changes up to a revision.
async fn compact(client: &Client, before: Revision) -> Result<(), Failure> {
    if before == Revision(0) {
        return Ok(());
    }
    let request = proto::Compaction { revision: number(before) };
    match client.call::<_, Nothing>(COMPACT, request, Repeat::Always).await {
        // As far, or farther, it was done before.
        Ok(_) | Err(Failure::Compacted) => Ok(()),
        Err(failure) => Err(failure),
    }
}

/// What it means for a commit that its call failed.
fn not_committed(failure: Failure) -> CommitError {
    match failure {
        // An answer that is too long comes after it was done.
        Failure::Unanswered(_) | Failure::TooLong => CommitError::Unknown,
        Failure::Full(why) => CommitError::Full(why),
        Failure::NoLease => CommitError::Invalid("one of its sessions has ended".into()),
        Failure::Refused(why) => CommitError::Invalid(why),
        other => CommitError::Lost(other.why()),
    }
}

fn lost(failure: Failure) -> Lost {
    Lost(failure.why())
}

fn unnumbered() -> Failure {
    Failure::Unanswered("its answer has no revision".into())
}
