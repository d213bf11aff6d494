//! Limits: of times, texts and numbers.

/// No limit of time.
pub const TIDINGS_TASKS_FOREVER: u64 = u64::MAX;

/// Any revision of a key.
pub const TIDINGS_TASKS_ANY: u64 = u64::MAX;

/// The bytes of an error's text, with the zero at its end.
pub const TIDINGS_TASKS_ERROR_BYTES: usize = 512;

/// The bytes of a task's id as text, with the zero at its end.
pub const TIDINGS_TASKS_ID_TEXT_BYTES: usize = 33;

/// The most tasks of one call.
pub const TIDINGS_TASKS_MAX: usize = 1000;

// cbindgen evaluates no path, so the number stands here as such.
const _: () = assert!(
    TIDINGS_TASKS_MAX == tidings_tasks_core::message::MAX_TASKS,
    "the header says another number than the core"
);
