//! Large blobs by handle, as Python passes them.
//!
//! Python writes what is put into a file in memory, and maps the file of what it gets: so neither
//! is copied on its way through here.

use std::path::PathBuf;
use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidings_tasks::handles::{self, Handles};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::output::{Depot, SharedBlob};

use crate::client::task_of;
use crate::engine::Base;
use crate::requests::lock;

/// A handle: which bytes, and the node that has put them.
#[pyclass(frozen, eq, hash, name = "SharedBlob", from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Blob {
    hash: [u8; 32],
    bytes: u64,
    depot: u64,
    host: String,
}

#[pymethods]
impl Blob {
    #[new]
    fn new(hash: &[u8], bytes: u64, depot: u64, host: String) -> PyResult<Self> {
        let hash = hash.try_into();
        let hash = hash.map_err(|_| PyValueError::new_err("a hash has 32 bytes"))?;
        Ok(Self { hash, bytes, depot, host })
    }

    /// The SHA-256 of the bytes.
    #[getter]
    fn hash<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.hash)
    }

    /// How many they are.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.bytes
    }

    /// The number of the depot.
    #[getter]
    fn depot(&self) -> u64 {
        self.depot
    }

    /// The host that has put them.
    #[getter]
    fn host(&self) -> &str {
        &self.host
    }
}

impl From<&SharedBlob> for Blob {
    fn from(blob: &SharedBlob) -> Self {
        let Depot { id, host } = blob.depot.clone();
        Self { hash: blob.hash, bytes: blob.bytes, depot: id, host }
    }
}

impl From<&Blob> for SharedBlob {
    fn from(blob: &Blob) -> Self {
        let depot = Depot { id: blob.depot, host: blob.host.clone() };
        Self { hash: blob.hash, bytes: blob.bytes, depot }
    }
}

/// A blob that this process holds, until it is collected.
#[pyclass(frozen)]
pub(crate) struct Held(handles::Held);

#[pymethods]
impl Held {
    /// Its handle.
    #[getter]
    fn blob(&self) -> Blob {
        self.0.blob().into()
    }

    /// The file in memory that has its bytes.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    /// The bytes that came from another host for it.
    #[getter]
    fn moved_bytes(&self) -> u64 {
        self.0.moved_bytes()
    }
}

impl From<handles::Held> for Held {
    fn from(held: handles::Held) -> Self {
        Self(held)
    }
}

/// A blob that Python writes, into a file of its own.
#[pyclass(frozen)]
pub(crate) struct Draft(Mutex<Option<handles::Draft>>);

#[pymethods]
impl Draft {
    /// The file.
    #[getter]
    fn path(&self) -> PyResult<PathBuf> {
        let draft = lock(&self.0);
        draft.as_ref().map(|draft| draft.path().to_owned()).ok_or_else(finished)
    }

    /// Makes what is in the file a blob, with its hash or without.
    #[pyo3(signature = (is_hashed = true))]
    fn finish(&self, py: Python<'_>, is_hashed: bool) -> PyResult<Held> {
        let draft = lock(&self.0).take().ok_or_else(finished)?;
        let held = py.detach(|| if is_hashed { draft.finish() } else { draft.finish_unhashed() });
        held.map(Held).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

impl From<handles::Draft> for Draft {
    fn from(draft: handles::Draft) -> Self {
        Self(Mutex::new(Some(draft)))
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("the blob is finished")
}

/// Begins to share blobs of a store.
pub(crate) async fn begin(
    base: Base,
    session: tidings_tasks::session::Session,
) -> Result<Handles, String> {
    let address = base.member.address().clone();
    let folder = tokio::task::spawn_blocking(move || handles::usual(&address)).await;
    let folder = folder.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let begun = Handles::begin(&base.member, &session, &base.host, &folder).await;
    begun.map_err(|error| error.to_string())
}

/// The ids of tasks.
pub(crate) fn tasks_of(tasks: Vec<Vec<u8>>) -> PyResult<Vec<TaskId>> {
    tasks.into_iter().map(|task| task_of(&task)).collect()
}
