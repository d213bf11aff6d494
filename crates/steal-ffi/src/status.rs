//! What a call answers: a number that is 0 if all went well, and a sentence for each.

use core::ffi::{CStr, c_char};

use tidings_steal::output::{BeginError, SpawnError};
use tidings_steal::trace::FileError;

/// What a call answers. Only `TIDINGS_STEAL_STATUS_OK` is 0. Where it is another, nothing was done.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsStealStatus {
    /// All went well.
    Ok = 0,
    /// A pointer that must not be null is null.
    Null = 1,
    /// There is no such worker, or a number of the configuration is out of its range.
    Configuration = 2,
    /// A task has more bytes than a slot holds.
    TooLarge = 3,
    /// No task runs here: tasks are spawned within a task.
    OutsideTask = 4,
    /// A phase is running.
    WithinPhase = 5,
    /// The others consider this worker dead.
    Expelled = 6,
    /// Bytes are no message of a worker, or a text is not UTF-8.
    Malformed = 7,
    /// A call went wrong inside, a fault of the library; this worker does nothing any more.
    Broken = 8,
    /// The worker does again what it did, and the task may neither spawn nor end before a message
    /// has come.
    Waits = 9,
    /// Bytes are no whole trace.
    Torn = 10,
    /// A trace is of another program or phase.
    OtherTrace = 11,
    /// A trace is of more workers, or of fewer.
    OtherWorkers = 12,
    /// No balancing has begun at this worker, or it is not at this step.
    Unbalanced = 13,
}

impl From<BeginError> for TidingsStealStatus {
    fn from(error: BeginError) -> Self {
        match error {
            BeginError::TooLarge(_) => Self::TooLarge,
            BeginError::WithinPhase => Self::WithinPhase,
            BeginError::Expelled => Self::Expelled,
        }
    }
}

impl From<SpawnError> for TidingsStealStatus {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::TooLarge(_) => Self::TooLarge,
            SpawnError::OutsideTask => Self::OutsideTask,
            SpawnError::Waits => Self::Waits,
        }
    }
}

impl From<FileError> for TidingsStealStatus {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Workers { .. } => Self::OtherWorkers,
            FileError::Program => Self::OtherTrace,
            FileError::Other
            | FileError::Version(_)
            | FileError::Cut(_)
            | FileError::Damaged
            | FileError::Torn { .. } => Self::Torn,
        }
    }
}

/// A sentence that says what a status means. It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn tidings_steal_status_text(status: u32) -> *const c_char {
    const TEXTS: [&CStr; 14] = [
        c"all went well",
        c"a pointer is null that must not be",
        c"no worker can run with this configuration",
        c"a task has more bytes than a slot holds: keep them in an array, and name them in the task",
        c"no task runs here: spawn within one of a phase",
        c"a phase is running: wait for its end",
        c"the others consider this worker dead: restart it",
        c"these bytes are no message of a worker, or a text is not UTF-8",
        c"an earlier call went wrong inside: free the worker",
        c"a task that runs again has to wait for a message: take some in",
        c"these bytes are no whole trace of this version: record it again",
        c"the trace is of another program or phase",
        c"the trace is of another number of workers: start as many",
        c"no balancing has begun here, or it is not at this step",
    ];
    TEXTS.get(status as usize).copied().unwrap_or(c"no status of this library").as_ptr()
}
