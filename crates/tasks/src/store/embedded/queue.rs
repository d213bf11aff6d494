//! The queue of the writer, and its thread: what has come together is written together.
//!
//! It lives as long as anybody can ask it.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tidings_tasks_core::transaction::{CommitError, Transaction};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::writer::{Answer, Writer};
use crate::store::SessionError;
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

    /// Lets all know.
    fn answer(self, settled: Result<Vec<Answer>, CommitError>) {
        match settled {
            Ok(answers) => {
                for (asker, answer) in self.answers.into_iter().zip(answers) {
                    let _ = asker.send(answer);
                }
                self.closes.into_iter().for_each(|asker| drop(asker.send(Ok(()))));
            }
            Err(error) => {
                for asker in self.answers {
                    let _ = asker.send(Err(error.clone()));
                }
                for asker in self.closes {
                    let _ = asker.send(Err(SessionError::Lost(error.to_string())));
                }
            }
        }
    }
}

/// The thread, and what waits for it.
pub(super) struct Queue {
    requests: Receiver<Queued>,
    writer: Arc<Mutex<Writer>>,
    leases: Arc<Mutex<Leases>>,
    /// What came in before the last answers were given.
    next: Group,
    /// How many transactions the next group may have if all who were answered ask again.
    expected: usize,
    /// How long the last commit took.
    lasted: Duration,
}

impl Queue {
    /// One to which nobody has sent anything yet.
    pub(super) fn new(
        requests: Receiver<Queued>,
        writer: Arc<Mutex<Writer>>,
        leases: Arc<Mutex<Leases>>,
    ) -> Self {
        let (next, expected, lasted) = (Group::default(), 0, Duration::ZERO);
        Self { requests, writer, leases, next, expected, lasted }
    }

    /// Lets all be written until nobody can ask any more.
    pub(super) fn run(mut self) {
        let writer = self.writer.clone();
        while let Some(mut group) = self.gather() {
            // If the engine has panicked in the hands of another, what the file holds is unknown.
            let Ok(mut writer) = writer.lock() else { return };
            let ending = writer.look();
            for asker in group.looks.drain(..) {
                let _ = asker.send(());
            }
            let transactions = std::mem::take(&mut group.transactions);
            let count = transactions.len();
            let verdict = writer.write(transactions, &ending);
            self.lasted = writer.lasted();
            let mut next = Group::default();
            self.drain(&mut next);
            // One alone is not waited for: it would wait for itself.
            self.expected = if count > 1 { count + next.transactions.len() } else { 0 };
            self.next = next;
            let settled = writer.settle(verdict, &ending);
            drop(writer);
            group.answer(settled);
        }
        if let Ok(writer) = writer.lock() {
            writer.end();
        }
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
}
