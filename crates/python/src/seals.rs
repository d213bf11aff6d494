//! Seals: pickles under the cluster's key, so that none is read that somebody else has made.
//!
//! To unpickle is to run what the writer wanted. In a store that several hosts reach, a pickle is
//! therefore sealed by who makes it, and opened before anything of it is read. What it is *about*,
//! such as the task whose call it is, is sealed with it: a pickle that is moved elsewhere, or is
//! passed off as something else, does not open.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | [`MARK`] |
//! | 28 | head: `data`, and a random nonce with the key's id |
//! | n | sealed: two bytes, the length of what it is about, little endian; that; the pickle |
//! | 16 | tag |

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tidings_primitives::KeyRing;
use tidings_primitives::nonce::KEY_ID_AT;
use tidings_primitives::seal::{HEAD_BYTES, NONCE_AT, TAG_BYTES, Unopened};

/// What begins with it is sealed. No pickle of this package and no JSON does.
const MARK: [u8; 8] = *b"\xffsealed\x01";

/// The head's first bytes: no frame of another protocol under the same key has them.
const HEAD: [u8; 4] = *b"data";

/// Where in a frame the sealed bytes begin.
const BODY_AT: usize = HEAD_BYTES;

/// Bytes of the length of what a pickle is about.
const LENGTH_BYTES: usize = 2;

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
        let Ok(length) = u16::try_from(about.len()) else {
            return Err(PyValueError::new_err("what data is about has at most 65,535 bytes"));
        };
        let mut frame = vec![0; BODY_AT];
        frame[..NONCE_AT].copy_from_slice(&HEAD);
        getrandom::fill(&mut frame[NONCE_AT..]).map_err(|error| {
            PyOSError::new_err(format!("the system gives no random bytes: {error}"))
        })?;
        frame[NONCE_AT + KEY_ID_AT] = self.0.sealing_id();
        frame.extend(length.to_le_bytes());
        frame.extend(about);
        frame.extend(data);
        frame.extend([0; TAG_BYTES]);
        self.0.seal(&mut frame);
        Ok(PyBytes::new(py, &[&MARK[..], &frame].concat()))
    }

    /// The data that was sealed; an error that says why it does not open.
    fn unseal<'py>(
        &self,
        py: Python<'py>,
        about: &[u8],
        sealed: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let opened = self.open(about, sealed).map_err(PyValueError::new_err)?;
        Ok(PyBytes::new(py, &opened))
    }
}

impl Seals {
    fn open(&self, about: &[u8], sealed: &[u8]) -> Result<Vec<u8>, &'static str> {
        let unsealed = "is not sealed with the cluster's key";
        let mut frame = sealed.strip_prefix(&MARK).ok_or(unsealed)?.to_vec();
        if frame.len() < BODY_AT || frame[..NONCE_AT] != HEAD {
            return Err(unsealed);
        }
        let body = self.0.unseal(&mut frame).map_err(|unopened| match unopened {
            Unopened::WrongKey => "is sealed with another key",
            Unopened::Damaged => "is sealed, and damaged or forged",
        })?;
        let moved = "was sealed for another place";
        let (length, rest) = body.split_first_chunk::<LENGTH_BYTES>().ok_or(moved)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (own, data) = rest.split_at_checked(length).ok_or(moved)?;
        if own == about { Ok(data.to_vec()) } else { Err(moved) }
    }
}

/// Whether data says of itself that it is sealed.
#[pyfunction]
pub(crate) fn is_sealed(data: &[u8]) -> bool {
    data.starts_with(&MARK)
}
