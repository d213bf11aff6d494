//! Frames: what a worker and its runtime process tell each other, for the process's side.
//!
//! Python reads and writes the socket; here are the bytes. What comes is bounded by the length that
//! goes ahead of it, which Python checks against [`MAX_FRAME_BYTES`] before it reads on.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use tidings_tasks::runtime::{FromRuntime, Given, MAX_FRAME_BYTES, ToRuntime, Value};
use tidings_tasks_core::id::{Attempt, TaskId};
use tidings_tasks_core::record;

use crate::client::task_of;
use crate::items::{self, Item, Write};
use crate::tuples;

/// What a worker says: `("run", task, attempt, queue, body, inputs, is_ahead)`, each input a task
/// with its value, bytes or a part of a file, `(path, from, bytes)`; `("go",)`; or `("cancel",
/// task, attempt)` and `("withdraw", task, attempt)`; or `("slot", slot)`.
#[pyfunction]
pub(crate) fn decode<'py>(py: Python<'py>, frame: &[u8]) -> PyResult<Bound<'py, PyTuple>> {
    let said = minicbor::decode(frame).map_err(|error| {
        PyValueError::new_err(format!("a frame of the worker cannot be read: {error}"))
    })?;
    match said {
        ToRuntime::Run { task, attempt, queue, body, inputs, is_ahead, .. } => {
            let (task, body) = (bytes(py, task), PyBytes::new(py, &body));
            let inputs = inputs.into_iter().map(|input| given(py, input));
            let inputs = inputs.collect::<PyResult<Vec<_>>>()?;
            ("run", task, attempt.0, queue.as_str(), body, inputs, is_ahead).into_pyobject(py)
        }
        ToRuntime::Cancel { task, attempt } => {
            ("cancel", bytes(py, task), attempt.0).into_pyobject(py)
        }
        ToRuntime::Withdraw { task, attempt } => {
            ("withdraw", bytes(py, task), attempt.0).into_pyobject(py)
        }
        ToRuntime::Go {} => ("go",).into_pyobject(py),
        ToRuntime::Slot { slot } => ("slot", slot).into_pyobject(py),
    }
}

/// A task with its value.
fn given(py: Python<'_>, Given { task, value }: Given) -> PyResult<Bound<'_, PyTuple>> {
    let task = bytes(py, task);
    match value {
        Value::Here(value) => (task, PyBytes::new(py, &value)).into_pyobject(py),
        Value::File { path, from, bytes } => (task, (path, from, bytes)).into_pyobject(py),
    }
}

fn bytes(py: Python<'_>, task: TaskId) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &task.to_bytes())
}

/// The frame that says first that calls are taken, how many ahead, and that it can wait for a slot.
#[pyfunction]
pub(crate) fn ready(
    py: Python<'_>,
    runtime_version: String,
    ahead: u32,
) -> PyResult<Bound<'_, PyBytes>> {
    frame(py, &FromRuntime::Ready { runtime_version, ahead, can_wait: true })
}

/// The frame that says what a call has returned, and what goes into the same commit.
#[pyfunction]
pub(crate) fn done<'py>(
    py: Python<'py>,
    task: &[u8],
    attempt: u32,
    value: Vec<u8>,
    children: Vec<Item>,
    writes: Vec<Write>,
    puts: Vec<(String, Vec<Bound<'py, PyAny>>)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (task, attempt) = (task_of(task)?, Attempt(attempt));
    let (children, effects) = (items::submissions(children)?, items::effects(writes));
    let puts = tuples::puts(puts)?;
    frame(py, &FromRuntime::Done { task, attempt, value, children, effects, puts })
}

/// The frame that says how a call has failed, and whether its host is at fault.
#[pyfunction]
pub(crate) fn failed<'py>(
    py: Python<'py>,
    task: &[u8],
    attempt: u32,
    text: String,
    detail: Vec<u8>,
    is_of_host: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let (task, attempt) = (task_of(task)?, Attempt(attempt));
    frame(py, &FromRuntime::Failed { task, attempt, text, detail, is_of_host })
}

/// The frame that says how far a call is.
#[pyfunction]
pub(crate) fn progress<'py>(
    py: Python<'py>,
    task: &[u8],
    attempt: u32,
    thousandths: u16,
    text: String,
) -> PyResult<Bound<'py, PyBytes>> {
    let (task, attempt) = (task_of(task)?, Attempt(attempt));
    frame(py, &FromRuntime::Progress { task, attempt, thousandths, text })
}

/// The frame that says what the call has taken that is about to end: microseconds of processors,
/// bytes of memory and microseconds; and whether its output is to be read before the next one.
#[pyfunction]
pub(crate) fn spent<'py>(
    py: Python<'py>,
    task: &[u8],
    attempt: u32,
    taken: (u64, u64, u64),
    is_held: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let (cpu_us, peak_bytes, wall_us) = taken;
    let (task, attempt) = (task_of(task)?, Attempt(attempt));
    frame(py, &FromRuntime::Spent { task, attempt, cpu_us, peak_bytes, wall_us, is_held })
}

fn frame<'py>(py: Python<'py>, said: &FromRuntime) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = record::encode(said);
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= MAX_FRAME_BYTES);
    let Some(length) = length else {
        return Err(PyValueError::new_err(format!(
            "what a task returns has at most {MAX_FRAME_BYTES} bytes, not {}: write it to a file \
             and return its path",
            bytes.len()
        )));
    };
    PyBytes::new_with(py, 4 + bytes.len(), |into| {
        into[..4].copy_from_slice(&length.to_le_bytes());
        into[4..].copy_from_slice(&bytes);
        Ok(())
    })
}
