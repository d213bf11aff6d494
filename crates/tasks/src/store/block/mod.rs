//! The engine *block*: a store in the memory of processes that share building blocks
//! ([`tidings_blocks::store`]), with two copies.
//!
//! A call goes to the process that owns the store, and is answered when another one has it too. So
//! any one process may die at a time. When both that have it die before there is another copy all
//! is lost: each call says so, and nothing is answered from what is older. Nothing is on a disk.
//!
//! That the store was begun lies in the store of the views, so that one of which all was lost does
//! not begin again as if it were new. The time of sessions is measured by whoever owns the store
//! (`clock`).

mod clock;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use minicbor::bytes::ByteVec;
use tidings_blocks::store::{Answer, DistributedStore, LIMITS, MAX_READ_BYTES, Op};
use tidings_blocks::{Ref, Reply};
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{CommitError, Key, Limits, Revision, Session, Transaction};
use tokio::task::JoinHandle;

use super::{Batch, Lost, SessionError, Snapshot, Store, Watch, WatchError};
use crate::blocks::{Blocks, BlocksError};

/// The time in which a call is answered: longer than a view takes to change.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a store says nothing.
const NOTHING: &str =
    "all of it was lost with the processes that had it: begin another one, by another name";

/// What is said where an answer does not fit its question.
const ODD: &str = "it answers what was not asked: use programs of one version";

/// A store in the memory of processes. Dropped, the process goes on to have its share.
#[derive(Debug)]
pub struct BlockStore {
    block: Ref<DistributedStore>,
    clock: JoinHandle<()>,
    /// Leaves when nobody uses the store any more.
    _blocks: Arc<Blocks>,
}

/// Why there is no answer.
enum Silent {
    /// Nothing has changed.
    Lost(String),
    /// It may have been done.
    Unknown(String),
}

impl Silent {
    fn why(self) -> String {
        match self {
            Self::Lost(why) | Self::Unknown(why) => why,
        }
    }
}

impl BlockStore {
    /// The store of a name, begun if there is none. The process knows the kind
    /// [`DistributedStore`]. Needs a runtime of tokio with time.
    ///
    /// # Errors
    /// The block is something else, the store of the views cannot be reached, or this process takes
    /// part no more.
    pub async fn open(blocks: Arc<Blocks>, name: &str) -> Result<Self, BlocksError> {
        let block = blocks.open::<DistributedStore>(name).await?;
        while !blocks.has_begun(block.id()).await? {
            if let Err(silent) = call(&block, Op::Found).await {
                return Err(BlocksError::Store(silent.why()));
            }
            blocks.has_now_begun(block.id()).await?;
        }
        let clock = crate::spawn::spawn(clock::run(block.clone()));
        Ok(Self { block, clock, _blocks: blocks })
    }

    async fn call(&self, op: Op) -> Result<Answer, Silent> {
        call(&self.block, op).await
    }
}

impl Drop for BlockStore {
    fn drop(&mut self) {
        self.clock.abort();
    }
}

async fn call(block: &Ref<DistributedStore>, op: Op) -> Result<Answer, Silent> {
    match tokio::time::timeout(PATIENCE, block.call(op)).await {
        Ok(Ok(Ok(Answer::Nothing))) => Err(Silent::Lost(NOTHING.to_owned())),
        Ok(Ok(Ok(answer))) => Ok(answer),
        Ok(Ok(Err(refusal))) => Err(Silent::Unknown(refusal.to_string())),
        Ok(Err(unanswered)) => Err(Silent::Unknown(unanswered.to_string())),
        Err(_) => Err(Silent::Unknown(format!("no answer in {} s", PATIENCE.as_secs()))),
    }
}

/// Why a call was not answered as it was asked.
fn odd(answer: Result<Answer, Silent>) -> String {
    answer.map_or_else(Silent::why, |_| ODD.to_owned())
}

fn done(answer: Result<Answer, Silent>) -> Result<(), SessionError> {
    match answer {
        Ok(Answer::Done) => Ok(()),
        Ok(Answer::Ended(session)) => Err(SessionError::Ended(session)),
        other => Err(SessionError::Lost(odd(other))),
    }
}

#[async_trait]
impl Store for BlockStore {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        if let Some(refusal) = LIMITS.refusal(&transaction) {
            return Err(CommitError::Invalid(refusal));
        }
        match self.call(Op::Commit(transaction)).await {
            Ok(Answer::Commit(result)) => result,
            Err(Silent::Lost(why)) => Err(CommitError::Lost(why)),
            Ok(_) | Err(Silent::Unknown(_)) => Err(CommitError::Unknown),
        }
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        match self.call(Op::Get(keys.to_vec())).await {
            Ok(Answer::Records(records, revision)) if records.len() == keys.len() => {
                Ok(Snapshot { records, revision })
            }
            Ok(Answer::TooLong(bytes)) => Err(Lost(format!(
                "these values have {bytes} bytes; at most {MAX_READ_BYTES} are read at a time"
            ))),
            other => Err(Lost(odd(other))),
        }
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        match self.call(Op::Scan { from: Some(from.clone()), end: end.cloned(), limit }).await {
            Ok(Answer::Page(page)) => Ok(page),
            other => Err(Lost(odd(other))),
        }
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        let (block, prefix) = (self.block.clone(), ByteVec::from(prefix.to_vec()));
        let mut watch = BlockWatch { block, prefix, seen: after, waits: None };
        // What has changed already is asked for again, if it is not too late.
        watch.changes().await?;
        watch.seen = after;
        Ok(Box::new(watch))
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX);
        match self.call(Op::Open(ttl_ms.max(1))).await {
            Ok(Answer::Session(session)) => Ok(session),
            other => Err(SessionError::Lost(odd(other))),
        }
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        done(self.call(Op::Keep(session)).await)
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        done(self.call(Op::Close(session)).await)
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        done(self.call(Op::Compact(before)).await).map_err(|error| Lost(error.to_string()))
    }

    fn limits(&self) -> Limits {
        LIMITS
    }
}

/// Asks for changes, and waits until there are some.
struct BlockWatch {
    block: Ref<DistributedStore>,
    prefix: ByteVec,
    /// All changes up to here were passed on.
    seen: Revision,
    /// Until there is something after that.
    waits: Option<Reply<()>>,
}

impl BlockWatch {
    /// The next changes that there are.
    async fn changes(&mut self) -> Result<Batch, WatchError> {
        match call(&self.block, Op::Changes(self.prefix.clone(), self.seen)).await {
            Ok(Answer::Changes(events, revision)) => {
                self.seen = self.seen.max(revision);
                Ok(Batch { events, revision })
            }
            Ok(Answer::Compacted(revision)) => Err(WatchError::Compacted(revision)),
            other => Err(WatchError::Lost(odd(other))),
        }
    }
}

#[async_trait]
impl Watch for BlockWatch {
    async fn next(&mut self) -> Result<Batch, WatchError> {
        loop {
            if let Some(waits) = &mut self.waits {
                waits.await.map_err(|unanswered| WatchError::Lost(unanswered.to_string()))?;
                self.waits = None;
            }
            let batch = self.changes().await?;
            if !batch.events.is_empty() {
                return Ok(batch);
            }
            self.waits = Some(self.block.changed(self.seen));
        }
    }
}
