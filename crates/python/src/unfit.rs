//! Calls that no worker fits: when none of a kind has ended for a while, the coordinator is asked
//! why the first of them waits, and Python is told if no worker that is there could ever take it.
//!
//! Calls are of one *kind* if they have the same queue, need and filter. Of each kind one call is
//! asked about, less and less often; nothing is asked while none is pending. Python is told once,
//! and again when a worker has come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidings_tasks::session::Session;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::name::Name;
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::view::Why;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use crate::outcome::{End, Obstacle, Outcome};

/// How long none of a kind ends before it is asked why.
const PATIENCE: Duration = Duration::from_secs(3);

/// The longest time between two questions about a kind, in times of [`PATIENCE`].
const RAREST: u32 = 4;

/// Kinds without a call that are kept.
const MAX_IDLE: usize = 64;

/// Queue, need and filter.
type Key = (Name, Need, String);

/// The calls of one kind.
struct Kind {
    key: Key,
    pending: BTreeSet<TaskId>,
    /// When it is asked about, and how many times [`PATIENCE`] it is waited then.
    due: Instant,
    wait: u32,
    is_told: bool,
}

/// The calls that are pending, by kind. Its clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Kinds(Arc<Mutex<All>>, Arc<Notify>);

#[derive(Default)]
struct All {
    kinds: BTreeMap<u32, Kind>,
    numbers: BTreeMap<Key, u32>,
    of: BTreeMap<TaskId, u32>,
    last: u32,
    /// Until when nothing is asked; none if nothing is pending.
    asleep: Option<Instant>,
}

impl Kinds {
    /// A call is on its way.
    pub(crate) fn begin(&self, task: &Submission) {
        let mut all = self.all();
        let number = all.number(task);
        all.of.insert(task.id, number);
        let is_first = all.kinds.get_mut(&number).is_some_and(|kind| {
            kind.pending.insert(task.id);
            kind.pending.len() == 1
        });
        if is_first && all.wait_anew(number) {
            self.1.notify_one();
        }
    }

    /// A call has ended. Its kind is returned if it was told that no worker fits it.
    pub(crate) fn end(&self, task: TaskId) -> Option<u32> {
        let mut all = self.all();
        let number = all.of.remove(&task)?;
        if all.wait_anew(number) {
            self.1.notify_one();
        }
        let kind = all.kinds.get_mut(&number)?;
        kind.pending.remove(&task);
        let was_told = core::mem::take(&mut kind.is_told);
        if kind.pending.is_empty() && all.kinds.len() > MAX_IDLE {
            let kind = all.kinds.remove(&number);
            kind.map(|kind| all.numbers.remove(&kind.key));
        }
        was_told.then_some(number)
    }

    /// Asks about kinds of which none ends, as long as the session lasts.
    pub(crate) async fn watch(self, session: Session, outcomes: mpsc::Sender<Outcome>) {
        loop {
            let (due, asleep) = self.all().due();
            for (number, task) in due {
                let why = match session.ask(Request::Explain { task }).await {
                    Ok(Answer::Explained(why, _)) => *why,
                    // It may have ended meanwhile.
                    Ok(_) => continue,
                    Err(_) => return,
                };
                let Some(end) = self.all().answered(number, why) else { continue };
                let told = outcomes.send(Outcome { task, end, is_fetched: false });
                if told.await.is_err() {
                    return;
                }
            }
            let woken = self.1.notified();
            tokio::select! {
                () = woken => {}
                () = until(asleep) => {}
                _ = session.closed() => return,
            }
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        // It only says what to ask, and when.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Comes at a time; never if there is none.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => core::future::pending().await,
    }
}

impl All {
    /// The number of the kind of a call.
    fn number(&mut self, task: &Submission) -> u32 {
        // Most often it is that of the last one.
        if self.kinds.get(&self.last).is_some_and(|kind| kind.is_of(task)) {
            return self.last;
        }
        let key = (task.queue.clone(), task.need.clone(), task.filter.clone());
        if let Some(number) = self.numbers.get(&key) {
            self.last = *number;
            return self.last;
        }
        self.last = self.kinds.last_key_value().map_or(0, |(number, _)| number.wrapping_add(1));
        self.numbers.insert(key.clone(), self.last);
        self.kinds.insert(self.last, Kind::new(key));
        self.last
    }

    /// One of a kind has begun or ended: nothing is asked about it for a while. Whether that is
    /// before what is waited for.
    fn wait_anew(&mut self, number: u32) -> bool {
        let Some(kind) = self.kinds.get_mut(&number) else { return false };
        (kind.due, kind.wait) = (Instant::now() + PATIENCE, 1);
        let is_before = self.asleep.is_none_or(|asleep| kind.due < asleep);
        if is_before {
            self.asleep = Some(kind.due);
        }
        is_before
    }

    /// The first calls of the kinds that are to be asked about, and when there are others.
    fn due(&mut self) -> (Vec<(u32, TaskId)>, Option<Instant>) {
        let (now, mut due) = (Instant::now(), Vec::new());
        self.asleep = None;
        for (number, kind) in &mut self.kinds {
            let Some(first) = kind.pending.first() else { continue };
            if kind.due <= now {
                due.push((*number, *first));
                kind.due = now + PATIENCE * kind.wait;
                kind.wait = RAREST.min(kind.wait * 2);
            }
            self.asleep = Some(self.asleep.map_or(kind.due, |asleep| asleep.min(kind.due)));
        }
        (due, self.asleep)
    }

    /// What is to be told of a kind about which this was answered.
    fn answered(&mut self, number: u32, why: Why) -> Option<End> {
        let kind = self.kinds.get_mut(&number)?;
        let unfit = match why {
            Why::Unfit(unfit) => Some(unfit),
            Why::NoWorker => None,
            _ => return core::mem::take(&mut kind.is_told).then_some(End::Fits(number)),
        };
        if kind.pending.is_empty() || core::mem::replace(&mut kind.is_told, true) {
            return None;
        }
        let (queue, _, filter) = kind.key.clone();
        let queue = queue.into();
        Some(End::Unfit(Box::new(Obstacle { kind: number, queue, filter, unfit })))
    }
}

impl Kind {
    fn new(key: Key) -> Self {
        let (pending, due) = (BTreeSet::new(), Instant::now());
        Self { key, pending, due, wait: 1, is_told: false }
    }

    fn is_of(&self, task: &Submission) -> bool {
        let (queue, need, filter) = &self.key;
        *need == task.need && *queue == task.queue && *filter == task.filter
    }
}
