//! Why a task does not run, and where outputs lie that it reads.

use minicbor::{Decode, Encode};

use crate::id::TaskId;
use crate::resources::Amount;

/// Why a task does not run, as far as its record does not say it.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Why {
    /// It has ended, or there is none: its record says it.
    #[n(0)]
    Absent,
    /// A change of it is being written.
    #[n(1)]
    Changing,
    /// So many inputs are missing: the first [`MAX_SHOWN_INPUTS`](crate::view::MAX_SHOWN_INPUTS) of
    /// them.
    #[n(2)]
    Inputs(#[n(0)] u32, #[n(1)] Vec<(TaskId, InputState)>),
    /// Its time has not come.
    #[n(3)]
    Delayed,
    /// It runs; its worker waits for permits of these semaphores.
    #[n(4)]
    Running(#[n(0)] Vec<String>),
    /// No worker takes tasks of its queue.
    #[n(5)]
    NoWorker,
    /// No worker of its queue could take it, were it idle.
    #[n(6)]
    Unfit(#[n(0)] Unfit),
    /// All workers that could take it are busy.
    #[n(7)]
    Busy {
        /// How many could.
        #[n(0)]
        workers: u32,
        /// The ready tasks of its queue.
        #[n(1)]
        ready: u64,
    },
    /// A worker has room for it.
    #[n(8)]
    Next {
        /// The ready tasks of its queue.
        #[n(0)]
        ready: u64,
    },
}

/// What is missing for a task to go to a worker.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Unfit {
    /// The workers that take tasks of its queue.
    #[n(0)]
    pub workers: u32,
    /// Resources of which none of them has enough: what is needed, and the most that one has.
    #[n(1)]
    pub lacks: Vec<(String, Amount, Amount)>,
    /// Whether its filter accepts the node of none of them.
    #[n(2)]
    pub is_filtered: bool,
    /// Whether nodes are known from a board.
    #[n(3)]
    pub board: bool,
    /// Hosts of workers that could take it and wait for space, and what each says of that: the
    /// first [`MAX_SHOWN_INPUTS`](crate::view::MAX_SHOWN_INPUTS) of them.
    #[cbor(n(4), default)]
    pub full: Vec<(String, String)>,
}

/// Where an input is that is not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(index_only)]
pub enum InputState {
    /// In its queue.
    #[n(0)]
    Ready,
    /// In its queue, not before a time.
    #[n(1)]
    Delayed,
    /// It waits for inputs itself.
    #[n(2)]
    Waiting,
    /// With a worker.
    #[n(3)]
    Running,
    /// It has ended just now.
    #[n(4)]
    Ended,
    /// It was done, its output is lost, and it is done again.
    #[n(5)]
    Again,
    /// In another part, and not known to be done.
    #[n(6)]
    Abroad,
}

/// Where an output lies that a task reads.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Lies {
    /// The task that has made it.
    #[n(0)]
    pub task: TaskId,
    /// How long it is, in bytes.
    #[n(1)]
    pub bytes: u64,
    /// The hosts that have it and are there.
    #[n(2)]
    pub hosts: Vec<String>,
}
