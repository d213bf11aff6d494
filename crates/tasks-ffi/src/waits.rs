//! Waits: the ends of tasks that threads of this process wait for.
//!
//! A task is waited for once, however many threads want its end and however often their time is up:
//! so what is outstanding is bounded by the tasks, and not by the calls. An end stays until
//! somebody has taken it: who asks again and again, without waiting, gets it too.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidings_tasks::payloads::{PayloadError, Payloads};
use tidings_tasks::session::Session;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::Answer;
use tokio::sync::watch;

/// What was answered; none while the task has not ended.
pub(crate) type Ended = Option<Arc<Result<Answer, PayloadError>>>;

/// Those that are waited for.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<BTreeMap<TaskId, watch::Receiver<Ended>>>);

impl Waits {
    /// The end of a task, as soon as there is one. Needs a runtime of tokio.
    pub(crate) fn on(
        &self,
        session: &Session,
        payloads: &Payloads,
        task: TaskId,
    ) -> watch::Receiver<Ended> {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = waits.get(&task) {
            return known.clone();
        }
        let (sender, receiver) = watch::channel(None);
        waits.insert(task, receiver.clone());
        let (session, payloads) = (session.clone(), payloads.clone());
        tokio::spawn(async move {
            let ended = payloads.outcome(&session, task).await;
            sender.send_replace(Some(Arc::new(ended)));
        });
        receiver
    }

    /// Somebody has it, or nobody wants it: the next one asks again.
    pub(crate) fn forget(&self, task: TaskId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
    }
}
