//! Options: how a task is tried, and what it may take; made once for a function, used by each call.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tidings_nodes::filter::Filter;
use tidings_tasks::work::{What, Work, WorkLimits};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{MAX_FILTER_BYTES, Submission};
use tidings_tasks_core::name::Name;
use tidings_tasks_core::output::MAX_COPIES;
use tidings_tasks_core::resources::{Need, NeedError};
use tidings_tasks_core::retry::Retry;

/// The name under which workers know the process that calls Python's functions, and of the
/// resource that those have who know it.
pub(crate) const RUNTIME: &str = "python";

/// What a mapping of Python has to have.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Fields {
    name: String,
    #[pyo3(from_py_with = name)]
    queue: Name,
    #[pyo3(from_py_with = name)]
    group: Name,
    priority: i16,
    delay_ms: u64,
    retries: u16,
    losses: u16,
    backoff_ms: u32,
    time_ms: u64,
    grace_ms: u64,
    need: String,
    filter: String,
    keep: bool,
    copies: u32,
}

/// How the calls of a function are done as tasks.
#[pyclass(frozen)]
pub(crate) struct Options {
    fields: Fields,
    need: Need,
}

#[pymethods]
impl Options {
    #[new]
    fn new(fields: Fields) -> PyResult<Self> {
        if fields.filter.len() > MAX_FILTER_BYTES {
            let text = format!("`where` has at most {MAX_FILTER_BYTES} bytes");
            return Err(PyValueError::new_err(text));
        }
        if !fields.filter.is_empty() {
            let read = Filter::parse(&fields.filter);
            read.map_err(|error| PyValueError::new_err(format!("`where`: {error}")))?;
        }
        if fields.copies > MAX_COPIES {
            let text = format!("`copies` is at most {MAX_COPIES}");
            return Err(PyValueError::new_err(text));
        }
        let need = with_python(&fields.need);
        let need = need.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { fields, need })
    }
}

/// A name; its copies in the tasks of a function are one text.
fn name(text: &Bound<'_, PyAny>) -> PyResult<Name> {
    text.extract::<String>().map(Name::from)
}

/// A need, and that of a worker that calls Python's functions.
fn with_python(need: &str) -> Result<Need, NeedError> {
    let need = need.parse::<Need>()?;
    if need.of(RUNTIME) > 0 {
        return Ok(need);
    }
    let python = (RUNTIME, 1_000);
    Need::new(need.iter().chain([python]).map(|(name, amount)| (name.to_owned(), amount)))
}

impl Options {
    /// Whether the record of a task stays when its outcome was told.
    pub(crate) fn keep(&self) -> bool {
        self.fields.keep
    }

    /// Whether a result may be lost, and made again.
    pub(crate) fn may_come_again(&self) -> bool {
        self.fields.copies > 0
    }

    /// The task that makes a call, which reads what others return.
    pub(crate) fn submission(&self, id: TaskId, body: Vec<u8>, inputs: Vec<TaskId>) -> Submission {
        let of = &self.fields;
        let limits =
            WorkLimits { time_ms: of.time_ms, grace_ms: of.grace_ms, ..WorkLimits::default() };
        let (runtime, read) = (RUNTIME.to_owned(), inputs.clone());
        let what = What::Call { runtime, code: None, body, inputs: read };
        let work = Work { name: of.name.clone(), what, limits };
        Submission {
            group: of.group.clone(),
            priority: of.priority,
            delay_ms: of.delay_ms,
            retry: self.retry(),
            need: self.need.clone(),
            filter: of.filter.clone(),
            inputs,
            copies: of.copies,
            ..Submission::new(id, of.queue.clone(), work.to_payload())
        }
    }

    /// What fails by itself is tried as often as its function is to be; what is not its fault at
    /// least as often as by default.
    fn retry(&self) -> Retry {
        let (of, least) = (&self.fields, Retry::default());
        Retry {
            errors: of.retries,
            exits: of.retries,
            signals: of.retries.max(least.signals),
            memory: of.retries.max(least.memory),
            times: of.retries,
            losses: of.losses,
            backoff_ms: of.backoff_ms,
        }
    }
}
