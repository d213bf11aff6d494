//! Views: what a coordinator shows of its part to those who look on.
//!
//! Each is a picture of a moment, and bounded: it is for people and their tools, nothing is decided
//! by it.

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

use crate::counters::Counters;
use crate::id::{Attempt, TaskId};
use crate::name::Name;
use crate::record::{Failure, Finished, Outcome, Running, Task, beginning};
use crate::resources::Amount;
use crate::retry::Cause;
use crate::tuple::{Claim, Tuple};
pub use crate::why::{InputState, Lies, Unfit, Why};

/// The inputs that are shown of a task that waits for them.
pub const MAX_SHOWN_INPUTS: usize = 16;

/// The entries of each list of an [`Overview`].
pub const MAX_SHOWN: usize = 1_000;

/// The queues and the resources that are shown of one session.
pub const MAX_SHOWN_OF_SESSION: usize = 16;

/// The tasks that are shown of one session.
pub const MAX_SHOWN_TASKS: usize = 8;

/// The bytes of the text of a progress.
pub const MAX_PROGRESS_BYTES: usize = 120;

/// The tries that have ended which a coordinator remembers.
pub const MAX_REMEMBERED: usize = 4_096;

/// The tries that it shows at a time.
pub const MAX_RECENT: usize = 1_000;

/// The failures that an overview shows.
pub const MAX_SHOWN_FAILURES: usize = 16;

/// The bytes of the text of a failure that is shown beside others.
pub const MAX_SHOWN_TEXT_BYTES: usize = 200;

/// The bytes of what a worker says of a folder that is full.
pub const MAX_FULL_BYTES: usize = 512;

/// The tasks, or keys, of one page of a list.
pub const MAX_LISTED: u32 = 1_000;

/// The bytes of records in one page of a list; the last one may go beyond it.
pub const MAX_LISTED_BYTES: usize = 4 << 20;

/// What a part holds and who works on it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct Overview {
    /// Queues that have tasks, by name.
    #[n(0)]
    pub queues: Vec<QueueView>,
    /// Sessions, by name.
    #[n(1)]
    pub sessions: Vec<SessionView>,
    /// Semaphores, by name.
    #[n(2)]
    pub semaphores: Vec<SemaphoreView>,
    /// What the coordinator has done since it began.
    #[n(3)]
    pub counters: Counters,
    /// Tasks that have not ended.
    #[n(4)]
    pub tasks: u64,
    /// Queues, of which the first [`MAX_SHOWN`] are listed.
    #[n(5)]
    pub queues_total: u64,
    /// Sessions, of which the first [`MAX_SHOWN`] are listed.
    #[n(6)]
    pub sessions_total: u64,
    /// Semaphores, of which the first [`MAX_SHOWN`] are listed.
    #[n(7)]
    pub semaphores_total: u64,
    /// Whether the coordinator knows of hosts from a board. If not, it goes by sessions alone, and
    /// tasks with a filter wait.
    #[cbor(n(8), default)]
    pub board: bool,
    /// The last tries that have failed, the last one first; those given back in good order are not
    /// among them.
    #[cbor(n(9), default)]
    pub failures: Vec<TryView>,
}

/// A queue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct QueueView {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Tasks that could run now.
    #[n(1)]
    pub ready: u64,
    /// Tasks that are not to run before a time.
    #[n(2)]
    pub delayed: u64,
    /// Tasks that are with a worker.
    #[n(3)]
    pub running: u64,
    /// Ready tasks that no session could take, were it idle: none has what they need, or is on a
    /// node that their filter accepts.
    #[n(4)]
    pub unfit: u64,
    /// Tasks that are done, since the coordinator began, or since the queue came to be again after
    /// [`MAX_SHOWN`] others.
    #[cbor(n(5), default)]
    pub done: u64,
    /// Tasks that have failed or were cancelled, since then.
    #[cbor(n(6), default)]
    pub failed: u64,
    /// Tasks that wait for others to be done.
    #[cbor(n(7), default)]
    pub waiting: u64,
}

/// A try that has ended, or runs.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct TryView {
    /// It rises with each try that ends, also from one coordinator to the next; 0 before that.
    #[n(0)]
    pub number: u64,
    /// The task.
    #[n(1)]
    pub task: TaskId,
    /// Which try of it.
    #[n(2)]
    pub attempt: Attempt,
    /// Its queue.
    #[n(3)]
    pub queue: Name,
    /// Who had it, where, and since when.
    #[n(4)]
    pub by: Running,
    /// When it ended, in milliseconds since 1970 on the coordinator's clock; the present while it
    /// runs.
    #[n(5)]
    pub ended_ms: u64,
    /// Why it has failed; `None` if it is done, or runs.
    #[n(6)]
    pub cause: Option<Cause>,
    /// That in words, at most [`MAX_SHOWN_TEXT_BYTES`].
    #[n(7)]
    pub text: String,
}

impl TryView {
    /// The try by which a task was done, if it is done.
    pub fn done(id: TaskId, finished: &Finished) -> Option<Self> {
        let by = finished.done_by.clone()?;
        Some(Self::last(id, &finished.task, by, finished.ended_ms))
    }

    /// The try of a task that runs.
    pub fn running(id: TaskId, task: &Task, now_ms: u64) -> Option<Self> {
        let by = task.running(task.attempt)?.clone();
        Some(Self::last(id, task, by, now_ms))
    }

    fn last(id: TaskId, task: &Task, by: Running, ended_ms: u64) -> Self {
        Self {
            number: 0,
            task: id,
            attempt: task.attempt,
            queue: task.queue.clone(),
            by,
            ended_ms,
            cause: None,
            text: String::new(),
        }
    }

    /// A try of a task that has failed.
    pub fn failed(id: TaskId, task: &Task, failure: &Failure) -> Self {
        Self {
            number: 0,
            task: id,
            attempt: failure.attempt,
            queue: task.queue.clone(),
            by: Running {
                worker: failure.worker.clone(),
                host: failure.host.clone(),
                since_ms: failure.since_ms,
                slot: failure.slot,
            },
            ended_ms: failure.at_ms,
            cause: Some(failure.cause),
            text: beginning(&failure.text, MAX_SHOWN_TEXT_BYTES).to_owned(),
        }
    }
}

/// A session.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct SessionView {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// The name of its host.
    #[n(1)]
    pub host: String,
    /// Tasks that it takes at a time; 0 for a client.
    #[n(2)]
    pub slots: u32,
    /// Tasks that it has.
    #[n(3)]
    pub running: u32,
    /// What it offers; nothing if only slots count.
    #[n(4)]
    pub resources: Vec<(String, Amount)>,
    /// The first of the queues that it takes tasks of; none if it takes all.
    #[n(5)]
    pub queues: Vec<String>,
    /// The time since it was heard of, in milliseconds.
    #[n(6)]
    pub silent_ms: u64,
    /// The first [`MAX_SHOWN_TASKS`] of the tasks that it has.
    #[cbor(n(7), default)]
    pub tasks: Vec<RunningView>,
    /// Why it takes no tasks now, with the remedy: a folder of its host is full.
    #[cbor(n(8), default)]
    pub full: Option<String>,
}

/// A task that a session has.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct RunningView {
    /// Which task.
    #[n(0)]
    pub task: TaskId,
    /// Which try.
    #[n(1)]
    pub attempt: Attempt,
    /// How far it has come, if its worker has said so.
    #[n(2)]
    pub progress: Option<Progress>,
}

/// How far a try has come.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Progress {
    /// How much of it is done, in thousandths.
    #[n(0)]
    pub thousandths: u16,
    /// In words, at most [`MAX_PROGRESS_BYTES`].
    #[n(1)]
    pub text: String,
}

impl Progress {
    /// A progress within its bounds.
    pub fn new(thousandths: u16, mut text: String) -> Self {
        text.truncate(beginning(&text, MAX_PROGRESS_BYTES).len());
        Self { thousandths: thousandths.min(1_000), text }
    }
}

/// A semaphore.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct SemaphoreView {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Permits in all.
    #[n(1)]
    pub permits: u32,
    /// Permits that somebody has.
    #[n(2)]
    pub held: u32,
    /// Permits that are waited for.
    #[n(3)]
    pub waiting: u32,
}

/// A key of the users' that has a value.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct KeyValue {
    /// The key, as an [`Effect`](crate::message::Effect) names it.
    #[n(0)]
    pub key: ByteVec,
    /// Its value.
    #[n(1)]
    pub value: ByteVec,
    /// The revision at which it was written, for who wants to write it if it is still the same.
    #[n(2)]
    pub revision: u64,
}

/// A change of a key of the users'.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct KeyChange {
    /// The key, as an [`Effect`](crate::message::Effect) names it.
    #[n(0)]
    pub key: ByteVec,
    /// Its new value; `None`: it was deleted.
    #[n(1)]
    pub value: Option<ByteVec>,
    /// The revision of the change.
    #[n(2)]
    pub revision: u64,
}

impl From<KeyValue> for KeyChange {
    fn from(KeyValue { key, value, revision }: KeyValue) -> Self {
        Self { key, value: Some(value), revision }
    }
}

/// A space that has tuples.
#[derive(Clone, PartialEq, Eq, Debug, Default, Encode, Decode)]
#[cbor(map)]
pub struct SpaceView {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Tuples, claimed or not.
    #[n(1)]
    pub tuples: u64,
    /// Those of them that somebody has pulled.
    #[n(2)]
    pub claimed: u64,
    /// The bytes that they count for.
    #[n(3)]
    pub bytes: u64,
}

/// A tuple in a space.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct TupleView {
    /// Its number.
    #[n(0)]
    pub number: u64,
    /// The tuple.
    #[n(1)]
    pub tuple: Tuple,
    /// Who has pulled it, if somebody has.
    #[n(2)]
    pub claim: Option<Claim>,
}

/// A task as the store has it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Shown {
    /// It has not ended.
    #[n(0)]
    Live(#[n(0)] Task),
    /// It has ended.
    #[n(1)]
    Finished(#[n(0)] Finished),
}

impl Shown {
    /// The task itself.
    pub fn task(&self) -> &Task {
        match self {
            Self::Live(task) => task,
            Self::Finished(finished) => &finished.task,
        }
    }
}

/// Which tasks are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum Which {
    /// Those that have not ended.
    #[n(0)]
    Live,
    /// Those that have failed.
    #[n(1)]
    Failed,
    /// Those that are done.
    #[n(2)]
    Done,
    /// All, those that were cancelled included.
    #[n(3)]
    All,
}

impl Which {
    /// Whether tasks that have not ended are among them.
    pub fn has_live(self) -> bool {
        matches!(self, Self::Live | Self::All)
    }

    /// Whether tasks that have ended are among them.
    pub fn has_finished(self) -> bool {
        !matches!(self, Self::Live)
    }

    /// Whether a task is among them.
    pub fn has(self, shown: &Shown) -> bool {
        match (self, shown) {
            (Self::All, _) | (Self::Live, Shown::Live(_)) => true,
            (Self::Failed, Shown::Finished(finished)) => finished.outcome == Outcome::Failed,
            (Self::Done, Shown::Finished(finished)) => {
                matches!(finished.outcome, Outcome::Done(_))
            }
            _ => false,
        }
    }
}
