//! Collections: what many tasks came to, combined along a [tree](Tree) by all who want it.
//!
//! Any number of processes collect the same: each takes nodes of the tree, waits for their inputs,
//! and combines them. The coordinator gives nodes as it gives tasks; when a process dies its nodes
//! go to the others, and when all die, the next that collects goes on where they were.
//!
//! Invariant: each level has places of its own in each process. So nodes that wait for those below
//! them take nothing from these, and something can always go on.

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::{Answer, MAX_TASKS, Refusal, Request, Submission};
use tidings_tasks_core::record::{self, Finished, Outcome};
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::retry::{Cause, Retry};
use tidings_tasks_core::tree::{Node, Tree};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};

use crate::payloads::{PayloadError, Payloads};
use crate::session::{Assigned, Notice, Session, SessionEnded};
use crate::spawn::boxed;

/// The nodes of one level that one process has at a time.
const PLACES: u32 = 256;

/// One of them, as an amount of a resource.
const ONE: u64 = 1_000;

/// What the tasks `0..leaves` of a name came to.
#[derive(Clone, Debug)]
pub struct Collection {
    name: String,
    tree: Tree,
}

/// Why nothing was collected.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// There is nothing to collect, or too much.
    #[error("{0} tasks: 1 to {most} can be collected", most = tidings_tasks_core::tree::MAX_LEAVES)]
    Leaves(u64),
    /// A task is not there. What was combined stays.
    #[error("{0} is not there: submit all tasks before they are collected, and forget none")]
    Missing(String),
    /// The coordinator has refused something.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What is long cannot be kept, or read.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The session has ended. What was combined stays.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The coordinator is of another version.
    #[error(
        "the store answered what this program does not know ({0:?}): use programs of one version"
    )]
    Answer(Box<Answer>),
}

/// A node with what its inputs came to, as their records have it, or why one came to nothing.
struct Gathered {
    task: TaskId,
    attempt: Attempt,
    inputs: Result<Vec<Vec<u8>>, String>,
}

impl Collection {
    /// The tasks `0..leaves` of a name, as [`TaskId::of`] numbers them.
    ///
    /// # Errors
    /// There are none, or too many.
    pub fn of(name: &str, leaves: u64) -> Result<Self, CollectError> {
        let tree = Tree::over(leaves).ok_or(CollectError::Leaves(leaves))?;
        Ok(Self { name: name.to_owned(), tree })
    }

    /// The task whose result is the whole.
    pub fn root(&self) -> TaskId {
        self.tree.task(&self.name, self.tree.root())
    }

    /// Collects, in a session for this alone. `combine` makes one result of up to sixteen, in
    /// order, or says why it cannot; what it makes does not depend on who calls it. Returns how the
    /// root has ended: failed, if a task has failed, or could not be combined.
    ///
    /// # Errors
    /// Tasks are missing, or the store cannot be had or refuses.
    pub async fn collect(
        &self,
        payloads: &Payloads,
        (session, notices): (Session, mpsc::Receiver<Notice>),
        combine: impl FnMut(&[Vec<u8>]) -> Result<Vec<u8>, String>,
    ) -> Result<Finished, CollectError> {
        let result = self.take_part(payloads, &session, notices, combine).await;
        // What is in hand goes to others; the session ends with this anyhow.
        let _ = session.ask(Request::Leave).await;
        result
    }

    async fn take_part(
        &self,
        payloads: &Payloads,
        session: &Session,
        mut notices: mpsc::Receiver<Notice>,
        mut combine: impl FnMut(&[Vec<u8>]) -> Result<Vec<u8>, String>,
    ) -> Result<Finished, CollectError> {
        self.submit(session).await?;
        accepted(session.ask(self.offer()).await?)?;
        let mut whole = core::pin::pin!(payloads.outcome(session, self.root()));
        let (mut nodes, mut ends) = (JoinSet::new(), JoinSet::new());
        loop {
            tokio::select! {
                whole = &mut whole => return match whole? {
                    Answer::Outcome(finished) => Ok(*finished),
                    other => Err(unexpected(other)),
                },
                Some(notice) = notices.recv() => {
                    // A completion of what is stopped, or lapsed, is refused.
                    let Notice::Assigned(assigned) = notice else { continue };
                    nodes.spawn(boxed(self.clone().gather(session.clone(), assigned)));
                }
                Some(gathered) = nodes.join_next() => {
                    let end = end(payloads, whole_task(gathered)?, &mut combine).await?;
                    ends.spawn(boxed(tell(session.clone(), end)));
                }
                Some(told) = ends.join_next() => whole_task(told)?,
            }
        }
    }

    /// The queue of the nodes.
    fn queue(&self) -> String {
        format!("collect-{}", self.root())
    }

    /// Places for the nodes of all levels.
    fn offer(&self) -> Request {
        let levels = 1..=self.tree.root().level;
        let slots = PLACES * levels.clone().count() as u32;
        let resources = levels.map(|level| (place(level), u64::from(PLACES) * ONE)).collect();
        Request::Offer { queues: vec![self.queue()], slots, resources, ahead: 0, full: None }
    }

    /// Adds the nodes, unless they are there.
    async fn submit(&self, session: &Session) -> Result<(), CollectError> {
        let mut nodes = self.tree.nodes().peekable();
        while nodes.peek().is_some() {
            let tasks = nodes.by_ref().take(MAX_TASKS).map(|node| self.submission(node)).collect();
            accepted(session.ask(Request::Submit { tasks }).await?)?;
        }
        Ok(())
    }

    fn submission(&self, node: Node) -> Submission {
        // Who collects may be killed any number of times.
        let retry = Retry { losses: u16::MAX, ..Retry::default() };
        let (task, payload) = (self.tree.task(&self.name, node), record::encode(&node));
        let need = Need::new([(place(node.level), ONE)]);
        let need = need.expect("one short name is no list that is too long");
        Submission { retry, need, ..Submission::new(task, self.queue(), payload) }
    }

    /// Waits for the inputs of a node.
    async fn gather(
        self,
        session: Session,
        Assigned { task, attempt, payload, .. }: Assigned,
    ) -> Result<Gathered, CollectError> {
        let failed = |text| Ok(Gathered { task, attempt, inputs: Err(text) });
        let Ok(node) = minicbor::decode::<Node>(&payload) else {
            return failed("its payload is no node of a tree".to_owned());
        };
        let mut inputs = Vec::new();
        for input in self.tree.inputs(node) {
            let request = Request::Wait { task: self.tree.task(&self.name, input) };
            let finished = match session.ask(request).await? {
                Answer::Outcome(finished) => *finished,
                Answer::Refused(Refusal::NoTask) => {
                    return Err(CollectError::Missing(called(input)));
                }
                other => return Err(unexpected(other)),
            };
            match finished.outcome {
                Outcome::Done(result) => inputs.push(result),
                Outcome::Cancelled => return failed(format!("{} was cancelled", called(input))),
                Outcome::Failed => {
                    let why = finished.task.failures.last().map_or("", |last| &last.text);
                    return failed(format!("{} has failed: {why}", called(input)));
                }
            }
        }
        Ok(Gathered { task, attempt, inputs: Ok(inputs) })
    }
}

/// How a node ends: its inputs are read, one node's at a time, and combined.
async fn end(
    payloads: &Payloads,
    Gathered { task, attempt, inputs }: Gathered,
    combine: &mut impl FnMut(&[Vec<u8>]) -> Result<Vec<u8>, String>,
) -> Result<Request, CollectError> {
    let combined = match inputs {
        Ok(records) => {
            let mut inputs = Vec::with_capacity(records.len());
            for record in records {
                inputs.push(payloads.whole(record).await?);
            }
            combine(&inputs)
        }
        Err(text) => Err(text),
    };
    Ok(match combined {
        Ok(result) => {
            let result = payloads.shorten(task, result).await?;
            let (children, effects) = (Vec::new(), Vec::new());
            Request::Complete { task, attempt, result, children, effects, puts: Vec::new() }
        }
        Err(text) => Request::Fail { task, attempt, cause: Cause::Error, text, detail: Vec::new() },
    })
}

/// Tells how a node has ended.
async fn tell(session: Session, end: Request) -> Result<(), CollectError> {
    match session.ask(end).await? {
        // Another has it, or has ended it.
        Answer::Refused(Refusal::Superseded | Refusal::NoTask | Refusal::NoSession) => Ok(()),
        answer => accepted(answer),
    }
}

/// What a task of the runtime came to. A panic in it goes on here.
fn whole_task<T>(joined: Result<Result<T, CollectError>, JoinError>) -> Result<T, CollectError> {
    match joined {
        Ok(result) => result,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(PayloadError::Ending.into()),
    }
}

/// The resource of which a node of a level needs one.
fn place(level: u32) -> String {
    format!("collect-{level}")
}

/// What a node is called.
fn called(node: Node) -> String {
    match node {
        Node { level: 0, index } => format!("task {index}"),
        Node { level, index } => format!("node {index} of level {level}"),
    }
}

fn accepted(answer: Answer) -> Result<(), CollectError> {
    match answer {
        Answer::Done | Answer::Submitted(_) => Ok(()),
        other => Err(unexpected(other)),
    }
}

fn unexpected(answer: Answer) -> CollectError {
    match answer {
        Answer::Refused(refusal) => refusal.into(),
        other => CollectError::Answer(Box::new(other)),
    }
}
