//! What a coordinator says: answers, and what it says unasked.

use minicbor::{Decode, Encode};

use crate::id::{Attempt, TaskId};
use crate::name::Name;
use crate::resources::Need;

use super::{Answer, Call};

/// What a coordinator says.
#[derive(Clone, PartialEq, Eq, Debug, Encode, Decode)]
pub enum Message {
    /// The answer to a request.
    #[n(0)]
    Answer(#[n(0)] Call, #[n(1)] Answer),
    /// The session does this try of a task from now on.
    #[n(1)]
    Assign {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try: also a key by which a receiver of side effects can know repetitions.
        #[n(1)]
        attempt: Attempt,
        /// Its queue.
        #[n(2)]
        queue: Name,
        /// What is to be done.
        #[cbor(n(3), with = "minicbor::bytes")]
        payload: Vec<u8>,
        /// The nodes that are to have its output; 0: it lies with the store.
        #[cbor(n(4), default)]
        copies: u32,
        /// What it takes of the session's resources, where the session may have tasks of several
        /// parts; none: its coordinator alone knows.
        #[n(5)]
        need: Option<Need>,
    },
    /// Nobody wants this try of a task: its result will be refused. The session reports a failure
    /// of it all the same: until then the try takes one of its slots.
    #[n(2)]
    Stop {
        /// Which task.
        #[n(0)]
        task: TaskId,
        /// Which try.
        #[n(1)]
        attempt: Attempt,
    },
    /// The session has ended, since it was silent or another one took its name: it must join again.
    #[n(3)]
    Ended,
}
