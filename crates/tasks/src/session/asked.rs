//! What a session is asked, what it is told, and its end.

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::name::Name;
use tokio::sync::oneshot;

use crate::replies::Replies;

/// A task that this session is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assigned {
    /// Which task.
    pub task: TaskId,
    /// Which try: the completion names it.
    pub attempt: Attempt,
    /// Its queue.
    pub queue: Name,
    /// What is to be done.
    pub payload: Vec<u8>,
    /// The nodes that are to have its output; 0: it lies with the store.
    pub copies: u32,
}

/// What a session is told without asking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Notice {
    /// A task to do.
    Assigned(Assigned),
    /// This try of a task is no longer wanted. It is to be failed all the same, as soon as it has
    /// stopped.
    Stop(TaskId, Attempt),
    /// The session was silent for too long and had ended; it is opened again.
    Lapsed(Lapse),
}

/// What a session has lost that had ended with a coordinator. What it has of other parts stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lapse {
    /// Tries in hand that no longer count.
    pub tries: Vec<(TaskId, Attempt)>,
    /// Whether it has asked this coordinator for permits or tuples: others have those now.
    pub is_of_claims: bool,
}

/// A request, and who is told the answer.
pub(super) type Asked = (Request, Asker);

/// Who is told an answer.
#[derive(Debug)]
pub(super) enum Asker {
    One(oneshot::Sender<Answer>),
    Of(TaskId, Replies),
}

impl Asker {
    /// Tells it.
    pub(super) fn tell(self, answer: Answer) {
        // Whoever asked may have given up.
        match self {
            Self::One(asker) => drop(asker.send(answer)),
            Self::Of(task, replies) => replies.put(task, answer),
        }
    }
}

/// The session has ended: its process takes no part in the store any more.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the session has ended: {0}")]
pub struct SessionEnded(pub(super) String);
