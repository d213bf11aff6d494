//! Replies: the answers to requests about many tasks, in one queue.
//!
//! Putting an answer there never waits, since the one that does keeps a session alive. The queue is
//! bounded by the one that asks: each request has one answer.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::Answer;
use tokio::sync::Notify;

/// Answers that nobody has taken yet, with the tasks that they are about. Clones are the same
/// queue.
#[derive(Clone, Debug, Default)]
pub struct Replies(Arc<Queue>);

#[derive(Debug, Default)]
struct Queue {
    answers: Mutex<Vec<(TaskId, Answer)>>,
    arrived: Notify,
}

impl Replies {
    /// All that have come, as soon as there are any. A future that is dropped loses none. One at a
    /// time takes them.
    pub async fn take(&self) -> Vec<(TaskId, Answer)> {
        loop {
            let taken = std::mem::take(&mut *self.lock());
            if !taken.is_empty() {
                return taken;
            }
            self.0.arrived.notified().await;
        }
    }

    pub(crate) fn put(&self, task: TaskId, answer: Answer) {
        self.lock().push((task, answer));
        self.0.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(TaskId, Answer)>> {
        // Each change of it is one call, so it is whole even if a holder panicked.
        self.0.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
