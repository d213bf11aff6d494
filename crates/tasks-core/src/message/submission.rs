//! What is submitted: tasks, and the writes that come with their ends; how large they may be.

use minicbor::bytes::ByteVec;
use minicbor::{Decode, Encode};

use crate::id::TaskId;
use crate::name::Name;
use crate::resources::Need;
use crate::retry::Retry;
use crate::transaction::Revision;
use crate::tuple::Tuple;

/// The bytes of a payload, a result or the value of an effect. Larger ones are passed by handle.
pub const MAX_INLINE_BYTES: usize = 16 * 1024;

/// The tasks of one submission, or the children of one task.
pub const MAX_TASKS: usize = 1_000;

/// The tasks for which one task waits.
pub const MAX_INPUTS: usize = 256;

/// The effects of one task, and the keys that one request reads or writes.
pub const MAX_EFFECTS: usize = 64;

/// The bytes of a filter of nodes.
pub const MAX_FILTER_BYTES: usize = 1_024;

/// A task as it is submitted.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Submission {
    /// Which task.
    #[n(0)]
    pub id: TaskId,
    /// The queue, of the part to which it is sent.
    #[n(1)]
    pub queue: Name,
    /// Whose it is; queues share workers fairly among groups.
    #[n(2)]
    pub group: Name,
    /// The larger, the earlier.
    #[n(3)]
    pub priority: i16,
    /// For how long it is not assigned, in milliseconds.
    #[n(4)]
    pub delay_ms: u64,
    /// What is to be done.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub payload: Vec<u8>,
    /// After which failures it is tried again.
    #[n(6)]
    pub retry: Retry,
    /// What it takes of its worker's resources while it runs.
    #[cbor(n(7), default)]
    pub need: Need,
    /// On which nodes it may run, in the language of `tidings nodes --where`: at most
    /// [`MAX_FILTER_BYTES`]; empty: on any.
    #[cbor(n(8), default)]
    pub filter: String,
    /// The tasks that are to be done before it is assigned, at most [`MAX_INPUTS`]. The submission
    /// of each was answered before, or it is submitted with it, in any order.
    #[cbor(n(9), default)]
    pub inputs: Vec<TaskId>,
    /// The nodes that are to have its output, at most
    /// [`MAX_COPIES`](crate::output::MAX_COPIES), if that is long and its worker has a depot; 0: it
    /// lies with the store. A task whose output is lost is done again if another needs it.
    #[cbor(n(10), default)]
    pub copies: u32,
}

impl Submission {
    /// A task of no group, to be run as soon as a worker has a CPU for it.
    pub fn new(id: TaskId, queue: impl Into<Name>, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            id,
            queue: queue.into(),
            group: Name::default(),
            priority: 0,
            delay_ms: 0,
            payload: payload.into(),
            retry: Retry::default(),
            need: Need::default(),
            filter: String::new(),
            inputs: Vec::new(),
            copies: 0,
        }
    }
}

/// A write of a key of the users': by a task in the same commit as its completion, or by request.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Effect {
    /// The key, below `e/` in the store.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub key: Vec<u8>,
    /// The new value, at most [`MAX_INLINE_BYTES`]; `None` deletes.
    #[n(1)]
    pub value: Option<ByteVec>,
    /// The revision at which it must still be; 0 if it must have no value; `None` if anything may
    /// be there.
    #[n(2)]
    pub expect: Option<u64>,
}

impl Effect {
    /// The revision that is expected, if one is.
    pub fn expected(&self) -> Option<Revision> {
        self.expect.map(Revision)
    }
}

/// A tuple that a task puts in the same commit as its completion.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
#[cbor(map)]
pub struct Put {
    /// Into which space.
    #[n(0)]
    pub space: String,
    /// What is put.
    #[n(1)]
    pub tuple: Tuple,
}
