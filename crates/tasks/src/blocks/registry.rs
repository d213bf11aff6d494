//! The registry: ids and records of blocks in the store.

use tidings_blocks::BlockId;
use tidings_blocks::record::{self, Made};
use tidings_tasks_core::transaction::CommitError;

use super::error::BlocksError;
use crate::store::Store;

/// The id of a name: that of a new block of this kind and version, if it has none.
pub(super) async fn named(
    store: &dyn Store,
    name: &str,
    (kind, version): (&str, u32),
) -> Result<BlockId, BlocksError> {
    let keys = [record::named(name)?, record::next(), record::view()];
    loop {
        let mut records = store.get(&keys).await?.records.into_iter();
        let mut next = || records.next().flatten();
        let (found, last, view) = (next(), next(), next());
        if let Some(found) = found {
            return Ok(record::read(&found)?);
        }
        let (transaction, id) = record::make(name, (kind, version), last.as_ref(), view.as_ref())?;
        match store.commit(transaction).await {
            Ok(_) => return Ok(id),
            // Somebody else has made this one, or another; or it was made: then it is there now.
            Err(CommitError::Conflict { .. } | CommitError::Unknown) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether a block has begun that begins once.
pub(super) async fn has_begun(store: &dyn Store, id: BlockId) -> Result<bool, BlocksError> {
    Ok(store.get(&[record::begun(id)]).await?.records.pop().flatten().is_some())
}

/// Says that it has begun. Where two do so at a time, or one has not heard that it was done, it is
/// found out by looking again.
pub(super) async fn has_now_begun(store: &dyn Store, id: BlockId) -> Result<(), BlocksError> {
    match store.commit(record::begin(id)).await {
        Ok(_) | Err(CommitError::Conflict { .. } | CommitError::Unknown) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What a block is; `None` if there is none.
pub(super) async fn made(store: &dyn Store, id: BlockId) -> Result<Option<Made>, BlocksError> {
    let found = store.get(&[record::made(id)]).await?.records.pop().flatten();
    Ok(found.as_ref().map(record::read).transpose()?)
}
