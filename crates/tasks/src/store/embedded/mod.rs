//! The engine *embedded*: one file, and no server. The process that opens it is its only holder.
//!
//! All writing is done by one *writer*, in a thread of its own. It takes the transactions that have
//! come in meanwhile, checks the conditions of one after the other within one transaction of redb,
//! and syncs once for all of them (*group commit*). Those whose conditions do not hold get their
//! conflict; each of the others has a revision of its own, as if it had been alone. While the disk
//! syncs, the next group comes together, so the more are under way the larger the groups. Readers
//! read the last commit beside that, and wait for nobody; they run in their caller's thread, and
//! read the file where a page is not in memory.
//!
//! A small transaction after another one that was small and quick, when nothing waits, is not worth
//! two changes of threads: it is committed in the thread of who asks, which waits for the disk
//! meanwhile (docs/decisions/0046-commits-where-they-are-asked.md).
//!
//! Invariants:
//! * What was acknowledged was synced (`fdatasync`), and is what every later reader sees.
//! * Watchers hear of a commit before its acknowledgement is given.
//! * At most [`QUEUE`] transactions wait for the next group; more wait outside, each in its caller.
//!
//! **Sessions end with the process that holds the store.** Their keys are gone when it is opened
//! again. The alternative, to give each of them its time again, would let the roles of dead holders
//! last a whole time longer after every crash, and would need each `open_session` and its `ttl` on
//! disk. What it would spare is little: a holder of a session that is alive learns with its next
//! `keep_session` that it has ended, opens another and takes its roles again at the next epoch.
//! What it did meanwhile is safe, as it rests on epochs, not on sessions. Numbers of sessions are
//! never used twice: their upper half counts how often the file was opened.
//!
//! **No space** is [`CommitError::Full`]: nothing of the group was written, nothing else is lost,
//! reading goes on, and so does writing as soon as there is space. redb has to open its file again
//! for that, which reads all of it once. **A failed sync** leaves open what is on the disk: commits
//! under way are [`CommitError::Unknown`], and the store is closed. Restart the machine
//! before it is opened again.
//!
//! Space of deleted keys is used again, and given back where it lies at the end of the file. Beside
//! `PATH` lie `PATH.lock` (who holds it), and for moments `PATH.new` (a store that is being made)
//! and `PATH.space` (is there space again?).
//!
//! What a commit costs is the pages it changes: one of 4 KiB for each key that lies alone. Keys
//! that are written together should lie together (docs/decisions/0028-ids-in-order.md; `cargo bench
//! --bench store` has keys in order and scattered).

mod disk;
mod error;
mod file;
mod history;
mod holder;
#[cfg(test)]
mod power;
mod queue;
mod tables;
mod view;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tidings_tasks_core::ledger::Page;
use tidings_tasks_core::transaction::{
    CommitError, Durability, Key, Limits, Revision, Session, Transaction,
};
use tokio::sync::{Semaphore, oneshot, watch};

use super::follow::{CLOSED, Follower};
use super::lease::Leases;
use super::{Lost, SessionError, Snapshot, Store, Watch, WatchError};
pub use error::OpenError;
use file::Opened;
use history::Recent;
use holder::Holder;
use queue::{Queue, Queued, Request};
use tables::RedbError;
use view::Access;
use writer::{Answer, SMALL, Writer};

/// What a transaction may hold.
pub const LIMITS: Limits =
    Limits { operations: 65_536, bytes: 16 << 20, durability: Durability::Synced };

/// How many transactions may wait for the next group.
pub const QUEUE: usize = 4_096;

/// A store in a file, held by this process until this is dropped. Dropping waits for what is under
/// way, and closes the file so that it opens quickly.
pub struct Embedded {
    requests: Option<SyncSender<Queued>>,
    room: Arc<Semaphore>,
    writer: Arc<Mutex<Writer>>,
    thread: Option<JoinHandle<()>>,
    access: watch::Receiver<Access>,
    news: watch::Receiver<Revision>,
    recent: Arc<Recent>,
    leases: Arc<Mutex<Leases>>,
    last_session: AtomicU64,
}

impl Embedded {
    /// Opens the store of `cluster` in the file at `path`, or makes it where there is none. Takes
    /// long after a crash (a second for a million tasks), during which its thread waits.
    ///
    /// # Errors
    /// Nothing has changed.
    pub fn open(path: &Path, cluster: &str) -> Result<Self, OpenError> {
        let holder = Holder::of(path)?;
        Self::start(path, holder, file::open(path, cluster)?)
    }

    fn start(path: &Path, holder: Holder, opened: Opened) -> Result<Self, OpenError> {
        let revision = opened.revision;
        let (requests, waiting) = sync_channel(QUEUE);
        let (news, hears) = watch::channel(revision);
        let recent = Arc::new(Recent::since(revision));
        let leases = Arc::<Mutex<Leases>>::default();
        let first_session = opened.generation << 32;
        let (writer, access) =
            Writer::new(opened, holder, path, news, recent.clone(), leases.clone());
        let writer = Arc::new(Mutex::new(writer));
        let queue = Queue::new(waiting, writer.clone(), leases.clone());
        let thread = std::thread::Builder::new().name("store".into()).spawn(|| queue.run());
        Ok(Self {
            requests: Some(requests),
            room: Arc::new(Semaphore::new(QUEUE)),
            writer,
            thread: Some(thread.map_err(|error| OpenError::file(path, &error))?),
            access,
            news: hears,
            recent,
            leases,
            last_session: AtomicU64::new(first_session),
        })
    }

    /// Asks the writer for something, when there is room in its queue.
    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Asked<T> {
        let Ok(room) = self.room.clone().acquire_owned().await else { return Asked::Lost };
        let (sender, answer) = oneshot::channel();
        let request = request(sender);
        // There is a place for each permit, so only the end of the writer is a reason not to take
        // it.
        let sent = self.requests.as_ref().is_some_and(|q| q.try_send((request, room)).is_ok());
        if !sent {
            return Asked::Lost;
        }
        answer.await.map_or(Asked::Unknown, Asked::Answered)
    }

    /// Commits a transaction in this thread, if it is small and nothing else is under way; gives it
    /// back otherwise.
    fn alone(&self, transaction: Transaction) -> Result<Answer, Transaction> {
        if transaction.operations() > SMALL || self.room.available_permits() < QUEUE {
            return Err(transaction);
        }
        match self.writer.try_lock() {
            Ok(mut writer) => writer.alone(transaction),
            // Its thread finds out what is wrong with one that has panicked.
            Err(_) => Err(transaction),
        }
    }

    fn leases(&self) -> MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the last commit; once more where the writer had to open the file again.
    async fn read<T>(&self, read: impl Fn(&view::View) -> Result<T, RedbError>) -> Result<T, Lost> {
        let mut access = self.access.clone();
        loop {
            let now = access.borrow_and_update().clone();
            let error = match now.view().map(|view| view.and_then(|view| read(&view)))? {
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            drop(now);
            // The writer finds what is wrong with the file, and lets all know.
            if !matches!(self.ask(Request::Look).await, Asked::Answered(())) {
                return Err(Lost(CLOSED.into()));
            }
            if !access.has_changed().unwrap_or(false) {
                return Err(Lost(error.0.to_string()));
            }
        }
    }
}

/// What became of a request.
enum Asked<T> {
    Answered(T),
    /// It was taken, but the writer ended before it answered.
    Unknown,
    /// It was not taken.
    Lost,
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // Had it panicked, those who waited for it would have got an error.
            let _ = thread.join();
        }
    }
}

#[async_trait]
impl Store for Embedded {
    async fn commit(&self, transaction: Transaction) -> Result<Revision, CommitError> {
        if let Some(refusal) = LIMITS.refusal(&transaction) {
            return Err(CommitError::Invalid(refusal));
        }
        let transaction = match self.alone(transaction) {
            Ok(answer) => return answer,
            Err(transaction) => transaction,
        };
        match self.ask(|answer| Request::Commit { transaction, answer }).await {
            Asked::Answered(answer) => answer,
            Asked::Unknown => Err(CommitError::Unknown),
            Asked::Lost => Err(CommitError::Lost(CLOSED.into())),
        }
    }

    async fn get(&self, keys: &[Key]) -> Result<Snapshot, Lost> {
        self.read(|view| view.get(keys)).await
    }

    async fn scan(&self, from: &Key, end: Option<&Key>, limit: usize) -> Result<Page, Lost> {
        self.read(|view| view.scan(from, end, limit.max(1))).await
    }

    async fn watch(&self, prefix: &[u8], after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        Follower::begin(self.recent.clone(), self.news.clone(), prefix, after)
    }

    async fn open_session(&self, ttl: Duration) -> Result<Session, SessionError> {
        let session = Session(self.last_session.fetch_add(1, Ordering::Relaxed) + 1);
        self.leases().open(session, ttl, Instant::now());
        // The writer may be waiting for a later end.
        match self.ask(Request::Look).await {
            Asked::Answered(()) => Ok(session),
            Asked::Unknown | Asked::Lost => Err(SessionError::Lost(CLOSED.into())),
        }
    }

    async fn keep_session(&self, session: Session) -> Result<(), SessionError> {
        self.leases().keep(session, Instant::now())
    }

    async fn close_session(&self, session: Session) -> Result<(), SessionError> {
        self.leases().close(session)?;
        match self.ask(Request::End).await {
            Asked::Answered(answer) => answer,
            Asked::Unknown | Asked::Lost => Err(SessionError::Lost(CLOSED.into())),
        }
    }

    async fn compact(&self, before: Revision) -> Result<(), Lost> {
        self.recent.compact(before);
        Ok(())
    }

    fn limits(&self) -> Limits {
        LIMITS
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::transaction::Expect;

    use super::disk::{Disk, Failure};
    use super::*;

    fn key(name: &str) -> Key {
        Key::new(name.as_bytes()).unwrap()
    }

    fn put(name: &str) -> Transaction {
        let mut transaction = Transaction::default();
        transaction.put(key(name), name.as_bytes());
        transaction
    }

    /// A store, and its file, which can be made to fail.
    fn started(folder: &tempfile::TempDir) -> (Embedded, Disk) {
        let path = folder.path().join("store");
        let holder = Holder::of(&path).unwrap();
        let opened = file::open(&path, "test").unwrap();
        let disk = opened.disk.clone();
        (Embedded::start(&path, holder, opened).unwrap(), disk)
    }

    #[tokio::test]
    async fn without_space_nothing_is_lost_and_it_goes_on_when_there_is_some() {
        let folder = tempfile::tempdir().unwrap();
        let (store, disk) = started(&folder);
        let first = store.commit(put("a")).await.unwrap();
        let mut watch = store.watch(b"", first).await.unwrap();
        disk.fail(Failure::Space("no space left".into()));
        let full = store.commit(put("b")).await.unwrap_err();
        assert_eq!(full, CommitError::Full("no space left".into()));
        let snapshot = store.get(&[key("a"), key("b")]).await.unwrap();
        assert_eq!((snapshot.records.iter().flatten().count(), snapshot.revision), (1, first));
        let second = store.commit(put("c")).await.unwrap();
        assert!(second > first);
        assert_eq!(watch.next().await.unwrap().events[0].key, key("c"));
    }

    #[tokio::test]
    async fn a_small_transaction_after_a_small_one_is_committed_where_it_is_asked_for() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let (store, disk) = started(&folder);
        let mut large = Transaction::default();
        for number in 0..SMALL {
            large.put(key(&format!("large-{number}")), b"1".to_vec());
        }
        large.expect(key("none"), Expect::Absent);
        store.commit(large.clone()).await.unwrap();
        assert_eq!(store.alone(put("a")), Err(put("a")), "the last one was large");
        // In memory a commit is quick, but where the machine is busy just then.
        let (before, alone) = loop {
            let before = store.commit(put("a")).await.unwrap();
            if let Ok(answer) = store.alone(put("b")) {
                break (before, answer.unwrap());
            }
        };
        let found = store.get(&[key("b")]).await.unwrap();
        assert_eq!(found.records[0].as_ref().map(|record| record.revision), Some(alone));
        let seen = store.watch(b"", before).await.unwrap().next().await.unwrap().events;
        assert_eq!(seen.last().map(|event| (&event.key, event.revision)), Some((&key("b"), alone)));
        assert_eq!(store.alone(large.clone()), Err(large), "it is not small");
        let waiting = store.room.clone().acquire_owned().await;
        assert_eq!(store.alone(put("c")), Err(put("c")), "another one waits");
        drop(waiting);
        let busy = store.writer.lock().unwrap();
        assert_eq!(store.alone(put("c")), Err(put("c")), "another one is written");
        drop(busy);
        disk.fail(Failure::Space("no space left".into()));
        assert!(matches!(store.commit(put("b")).await, Err(CommitError::Full(_))));
        assert_eq!(store.alone(put("c")), Err(put("c")), "whether there is space is to be seen");
    }

    #[tokio::test]
    async fn without_space_to_open_it_again_it_is_opened_later() {
        let folder = tempfile::tempdir().unwrap();
        let (store, disk) = started(&folder);
        let first = store.commit(put("a")).await.unwrap();
        let mut watch = store.watch(b"", first).await.unwrap();
        disk.fail(Failure::Space("no space left".into()));
        disk.fail(Failure::Space("still none".into()));
        assert_eq!(store.commit(put("b")).await, Err(CommitError::Unknown));
        assert_eq!(store.get(&[key("a")]).await, Err(Lost("still none".into())));
        let second = store.commit(put("c")).await.unwrap();
        assert!(second > first);
        let found = store.get(&["a", "b", "c"].map(key)).await.unwrap().records;
        assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(watch.next().await.unwrap().events[0].key, key("c"));
    }

    #[tokio::test]
    async fn a_reader_that_meets_a_failure_reads_again() {
        let folder = tempfile::tempdir().unwrap();
        let (store, disk) = started(&folder);
        let mut large = Transaction::default();
        large.put(key("large"), vec![1; 10 << 20]);
        store.commit(large).await.unwrap();
        drop((store, disk));
        let (store, again) = started(&folder);
        again.fail(Failure::Space("no space left".into()));
        let page = store.scan(&key("large"), None, 1).await.unwrap();
        assert_eq!(page.records[0].value.len(), 10 << 20);
    }

    #[tokio::test]
    async fn after_a_failed_sync_nothing_is_promised_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let (store, disk) = started(&folder);
        let first = store.commit(put("a")).await.unwrap();
        let mut watch = store.watch(b"", first).await.unwrap();
        disk.fail(Failure::Other("input/output error".into()));
        assert_eq!(store.commit(put("b")).await, Err(CommitError::Unknown));
        let Err(CommitError::Lost(why)) = store.commit(put("c")).await else { panic!("closed") };
        assert!(why.contains("input/output error") && why.contains("restart"), "{why}");
        assert!(matches!(store.get(&[key("a")]).await, Err(Lost(_))));
        assert!(matches!(watch.next().await, Err(WatchError::Lost(_))));
        drop((store, disk));
        let (store, _) = started(&folder);
        assert!(store.get(&[key("a")]).await.unwrap().records[0].is_some());
    }
}
