//! Functions of the program that do tasks.

use core::ffi::{c_char, c_int, c_void};

use tidings_tasks_core::retry::Cause;

use crate::arguments::{all, optional_text, place, text, wait};
use crate::claim::{TidingsTasksClaim, claim};
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::tasks::{TidingsTasks, engine};

/// What a function leaves behind. Only pointers to it leave the library.
#[derive(Debug, Default)]
pub struct TidingsTasksResult(Vec<u8>);

impl TidingsTasksResult {
    /// What a function came to that has returned this, or why it has failed.
    pub(crate) fn of(self, status: c_int, name: &str) -> Result<Vec<u8>, String> {
        if status == 0 {
            return Ok(self.0);
        }
        Err(format!("{name} returned {status}. {}", String::from_utf8_lossy(&self.0)))
    }

    /// Sets what it leaves behind.
    pub(crate) fn set(&mut self, bytes: Vec<u8>) {
        self.0 = bytes;
    }
}

/// A function that does tasks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksFunction {
    /// The name by which submissions call it. Null: it does the tasks that name no function.
    pub name: *const c_char,
    /// Does a task; called in the thread that called `tidings_tasks_work`. It returns 0 if the task
    /// is done, with what it gave to `tidings_tasks_result` as its result. Anything else is a
    /// failure, of which that is the reason in words. It does not end the claim, and does not leave
    /// by `longjmp` or an exception.
    pub body: Option<
        unsafe extern "C" fn(
            claim: *const TidingsTasksClaim,
            result: *mut TidingsTasksResult,
            context: *mut c_void,
        ) -> c_int,
    >,
    /// Handed to it.
    pub context: *mut c_void,
}

/// Sets what a function leaves behind, which is copied: its result, or why it has failed. The last
/// one counts.
///
/// # Safety
/// `result` is what the function was called with; `bytes` is null or has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_result(
    result: *mut TidingsTasksResult,
    bytes: *const u8,
    count: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (result, bytes) =
            unsafe { (place("result", result)?, all("the bytes", bytes, count)?) };
        result.set(bytes.to_vec());
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Claims one task of a queue, has it done by one of `count` functions, and ends the claim. Called
/// in a loop, by as many threads as tasks are to be done at a time, this is a worker.
///
/// `TIDINGS_TASKS_STATUS_OK`: a task was done, or has failed, as its record says.
/// `TIDINGS_TASKS_STATUS_TIMEOUT`: none has come. `TIDINGS_TASKS_STATUS_SUPERSEDED`: one was done,
/// but does not count. A task of which no function has the name fails.
///
/// # Safety
/// `functions` is null or has `count` values; all pointers are null or valid. The functions do as
/// `TidingsTasksFunction` says, and can be called with their contexts from this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_work(
    tasks: *const TidingsTasks,
    queue: *const c_char,
    functions: *const TidingsTasksFunction,
    count: usize,
    timeout_ms: u64,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, queue, functions) = unsafe {
            (engine(tasks)?, text("the queue", queue)?, all("functions", functions, count)?)
        };
        // SAFETY: as the caller promises.
        let named = functions.iter().map(|one| unsafe { Function::of(one) });
        let named = named.collect::<Result<Vec<_>, _>>()?;
        let claimed = claim(engine, queue, wait(timeout_ms))?;
        let Some(function) = named.iter().find(|one| one.name == claimed.function()) else {
            let name = claimed.function().unwrap_or("none");
            let text = format!("the process that claimed it has no function of the name `{name}`");
            return claimed.fail(Cause::Error, text);
        };
        let mut result = TidingsTasksResult::default();
        // SAFETY: the claim outlives the call, and so does the result, which nobody else uses; the
        // rest is as the caller promises.
        let status = unsafe { (function.body)(claimed.shown(), &raw mut result, function.context) };
        let result = result.of(status, function.name.unwrap_or("the function"));
        match result.and_then(|result| claimed.check(&result).map(|()| result)) {
            Ok(result) => claimed.complete(result),
            Err(reason) => claimed.fail(Cause::Error, reason),
        }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// A function that can be called.
struct Function<'a> {
    name: Option<&'a str>,
    body: unsafe extern "C" fn(
        *const TidingsTasksClaim,
        *mut TidingsTasksResult,
        *mut c_void,
    ) -> c_int,
    context: *mut c_void,
}

impl<'a> Function<'a> {
    /// # Safety
    /// Its name is null or valid for `'a`.
    unsafe fn of(function: &TidingsTasksFunction) -> Result<Function<'a>, Trouble> {
        // SAFETY: as the caller promises.
        let name = unsafe { optional_text("the name of a function", function.name) }?;
        let body =
            function.body.ok_or_else(|| Trouble::argument("the body of a function is null"))?;
        Ok(Function { name, body, context: function.context })
    }
}
