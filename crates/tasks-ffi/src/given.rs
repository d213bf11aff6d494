//! What a declared task is given where it is done, and what it has made.

use std::ptr;

use tidings_tasks::flow;

use crate::arguments::{all, place};
use crate::claim::{TidingsTasksClaim, claimed, ended};
use crate::collective::TidingsTasksBytes;
use crate::field::TidingsTasksField;
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::work::TidingsTasksResult;

/// Writes the arguments of a declared task; they are there until the claim is ended.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the others
/// are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_arguments(
    claim: *const TidingsTasksClaim,
    arguments: *mut *const TidingsTasksField,
    count: *mut usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (claimed, arguments, count) =
            unsafe { (claimed(claim)?, place("arguments", arguments)?, place("count", count)?) };
        (*arguments, *count) = (ptr::null(), 0);
        (*arguments, *count) = claimed.declared(|declared, _| {
            let fields = declared.arguments();
            Ok((fields.as_ptr(), fields.len()))
        })?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Writes what is in an instance that a declared task has. They are numbered from 0, in the order
/// in which they were appended. The bytes are there until the claim is ended; many are mapped, not
/// copied.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` or `tidings_tasks_work` and not ended; the others
/// are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_instance(
    claim: *const TidingsTasksClaim,
    number: usize,
    bytes: *mut *const u8,
    count: *mut usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (claimed, bytes, count) =
            unsafe { (claimed(claim)?, place("bytes", bytes)?, place("count", count)?) };
        (*bytes, *count) = (ptr::null(), 0);
        (*bytes, *count) = claimed.declared(|declared, engine| {
            let read = declared.instance(engine, number)?;
            Ok((read.as_ptr(), read.len()))
        })?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Sets the result of a function that does a declared task: the next versions of the instances that
/// it changes, in the order in which those were appended. They are copied. A task that changes one
/// or none may use `tidings_tasks_result` as well.
///
/// # Safety
/// `result` is what the function was called with; `versions` is null or has `count` values, each
/// of which has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_result(
    result: *mut TidingsTasksResult,
    versions: *const TidingsTasksBytes,
    count: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (result, made) = unsafe { (place("result", result)?, made(versions, count)?) };
        result.set(made);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Ends a claim of a declared task, as `tidings_tasks_complete`, with versions as
/// `tidings_tasks_flow_result` has them. If they are not as many as it changes, it has failed.
///
/// # Safety
/// `claim` is null, or from `tidings_tasks_claim` and was not ended: it is by this, whatever is
/// answered. `versions` is null or has `count` values, each of which has as many bytes as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_complete(
    claim: *mut TidingsTasksClaim,
    versions: *const TidingsTasksBytes,
    count: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    // SAFETY: as the caller promises.
    let call = || unsafe { ended(claim, made(versions, count)) };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// The result of a task that has made these versions.
///
/// # Safety
/// `versions` is null or has `count` values, each of which has as many bytes as it says.
unsafe fn made(versions: *const TidingsTasksBytes, count: usize) -> Result<Vec<u8>, Trouble> {
    // SAFETY: as the caller promises.
    let versions = unsafe { all("the versions", versions, count)? };
    // SAFETY: as the caller promises.
    let bytes = versions.iter().map(|one| unsafe { all("a version", one.start, one.count) });
    Ok(match bytes.collect::<Result<Vec<&[u8]>, _>>()?.as_slice() {
        [] => Vec::new(),
        several => flow::result(several),
    })
}
