//! What a call answers: a number that is 0 if all went well, and what is wrong in words.

use core::ffi::c_char;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use tidings_steal_host::{ArrayError, CreateError, JoinError, PhaseError, SpawnError};

/// What a call answers. Only `TIDINGS_HOST_STATUS_OK` is 0.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsHostStatus {
    /// All went well.
    Ok = 0,
    /// An argument is not as it has to be. Nothing was done.
    Argument = 1,
    /// The segment, the array or the file cannot be made, or not be joined.
    Refused = 2,
    /// A task exceeds a slot, names no function, or was spawned after its task had ended its step.
    /// It was not added; all others ran.
    Task = 3,
    /// Workers have ended, and what they had is missing. The rest has run; the others can go on.
    Lost = 4,
    /// Others do not come, or come for something else, or this worker has left before: it takes
    /// part no more.
    Ended = 5,
    /// The call went wrong inside, a defect of the library: this worker takes part no more.
    Broken = 6,
}

/// Bytes of a text.
pub const TIDINGS_HOST_ERROR_BYTES: usize = 512;

/// What is wrong, in words; empty if all went well.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsHostError {
    /// A text, cut if it is longer.
    pub text: [c_char; TIDINGS_HOST_ERROR_BYTES],
}

/// Why a call was not done.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) status: TidingsHostStatus,
    text: String,
}

impl Trouble {
    fn new(status: TidingsHostStatus, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(TidingsHostStatus::Argument, text)
    }

    pub(crate) fn task(text: impl Into<String>) -> Self {
        Self::new(TidingsHostStatus::Task, text)
    }

    pub(crate) fn file(path: &Path, why: &io::Error) -> Self {
        Self::new(TidingsHostStatus::Refused, format!("{}: {why}", path.display()))
    }

    pub(crate) fn broken() -> Self {
        Self::new(
            TidingsHostStatus::Broken,
            "a call went wrong inside: this is a defect of Tidings",
        )
    }
}

impl From<CreateError> for Trouble {
    fn from(error: CreateError) -> Self {
        Self::new(TidingsHostStatus::Refused, error.to_string())
    }
}

impl From<JoinError> for Trouble {
    fn from(error: JoinError) -> Self {
        Self::new(TidingsHostStatus::Refused, error.to_string())
    }
}

impl From<SpawnError> for Trouble {
    fn from(error: SpawnError) -> Self {
        Self::task(error.to_string())
    }
}

impl From<PhaseError> for Trouble {
    fn from(error: PhaseError) -> Self {
        let status = match &error {
            PhaseError::List { .. } | PhaseError::Rest { .. } => TidingsHostStatus::Task,
            PhaseError::Lost(_) => TidingsHostStatus::Lost,
            PhaseError::Shelf { .. } => TidingsHostStatus::Argument,
            PhaseError::Alone { .. }
            | PhaseError::Different { .. }
            | PhaseError::Corrupt { .. }
            | PhaseError::Ended => TidingsHostStatus::Ended,
        };
        Self::new(status, error.to_string())
    }
}

impl From<ArrayError> for Trouble {
    fn from(error: ArrayError) -> Self {
        match error {
            ArrayError::Phase(error) => error.into(),
            ArrayError::Full { .. } | ArrayError::Io { .. } => {
                Self::new(TidingsHostStatus::Refused, error.to_string())
            }
            other => Self::argument(other.to_string()),
        }
    }
}

/// Does a call, and answers its status; what is wrong is written to `error`, unless that is null.
///
/// # Safety
/// `error` is null or valid.
pub(crate) unsafe fn answered(
    error: *mut TidingsHostError,
    call: impl FnOnce() -> Result<(), Trouble>,
) -> TidingsHostStatus {
    // A host whose call panicked does nothing any more; all else is as it was.
    let done = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(Trouble::broken()));
    let (status, text) = match done {
        Ok(()) => (TidingsHostStatus::Ok, String::new()),
        Err(trouble) => (trouble.status, trouble.text),
    };
    // SAFETY: it is null or valid, as the caller promises.
    if let Some(error) = unsafe { error.as_mut() } {
        write(&text, &mut error.text);
    }
    status
}

/// Writes a text as C has it, cut between two characters where the room ends.
fn write(text: &str, room: &mut [c_char]) {
    let most = room.len().saturating_sub(1).min(text.len());
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    for (to, byte) in room.iter_mut().zip(text.bytes().take(end).chain([0])) {
        *to = byte as c_char;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(room: &[c_char]) -> String {
        let bytes = room.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8);
        String::from_utf8(bytes.collect()).unwrap()
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let mut room = [1; 4];
        write("aé€", &mut room);
        assert_eq!(read(&room), "aé");
        write("", &mut room);
        assert_eq!(read(&room), "");
    }

    #[test]
    fn a_panic_does_not_leave_a_call() {
        let mut error = TidingsHostError { text: [1; TIDINGS_HOST_ERROR_BYTES] };
        // SAFETY: it is valid.
        let status = unsafe { answered(&raw mut error, || panic!("on purpose")) };
        assert_eq!(status, TidingsHostStatus::Broken);
        assert!(read(&error.text).contains("defect"));
    }
}
