//! Items: data for queues, and writes of keys, as Python passes them.

use minicbor::bytes::ByteVec;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidings_tasks::items as claimed;
use tidings_tasks_core::message::{Effect, Submission};
use tidings_tasks_core::retry::Retry;

use crate::client::task_of;

/// An item of data for a queue; a mapping of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Item {
    /// The task's id.
    task: Vec<u8>,
    queue: String,
    data: Vec<u8>,
    group: String,
    priority: i16,
    delay_ms: u64,
    /// How often it is tried again after a failure.
    retries: u16,
}

impl Item {
    /// The task that somebody claims.
    pub(crate) fn submission(self) -> PyResult<Submission> {
        let id = task_of(&self.task)?;
        let retry = Retry { errors: self.retries, exits: self.retries, ..Retry::default() };
        Ok(Submission {
            group: self.group.into(),
            priority: self.priority,
            delay_ms: self.delay_ms,
            retry,
            need: claimed::need(),
            ..Submission::new(id, self.queue, self.data)
        })
    }
}

/// The tasks of some items.
pub(crate) fn submissions(items: Vec<Item>) -> PyResult<Vec<Submission>> {
    items.into_iter().map(Item::submission).collect()
}

/// A key, its new value if it is to have one, and the revision that is expected of it.
#[derive(FromPyObject)]
pub(crate) struct Write(Vec<u8>, Option<Vec<u8>>, Option<u64>);

/// The effects of some writes.
pub(crate) fn effects(writes: Vec<Write>) -> Vec<Effect> {
    let effect =
        |Write(key, value, expect)| Effect { key, value: value.map(ByteVec::from), expect };
    writes.into_iter().map(effect).collect()
}

/// The id of the child of a task with this number.
#[pyfunction]
pub(crate) fn child_id<'py>(
    py: Python<'py>,
    task: &[u8],
    number: u64,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &task_of(task)?.child(number).to_bytes()))
}

/// The id of the item of a queue with this key.
#[pyfunction]
pub(crate) fn item_id<'py>(py: Python<'py>, queue: &str, key: &str) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &claimed::id(queue, key).to_bytes())
}
