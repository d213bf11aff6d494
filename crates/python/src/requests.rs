//! Requests: what Python wants, as requests of a session, and how its tasks have ended.
//!
//! All that came while a submission was on its way goes with the next one, up to [`FLIGHTS`] of
//! them at a time. Tasks that read what others return go when all that came before is submitted.
//!
//! A result that is too long for a record stays where it is: only that it is there is told, and the
//! record is held for whoever was told. It is brought when Python asks for it.
//!
//! To wake a thread takes longer than to handle one task. So while many tasks are on their way,
//! what is asked and what has ended is passed on once in [`GATHER`], or a few times that with more
//! of them; with few, at once. And while the processes have enough to do, the thread does not even
//! look ([`Pending::nap`]): each look takes a processor from a call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tidings_tasks::holds::Holds;
use tidings_tasks::payloads::{MARK, Payloads};
use tidings_tasks::replies::Replies;
use tidings_tasks::session::Session;
use tidings_tasks::worker::Running;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, MAX_TASKS, Request, Submission};
use tidings_tasks_core::record::Outcome as Ended;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::outcome::{End, Outcome, end_of, refused};
use crate::unfit::Kinds;

/// Submissions on their way at a time.
const FLIGHTS: u32 = 4;

/// The bytes of calls that go together: of more, `Payloads` would make files.
const FLIGHT_BYTES: usize = 2 << 20;

/// Results that are brought at a time.
const FETCHES: usize = 16;

/// Tasks to be forgotten that may wait, and outcomes to be passed on.
const QUEUE: usize = 4_096;

/// What is asked and what has ended is passed on so often while there is much of it.
const GATHER: Duration = Duration::from_millis(1);

/// The longest time for that, in times of [`GATHER`].
const LONGEST: usize = 16;

/// The tasks on their way, for each worker of at least two, with which there is much.
const MANY: usize = 32;

/// What Python wants.
pub(crate) enum Command {
    /// A task.
    Submit(Box<Submission>),
    /// Nobody wants a task any more.
    Cancel(TaskId),
    /// A task is not to be done by others, unless a worker has it; whether that came in time.
    Withdraw(TaskId, oneshot::Sender<bool>),
    /// The records of tasks are of no use any more.
    Forget(Vec<TaskId>),
    /// The result of a task that has left it where it is.
    Fetch(TaskId),
    /// The worker and its processes are to end; told once they have.
    Rest(oneshot::Sender<()>),
}

/// What submits and waits. Its clones are the same.
#[derive(Clone)]
pub(crate) struct Client {
    session: Session,
    payloads: Payloads,
    outcomes: mpsc::Sender<Outcome>,
    flights: Arc<Semaphore>,
    fetches: Arc<Semaphore>,
    forget: mpsc::Sender<TaskId>,
    pending: Pending,
    holds: Holds,
    kinds: Kinds,
    replies: Replies,
}

/// How many tasks are on their way.
#[derive(Clone)]
pub(crate) struct Pending {
    count: Arc<AtomicUsize>,
    many: usize,
    slots: usize,
    /// What the worker does; none if there is no worker, or none yet.
    running: Arc<OnceLock<Running>>,
}

impl Pending {
    /// None, of an executor with so many workers.
    pub(crate) fn new(workers: u32) -> Self {
        let (slots, many) = (workers as usize, MANY * workers.max(2) as usize);
        Self { count: Arc::default(), many, slots, running: Arc::default() }
    }

    /// This is what the worker does.
    pub(crate) fn watch(&self, running: Running) {
        // There is one worker.
        let _ = self.running.set(running);
    }

    /// Lets more come together, while so many are on their way that what comes can wait.
    async fn gather(&self) {
        let times = self.count.load(Ordering::Relaxed) / self.many;
        if times > 0 {
            tokio::time::sleep(GATHER * times.min(LONGEST) as u32).await;
        }
    }

    /// Waits a while, whatever comes, if all processes have enough to do until then.
    pub(crate) fn nap(&self) {
        if self.count.load(Ordering::Relaxed) < self.many {
            return;
        }
        let sated = self.running.get().map(|running| running.sated_for(self.slots));
        if let Some(sated) = sated.filter(|sated| !sated.is_zero()) {
            std::thread::sleep(sated);
        }
    }
}

impl Client {
    /// One that passes on outcomes in groups. Needs a runtime of tokio.
    pub(crate) fn new(
        session: Session,
        payloads: Payloads,
        pending: Pending,
        groups: mpsc::Sender<Vec<Outcome>>,
        holds: Holds,
    ) -> Self {
        let (forget, told) = mpsc::channel(QUEUE);
        tokio::spawn(forget_all(session.clone(), told, pending.clone()));
        let (outcomes, ended) = mpsc::channel(QUEUE);
        tokio::spawn(pass_on(ended, groups, pending.clone()));
        let flights = Arc::new(Semaphore::new(FLIGHTS as usize));
        let fetches = Arc::new(Semaphore::new(FETCHES));
        let replies = Replies::default();
        let client = Self {
            session,
            payloads,
            outcomes,
            flights,
            fetches,
            forget,
            pending,
            holds,
            kinds: Kinds::default(),
            replies,
        };
        tokio::spawn(client.kinds.clone().watch(client.session.clone(), client.outcomes.clone()));
        tokio::spawn(client.clone().take_replies());
        client
    }

    /// Does what is wanted, in order: what is cancelled was submitted before. Returns when more is
    /// to be taken, and who is to be told when the worker has ended, if it is to end.
    pub(crate) async fn take(&self, batch: &mut Vec<Command>) -> Option<oneshot::Sender<()>> {
        let (mut tasks, mut bytes, mut resting) = (Vec::new(), 0, None);
        for command in batch.drain(..) {
            match command {
                Command::Submit(task) => {
                    self.pending.count.fetch_add(1, Ordering::Relaxed);
                    self.kinds.begin(&task);
                    bytes += task.payload.len();
                    tasks.push(*task);
                    if bytes > FLIGHT_BYTES {
                        bytes = 0;
                        self.submit(core::mem::take(&mut tasks)).await;
                    }
                }
                Command::Forget(tasks) => self.forget(tasks).await,
                Command::Fetch(task) => drop(tokio::spawn(self.clone().fetch(task))),
                Command::Rest(told) => resting = Some(told),
                Command::Cancel(task) => {
                    self.submit(core::mem::take(&mut tasks)).await;
                    drop(tokio::spawn(self.clone().cancel(task)));
                }
                Command::Withdraw(task, told) => {
                    self.submit(core::mem::take(&mut tasks)).await;
                    drop(tokio::spawn(self.clone().withdraw(task, told)));
                }
            }
        }
        self.submit(tasks).await;
        self.pending.gather().await;
        resting
    }

    async fn forget(&self, tasks: Vec<TaskId>) {
        for task in tasks {
            // If nobody listens any more, the record stays.
            let _ = self.forget.send(task).await;
        }
    }

    /// Sends tasks on their way, as soon as there is room.
    async fn submit(&self, tasks: Vec<Submission>) {
        let tasks = self.with_inputs(tasks).await;
        if tasks.is_empty() {
            return;
        }
        let flight = self.flights.clone().acquire_owned().await;
        let client = self.clone();
        tokio::spawn(async move {
            let ids: Vec<TaskId> = tasks.iter().map(|task| task.id).collect();
            let answer = client.payloads.submit(&client.session, tasks, &[]).await;
            drop(flight);
            let refused = match answer {
                Ok(Answer::Submitted(_)) => None,
                Ok(Answer::Refused(refusal)) => Some(refusal.to_string()),
                Ok(other) => Some(format!("the answer to a submission was {other:?}")),
                Err(error) => Some(error.to_string()),
            };
            for task in ids {
                match &refused {
                    None => client.wait(task).await,
                    Some(reason) => {
                        client.end(task, End::Refused(reason.clone())).await;
                    }
                }
            }
        });
    }

    /// Tasks of which all inputs are submitted, or among them.
    async fn with_inputs(&self, tasks: Vec<Submission>) -> Vec<Submission> {
        if tasks.iter().all(|task| task.inputs.is_empty()) {
            return tasks;
        }
        drop(self.flights.acquire_many(FLIGHTS).await);
        let mut fine = Vec::with_capacity(tasks.len());
        for task in tasks {
            match self.holds.refused(&task.inputs) {
                None => fine.push(task),
                Some((input, why)) => {
                    let why = format!("input {input} was not submitted: {why}");
                    self.end(task.id, End::Refused(why)).await;
                }
            }
        }
        fine
    }

    /// Waits for the outcome of a task.
    async fn wait(&self, task: TaskId) {
        let posted = self.session.post(task, Request::Wait { task }, &self.replies).await;
        if let Err(error) = posted {
            self.end(task, End::Refused(error.to_string())).await;
        }
    }

    /// Passes on the outcomes of tasks that were waited for.
    async fn take_replies(self) {
        loop {
            let replies = tokio::select! {
                biased;
                replies = self.replies.take() => replies,
                ended = self.session.closed() => {
                    for task in self.holds.pending() {
                        self.end(task, End::Refused(ended.to_string())).await;
                    }
                    return;
                }
            };
            for (task, answer) in replies {
                self.answered(task, answer).await;
            }
        }
    }

    async fn answered(&self, task: TaskId, answer: Answer) {
        match answer {
            Answer::Outcome(finished) => match &finished.outcome {
                Ended::Done(result) if result.starts_with(MARK) => self.leave(task).await,
                _ => {
                    self.end(task, end_of(*finished)).await;
                }
            },
            other => {
                self.end(task, End::Refused(refused(&other))).await;
            }
        }
    }

    /// A task has ended whose result is too long for a record.
    async fn leave(&self, task: TaskId) {
        if self.holds.hold(task) && !self.end(task, End::Left).await {
            self.forget(self.holds.release(task)).await;
        }
    }

    /// Brings the result of a task that was left where it is.
    async fn fetch(self, task: TaskId) {
        let _one = self.fetches.acquire().await;
        let end = match self.payloads.outcome(&self.session, task).await {
            Ok(Answer::Outcome(finished)) => end_of(*finished),
            Ok(other) => End::Refused(refused(&other)),
            Err(error) => End::Refused(error.to_string()),
        };
        // Nobody listens any more when the executor ends.
        let _ = self.outcomes.send(Outcome { task, end, is_fetched: true }).await;
    }

    /// A task that was submitted has ended; whether that is news.
    async fn end(&self, task: TaskId, end: End) -> bool {
        let refused = match &end {
            End::Refused(why) => Some(why.as_str()),
            _ => None,
        };
        // It may have been told that the session has ended.
        let Some(over) = self.holds.end(task, refused) else { return false };
        self.forget(over).await;
        self.pending.count.fetch_sub(1, Ordering::Relaxed);
        let outcome = |end| Outcome { task, end, is_fetched: false };
        // Nobody listens any more when the executor ends.
        if let Some(kind) = self.kinds.end(task) {
            let _ = self.outcomes.send(outcome(End::Fits(kind))).await;
        }
        let _ = self.outcomes.send(outcome(end)).await;
        true
    }

    /// Cancels a task once all that was submitted before is with the coordinator.
    async fn cancel(self, task: TaskId) {
        let _arrived = self.flights.acquire_many(FLIGHTS).await;
        // One that has ended, or that was never taken, needs nothing.
        let _ = self.session.ask(Request::Cancel { task }).await;
    }

    /// As a cancellation, which a worker that has the task comes before.
    async fn withdraw(self, task: TaskId, told: oneshot::Sender<bool>) {
        let _arrived = self.flights.acquire_many(FLIGHTS).await;
        let answer = self.session.ask(Request::Withdraw { task }).await;
        // Who asked may have ended.
        let _ = told.send(matches!(answer, Ok(Answer::Done)));
    }
}

/// Passes on what has ended, the first at once.
async fn pass_on(
    mut ended: mpsc::Receiver<Outcome>,
    groups: mpsc::Sender<Vec<Outcome>>,
    pending: Pending,
) {
    let mut group = Vec::new();
    while ended.recv_many(&mut group, QUEUE).await > 0 {
        if groups.send(core::mem::take(&mut group)).await.is_err() {
            return;
        }
        pending.gather().await;
    }
}

/// Forgets tasks, as many at a time as have come.
async fn forget_all(session: Session, mut told: mpsc::Receiver<TaskId>, pending: Pending) {
    let mut tasks = Vec::new();
    while told.recv_many(&mut tasks, MAX_TASKS).await > 0 {
        let tasks = core::mem::take(&mut tasks);
        if session.ask(Request::Forget { tasks }).await.is_err() {
            return;
        }
        pending.gather().await;
    }
}

/// What a lock guards is whole even if its holder panicked: each change is one call.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
