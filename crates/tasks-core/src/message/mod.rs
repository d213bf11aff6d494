//! Messages between a coordinator and its peers: workers, and clients that submit and wait.
//!
//! Each request has a number of its peer's choice (a [`Call`]) and is answered; an answer that
//! comes twice is ignored, and so is an assignment of a try that is in hand. Whoever gets no
//! answer, or [`Refusal::Elsewhere`], sends the request again, to whoever coordinates then: all
//! requests may be repeated. A submission is known by the tasks' ids, a completion by the attempt.
//!
//! Beside answers a coordinator sends assignments, orders to stop, and the outcomes waited for.

mod answer;
mod peer;
mod refusal;
mod said;
mod submission;

use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};

use crate::id::{Attempt, TaskId};
use crate::output::{Depot, Kept, Owner, Reached};
use crate::resources::Amount;
use crate::retry::Cause;
use crate::tuple::Statement;
use crate::view::Which;

pub use answer::Answer;
pub use peer::{Call, Peer};
pub use refusal::Refusal;
pub use said::Message;
pub use submission::{
    Effect, MAX_EFFECTS, MAX_FILTER_BYTES, MAX_INLINE_BYTES, MAX_INPUTS, MAX_TASKS, Put, Submission,
};

/// The queues that one session names.
pub const MAX_QUEUES: usize = 256;

/// What a peer wants.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Request {
    /// Opens a session under a name, which other sessions of that name end. Its permits and tasks
    /// are given to others when it is silent for longer than the answer says.
    #[n(0)]
    Join {
        /// The name of this life of a worker or client: whoever is started again has another one.
        /// So tasks that a session of that name was given, and that are not held, have never
        /// reached it; and its permits are still its own.
        #[n(0)]
        name: String,
        /// The name of its host, as the board has it.
        #[n(1)]
        host: String,
        /// The tasks that it has in hand, from a coordinator before this one.
        #[n(2)]
        holding: Vec<(TaskId, Attempt)>,
    },
    /// The session lives.
    #[n(1)]
    Heartbeat,
    /// The session ends in good order: its permits and tasks are given back.
    #[n(2)]
    Leave,
    /// The session takes tasks: at most `slots` at a time, of these queues (of all if none is
    /// named), whose needs together do not exceed these resources (if none is named, only slots
    /// count). No slots: it takes no more; none with some `ahead`: not now, since it offers them to
    /// the coordinator of another part.
    #[n(3)]
    Offer {
        /// Queues, at most [`MAX_QUEUES`].
        #[n(0)]
        queues: Vec<String>,
        /// Tasks at a time.
        #[n(1)]
        slots: u32,
        /// Resources, at most [`MAX_RESOURCES`](crate::resources::MAX_RESOURCES).
        #[cbor(n(2), default)]
        resources: Vec<(String, Amount)>,
        /// Tasks that it has in hand beside those, to be done next. Only where slots alone count.
        #[cbor(n(3), default)]
        ahead: u32,
        /// Why it takes none now, with the remedy: a folder of its host is full. At most
        /// [`MAX_FULL_BYTES`](crate::view::MAX_FULL_BYTES) of it are kept.
        #[cbor(n(4), default)]
        full: Option<String>,
    },
    /// New tasks. All are added, or none, as far as one commit of the store carries them. Of more,
    /// all are added once it is answered; if it is refused or never answered, some may be there.
    #[n(4)]
    Submit {
        /// The tasks, at most [`MAX_TASKS`].
        #[n(0)]
        tasks: Vec<Submission>,
    },
    /// A task is done: result, children, effects and tuples are written in one commit.
    #[n(5)]
    Complete {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
        /// Its result, at most [`MAX_INLINE_BYTES`].
        #[cbor(n(2), with = "minicbor::bytes")]
        result: Vec<u8>,
        /// New tasks, at most [`MAX_TASKS`].
        #[n(3)]
        children: Vec<Submission>,
        /// At most [`MAX_EFFECTS`].
        #[n(4)]
        effects: Vec<Effect>,
        /// Tuples, at most as many and as large as a statement puts.
        #[cbor(n(5), default)]
        puts: Vec<Put>,
    },
    /// A try has failed.
    #[n(6)]
    Fail {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
        /// Why.
        #[n(2)]
        cause: Cause,
        /// In words.
        #[n(3)]
        text: String,
        /// What a program reads of it, such as an exception in the form of a language; more than
        /// [`MAX_DETAIL_BYTES`](crate::record::MAX_DETAIL_BYTES) are left out.
        #[cbor(n(4), with = "minicbor::bytes", default)]
        detail: Vec<u8>,
    },
    /// Nobody wants the task any more.
    #[n(7)]
    Cancel {
        /// Which task.
        #[n(0)]
        task: TaskId,
    },
    /// A task that has failed or was cancelled is tried again, its failures forgotten.
    #[n(8)]
    Revive {
        /// Which task.
        #[n(0)]
        task: TaskId,
    },
    /// Tells the outcome as soon as there is one.
    #[n(9)]
    Wait {
        /// Which task.
        #[n(0)]
        task: TaskId,
    },
    /// Makes a semaphore, or changes how many permits it has.
    #[n(10)]
    SetPermits {
        /// Its name.
        #[n(0)]
        semaphore: String,
        /// Permits in all.
        #[n(1)]
        permits: u32,
    },
    /// The session wants permits, and waits for them behind those that came before. They are known
    /// by the number of this request, so a repetition gets nothing twice.
    #[n(11)]
    Acquire {
        /// The semaphore.
        #[n(0)]
        semaphore: String,
        /// How many, at least 1.
        #[n(1)]
        permits: u32,
    },
    /// The session gives permits back.
    #[n(12)]
    Release {
        /// The semaphore.
        #[n(0)]
        semaphore: String,
        /// The request by which they were acquired.
        #[n(1)]
        acquired: Call,
    },
    /// Shows what the part holds and who works on it.
    #[n(13)]
    Overview,
    /// Deletes the records of tasks that have ended. Those that have not are left as they are, and
    /// so are inputs of such tasks.
    /// Whoever submits a task again that was forgotten has a new one.
    #[n(14)]
    Forget {
        /// Which tasks, at most [`MAX_TASKS`].
        #[n(0)]
        tasks: Vec<TaskId>,
    },
    /// Shows a task as the store has it.
    #[n(15)]
    Show {
        /// Which task.
        #[n(0)]
        task: TaskId,
    },
    /// Shows a page of tasks, by id.
    #[n(16)]
    List {
        /// Of this queue; of all if there is none.
        #[n(0)]
        queue: Option<String>,
        /// Which of them.
        #[n(1)]
        state: Which,
        /// The first task of the page, as the page before has said.
        #[n(2)]
        from: Option<TaskId>,
        /// How many records are looked at, at most [`MAX_LISTED`](crate::view::MAX_LISTED).
        #[n(3)]
        limit: u32,
    },
    /// How far a try has come that the session does. It is shown while it runs, and not stored.
    #[n(17)]
    Progress {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
        /// How much of it is done, in thousandths.
        #[n(2)]
        thousandths: u16,
        /// In words; only the first [`MAX_PROGRESS_BYTES`](crate::view::MAX_PROGRESS_BYTES) are
        /// kept.
        #[n(3)]
        text: String,
    },
    /// Shows tries that have ended after one, of the last
    /// [`MAX_REMEMBERED`](crate::view::MAX_REMEMBERED), and tries that run: at most
    /// [`MAX_RECENT`](crate::view::MAX_RECENT) of each.
    #[n(18)]
    Recent {
        /// The number of that one; 0 for all.
        #[n(0)]
        after: u64,
    },
    /// Reads keys that tasks and clients write, as an [`Effect`] names them.
    #[n(19)]
    Read {
        /// Which keys, at most [`MAX_EFFECTS`].
        #[n(0)]
        keys: Vec<ByteVec>,
    },
    /// Reads a page of such keys, in their order.
    #[n(20)]
    Keys {
        /// How they begin; empty: all.
        #[n(0)]
        prefix: ByteVec,
        /// The first key of the page, as the page before has said.
        #[n(1)]
        from: Option<ByteVec>,
        /// The most keys of the page, at most [`MAX_LISTED`](crate::view::MAX_LISTED).
        #[n(2)]
        limit: u32,
    },
    /// Writes such keys: all of them in one commit, or none. Repeated since its answer was lost,
    /// it writes again; one that expects something then finds what it has written itself.
    #[n(21)]
    Write {
        /// What is written, at most [`MAX_EFFECTS`].
        #[n(0)]
        effects: Vec<Effect>,
    },
    /// Cancels the task, unless a worker has it: then it is refused, and the task goes on.
    #[n(23)]
    Withdraw {
        /// Which task.
        #[n(0)]
        task: TaskId,
    },
    /// Tells changes of such keys after a revision, as soon as there are any. The one that serves
    /// the coordinator answers: the store has its own history.
    #[n(22)]
    Changes {
        /// How the keys begin; empty: all.
        #[n(0)]
        prefix: ByteVec,
        /// The revision; if there is none, the present one is told at once.
        #[n(1)]
        after: Option<u64>,
    },
    /// Tells why a task does not run.
    #[n(24)]
    Explain {
        /// Which task.
        #[n(0)]
        task: TaskId,
    },
    /// Pulls, reads and puts tuples, all in one commit; or waits until it can.
    #[n(25)]
    Execute {
        /// Which statement of the session this is: repeated, it is not done again.
        #[n(0)]
        place: Place,
        /// What is done.
        #[n(1)]
        statement: Box<Statement>,
    },
    /// A statement that waits is no longer wanted. If it was done, its answer comes once more.
    #[n(26)]
    GiveUp {
        /// Which statement.
        #[n(0)]
        place: Place,
    },
    /// Shows a page of spaces, by name.
    #[n(27)]
    Spaces {
        /// The first space of the page, as the page before has said.
        #[n(0)]
        from: Option<String>,
        /// The most of them, at most [`MAX_LISTED`](crate::view::MAX_LISTED).
        #[n(1)]
        limit: u32,
    },
    /// Shows a page of the tuples of a space, oldest first.
    #[n(28)]
    Tuples {
        /// The space.
        #[n(0)]
        space: String,
        /// The number of the first tuple of the page, as the page before has said.
        #[n(1)]
        from: Option<u64>,
        /// The most of them, at most [`MAX_LISTED`](crate::view::MAX_LISTED).
        #[n(2)]
        limit: u32,
    },
    /// The session's node keeps outputs in a depot, and serves them there as long as the session
    /// lasts.
    #[n(29)]
    Keep {
        /// Which, and where it is reached: an address of at most
        /// [`MAX_ADDRESS_BYTES`](crate::output::MAX_ADDRESS_BYTES).
        #[n(0)]
        reached: Reached,
    },
    /// As [`Request::Complete`], of a task whose output stays on nodes. Of one that was done before
    /// only the result and where it lies are written.
    #[n(30)]
    CompleteKept {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
        /// Its result, which names its output: at most [`MAX_INLINE_BYTES`].
        #[cbor(n(2), with = "minicbor::bytes")]
        result: Vec<u8>,
        /// New tasks, at most [`MAX_TASKS`].
        #[n(3)]
        children: Vec<Submission>,
        /// At most [`MAX_EFFECTS`].
        #[n(4)]
        effects: Vec<Effect>,
        /// Where its output lies.
        #[n(5)]
        kept: Kept,
        /// As of [`Request::Complete`].
        #[cbor(n(6), default)]
        puts: Vec<Put>,
    },
    /// Tells how a task has ended, and where its output lies. Refused while it has not ended.
    #[n(31)]
    Fetch {
        /// Which task.
        #[n(0)]
        task: TaskId,
    },
    /// The output that this try of a task has made cannot be had: the task is done again, unless it
    /// is already.
    #[n(32)]
    Lost {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try, as the record of its end says.
        #[n(1)]
        attempt: Attempt,
    },
    /// Names depots of other hosts, for copies. Whoever coordinates the task's part names those
    /// that it knows to be there: it is told next that they have the output.
    #[n(33)]
    Depots {
        /// Beside which.
        #[n(0)]
        own: Depot,
        /// How many, at most [`MAX_COPIES`](crate::output::MAX_COPIES).
        #[n(1)]
        count: u32,
        /// The task whose output they are to have. None: a program of an earlier version asks.
        #[n(2)]
        task: Option<TaskId>,
    },
    /// Tells which of some tasks have no record.
    #[n(34)]
    Unknown {
        /// Which tasks, at most [`MAX_TASKS`].
        #[n(0)]
        tasks: Vec<TaskId>,
    },
    /// Tells as soon as a task of one of these queues (of any if none is named) is ready that no
    /// session has room for: somebody may have room who offers it elsewhere.
    #[n(35)]
    AwaitReady {
        /// Queues.
        #[n(0)]
        queues: Vec<String>,
    },
    /// Asks the coordinator to give its part to a process that has so many: it does if its own
    /// process has two more at least. Who serves the coordinator answers.
    #[n(36)]
    Cede {
        /// How many parts the one that asks coordinates.
        #[n(0)]
        has: u32,
    },
    /// Tells from where the session's depot is to copy a large blob: as soon as one that has it is
    /// free, or another process of the same host has copied it.
    #[n(37)]
    Source {
        /// SHA-256 of its bytes.
        #[n(0)]
        blob: ByteArray<32>,
        /// Who has it, as far as the asker knows: at most
        /// [`MAX_COPIES`](crate::output::MAX_COPIES).
        #[n(1)]
        owners: Vec<Owner>,
        /// From whom it was not to be had before: that one is named to nobody any more.
        #[n(2)]
        failed: Option<Owner>,
    },
    /// The session's depot copies a blob no longer.
    #[n(38)]
    Copied {
        /// SHA-256 of its bytes.
        #[n(0)]
        blob: ByteArray<32>,
        /// Whether it has it: others may copy it from there.
        #[n(1)]
        is_there: bool,
    },
    /// Names the depots of nodes in the order of their numbers, as many as an answer takes:
    /// [`MAX_NODES`](crate::output::MAX_NODES).
    #[n(39)]
    Nodes {
        /// Behind this number; from the first one on, if there is none.
        #[n(0)]
        after: Option<u64>,
        /// The [digest](crate::output::digest) of the numbers that the asker knows: as long as it
        /// is that of all, none is named, and the answer is [`Answer::Done`].
        #[n(1)]
        known: Option<u64>,
    },
    /// Tells where a depot is reached.
    #[n(42)]
    Locate {
        /// The number of the depot.
        #[n(0)]
        depot: u64,
    },
    /// Tells which of some shared blobs no tuple names.
    #[n(43)]
    Unnamed {
        /// The hashes of them, at most [`MAX_TASKS`].
        #[n(0)]
        blobs: Vec<ByteArray<32>>,
    },
}

/// Which statement of its session a request is about.
///
/// A session has *slots*. In each it has one statement at a time, and counts those that change
/// something and were done: the first, 0, wants and puts nothing and only opens the slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Place {
    /// Which slot.
    #[n(0)]
    pub slot: u16,
    /// Which statement of the slot.
    #[n(1)]
    pub sequence: u64,
}
