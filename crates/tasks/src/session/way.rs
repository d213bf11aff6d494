//! The ways to coordinators, whoever they are at a time.

use std::sync::{Arc, OnceLock};

use tidings_tasks_core::id::Part;
use tidings_tasks_core::message::{Answer, Request};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::asked::{Asked, Asker, SessionEnded};

/// Takes requests for the coordinator of one part. Its clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Way {
    requests: mpsc::Sender<Asked>,
    /// Why its driver has ended, if it has.
    ended: Arc<OnceLock<String>>,
}

impl Way {
    pub(super) fn new(requests: mpsc::Sender<Asked>, ended: Arc<OnceLock<String>>) -> Self {
        Self { requests, ended }
    }

    /// Sends a request until it is answered.
    pub(super) async fn ask(&self, request: Request) -> Result<Answer, SessionEnded> {
        self.begin(request).await?.await.map_err(|_| self.why())
    }

    /// Lets a request be sent. The result has the answer; without one the session has ended.
    pub(super) async fn begin(
        &self,
        request: Request,
    ) -> Result<oneshot::Receiver<Answer>, SessionEnded> {
        let (sender, answer) = oneshot::channel();
        self.send(request, Asker::One(sender)).await?;
        Ok(answer)
    }

    /// Lets a request be sent, and somebody be told the answer.
    pub(super) async fn send(&self, request: Request, asker: Asker) -> Result<(), SessionEnded> {
        self.requests.send((request, asker)).await.map_err(|_| self.why())
    }

    /// Waits until the session has ended, and says why.
    pub(super) async fn closed(&self) -> SessionEnded {
        self.requests.closed().await;
        self.why()
    }

    /// Why it has ended.
    pub(super) fn why(&self) -> SessionEnded {
        SessionEnded(self.ended.get().map_or("the runtime is ending", String::as_str).to_owned())
    }
}

/// The ways to the coordinators of all parts: at least one.
#[derive(Debug)]
pub(super) struct Ways(Vec<Way>);

impl Ways {
    /// Those to the first, and to others.
    pub(super) fn of(first: Way, others: impl IntoIterator<Item = Way>) -> Self {
        Self(core::iter::once(first).chain(others).collect())
    }

    /// How many parts there are.
    pub(super) fn parts(&self) -> u16 {
        self.0.len() as u16
    }

    /// The way to the coordinator of a part.
    pub(super) fn to(&self, part: Part) -> &Way {
        self.0.get(usize::from(part.0)).unwrap_or(&self.0[0])
    }

    /// Asks all parts at once; the answers by part.
    pub(super) async fn ask_all(&self, request: &Request) -> Result<Vec<Answer>, SessionEnded> {
        let requests = crate::parts::all(self.parts()).map(|part| (part, request.clone()));
        let answers = self.ask_each(requests.collect()).await?;
        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
    }

    /// Asks some parts at once; the answers in the order of the parts.
    pub(super) async fn ask_each(
        &self,
        requests: Vec<(Part, Request)>,
    ) -> Result<Vec<(Part, Answer)>, SessionEnded> {
        let mut asking = JoinSet::new();
        for (part, request) in requests {
            let way = self.to(part).clone();
            asking.spawn(crate::spawn::boxed(async move {
                way.ask(request).await.map(|answer| (part, answer))
            }));
        }
        let mut answers = Vec::new();
        while let Some(answered) = asking.join_next().await {
            answers.push(answered.map_err(|_| self.0[0].why())??);
        }
        answers.sort_unstable_by_key(|(part, _)| *part);
        Ok(answers)
    }
}
