//! Questions: what connections ask the loop that owns the node.
//!
//! The node has one owner, the driver's loop. Control connections and HTTP requests are other tasks
//! and ask through one bounded queue; each question carries the channel for its answer. A loop that
//! does not answer in time is itself an answer: the agent is unhealthy.

use std::sync::Arc;
use std::time::Duration;

use tidings_control::{Colonies, Nodes, Request, Status};
use tidings_web::places::{self, Busy, Places};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::notices::Notices;

/// How many questions may wait; askers beyond that wait to ask.
const WAITING_MOST: usize = 64;

/// Reports of all nodes that are being sent at a time, those for which others are asked included:
/// each may have megabytes, and wait for a slow reader.
pub(crate) const PICTURES_MOST: usize = 3;

/// Those of them for which others are asked: of another colony, or of everybody's keys.
const VISITS_MOST: usize = 1;

/// Watchers at a time, of both control sockets. Of too many, one of the user with the most gives
/// way to another user's.
pub(crate) const WATCHERS_MOST: usize = 16;

/// How long an asker waits for the loop.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// How long a request for the vector of another colony waits: that depends on other nodes.
pub(crate) const VISIT_PATIENCE: Duration = Duration::from_secs(10);

/// How long a check of another node waits: longer than all that it tries.
pub(crate) const CHECKUP_PATIENCE: Duration = Duration::from_secs(40);

/// How long a survey of all members waits: a million of them are asked in less.
pub(crate) const SURVEY_PATIENCE: Duration = Duration::from_secs(600);

/// A question and where its answer goes.
#[derive(Debug)]
pub(crate) enum Question {
    /// A request of the control protocol; the answer is the reply's line.
    Control(Request, oneshot::Sender<String>),
    /// A watch: the reply's line, and the events that follow.
    Watch(oneshot::Sender<(String, Notices)>),
    /// A report of every node.
    Nodes(oneshot::Sender<Nodes>),
    /// A report of every colony.
    Colonies(oneshot::Sender<Colonies>),
    /// The kept events from a number on, as JSON.
    Events(u64, oneshot::Sender<String>),
    /// The status of this agent.
    Status(oneshot::Sender<Status>),
    /// The same as OpenMetrics text.
    Metrics(oneshot::Sender<String>),
    /// Whether the agent is healthy, or what is wrong.
    Health(oneshot::Sender<Result<(), String>>),
}

/// The asking end; clones ask the same loop.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    questions: mpsc::Sender<Question>,
    pictures: Arc<Semaphore>,
    visits: Arc<Semaphore>,
    watchers: Places,
}

/// A place among the few that hold a report of all nodes at a time.
pub(crate) type Place = OwnedSemaphorePermit;

/// A pair of ends.
pub(crate) fn channel() -> (Asker, mpsc::Receiver<Question>) {
    let (sender, receiver) = mpsc::channel(WAITING_MOST);
    let pictures = Arc::new(Semaphore::new(PICTURES_MOST - VISITS_MOST));
    let visits = Arc::new(Semaphore::new(VISITS_MOST));
    let watchers = Places::new(WATCHERS_MOST, Busy::Stays);
    (Asker { questions: sender, pictures, visits, watchers }, receiver)
}

impl Asker {
    /// Waits for a place to ask for a report of all nodes; `None` if none becomes free.
    pub(crate) async fn place(&self) -> Option<Place> {
        let place = Arc::clone(&self.pictures).acquire_owned();
        tokio::time::timeout(PATIENCE, place).await.ok()?.ok()
    }

    /// The same for a report for which other nodes are asked.
    pub(crate) async fn visitors_place(&self) -> Option<Place> {
        let place = Arc::clone(&self.visits).acquire_owned();
        tokio::time::timeout(VISIT_PATIENCE, place).await.ok()?.ok()
    }

    /// A place to watch for a user; `None` if they are all his, or of others with fewer.
    pub(crate) fn watchers_place(&self, user: u32) -> Option<places::Place> {
        let place = self.watchers.take(user)?;
        place.busy().set(true);
        Some(place)
    }

    /// Asks and waits; `None` if the loop has ended or does not answer in time.
    pub(crate) async fn ask<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<T>) -> Question,
    ) -> Option<T> {
        self.ask_within(PATIENCE, question).await
    }

    /// Asks and waits this long.
    pub(crate) async fn ask_within<T>(
        &self,
        patience: Duration,
        question: impl FnOnce(oneshot::Sender<T>) -> Question,
    ) -> Option<T> {
        let (sender, answer) = oneshot::channel();
        let both = async {
            self.questions.send(question(sender)).await.ok()?;
            answer.await.ok()
        };
        tokio::time::timeout(patience, both).await.ok().flatten()
    }
}
