//! The spaces of a session, and what is done in them: statements.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidings_tasks_core::id::{Attempt, Part, TaskId};
use tidings_tasks_core::message::Answer;
use tidings_tasks_core::tuple::{Matched, Statement};

use super::error::{SpaceError, answer_of};
use super::slots::Slots;
use crate::session::Session;

/// The spaces of a store, for one session. Clones are the same.
#[derive(Clone, Debug)]
pub struct Spaces {
    desks: Arc<Desks>,
    pub(super) owner: Option<(TaskId, Attempt)>,
}

/// Where the statements of a session are numbered: with each coordinator by itself.
#[derive(Debug)]
struct Desks {
    session: Session,
    by_part: Mutex<BTreeMap<Part, Arc<Slots>>>,
}

impl Spaces {
    /// Those of the session's store. Make one for a session, and clone that: it numbers the
    /// session's statements.
    pub fn new(session: Session) -> Self {
        let desks = Arc::new(Desks { session, by_part: Mutex::default() });
        Self { desks, owner: None }
    }

    /// The same; what is pulled belongs to a try of a task. When the task is done it is consumed,
    /// in the same commit; when the try ends otherwise it is there again. In a store of several
    /// parts a task has the spaces of its own part alone, as those of its queue (`NAME@QUEUE`).
    #[must_use]
    pub fn of_task(&self, task: TaskId, attempt: Attempt) -> Self {
        Self { owner: Some((task, attempt)), ..self.clone() }
    }

    /// The same; what is pulled belongs to the session.
    pub(super) fn of_session(&self) -> Self {
        Self { owner: None, ..self.clone() }
    }

    /// How many parts the store has.
    pub(super) async fn parts(&self) -> Result<u16, SpaceError> {
        Ok(self.desks.session.parts().await?)
    }

    /// Does a statement in one part.
    pub(super) async fn execute_in(
        &self,
        part: Part,
        statement: Statement,
    ) -> Result<Option<Vec<Matched>>, SpaceError> {
        let answer: Answer = self.slots(part).turn().await?.ask(statement).await?;
        answer_of(answer)
    }

    fn slots(&self, part: Part) -> Arc<Slots> {
        // Each change is whole.
        let mut by_part = self.desks.by_part.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(Slots::new(self.desks.session.clone(), part));
        Arc::clone(by_part.entry(part).or_insert_with(made))
    }
}
