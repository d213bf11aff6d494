//! Lists of tasks, page by page.

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::view::{MAX_LISTED, Shown, Which};

use super::client::Client;
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

    /// The next page, which may be empty; `None` behind the last one.
    pub(super) async fn next(
        &mut self,
        client: &Client,
    ) -> Result<Option<Vec<(TaskId, Shown)>>, TasksError> {
        if self.is_over {
            return Ok(None);
        }
        let list = Request::List {
            queue: self.queue.clone(),
            state: self.which,
            from: self.from,
            limit: MAX_LISTED,
        };
        match client.ask(list).await? {
            Answer::Listed(page, from) => {
                (self.from, self.is_over) = (from, from.is_none());
                Ok(Some(page))
            }
            other => Err(TasksError::Answer(Box::new(other))),
        }
    }
}
