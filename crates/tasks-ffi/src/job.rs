//! Jobs: what the payload of a claimed task says, and what a declared task is given.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tidings_tasks::flow::{self, FlowError, Job, Value};
use tidings_tasks::inputs::InputError;
use tidings_tasks::queue::QueueError;
use tidings_tasks::work::{What, Work};

use crate::engine::Engine;
use crate::field::{Kept, TidingsTasksField};
use crate::status::{TidingsTasksStatus, Trouble};
use crate::submission::RUNTIME;

/// What a payload says is to be done.
#[derive(Debug)]
pub(crate) struct Told {
    /// The function, if it names one.
    pub(crate) function: Option<String>,
    /// What that is given, if it was not declared.
    pub(crate) payload: Vec<u8>,
    /// What that is given, if it was.
    pub(crate) declared: Option<Declared>,
}

/// What a declared task is given.
#[derive(Debug)]
pub(crate) struct Declared {
    job: Job,
    fields: Vec<TidingsTasksField>,
    /// What the fields point to.
    _kept: Vec<Kept>,
    /// What was read.
    values: BTreeMap<usize, Value>,
}

impl Told {
    /// What a payload says.
    ///
    /// # Errors
    /// It is that of a declared task and cannot be read; says why.
    pub(crate) fn of(payload: Vec<u8>) -> Result<Self, String> {
        if let Some(job) = Job::from_payload(&payload)? {
            let function = Some(job.function.clone());
            let declared = Some(Declared::of(job));
            return Ok(Self { function, payload: Vec::new(), declared });
        }
        Ok(match Work::from_payload(&payload) {
            Ok(Work { name, what: What::Call { runtime, body, .. }, .. }) if runtime == RUNTIME => {
                Self { function: Some(name), payload: body, declared: None }
            }
            _ => Self { function: None, payload, declared: None },
        })
    }
}

impl Declared {
    fn of(job: Job) -> Self {
        let shown = job.body.arguments.iter().map(TidingsTasksField::shown);
        let (fields, kept): (Vec<_>, Vec<_>) = shown.unzip();
        let kept = kept.into_iter().flatten().collect();
        Self { job, fields, _kept: kept, values: BTreeMap::new() }
    }

    /// Its arguments.
    pub(crate) fn arguments(&self) -> &[TidingsTasksField] {
        &self.fields
    }

    /// What is in an instance that it has, read once.
    pub(crate) fn instance(&mut self, engine: &Engine, number: usize) -> Result<&[u8], Trouble> {
        let Some(one) = self.job.body.instances.get(number) else {
            let count = self.job.body.instances.len();
            let text = format!("the task has {count} instances: there is no number {number}");
            return Err(Trouble::argument(text));
        };
        Ok(match self.values.entry(number) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(place) => {
                let (session, payloads) = (&engine.session, &engine.payloads);
                let read = flow::read(session, payloads, &one.version, || one.to_string());
                place.insert(engine.wait(read)?)
            }
        })
    }

    /// Whether a result has all that it changes.
    ///
    /// # Errors
    /// It has not; says what is missing.
    pub(crate) fn check(&self, result: &[u8]) -> Result<(), String> {
        self.job.check(result)
    }
}

impl From<FlowError> for Trouble {
    fn from(error: FlowError) -> Self {
        let text = error.to_string();
        let status = match error {
            FlowError::Queue(error) => return error.into(),
            FlowError::Input { source: InputError::Ended(_), .. } => TidingsTasksStatus::Store,
            FlowError::Input { .. } | FlowError::Result { .. } => TidingsTasksStatus::Refused,
            _ => TidingsTasksStatus::Argument,
        };
        Self::new(status, text)
    }
}

impl From<QueueError> for Trouble {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::Ended(error) => error.into(),
            QueueError::Payload(error) => error.into(),
            QueueError::Refused(refusal) => refusal.into(),
            QueueError::Input(error) => error.into(),
            QueueError::Answer(answer) => Self::answer(&answer),
            other @ (QueueError::Failed { .. } | QueueError::Cancelled(_)) => {
                Self::new(TidingsTasksStatus::Refused, other.to_string())
            }
        }
    }
}
