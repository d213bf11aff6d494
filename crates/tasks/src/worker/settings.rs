//! What a worker is told when it begins, and what it tells while it works.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::retry::Cause;

use crate::blobs::Blobs;
use crate::work::Report;

/// The usual [`Settings::spare_after`]: programs that compute for half of it never pay for a
/// process that waits.
pub const SPARE_AFTER: Duration = Duration::from_secs(2);

/// What a worker is and has.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name of this life of it: no other session has it, nor an earlier life had.
    pub name: String,
    /// Its host, as the board names it.
    pub host: String,
    /// The queues from which it takes tasks; all if none is named.
    pub queues: Vec<String>,
    /// The tasks that it does at a time.
    pub slots: u32,
    /// What it has, in thousandths (`mem` in bytes). None: only slots count.
    pub resources: Vec<(String, u64)>,
    /// The command line of each runtime that it has, for calls.
    pub runtimes: BTreeMap<String, Vec<String>>,
    /// A folder for the output of tasks while they run.
    pub scratch: PathBuf,
    /// Where code lies and long output goes; without, the end of an output is all that is kept. Of
    /// a store on another host it holds copies: a folder of this host, not that beside a store.
    pub blobs: Option<Arc<Blobs>>,
    /// Where outputs stay of tasks that want them to stay on nodes, of a store on another host or
    /// in an etcd: a folder of this host. Without, they go where others go.
    pub depot: Option<Arc<Blobs>>,
    /// How long [`drain`](super::Worker::drain) waits for what is running.
    pub drain: Duration,
    /// How long after the first process of a runtime one more is started, which replaces the next
    /// one that is lost, if the runtime can wait and there is memory; half as long where a process
    /// has got nothing to do. None: never.
    pub spare_after: Option<Duration>,
}

/// What a worker tells. Events that nobody takes in time are left out; nothing waits for them.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A try has begun.
    Started {
        /// Which task.
        task: TaskId,
        /// Which try.
        attempt: Attempt,
        /// In which slot, from 0.
        slot: u32,
        /// What people call it.
        name: String,
    },
    /// How far a call is, as it says.
    Progress {
        /// Which task.
        task: TaskId,
        /// Which try.
        attempt: Attempt,
        /// In thousandths.
        thousandths: u16,
        /// In words.
        text: String,
    },
    /// A try has ended, and the coordinator knows it.
    Ended {
        /// Which task.
        task: TaskId,
        /// Which try.
        attempt: Attempt,
        /// Why it has failed; none: it is done.
        cause: Option<Cause>,
        /// Why in words, as the task's record has it; empty if it is done.
        text: String,
        /// What it took. None if nothing could be started.
        report: Option<Box<Report>>,
    },
    /// A folder of the host is full, as it says: the worker takes no tasks until there is room.
    NoRoom(String),
    /// There is room again: the worker goes on.
    Room,
    /// The session had ended, and was opened again: what was running was killed and is with others.
    Lapsed,
    /// The worker has ended, for this reason. All that was running was killed.
    Closed(String),
}
