//! Requests: what Python wants, as requests of a session, and how its tasks have ended.
//!
//! All that came while a submission was on its way goes with the next one, up to [`FLIGHTS`] of
//! them at a time. A task of which nobody else knows the id is forgotten once its outcome was told.

use std::sync::Arc;

use tidings_tasks::payloads::Payloads;
use tidings_tasks::session::Session;
use tidings_tasks::work::Report;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, MAX_TASKS, Request, Submission};
use tidings_tasks_core::record::{Failure, Finished, Outcome as Ended};
use tokio::sync::{Semaphore, mpsc};

/// Submissions on their way at a time.
const FLIGHTS: u32 = 4;

/// Tasks to be forgotten that may wait.
const FORGETTING: usize = 4_096;

/// What Python wants.
pub(crate) enum Command {
    /// A task, and whether its record stays.
    Submit(Submission, bool),
    /// Nobody wants a task any more.
    Cancel(TaskId),
}

/// How a task has ended.
pub(crate) struct Outcome {
    pub(crate) task: TaskId,
    pub(crate) end: End,
}

/// How.
pub(crate) enum End {
    /// The call has returned this.
    Done(Vec<u8>),
    /// By the last of these.
    Failed(Vec<Failure>),
    /// Nobody wants it.
    Cancelled,
    /// It was not submitted, or its outcome cannot be had, for this reason.
    Refused(String),
}

/// What submits and waits. Its clones are the same.
#[derive(Clone)]
pub(crate) struct Client {
    session: Session,
    payloads: Payloads,
    outcomes: mpsc::Sender<Option<Outcome>>,
    flights: Arc<Semaphore>,
    forget: mpsc::Sender<TaskId>,
}

impl Client {
    /// Needs a runtime of tokio.
    pub(crate) fn new(
        session: Session,
        payloads: Payloads,
        outcomes: mpsc::Sender<Option<Outcome>>,
    ) -> Self {
        let (forget, told) = mpsc::channel(FORGETTING);
        tokio::spawn(forget_all(session.clone(), told));
        let flights = Arc::new(Semaphore::new(FLIGHTS as usize));
        Self { session, payloads, outcomes, flights, forget }
    }

    /// Does what is wanted, in order: what is cancelled was submitted before.
    pub(crate) async fn take(&self, batch: &mut Vec<Command>) {
        let mut tasks = Vec::new();
        for command in batch.drain(..) {
            match command {
                Command::Submit(task, keep) => tasks.push((task, keep)),
                Command::Cancel(task) => {
                    self.submit(core::mem::take(&mut tasks)).await;
                    drop(tokio::spawn(self.clone().cancel(task)));
                }
            }
        }
        self.submit(tasks).await;
    }

    /// Sends tasks on their way, as soon as there is room.
    async fn submit(&self, tasks: Vec<(Submission, bool)>) {
        if tasks.is_empty() {
            return;
        }
        let flight = self.flights.clone().acquire_owned().await;
        let client = self.clone();
        tokio::spawn(async move {
            let ids: Vec<_> = tasks.iter().map(|(task, keep)| (task.id, *keep)).collect();
            let tasks = tasks.into_iter().map(|(task, _)| task).collect();
            let answer = client.payloads.submit(&client.session, tasks, &[]).await;
            drop(flight);
            let refused = match answer {
                Ok(Answer::Submitted(_)) => None,
                Ok(Answer::Refused(refusal)) => Some(refusal.to_string()),
                Ok(other) => Some(format!("the answer to a submission was {other:?}")),
                Err(error) => Some(error.to_string()),
            };
            for (task, keep) in ids {
                match &refused {
                    None => drop(tokio::spawn(client.clone().wait(task, keep))),
                    Some(reason) => client.tell(task, End::Refused(reason.clone())).await,
                }
            }
        });
    }

    /// Waits for the outcome of a task, and passes it on.
    async fn wait(self, task: TaskId, keep: bool) {
        let end = match self.payloads.outcome(&self.session, task).await {
            Ok(Answer::Outcome(finished)) => end(*finished),
            Ok(Answer::Refused(refusal)) => End::Refused(refusal.to_string()),
            Ok(other) => End::Refused(format!("the answer of one who waits was {other:?}")),
            Err(error) => End::Refused(error.to_string()),
        };
        if !keep && !matches!(end, End::Refused(_)) {
            // If nobody listens any more, the record stays.
            let _ = self.forget.send(task).await;
        }
        self.tell(task, end).await;
    }

    /// Cancels a task once all that was submitted before is with the coordinator.
    async fn cancel(self, task: TaskId) {
        let _arrived = self.flights.acquire_many(FLIGHTS).await;
        // One that has ended, or that was never taken, needs nothing.
        let _ = self.session.ask(Request::Cancel { task }).await;
    }

    async fn tell(&self, task: TaskId, end: End) {
        // Nobody listens any more when the executor ends.
        let _ = self.outcomes.send(Some(Outcome { task, end })).await;
    }
}

/// Forgets tasks, as many at a time as have come.
async fn forget_all(session: Session, mut told: mpsc::Receiver<TaskId>) {
    let mut tasks = Vec::new();
    while told.recv_many(&mut tasks, MAX_TASKS).await > 0 {
        let tasks = core::mem::take(&mut tasks);
        if session.ask(Request::Forget { tasks }).await.is_err() {
            return;
        }
    }
}

fn end(finished: Finished) -> End {
    match finished.outcome {
        Ended::Done(result) => match Report::from_result(&result) {
            Ok(report) => End::Done(report.value),
            Err(error) => End::Refused(error.to_string()),
        },
        Ended::Failed => End::Failed(finished.task.failures),
        Ended::Cancelled => End::Cancelled,
    }
}
