//! Seals of Python: pickles under the cluster's key, as [`tidings_tasks_core::seal`] makes them.

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidings_primitives::{KeyRing, nonce};
use tidings_tasks_core::seal;

/// The keys of a key file.
///
/// # Errors
/// It cannot be read, or holds no keys; in words that name the file.
pub(crate) fn ring(path: &str) -> Result<KeyRing, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("key file {path}: {error}"))?;
    KeyRing::parse(&text).map_err(|error| format!("key file {path}: {error}"))
}

/// What seals and opens.
#[pyclass(frozen)]
pub(crate) struct Seals(KeyRing);

#[pymethods]
impl Seals {
    #[new]
    fn new(path: &str) -> PyResult<Self> {
        ring(path).map(Self).map_err(PyValueError::new_err)
    }

    /// Seals data that is about something of at most 65,535 bytes.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        about: &[u8],
        data: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut nonce = [0; nonce::BYTES];
        getrandom::fill(&mut nonce).map_err(|error| {
            PyOSError::new_err(format!("the system gives no random bytes: {error}"))
        })?;
        let sealed = seal::seal(&self.0, nonce, about, data);
        let sealed = sealed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &sealed))
    }

    /// The data that was sealed; an error that says why it does not open.
    fn unseal<'py>(
        &self,
        py: Python<'py>,
        about: &[u8],
        sealed: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let opened = seal::open(&self.0, about, sealed);
        let opened = opened.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &opened))
    }
}

/// Whether data says of itself that it is sealed.
#[pyfunction]
pub(crate) fn is_sealed(data: &[u8]) -> bool {
    seal::is_sealed(data)
}
