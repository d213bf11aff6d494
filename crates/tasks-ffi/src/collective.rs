//! What all processes of a computation do together: values that one writes and all read, and
//! results that are combined along a tree.

use core::ffi::{c_char, c_int, c_void};

use tidings_tasks::collection::{CollectError, Collection};
use tidings_tasks::value::{Value, ValueError};

use crate::arguments::{all, text, value, wait};
use crate::outcome::{TidingsTasksOutcome, ended};
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::tasks::{TidingsTasks, engine};
use crate::work::TidingsTasksResult;

/// Bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksBytes {
    /// Where they are; not null.
    pub start: *const u8,
    /// How many they are.
    pub count: usize,
}

/// How results are combined.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksCombine {
    /// Combines `count` results, 1 to 16, in order, into one that it gives to
    /// `tidings_tasks_result`, and returns 0. Anything else is a failure, of which that is the
    /// reason in words. What it makes depends on its inputs alone. It calls no other function of
    /// this library. Called in the thread that called `tidings_tasks_collect`.
    pub body: Option<
        unsafe extern "C" fn(
            inputs: *const TidingsTasksBytes,
            count: usize,
            result: *mut TidingsTasksResult,
            context: *mut c_void,
        ) -> c_int,
    >,
    /// Handed to it.
    pub context: *mut c_void,
}

impl From<ValueError> for Trouble {
    fn from(error: ValueError) -> Self {
        match error {
            ValueError::Refused(refusal) => refusal.into(),
            ValueError::Payload(error) => error.into(),
            ValueError::Ended(error) => error.into(),
            other => Self::new(TidingsTasksStatus::Refused, other.to_string()),
        }
    }
}

impl From<CollectError> for Trouble {
    fn from(error: CollectError) -> Self {
        match error {
            CollectError::Refused(refusal) => refusal.into(),
            CollectError::Payload(error) => error.into(),
            CollectError::Ended(error) => error.into(),
            CollectError::Leaves(_) => Self::argument(error.to_string()),
            CollectError::Missing(_) => Self::new(TidingsTasksStatus::NotFound, error.to_string()),
            CollectError::Answer(answer) => Self::answer(&answer),
        }
    }
}

/// Writes a value of any number of bytes under a name, for all to read. It is written once: the
/// same value may be written again, another one is refused.
///
/// # Safety
/// `bytes` is null or has `count` bytes; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_write(
    tasks: *const TidingsTasks,
    name: *const c_char,
    bytes: *const u8,
    count: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, name, bytes) =
            unsafe { (engine(tasks)?, text("the name", name)?, all("the bytes", bytes, count)?) };
        let session = engine.session("write");
        Ok(engine.wait(Value::named(name).write(&engine.payloads, session, bytes.to_vec()))?)
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Reads the value of a name, as soon as it is written: the result of `outcome`.
///
/// # Safety
/// Each pointer is null or valid. What `outcome` had before is not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_read(
    tasks: *const TidingsTasks,
    name: *const c_char,
    timeout_ms: u64,
    outcome: *mut TidingsTasksOutcome,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, name) = unsafe { (engine(tasks)?, text("the name", name)?) };
        let value = Value::named(name);
        engine.wait(value.expect(&engine.session))?;
        let finished = ended(engine, value.task(), timeout_ms)?;
        // SAFETY: as the caller promises.
        unsafe { TidingsTasksOutcome::put(finished, outcome) }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Collects what the tasks `0..leaves` of a name (`tidings_tasks_id`) came to: combines results
/// sixteen at a time, along a tree, and writes the end of the whole to `outcome`. Any number of
/// processes may collect the same, and each has the whole in the end; when one dies, the others go
/// on with what it had. The tasks are submitted before. If one of them has failed, so has the
/// whole, with its reason.
///
/// The order is that of the numbers, and the tree follows from how many there are: so the whole is
/// the same to the last bit for all processes, orders and deaths.
///
/// # Safety
/// Each pointer is null or valid; the function of `combine` does as `TidingsTasksCombine` says, and
/// can be called with its context from this thread. What `outcome` had before is not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_collect(
    tasks: *const TidingsTasks,
    name: *const c_char,
    leaves: u64,
    combine: *const TidingsTasksCombine,
    timeout_ms: u64,
    outcome: *mut TidingsTasksOutcome,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, name) = unsafe { (engine(tasks)?, text("the name", name)?) };
        // SAFETY: as the caller promises.
        let &TidingsTasksCombine { body, context } = unsafe { value("combine", combine) }?;
        let body = body.ok_or_else(|| Trouble::argument("the body of combine is null"))?;
        let combined = |inputs: &[Vec<u8>]| {
            let shown = |one: &Vec<u8>| TidingsTasksBytes { start: one.as_ptr(), count: one.len() };
            let shown: Vec<TidingsTasksBytes> = inputs.iter().map(shown).collect();
            let mut result = TidingsTasksResult::default();
            // SAFETY: the inputs outlive the call, and so does the result, which nobody else uses;
            // the rest is as the caller promises.
            let status = unsafe { body(shown.as_ptr(), shown.len(), &raw mut result, context) };
            result.of(status, "the function that combines")
        };
        let collection = Collection::of(name, leaves)?;
        let session = engine.session("collect");
        let collecting = collection.collect(&engine.payloads, session, combined);
        let whole = engine.within(wait(timeout_ms), collecting);
        let whole = whole.ok_or_else(|| Trouble::timeout("not all tasks have ended"))?;
        // SAFETY: as the caller promises.
        unsafe { TidingsTasksOutcome::put(whole?, outcome) }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}
