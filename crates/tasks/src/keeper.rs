//! The keeper of blobs: frees those that no task names any more.
//!
//! A blob of a task is pinned under the task's name, and the store knows which tasks there are. So
//! whoever holds the store compares the two from time to time: pins whose task has no record go,
//! then blobs without pins. Nothing else is needed when a task is forgotten, by whomever.
//!
//! Invariant: a pin goes only if it is older than the grace *and* the store, asked after that was
//! seen, has neither kind of record of its task.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::{Part, TaskId};
use tidings_tasks_core::keys;

use crate::blobs::{self, BlobError, Blobs};
use crate::parts;
use crate::store::{Lost, Store};

/// The time from one look to the next.
pub(crate) const PERIOD: Duration = Duration::from_secs(600);

/// Tasks that the store is asked for at a time.
pub(crate) const TASKS: usize = 1_000;

/// Why garbage was not freed, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The store cannot be reached. Nothing was freed.
    #[error(transparent)]
    Store(#[from] Lost),
    /// The folder of blobs cannot be used. Some may be freed.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// The process is ending.
    #[error("the runtime is ending")]
    Ending,
}

/// Looks from time to time, for ever. A folder that is not there has nothing to free.
pub(crate) async fn keep(store: Arc<dyn Store>, parts: u16, folder: PathBuf) {
    loop {
        if folder.is_dir() {
            // What cannot be freed now may be at the next look.
            let _ = look(&*store, parts, &folder).await;
        }
        tokio::time::sleep(PERIOD).await;
    }
}

async fn look(store: &dyn Store, parts: u16, folder: &std::path::Path) -> Result<u64, KeepError> {
    let folder = folder.to_owned();
    let blobs = Arc::new(blocking(move || Blobs::open(&folder)).await?);
    free(store, parts, &blobs, blobs::GRACE).await
}

/// Drops the pins of tasks that have no record, and collects what nobody pins, as far as it is
/// older than the grace. Returns how many bytes that freed. Pins of other holders stay. A task may
/// be in any of the store's parts.
///
/// # Errors
/// The store or the folder cannot be used.
pub async fn free(
    store: &dyn Store,
    parts: u16,
    blobs: &Arc<Blobs>,
    grace: Duration,
) -> Result<u64, KeepError> {
    let mut gone = BTreeSet::new();
    for some in pinned(blobs, grace).await?.chunks(TASKS) {
        let mut without = some.to_vec();
        for part in parts::all(parts) {
            without = without_record(store, part, without).await?;
        }
        gone.extend(without.into_iter().flat_map(blobs::holders_of));
    }
    drop_pins(blobs, gone, grace).await?;
    collect(blobs, grace).await
}

/// Those of the tasks that have no record in a part.
async fn without_record(
    store: &dyn Store,
    part: Part,
    mut tasks: Vec<TaskId>,
) -> Result<Vec<TaskId>, Lost> {
    let both = |task: &TaskId| [keys::task(part, *task), keys::finished(part, *task)];
    let asked: Vec<_> = tasks.iter().flat_map(both).collect();
    let records = store.get(&asked).await?.records;
    let mut found = records.chunks(2).map(|found| found.iter().any(Option::is_some));
    tasks.retain(|_| found.next() == Some(false));
    Ok(tasks)
}

/// The tasks that have pins older than the grace.
pub(crate) async fn pinned(blobs: &Arc<Blobs>, grace: Duration) -> Result<Vec<TaskId>, KeepError> {
    let folder = blobs.clone();
    let holders = blocking(move || folder.holders(grace)).await?;
    Ok(holders.iter().filter_map(|holder| blobs::task_of(holder)).collect())
}

/// Drops the pins of these holders that are older than the grace.
pub(crate) async fn drop_pins(
    blobs: &Arc<Blobs>,
    gone: BTreeSet<String>,
    grace: Duration,
) -> Result<(), KeepError> {
    let folder = blobs.clone();
    blocking(move || folder.drop_pins(&gone, grace).map(drop)).await
}

/// Frees what nobody pins. Returns how many bytes.
pub(crate) async fn collect(blobs: &Arc<Blobs>, grace: Duration) -> Result<u64, KeepError> {
    let folder = blobs.clone();
    blocking(move || folder.collect(grace)).await
}

/// Does what waits for the disk beside the tasks of the runtime.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BlobError> + Send + 'static,
) -> Result<T, KeepError> {
    Ok(crate::spawn::spawn_blocking(work).await.map_err(|_| KeepError::Ending)??)
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::transaction::Transaction;

    use super::*;
    use crate::store::memory::Memory;

    #[tokio::test]
    async fn a_blob_goes_with_the_last_record_of_its_tasks() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Arc::new(Blobs::open(&folder.path().join("blobs")).unwrap());
        let (store, part) = (Memory::default(), Part(1));
        let [live, done, none] = [1, 2, 3].map(|number| TaskId::of("task", number));
        let mut records = Transaction::default();
        records.put(keys::task(part, live), *b"a record");
        records.put(keys::finished(part, done), *b"a record");
        store.commit(records).await.unwrap();
        let handles = [b"live", b"done", b"none"].map(|content| blobs.put(content).unwrap());
        for (task, handle) in [live, done, none].into_iter().zip(&handles) {
            blobs.pin(handle, &blobs::holder_of(task)).unwrap();
            blobs.pin(&handles[0], &blobs::holder_of(task)).unwrap();
        }
        let other = blobs.put(b"of another holder").unwrap();
        blobs.pin(&other, "somebody").unwrap();

        let freed = free(&store, 2, &blobs, blobs::GRACE).await.unwrap();
        assert_eq!(freed, 0, "all is young");
        let freed = free(&store, 2, &blobs, Duration::ZERO).await.unwrap();
        assert_eq!((freed, blobs.has(&handles[2])), (4, false));

        let mut forget = Transaction::default();
        forget.delete(keys::finished(part, done));
        store.commit(forget).await.unwrap();
        assert_eq!(free(&store, 2, &blobs, Duration::ZERO).await.unwrap(), 4);
        assert!(blobs.has(&handles[0]) && !blobs.has(&handles[1]) && blobs.has(&other));
    }
}
