//! What a call answers: a number that is 0 if all went well, and what is wrong in words.

use core::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tidings_tasks::payloads::PayloadError;
use tidings_tasks::session::SessionEnded;
use tidings_tasks_core::message::{Answer, Refusal};

use crate::limits::TIDINGS_TASKS_ERROR_BYTES;

/// What a call answers. Only `TIDINGS_TASKS_STATUS_OK` is 0; after those up to
/// `TIDINGS_TASKS_STATUS_SUPERSEDED` a worker goes on.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsTasksStatus {
    /// All went well.
    Ok = 0,
    /// Time is up.
    Timeout = 1,
    /// What the process had is no longer its own: its session had ended, or the task is over. What
    /// it said does not count.
    Superseded = 2,
    /// An argument is not as it has to be. Nothing was done.
    Argument = 3,
    /// There is no such task or semaphore.
    NotFound = 4,
    /// The coordinator of the store, or the place for long payloads, has refused it.
    Refused = 5,
    /// The store cannot be had.
    Store = 6,
    /// It was opened by another process, before a fork: open the store in this one.
    Forked = 7,
    /// The call went wrong inside, which is a defect of the library.
    Broken = 8,
    /// A key is at another revision than was expected. Nothing was done.
    Changed = 9,
}

/// What is wrong, in words; empty if all went well.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksError {
    /// A text, cut if it is longer.
    pub text: [c_char; TIDINGS_TASKS_ERROR_BYTES],
}

/// Why a call was not done.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) status: TidingsTasksStatus,
    pub(crate) text: String,
}

impl Trouble {
    pub(crate) fn new(status: TidingsTasksStatus, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub(crate) fn argument(text: impl Into<String>) -> Self {
        Self::new(TidingsTasksStatus::Argument, text)
    }

    pub(crate) fn store(text: impl Into<String>) -> Self {
        Self::new(TidingsTasksStatus::Store, text)
    }

    pub(crate) fn timeout(what: &str) -> Self {
        Self::new(TidingsTasksStatus::Timeout, format!("time is up: {what}"))
    }

    /// An answer that no request of this kind has.
    pub(crate) fn answer(answer: &Answer) -> Self {
        Self::store(format!(
            "the process that holds the store answered what this program does not know \
             ({answer:?}): use programs of one version"
        ))
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        let status = match &refusal {
            Refusal::NoTask | Refusal::NoSemaphore => TidingsTasksStatus::NotFound,
            Refusal::Superseded | Refusal::NoSession => TidingsTasksStatus::Superseded,
            Refusal::Invalid(_) => TidingsTasksStatus::Argument,
            Refusal::EffectConflict(_) => TidingsTasksStatus::Changed,
            _ => TidingsTasksStatus::Refused,
        };
        Self::new(status, refusal.to_string())
    }
}

impl From<SessionEnded> for Trouble {
    fn from(error: SessionEnded) -> Self {
        Self::store(error.to_string())
    }
}

impl From<PayloadError> for Trouble {
    fn from(error: PayloadError) -> Self {
        match error {
            PayloadError::Ended(error) => error.into(),
            other => Self::new(TidingsTasksStatus::Refused, other.to_string()),
        }
    }
}

/// Does a call, and answers its status; what is wrong is written to `error`, unless that is null.
///
/// # Safety
/// `error` is null or valid.
pub(crate) unsafe fn answered(
    error: *mut TidingsTasksError,
    call: impl FnOnce() -> Result<(), Trouble>,
) -> TidingsTasksStatus {
    // What a panic leaves behind is guarded by locks, each of whose changes is whole.
    let done = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        let text = "the call went wrong inside: this is a defect of Tidings";
        Err(Trouble::new(TidingsTasksStatus::Broken, text))
    });
    let (status, text) = match done {
        Ok(()) => (TidingsTasksStatus::Ok, String::new()),
        Err(trouble) => (trouble.status, trouble.text),
    };
    // SAFETY: it is null or valid, as the caller promises.
    if let Some(error) = unsafe { error.as_mut() } {
        write(&text, &mut error.text);
    }
    status
}

/// Writes a text as C has it, cut where the room ends.
pub(crate) fn write(text: &str, room: &mut [c_char]) {
    let most = room.len().saturating_sub(1);
    let text = tidings_tasks_core::record::beginning(text, most);
    for (to, byte) in room.iter_mut().zip(text.bytes().chain([0])) {
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
        let mut error = TidingsTasksError { text: [1; TIDINGS_TASKS_ERROR_BYTES] };
        // SAFETY: it is valid.
        let status = unsafe { answered(&raw mut error, || panic!("on purpose")) };
        assert_eq!(status, TidingsTasksStatus::Broken);
        assert!(read(&error.text).contains("defect"));
    }
}
