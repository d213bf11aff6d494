//! The spaces of a session, and what is done in them: statements.

use std::sync::Arc;

use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::tuple::{Matched, Statement};

use super::error::{SpaceError, answer_of};
use super::slots::Slots;
use crate::session::Session;

/// The spaces of a store, for one session. Clones are the same.
#[derive(Clone, Debug)]
pub struct Spaces {
    slots: Arc<Slots>,
    pub(super) owner: Option<(TaskId, Attempt)>,
}

impl Spaces {
    /// Those of the session's store. Make one for a session, and clone that: it numbers the
    /// session's statements.
    pub fn new(session: Session) -> Self {
        Self { slots: Arc::new(Slots::new(session)), owner: None }
    }

    /// The same; what is pulled belongs to a try of a task. When the task is done it is consumed,
    /// in the same commit; when the try ends otherwise it is there again.
    #[must_use]
    pub fn of_task(&self, task: TaskId, attempt: Attempt) -> Self {
        Self { owner: Some((task, attempt)), ..self.clone() }
    }

    /// Does a statement: all of it in one commit. `None` if in the time that it has some in has
    /// found nothing; then nothing was changed.
    ///
    /// # Errors
    /// It is not acceptable, or what it settles is not claimed by this session.
    pub async fn execute(&self, statement: Statement) -> Result<Option<Vec<Matched>>, SpaceError> {
        let statement = Statement { owner: self.owner, ..statement };
        let mut turn = self.slots.turn().await?;
        let answer = turn.ask(statement).await?;
        answer_of(answer)
    }
}
