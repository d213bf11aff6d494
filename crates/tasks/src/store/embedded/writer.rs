//! The writer: one at a time has it, its thread with what has come together ([`super::queue`]), or
//! who asks for something small when nothing else is under way ([`Writer::alone`]).
//!
//! What is answered is decided here and nowhere else: see [`Verdict`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use redb::WriteTransaction;
use rustix::fs::FallocateFlags;
use tidings_tasks_core::ledger::SessionEnded;
use tidings_tasks_core::transaction::{CommitError, Event, Revision, Session, Transaction, Write};
use tokio::sync::watch;

use super::disk::{Disk, Failure};
use super::file::{self, Opened};
use super::history::Recent;
use super::holder::{Holder, beside};
use super::tables::{REVISION, RedbError, Tables};
use super::view::{Access, Handle, View};
use crate::store::follow::CLOSED;
use crate::store::lease::Leases;

/// Space that must be free before another attempt, after there was none: for each transaction and
/// for anything at all, in bytes. A transaction of few keys changes a path of pages for each.
const PAGES_BYTES: usize = 64 << 10;
const LEAST_BYTES: usize = 1 << 20;

/// The conditions and writes of a small transaction: those of one task that is submitted, done or
/// forgotten are five to seven.
pub(super) const SMALL: usize = 8;

/// A commit that takes longer is better left to the thread: to wake it takes a small part of that.
const QUICK: Duration = Duration::from_millis(2);

pub(super) type Answer = Result<Revision, CommitError>;

/// What a group would change.
pub(super) struct Prepared {
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
pub(super) enum Verdict {
    /// All of it is on the disk.
    Committed(Prepared),
    /// Nothing of it, and nothing will be.
    Nothing(CommitError),
    /// It is not known.
    Unknown,
}

pub(super) struct Writer {
    access: watch::Sender<Access>,
    holder: Arc<Holder>,
    path: PathBuf,
    disk: Disk,
    /// The last commit.
    revision: Revision,
    /// Why the last commit found no space.
    full: Option<String>,
    /// How long the last commit took, and whether it was that of a small transaction, and quick.
    lasted: Duration,
    is_calm: bool,
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
        news: watch::Sender<Revision>,
        recent: Arc<Recent>,
        leases: Arc<Mutex<Leases>>,
    ) -> (Self, watch::Receiver<Access>) {
        let Opened { database, disk, revision, .. } = opened;
        let holder = Arc::new(holder);
        let handle = Handle { database, holder: holder.clone() };
        let (access, readers) = watch::channel(Access::Open(handle.into()));
        let writer = Self {
            access,
            holder,
            path: path.to_owned(),
            disk,
            revision,
            full: None,
            lasted: Duration::ZERO,
            is_calm: false,
            news,
            recent,
            leases,
        };
        (writer, readers)
    }

    /// Looks at the leases and at the file. The sessions whose keys are to be deleted.
    pub(super) fn look(&mut self) -> Vec<Session> {
        if self.is_open() && self.disk.failure().is_some() {
            self.reopen(None); // a reader met it
        }
        let mut leases = self.leases();
        leases.expire(Instant::now());
        let ending = leases.ending();
        // A commit may be held up, and with it the next look.
        leases.plan();
        ending
    }

    /// Commits what a group asks for, if it is anything.
    pub(super) fn write(&mut self, asked: Vec<Transaction>, ending: &[Session]) -> Verdict {
        let is_small = asked.len() == 1 && asked[0].operations() <= SMALL && ending.is_empty();
        let begin = Instant::now();
        let verdict = if asked.is_empty() && ending.is_empty() {
            Verdict::Committed(Prepared::nothing(self.revision))
        } else {
            self.commit(asked, ending)
        };
        self.lasted = begin.elapsed();
        self.is_calm = is_small && self.lasted < QUICK;
        verdict
    }

    /// How long the last commit took.
    pub(super) fn lasted(&self) -> Duration {
        self.lasted
    }

    /// Commits a small transaction in the thread of who asks: to wake the thread, and to be woken
    /// by it, may take longer than the commit. Gives it back if the last one was not small and
    /// quick, or anything else is to be done: then it is better queued.
    pub(super) fn alone(&mut self, transaction: Transaction) -> Result<Answer, Transaction> {
        let is_fine = self.is_open() && self.disk.failure().is_none() && self.full.is_none();
        if !self.is_calm || !is_fine || !self.leases().ending().is_empty() {
            return Err(transaction);
        }
        let verdict = self.write(vec![transaction], &[]);
        Ok(self.settle(verdict, &[]).and_then(|answers| {
            let only = answers.into_iter().next();
            only.unwrap_or_else(|| unreachable!("each transaction has an answer"))
        }))
    }

    /// Nobody can ask any more.
    pub(super) fn end(&self) {
        self.access.send_replace(Access::Closed(CLOSED.into()));
    }

    fn leases(&self) -> MutexGuard<'_, Leases> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits what a group asks for.
    fn commit(&mut self, asked: Vec<Transaction>, ending: &[Session]) -> Verdict {
        let bytes: usize = asked.iter().map(Transaction::bytes).sum();
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

    /// Lets watchers know what was committed. The answers, or the one for all.
    pub(super) fn settle(
        &mut self,
        verdict: Verdict,
        ending: &[Session],
    ) -> Result<Vec<Answer>, CommitError> {
        let prepared = match verdict {
            Verdict::Committed(prepared) => prepared,
            Verdict::Nothing(error) => return Err(error),
            Verdict::Unknown => return Err(CommitError::Unknown),
        };
        self.revision = prepared.revision;
        self.recent.extend(prepared.events, prepared.revision);
        self.leases().ended(ending);
        self.news.send_if_modified(|revision| {
            std::mem::replace(revision, prepared.revision) != prepared.revision
        });
        Ok(prepared.answers)
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
