//! The thread that writes.
//!
//! It lives as long as anybody can ask it. What it answers is decided here and nowhere else: see
//! [`Verdict`].

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redb::WriteTransaction;
use rustix::fs::FallocateFlags;
use tidings_tasks_core::ledger::SessionEnded;
use tidings_tasks_core::transaction::{CommitError, Event, Revision, Session, Transaction, Write};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};

use super::disk::{Disk, Failure};
use super::file::{self, Opened};
use super::history::Recent;
use super::holder::{Holder, beside};
use super::tables::{REVISION, RedbError, Tables};
use super::view::{Access, Handle, View};
use crate::store::SessionError;
use crate::store::follow::CLOSED;
use crate::store::lease::Leases;

/// Transactions of one group, and bytes after which a group is closed. More would not be quicker
/// (tasks.md: 64 to a sync 46,000 commits/s, 256 to a sync 69,000), and all wait for the last.
const GROUP_TRANSACTIONS: usize = 512;
const GROUP_BYTES: usize = 8 << 20;

/// How long to wait for the next of those who were answered last and are likely to ask again.
/// Without that those who come back a moment too late for a group make up the next, and so on: two
/// groups, and two syncs, for what could be one. At most a part of what the last commit took is
/// spent so.
const GAP: Duration = Duration::from_micros(100);
const SHARE_OF_COMMIT: u32 = 4;

/// When to try again to end sessions for which there was no space.
const RETRY: Duration = Duration::from_secs(1);

/// Space that must be free before another attempt, after there was none: for each transaction and
/// for anything at all, in bytes. A transaction of few keys changes a path of pages for each.
const PAGES_BYTES: usize = 64 << 10;
const LEAST_BYTES: usize = 1 << 20;

type Answer = Result<Revision, CommitError>;

/// What the writer is asked for.
pub(super) enum Request {
    /// To commit.
    Commit { transaction: Transaction, answer: oneshot::Sender<Answer> },
    /// To delete the keys of the sessions that have ended.
    End(oneshot::Sender<Result<(), SessionError>>),
    /// To look at the leases and at the file.
    Look(oneshot::Sender<()>),
}

/// A request, and its place in the queue.
pub(super) type Queued = (Request, OwnedSemaphorePermit);

/// What is done with one sync.
#[derive(Default)]
struct Group {
    transactions: Vec<Transaction>,
    answers: Vec<oneshot::Sender<Answer>>,
    bytes: usize,
    closes: Vec<oneshot::Sender<Result<(), SessionError>>>,
    looks: Vec<oneshot::Sender<()>>,
    /// Sessions that have ended.
    ending: Vec<Session>,
}

impl Group {
    fn add(&mut self, (request, _): Queued) {
        match request {
            Request::Commit { transaction, answer } => {
                self.bytes += transaction.bytes();
                self.transactions.push(transaction);
                self.answers.push(answer);
            }
            Request::End(answer) => self.closes.push(answer),
            Request::Look(answer) => self.looks.push(answer),
        }
    }

    fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.closes.is_empty() && self.looks.is_empty()
    }

    fn has_room(&self) -> bool {
        self.transactions.len() < GROUP_TRANSACTIONS && self.bytes < GROUP_BYTES
    }
}

/// What a group would change.
struct Prepared {
    revision: Revision,
    events: Vec<Event>,
    answers: Vec<Answer>,
}

impl Prepared {
    fn nothing(revision: Revision) -> Self {
        Self { revision, events: Vec::new(), answers: Vec::new() }
    }
}

/// What became of a group.
enum Verdict {
    /// All of it is on the disk.
    Committed(Prepared),
    /// Nothing of it, and nothing will be.
    Nothing(CommitError),
    /// It is not known.
    Unknown,
}

pub(super) struct Writer {
    requests: Receiver<Queued>,
    access: watch::Sender<Access>,
    holder: Arc<Holder>,
    path: PathBuf,
    disk: Disk,
    /// The last commit.
    revision: Revision,
    /// Why the last commit found no space.
    full: Option<String>,
    /// What came in before the last answers were given.
    next: Group,
    /// How many transactions the next group may have if all who were answered ask again.
    expected: usize,
    /// How long the last commit took.
    lasted: Duration,
    news: watch::Sender<Revision>,
    recent: Arc<Recent>,
    leases: Arc<Mutex<Leases>>,
}

impl Writer {
    /// The writer of a file that was opened, and where readers find the file.
    pub(super) fn new(
        opened: Opened,
        holder: Holder,
        path: &Path,
        requests: Receiver<Queued>,
        news: watch::Sender<Revision>,
        recent: Arc<Recent>,
        leases: Arc<Mutex<Leases>>,
    ) -> (Self, watch::Receiver<Access>) {
        let Opened { database, disk, revision, .. } = opened;
        let holder = Arc::new(holder);
        let handle = Handle { database, holder: holder.clone() };
        let (access, readers) = watch::channel(Access::Open(handle.into()));
        let writer = Self {
            requests,
            access,
            holder,
            path: path.to_owned(),
            disk,
            revision,
            full: None,
            next: Group::default(),
            expected: 0,
            lasted: Duration::ZERO,
            news,
            recent,
            leases,
        };
        (writer, readers)
    }

    /// Writes until nobody can ask any more.
    pub(super) fn run(mut self) {
        while let Some(mut group) = self.gather() {
            if self.is_open() && self.disk.failure().is_some() {
                self.reopen(None); // a reader met it
            }
            for asker in group.looks.drain(..) {
                let _ = asker.send(());
            }
            let transactions = std::mem::take(&mut group.transactions);
            let (begin, count) = (Instant::now(), transactions.len());
            let verdict = if transactions.is_empty() && group.ending.is_empty() {
                Verdict::Committed(Prepared::nothing(self.revision))
            } else {
                self.commit(transactions, &group.ending, group.bytes)
            };
            self.lasted = begin.elapsed();
            let mut next = Group::default();
            self.drain(&mut next);
            // One alone is not waited for: it would wait for itself.
            self.expected = if count > 1 { count + next.transactions.len() } else { 0 };
            self.next = next;
            self.answer(verdict, group);
        }
        self.access.send_replace(Access::Closed(CLOSED.into()));
    }

    /// Waits for something to do, and takes all there is; `None` once nobody can ask.
    fn gather(&mut self) -> Option<Group> {
        let mut group = std::mem::take(&mut self.next);
        if group.is_empty() {
            self.wait(&mut group)?;
        }
        self.drain(&mut group);
        let until = Instant::now() + self.lasted / SHARE_OF_COMMIT;
        while group.transactions.len() < self.expected && group.has_room() {
            let left = until.saturating_duration_since(Instant::now()).min(GAP);
            let Ok(request) = self.requests.recv_timeout(left) else { break };
            group.add(request);
        }
        let mut leases = self.leases();
        leases.expire(Instant::now());
        group.ending = leases.ending();
        // A commit may be held up, and with it the next look.
        leases.plan();
        drop(leases);
        Some(group)
    }

    /// Takes what is there.
    fn drain(&self, group: &mut Group) {
        while group.has_room() {
            let Ok(request) = self.requests.try_recv() else { return };
            group.add(request);
        }
    }

    /// Waits for a request, or until there are sessions to end; `None` once nobody can ask.
    fn wait(&self, group: &mut Group) -> Option<()> {
        let (planned, unfinished) = {
            let mut leases = self.leases();
            (leases.plan(), !leases.ending().is_empty())
        };
        let now = Instant::now();
        let retry = unfinished.then(|| now + RETRY);
        let first = match planned.into_iter().chain(retry).min() {
            None => self.requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(at) => self.requests.recv_timeout(at.saturating_duration_since(now)),
        };
        match first {
            Ok(request) => group.add(request),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
        Some(())
    }

    fn leases(&self) -> MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits what a group asks for.
    fn commit(&mut self, asked: Vec<Transaction>, ending: &[Session], bytes: usize) -> Verdict {
        let needed = LEAST_BYTES + PAGES_BYTES * (asked.len() + ending.len()) + 2 * bytes;
        let handle = match self.handle(needed) {
            Ok(handle) => handle,
            Err(error) => return Verdict::Nothing(error),
        };
        let prepared = handle.database.begin_write().map_err(RedbError::from);
        let prepared = prepared.and_then(|transaction| {
            let prepared = self.prepare(&transaction, asked, ending)?;
            Ok((transaction, prepared))
        });
        let (transaction, prepared) = match prepared {
            Ok(both) => both,
            Err(error) => return Verdict::Nothing(self.fail(&error.0, None)),
        };
        if prepared.revision == self.revision {
            // Nothing is written, so nothing needs a sync; an error in leaving it changes nothing.
            let _ = transaction.abort();
            return Verdict::Committed(prepared);
        }
        let Err(error) = transaction.commit() else {
            self.full = None;
            return Verdict::Committed(prepared);
        };
        drop(handle);
        match self.fail(&error.into(), Some(prepared.revision)) {
            _ if self.revision == prepared.revision => Verdict::Committed(prepared),
            CommitError::Unknown => Verdict::Unknown,
            error => Verdict::Nothing(error),
        }
    }

    /// The open file, if there may be space to write this many bytes.
    fn handle(&mut self, needed: usize) -> Result<Arc<Handle>, CommitError> {
        let no_space = match &*self.access.borrow() {
            Access::Closed(why) => return Err(CommitError::Lost(why.clone())),
            Access::NoSpace(why) => Some(why.clone()),
            Access::Open(_) => self.full.clone(),
        };
        if let Some(why) = no_space {
            if !has_space(&beside(&self.path, "space"), needed) {
                return Err(CommitError::Full(why));
            }
            if !self.is_open() {
                self.reopen(None);
            }
        }
        match &*self.access.borrow() {
            Access::Open(handle) => Ok(handle.clone()),
            Access::NoSpace(why) => Err(CommitError::Full(why.clone())),
            Access::Closed(why) => Err(CommitError::Lost(why.clone())),
        }
    }

    /// Writes into a transaction of redb what holds, each at a revision of its own.
    fn prepare(
        &self,
        into: &WriteTransaction,
        asked: Vec<Transaction>,
        ending: &[Session],
    ) -> Result<Prepared, RedbError> {
        let mut tables = Tables::open(into)?;
        let (mut revision, mut events) = (self.revision, Vec::new());
        let mut answers = Vec::with_capacity(asked.len());
        // Sessions first: what comes after they have ended must find them ended.
        for &session in ending {
            let keys = tables.end(session)?;
            revision.0 += u64::from(!keys.is_empty());
            events.extend(keys.into_iter().map(|key| Event { key, value: None, revision }));
        }
        for transaction in asked {
            let refused = tables.conflict(&transaction)?.or_else(|| self.ended(&transaction));
            if let Some(refused) = refused {
                answers.push(Err(refused));
                continue;
            }
            if !transaction.writes.is_empty() {
                revision.0 += 1;
                tables.write(transaction.writes, revision, &mut events)?;
            }
            answers.push(Ok(revision));
        }
        if revision > self.revision {
            tables.set_number(REVISION, revision.0)?;
        }
        Ok(Prepared { revision, events, answers })
    }

    /// The refusal of a transaction that writes with a session that has ended.
    fn ended(&self, transaction: &Transaction) -> Option<CommitError> {
        transaction.writes.iter().find_map(|write| match write {
            Write::Put { session: Some(session), .. } if !self.leases().lasts(*session) => {
                Some(CommitError::Invalid(SessionEnded(*session).to_string()))
            }
            _ => None,
        })
    }

    /// Something went wrong: makes the store usable again if that is possible. `wanted` is the last
    /// revision of a commit that may have happened.
    fn fail(&mut self, error: &redb::Error, wanted: Option<Revision>) -> CommitError {
        let why = match self.disk.failure() {
            Some(Failure::Space(why)) => why,
            found => {
                let why = match found {
                    Some(Failure::Other(why)) => why,
                    _ => error.to_string(),
                };
                self.close(&why);
                return wanted.map_or(CommitError::Lost(why), |_| CommitError::Unknown);
            }
        };
        self.reopen(wanted);
        match (&*self.access.borrow(), wanted) {
            (Access::Open(_), _) | (_, None) => CommitError::Full(why),
            _ => CommitError::Unknown,
        }
    }

    fn is_open(&self) -> bool {
        matches!(*self.access.borrow(), Access::Open(_))
    }

    /// Opens the file again after a failure that leaves no doubt about what it holds.
    fn reopen(&mut self, wanted: Option<Revision>) {
        let why = match self.disk.failure() {
            Some(Failure::Other(why)) => return self.close(&why),
            Some(Failure::Space(why)) => why,
            None => String::new(),
        };
        let disk = self.disk.again();
        let opened = file::database(&disk);
        let opened = opened.and_then(|database| Ok((View::of(&database)?.revision, database)));
        self.disk = disk;
        match (opened, self.disk.failure()) {
            (Ok((revision, database)), None) => {
                if revision != self.revision && Some(revision) != wanted {
                    // A commit of which nobody knew: its changes are not in the history.
                    self.recent.restart(revision);
                    self.news.send_replace(revision);
                }
                self.revision = revision;
                self.full = Some(why);
                let handle = Handle { database, holder: self.holder.clone() };
                self.access.send_replace(Access::Open(handle.into()));
            }
            (_, Some(Failure::Space(why))) => {
                self.access.send_replace(Access::NoSpace(why));
            }
            (_, Some(Failure::Other(why))) => self.close(&why),
            (Err(error), None) => self.close(&error.0),
        }
    }

    /// The store can no longer be used by this process.
    fn close(&mut self, why: &impl ToString) {
        let why = format!(
            "{}; what its disk holds is not known: check the disk, and restart the machine",
            why.to_string()
        );
        self.access.send_replace(Access::Closed(why));
        // Those who watch the old one see its end.
        self.news = watch::Sender::new(self.revision);
    }

    /// Lets all know.
    fn answer(&mut self, verdict: Verdict, group: Group) {
        let error = match verdict {
            Verdict::Committed(prepared) => {
                self.revision = prepared.revision;
                self.recent.extend(prepared.events, prepared.revision);
                self.leases().ended(&group.ending);
                self.news.send_if_modified(|revision| {
                    std::mem::replace(revision, prepared.revision) != prepared.revision
                });
                for (asker, answer) in group.answers.into_iter().zip(prepared.answers) {
                    let _ = asker.send(answer);
                }
                group.closes.into_iter().for_each(|asker| drop(asker.send(Ok(()))));
                return;
            }
            Verdict::Nothing(error) => error,
            Verdict::Unknown => CommitError::Unknown,
        };
        for asker in group.answers {
            let _ = asker.send(Err(error.clone()));
        }
        for asker in group.closes {
            let _ = asker.send(Err(SessionError::Lost(error.to_string())));
        }
    }
}

/// Whether a file of this size can be made beside the store.
fn has_space(beside: &Path, bytes: usize) -> bool {
    let allocated = std::fs::File::create(beside).map(|file| {
        let allocated = rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes as u64);
        // Where that cannot be asked, the commit itself will tell.
        !matches!(allocated, Err(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT))
    });
    let _ = std::fs::remove_file(beside);
    allocated.unwrap_or(false)
}
