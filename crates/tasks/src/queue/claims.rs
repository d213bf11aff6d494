//! Claims: the items of a queue that a process is given, and how it says what became of them.

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::message::Request;
use tidings_tasks_core::retry::Cause;
use tokio::sync::mpsc;

use crate::client::{self, Client};
use crate::inputs::{self, Content};
use crate::items;
use crate::payloads::Payloads;
use crate::session::{Assigned, Notice, Session};

use super::QueueError;

/// What claims items of a queue, with a session of its own. When it and what it has given are
/// dropped, items in hand go to others at once; when the process dies, as soon as that is seen.
#[derive(Debug)]
pub struct Claims {
    session: Session,
    notices: mpsc::Receiver<Notice>,
    payloads: Payloads,
    /// It was given, and nobody has been told.
    given: Option<Assigned>,
}

/// An item in hand. One that is dropped without a word stays in hand until its [`Claims`] are
/// dropped, too.
#[derive(Debug)]
pub struct Claimed {
    session: Session,
    payloads: Payloads,
    task: TaskId,
    attempt: Attempt,
    data: Vec<u8>,
}

impl Claims {
    /// Begins to claim items of a queue, so many at a time. Needs a runtime of tokio.
    ///
    /// # Errors
    /// [`QueueError`]; then nothing is claimed.
    pub async fn begin(client: &Client, queue: &str, at_a_time: u32) -> Result<Self, QueueError> {
        let random = client::random_name().unwrap_or_else(|_| queue.to_owned());
        let name = format!("{}-{random}", client.name);
        let (session, notices) = Session::open(client.member.clone(), &name, &client.host);
        QueueError::unless_done(session.ask(items::offer(queue, at_a_time)).await?)?;
        Ok(Self { session, notices, payloads: client.payloads.clone(), given: None })
    }

    /// Waits for the next item. May be dropped at any time: nothing is lost.
    ///
    /// # Errors
    /// The session has ended, or data of an item that is too long for a record cannot be had: that
    /// item has failed then.
    pub async fn next(&mut self) -> Result<Claimed, QueueError> {
        let Assigned { task, attempt, payload, .. } = self.given().await?.clone();
        let data = self.payloads.whole(payload).await;
        self.given = None;
        let (session, payloads) = (self.session.clone(), self.payloads.clone());
        let claimed = Claimed { session, payloads, task, attempt, data: Vec::new() };
        match data {
            Ok(data) => Ok(Claimed { data, ..claimed }),
            Err(error) => {
                claimed.end(Cause::Error, error.to_string()).await?;
                Err(error.into())
            }
        }
    }

    async fn given(&mut self) -> Result<&Assigned, QueueError> {
        while self.given.is_none() {
            match self.notices.recv().await {
                Some(Notice::Assigned(assigned)) => self.given = Some(assigned),
                // The result of an item that is not wanted any more is refused.
                Some(Notice::Stop(..) | Notice::Lapsed(_)) => {}
                None => return Err(self.session.closed().await.into()),
            }
        }
        Ok(self.given.as_ref().expect("the loop ends with one"))
    }
}

impl Claimed {
    /// Which item it is.
    pub fn item(&self) -> TaskId {
        self.task
    }

    /// Which try of it this is, from 1.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// What was put.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The item is done, with a result of any length. When this returns without an error that is
    /// durable.
    ///
    /// # Errors
    /// [`QueueError::Refused`] if another one has it: its result is not this one. An item that was
    /// cancelled while it was in hand is done with it.
    pub async fn complete(self, result: Vec<u8>) -> Result<(), QueueError> {
        let (task, attempt) = (self.task, self.attempt);
        let result = self.payloads.shorten(task, result).await?;
        let (children, effects, puts) = (Vec::new(), Vec::new(), Vec::new());
        let request = Request::Complete { task, attempt, result, children, effects, puts };
        self.say(request).await
    }

    /// It could not be done, for a reason that people read. It is tried again, unless that was
    /// often enough.
    ///
    /// # Errors
    /// As of [`Claimed::complete`].
    pub async fn fail(self, why: &str) -> Result<(), QueueError> {
        self.end(Cause::Error, why.to_owned()).await
    }

    /// Another one is to do it; no fault of the item.
    ///
    /// # Errors
    /// As of [`Claimed::complete`].
    pub async fn give_back(self) -> Result<(), QueueError> {
        self.end(Cause::Returned, "it was given back".to_owned()).await
    }

    /// What it has waited for, each once, in the order of its submission.
    ///
    /// # Errors
    /// It has no record any more: another one has it, or it was cancelled.
    pub async fn inputs(&self) -> Result<Vec<TaskId>, QueueError> {
        Ok(inputs::of(&self.session, self.task).await?)
    }

    /// What an input has come to. What nodes have lost is made again, which is waited for.
    ///
    /// # Errors
    /// It cannot be had.
    pub async fn input(&self, input: TaskId) -> Result<Content, QueueError> {
        Ok(inputs::read(&self.session, &self.payloads, input).await?)
    }

    /// By what it asks, and where it has what is long.
    pub(crate) fn reach(&self) -> (&Session, &Payloads) {
        (&self.session, &self.payloads)
    }

    /// It has failed, by this cause.
    pub(crate) async fn fail_by(self, cause: Cause, text: String) -> Result<(), QueueError> {
        self.end(cause, text).await
    }

    async fn end(&self, cause: Cause, text: String) -> Result<(), QueueError> {
        let (task, attempt, detail) = (self.task, self.attempt, Vec::new());
        self.say(Request::Fail { task, attempt, cause, text, detail }).await
    }

    async fn say(&self, request: Request) -> Result<(), QueueError> {
        QueueError::unless_done(self.session.ask(request).await?)
    }
}
