//! The inputs of a claim: which there are, and what was read of them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tidings_tasks::inputs::{self, Content, InputError};
use tidings_tasks_core::id::TaskId;

use crate::engine::Engine;
use crate::status::{TidingsTasksStatus, Trouble};

/// The inputs of a claim, as far as they were asked for. What was read stays where it is.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// Which there are, once that was asked.
    tasks: Option<Vec<TaskId>>,
    read: BTreeMap<usize, Content>,
}

impl Inputs {
    /// What input number `number` of a task has come to.
    pub(crate) fn read(
        &mut self,
        engine: &Engine,
        task: TaskId,
        number: usize,
    ) -> Result<&[u8], Trouble> {
        let tasks = match &mut self.tasks {
            Some(tasks) => tasks,
            unknown @ None => unknown.insert(engine.wait(inputs::of(&engine.session, task))?),
        };
        let Some(&input) = tasks.get(number) else {
            let text = format!("the task has {} inputs: there is no number {number}", tasks.len());
            return Err(Trouble::argument(text));
        };
        Ok(match self.read.entry(number) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => {
                let content = inputs::read(&engine.session, &engine.payloads, input);
                place.insert(engine.wait(content)?)
            }
        })
    }
}

impl From<InputError> for Trouble {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Refused(refusal) => refusal.into(),
            InputError::Payload(error) => error.into(),
            InputError::Ended(error) => error.into(),
            InputError::Answer(answer) => Self::answer(&answer),
            other @ (InputError::NotDone | InputError::Cut { .. } | InputError::Gone { .. }) => {
                Self::new(TidingsTasksStatus::Refused, other.to_string())
            }
        }
    }
}
