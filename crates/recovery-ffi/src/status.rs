//! What a call answers: a number that is 0 if all went well, and a sentence for each.

use core::ffi::{CStr, c_char};

use tidings_recovery::{BeginError, FinishError};

/// What a call answers. Only `TIDINGS_RECOVERY_STATUS_OK` is 0. Where it is another, nothing was
/// done.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsRecoveryStatus {
    /// All went well.
    Ok = 0,
    /// A pointer that must not be null is null.
    Null = 1,
    /// There is no such participant, or a number of the configuration is out of its range.
    Configuration = 2,
    /// There is no room for an array.
    Array = 3,
    /// A phase is running.
    WithinPhase = 4,
    /// The others consider this participant dead.
    Expelled = 5,
    /// A plan has more tasks than can be numbered.
    TooMany = 6,
    /// No task runs here, or its round has ended: what it adds is dropped.
    OutsideTask = 7,
    /// The task has not declared that it adds to this block, or not so often.
    Undeclared = 8,
    /// What a task adds is not as long as the block.
    Length = 9,
    /// The task declares more than 255 outputs, or a block that no array has.
    Plan = 10,
    /// The block is lost.
    Lost = 11,
    /// Bytes are no message of a participant, or a text is not UTF-8.
    Malformed = 12,
    /// A call went wrong inside, a fault of the library; this participant does nothing any more.
    Broken = 13,
}

impl From<BeginError> for TidingsRecoveryStatus {
    fn from(error: BeginError) -> Self {
        match error {
            BeginError::WithinPhase => Self::WithinPhase,
            BeginError::Expelled => Self::Expelled,
            BeginError::TooMany(_) => Self::TooMany,
        }
    }
}

impl From<FinishError> for TidingsRecoveryStatus {
    fn from(error: FinishError) -> Self {
        match error {
            FinishError::OutsideTask => Self::OutsideTask,
            FinishError::Undeclared { .. } => Self::Undeclared,
            FinishError::Length { .. } => Self::Length,
            FinishError::Plan { .. } => Self::Plan,
        }
    }
}

/// A sentence that says what a status means. It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn tidings_recovery_status_text(status: u32) -> *const c_char {
    const TEXTS: [&CStr; 14] = [
        c"all went well",
        c"a pointer is null that must not be",
        c"no participant can run with this configuration",
        c"there is no room for this array: 131,072 words a block, 16,777,216 blocks of all arrays",
        c"a phase is running: wait for its end",
        c"the others consider this participant dead: restart it",
        c"a plan has at most 16,777,216 tasks",
        c"no task runs here, or its round has ended: what it adds is dropped",
        c"a task adds to a block and has not declared that: name the block in its outputs",
        c"what a task adds is not as long as the block",
        c"a task declares more than 255 outputs, or a block that no array has",
        c"the block is lost: set the array to zero and compute it again",
        c"these bytes are no message of a participant, or a text is not UTF-8",
        c"an earlier call went wrong inside: free the participant",
    ];
    TEXTS.get(status as usize).copied().unwrap_or(c"no status of this library").as_ptr()
}
