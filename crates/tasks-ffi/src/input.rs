//! What a task reads of those that it has waited for.

use std::ptr;

use crate::arguments::{place, value};
use crate::claim::{Claimed, TidingsTasksClaim};
use crate::status::{TidingsTasksError, TidingsTasksStatus, answered};

/// Writes what an input of a task has come to: its result, what a call of Python has returned, or
/// what a command has printed. Inputs are numbered from 0, as in the submission, each once. The
/// bytes are there until the claim is ended; many are mapped, not copied.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the others
/// are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_input(
    claim: *const TidingsTasksClaim,
    number: usize,
    bytes: *mut *const u8,
    count: *mut usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: it is null, or points to the first field of a `Claimed`; the rest is as the
        // caller promises.
        let (claimed, bytes, count) = unsafe {
            let claimed = value("the claim", claim.cast::<Claimed>())?;
            (claimed, place("bytes", bytes)?, place("count", count)?)
        };
        (*bytes, *count) = (ptr::null(), 0);
        (*bytes, *count) = claimed.input(number)?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}
