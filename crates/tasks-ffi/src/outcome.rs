//! How a task has ended.

use core::ffi::c_char;
use std::ptr;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::Answer;
use tidings_tasks_core::record::{Finished, Outcome};

use crate::arguments::{place, value, wait};
use crate::engine::Engine;
use crate::limits::TIDINGS_TASKS_ERROR_BYTES;
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered, write};
use crate::submission::TidingsTasksId;
use crate::tasks::{TidingsTasks, engine};

/// How a task has ended.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TidingsTasksEnd {
    /// With a result.
    Done = 0,
    /// By its last failure.
    Failed = 1,
    /// Nobody wants it.
    Cancelled = 2,
}

/// The end of a task.
#[repr(C)]
#[derive(Debug)]
pub struct TidingsTasksOutcome {
    /// How.
    pub end: TidingsTasksEnd,
    /// How often it was tried.
    pub attempts: u32,
    /// Its result, which `tidings_tasks_outcome_free` gives back; null if it has none.
    pub result: *mut u8,
    /// How many bytes that is.
    pub result_bytes: usize,
    /// The last failure in words, if it has failed; cut if it is longer.
    pub failure: [c_char; TIDINGS_TASKS_ERROR_BYTES],
}

impl TidingsTasksOutcome {
    fn of(finished: Finished) -> Self {
        let (end, result) = match finished.outcome {
            Outcome::Done(result) => (TidingsTasksEnd::Done, result),
            Outcome::Failed => (TidingsTasksEnd::Failed, Vec::new()),
            Outcome::Cancelled => (TidingsTasksEnd::Cancelled, Vec::new()),
        };
        let mut failure = [0; TIDINGS_TASKS_ERROR_BYTES];
        if let Some(last) = finished.task.failures.last() {
            write(&last.text, &mut failure);
        }
        Self { failure, ..Self::with(end, finished.task.attempt.0, result) }
    }

    fn with(end: TidingsTasksEnd, attempts: u32, result: Vec<u8>) -> Self {
        let result_bytes = result.len();
        let result = match result_bytes {
            0 => ptr::null_mut(),
            _ => Box::into_raw(result.into_boxed_slice()).cast(),
        };
        let failure = [0; TIDINGS_TASKS_ERROR_BYTES];
        Self { end, attempts, result, result_bytes, failure }
    }

    /// Writes bytes that are no task's result as one.
    ///
    /// # Safety
    /// As [`TidingsTasksOutcome::put`].
    pub(crate) unsafe fn put_bytes(bytes: Vec<u8>, outcome: *mut Self) -> Result<(), Trouble> {
        if outcome.is_null() {
            return Err(Trouble::argument("outcome is null"));
        }
        // SAFETY: it is not null, and valid, as the caller promises.
        unsafe { outcome.write(Self::with(TidingsTasksEnd::Done, 0, bytes)) };
        Ok(())
    }

    /// Writes how a task has ended.
    ///
    /// # Safety
    /// `outcome` is null or valid; what is there may be nothing.
    pub(crate) unsafe fn put(finished: Finished, outcome: *mut Self) -> Result<(), Trouble> {
        if outcome.is_null() {
            return Err(Trouble::argument("outcome is null"));
        }
        // SAFETY: it is not null, and valid, as the caller promises.
        unsafe { outcome.write(Self::of(finished)) };
        Ok(())
    }
}

/// How a task has ended, once it has.
pub(crate) fn ended(engine: &Engine, task: TaskId, timeout_ms: u64) -> Result<Finished, Trouble> {
    let on = || engine.waits.on(&engine.session, &engine.payloads, task);
    let mut known = engine.inside(on);
    let told = async {
        // Its sender is dropped before it has told when the store is closed.
        known.wait_for(Option::is_some).await.ok().and_then(|ended| ended.clone())
    };
    let told = engine
        .within(wait(timeout_ms), told)
        .ok_or_else(|| Trouble::timeout("the task has not ended"))?;
    engine.waits.forget(task);
    let told = told.ok_or_else(|| Trouble::store("the store was closed"))?;
    match &*told {
        Ok(Answer::Outcome(finished)) => Ok((**finished).clone()),
        Ok(Answer::Refused(refusal)) => Err(refusal.clone().into()),
        Ok(other) => Err(Trouble::answer(other)),
        Err(error) => Err(Trouble::new(TidingsTasksStatus::Refused, error.to_string())),
    }
}

/// Waits for the end of a task and writes it to `outcome`. With a time of 0 it tells the end of a
/// task for which an earlier call has waited in vain, as soon as there is one.
///
/// # Safety
/// Each pointer is null or valid. What `outcome` had before is not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_wait(
    tasks: *const TidingsTasks,
    id: *const TidingsTasksId,
    timeout_ms: u64,
    outcome: *mut TidingsTasksOutcome,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, id) = unsafe { (engine(tasks)?, value("id", id)?) };
        let finished = ended(engine, TaskId::from_bytes(id.bytes), timeout_ms)?;
        // SAFETY: as the caller promises.
        unsafe { TidingsTasksOutcome::put(finished, outcome) }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Gives the result of an outcome back. Null is allowed.
///
/// # Safety
/// `outcome` is null, or was written by `tidings_tasks_wait` and not changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_outcome_free(outcome: *mut TidingsTasksOutcome) {
    // SAFETY: it is null or valid, as the caller promises.
    let Ok(outcome) = (unsafe { place("outcome", outcome) }) else { return };
    let (result, bytes) = (outcome.result, outcome.result_bytes);
    (outcome.result, outcome.result_bytes) = (ptr::null_mut(), 0);
    if !result.is_null() {
        // SAFETY: it was made of a boxed slice of this length, and is given back once.
        drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(result, bytes)) });
    }
}
