//! Lists of tasks, page by page.

use tidings_tasks::session::Session;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::view::{MAX_LISTED, Shown, Which};

use super::client::{Client, ask};
use super::failure::TasksError;

/// A list that is read page by page.
pub(super) struct Pages {
    queue: Option<String>,
    which: Which,
    from: Option<TaskId>,
    is_over: bool,
}

impl Pages {
    /// The tasks of a queue, or of all.
    pub(super) fn new(queue: Option<&str>, which: Which) -> Self {
        Self { queue: queue.map(str::to_owned), which, from: None, is_over: false }
    }

    /// Whether no page follows.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The next page, which may be empty; `None` behind the last one.
    pub(super) async fn next(
        &mut self,
        client: &Client,
    ) -> Result<Option<Vec<(TaskId, Shown)>>, TasksError> {
        match self.request() {
            None => Ok(None),
            Some(list) => self.take(client.ask(list).await?).map(Some),
        }
    }

    /// The same, for who does not wait for a store that cannot be reached.
    pub(super) async fn next_of(
        &mut self,
        session: &Session,
    ) -> Result<Option<Vec<(TaskId, Shown)>>, TasksError> {
        match self.request() {
            None => Ok(None),
            Some(list) => self.take(ask(session, list).await?).map(Some),
        }
    }

    fn request(&self) -> Option<Request> {
        (!self.is_over).then(|| Request::List {
            queue: self.queue.clone(),
            state: self.which,
            from: self.from,
            limit: MAX_LISTED,
        })
    }

    fn take(&mut self, answer: Answer) -> Result<Vec<(TaskId, Shown)>, TasksError> {
        match answer {
            Answer::Listed(page, from) => {
                (self.from, self.is_over) = (from, from.is_none());
                Ok(page)
            }
            other => Err(TasksError::Answer(Box::new(other))),
        }
    }
}
