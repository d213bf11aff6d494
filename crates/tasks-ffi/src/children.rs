//! What a completion writes beside its result: tasks and keys, once, however often a task is tried.

use core::ffi::c_char;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{MAX_EFFECTS, MAX_TASKS};

use crate::arguments::value;
use crate::claim::{TidingsTasksClaim, claimed};
use crate::keys::effect;
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::submission::TidingsTasksSubmission;

/// Adds a task that is submitted if this one is completed, in the same commit: once, however often
/// this one is tried. At most `TIDINGS_TASKS_MAX`. An id of zeros stands for one that follows from
/// this task and the number of those that were added before.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the others
/// are null or valid, and so are the pointers of the submission.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_child(
    claim: *const TidingsTasksClaim,
    submission: *const TidingsTasksSubmission,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (claimed, mut child) =
            unsafe { (claimed(claim)?, value("the submission", submission)?.read()?) };
        let children = &mut claimed.with()?.children;
        if children.len() >= MAX_TASKS {
            let text =
                format!("a task has at most {MAX_TASKS} children: let some of them add more");
            return Err(Trouble::argument(text));
        }
        if child.id == TaskId::from_bytes([0; 16]) {
            child.id = claimed.task().child(children.len() as u64);
        }
        children.push(child);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Adds a write of a key that is done if this task is completed, in the same commit: as
/// `tidings_tasks_set`. At most 64. If a key is at another revision than is expected, the
/// completion answers `TIDINGS_TASKS_STATUS_CHANGED`, and the task has failed by that.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; `bytes` is
/// null or has `count` bytes; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_effect(
    claim: *const TidingsTasksClaim,
    key: *const c_char,
    bytes: *const u8,
    count: usize,
    expect: u64,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (claimed, effect) = unsafe { (claimed(claim)?, effect(key, bytes, count, expect)?) };
        let effects = &mut claimed.with()?.effects;
        if effects.len() >= MAX_EFFECTS {
            return Err(Trouble::argument(format!("a task writes at most {MAX_EFFECTS} keys")));
        }
        effects.push(effect);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}
