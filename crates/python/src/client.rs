//! The client: what Python's executor calls, from any of its threads.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use tidings_tasks::usual;
use tidings_tasks::work::MAX_WORK_BYTES;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::record::Failure;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;

use crate::engine::{Base, Engine};
use crate::options::Options;
use crate::outcome::{End, Obstacle, Outcome};
use crate::place::Setup;
use crate::requests::Command;

/// The id with these bytes.
pub(crate) fn task_of(bytes: &[u8]) -> PyResult<TaskId> {
    let bytes = bytes.try_into();
    bytes.map(TaskId::from_bytes).map_err(|_| PyValueError::new_err("a task's id is 16 bytes"))
}

/// The id of task number `index` of what is called `name`.
#[pyfunction]
pub(crate) fn task_id<'py>(py: Python<'py>, name: &str, index: u64) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &TaskId::of(name, index).to_bytes())
}

/// The address of the store that all programs of this user find where none is named.
#[pyfunction]
pub(crate) fn usual_store() -> PyResult<String> {
    let address = usual::store().map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok(address.to_string())
}

/// This process among those that use a store: it submits tasks, waits for them, and does some.
#[pyclass(frozen)]
pub(crate) struct Client(Engine);

#[pymethods]
impl Client {
    /// Takes part in a store. Returns once somebody serves it.
    #[new]
    fn new(py: Python<'_>, setup: Setup) -> PyResult<Self> {
        py.detach(|| Engine::begin(setup)).map(Self).map_err(PyRuntimeError::new_err)
    }

    /// Submits a call, which reads what tasks that are held return: it holds them from now on.
    /// Waits while the store has no room for more.
    #[pyo3(signature = (task, body, options, inputs = Vec::new()))]
    fn submit(
        &self,
        py: Python<'_>,
        task: &[u8],
        body: Vec<u8>,
        options: &Options,
        inputs: Vec<Vec<u8>>,
    ) -> PyResult<()> {
        let task = task_of(task)?;
        let inputs: Vec<TaskId> =
            inputs.into_iter().map(|input| task_of(&input)).collect::<PyResult<_>>()?;
        let submission = options.submission(task, body, inputs.clone());
        if submission.payload.len() > MAX_WORK_BYTES {
            return Err(PyValueError::new_err(format!(
                "a call has at most {MAX_WORK_BYTES} bytes with its arguments, not {}: put what is \
                 large by `tidings.tasks.put` and pass the handle, or write it to a file and pass \
                 its path",
                submission.payload.len()
            )));
        }
        self.0.holds().begin(task, options.keep(), options.may_come_again(), inputs);
        // The lock of the interpreter is given back only if there is something to wait for.
        let taken = match self.0.try_ask(Command::Submit(submission.into())) {
            Ok(()) => true,
            Err(TrySendError::Full(command)) => py.detach(|| self.0.ask(command)),
            Err(TrySendError::Closed(_)) => false,
        };
        taken.then_some(()).ok_or_else(|| PyRuntimeError::new_err("the executor has ended"))
    }

    /// Keeps the record of a task that was submitted until it is released; whether it is there.
    fn hold(&self, task: &[u8]) -> PyResult<bool> {
        Ok(self.0.holds().hold(task_of(task)?))
    }

    /// Each of some tasks is held once less.
    fn release(&self, py: Python<'_>, tasks: Vec<Vec<u8>>) -> PyResult<()> {
        let mut over = Vec::new();
        for task in tasks {
            over.append(&mut self.0.holds().release(task_of(&task)?));
        }
        if !over.is_empty() {
            // At its end it takes no more; then the records stay.
            py.detach(|| self.0.ask(Command::Forget(over)));
        }
        Ok(())
    }

    /// Brings the result of a task that has left it where it is: `take` tells it.
    fn fetch(&self, py: Python<'_>, task: &[u8]) -> PyResult<()> {
        let fetch = Command::Fetch(task_of(task)?);
        let taken = py.detach(|| self.0.ask(fetch));
        taken.then_some(()).ok_or_else(|| PyRuntimeError::new_err("the executor has ended"))
    }

    /// Ends the worker and its processes. What is there can still be had.
    fn rest(&self, py: Python<'_>) {
        let (sender, told) = oneshot::channel();
        // One that has ended has no worker.
        py.detach(|| self.0.ask(Command::Rest(sender)) && told.blocking_recv().is_ok());
    }

    /// Nobody wants a task any more.
    fn cancel(&self, py: Python<'_>, task: &[u8]) -> PyResult<()> {
        let task = task_of(task)?;
        // One that has ended has cancelled all that it can.
        py.detach(|| self.0.ask(Command::Cancel(task)));
        Ok(())
    }

    /// Takes a task back that no worker has; whether there was one to take.
    fn withdraw(&self, py: Python<'_>, task: &[u8]) -> PyResult<bool> {
        let (sender, told) = oneshot::channel();
        let withdraw = Command::Withdraw(task_of(task)?, sender);
        Ok(py.detach(|| self.0.ask(withdraw) && told.blocking_recv().unwrap_or(false)))
    }

    /// Whether a worker of this process does a task now.
    fn running(&self, task: &[u8]) -> PyResult<bool> {
        Ok(self.0.is_running(task_of(task)?))
    }

    /// How tasks have ended, as soon as some have: `(task, kind, what)` each. Nothing, when it was
    /// woken, and from its end on.
    fn take<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let outcomes = py.detach(|| self.0.take());
        outcomes.into_iter().map(|outcome| told(py, outcome)).collect()
    }

    /// Where other hosts reach this process, if it holds the store and listens.
    fn endpoint(&self) -> Option<String> {
        self.0.base().member.reached().map(|at| at.to_string())
    }

    /// Lets `take` return.
    fn wake(&self, py: Python<'_>) {
        py.detach(|| self.0.wake());
    }

    /// Ends: the worker, its processes and the session.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

impl Client {
    /// What sessions are opened with.
    pub(crate) fn base(&self) -> &Base {
        self.0.base()
    }
}

/// An outcome as a tuple of Python: task, kind and what it is, or what was fetched.
fn told(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyTuple>> {
    let task = PyBytes::new(py, &outcome.task.to_bytes());
    let (kind, what) = match outcome.end {
        End::Done(value) => ("done", PyBytes::new(py, &value).into_any()),
        End::Left => ("left", py.None().into_bound(py)),
        End::Failed(failures) => {
            let failures: Vec<_> = failures.into_iter().map(|of| failure(py, of)).collect();
            ("failed", failures.into_pyobject(py)?.into_any())
        }
        End::Cancelled => ("cancelled", py.None().into_bound(py)),
        End::Refused(reason) => ("refused", reason.into_pyobject(py)?.into_any()),
        End::Unfit(obstacle) => ("unfit", unfit(py, *obstacle)?.into_any()),
        End::Fits(kind) => ("fits", kind.into_pyobject(py)?.into_any()),
    };
    if outcome.is_fetched {
        return (task, "fetched", (kind, what)).into_pyobject(py);
    }
    (task, kind, what).into_pyobject(py)
}

/// Kind, queue and filter; what the workers of the queue lack, if there are any; and what those say
/// that wait for space, with their hosts.
fn unfit(py: Python<'_>, obstacle: Obstacle) -> PyResult<Bound<'_, PyTuple>> {
    let Obstacle { kind, queue, filter, mut unfit } = obstacle;
    let full = unfit.as_mut().map(|of| std::mem::take(&mut of.full)).unwrap_or_default();
    let unfit = unfit.map(|of| (of.workers, of.lacks, of.is_filtered, of.board));
    (kind, queue, filter, unfit, full).into_pyobject(py)
}

/// Attempt, cause, text, host and detail.
fn failure(py: Python<'_>, of: Failure) -> (u32, String, String, String, Bound<'_, PyBytes>) {
    let cause = format!("{:?}", of.cause).to_lowercase();
    (of.attempt.0, cause, of.text, of.host.into(), PyBytes::new(py, &of.detail))
}
