//! Keys: values that programs keep under names of their own, read and written one at a time.

use core::ffi::c_char;

use tidings_tasks_core::message::{Answer, Effect, Request};

use crate::arguments::{all, text};
use crate::limits::TIDINGS_TASKS_ANY;
use crate::outcome::TidingsTasksOutcome;
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::tasks::{TidingsTasks, engine};

/// What is to be written of a key; without bytes it is deleted.
///
/// # Safety
/// `key` is null, or a text; `bytes` is null or has `count` bytes.
pub(crate) unsafe fn effect(
    key: *const c_char,
    bytes: *const u8,
    count: usize,
    expect: u64,
) -> Result<Effect, Trouble> {
    // SAFETY: as the caller promises.
    let (key, value) = unsafe { (text("the key", key)?, all("the bytes", bytes, count)?) };
    Ok(Effect {
        key: key.as_bytes().to_vec(),
        value: (!bytes.is_null()).then(|| value.to_vec().into()),
        expect: (expect != TIDINGS_TASKS_ANY).then_some(expect),
    })
}

/// Reads the value of a key: the result of `outcome`. Writes the revision at which it was written
/// to `revision`, unless that is null. `TIDINGS_TASKS_STATUS_NOT_FOUND`: it has no value, and its
/// revision is 0.
///
/// # Safety
/// Each pointer is null or valid. What `outcome` had before is not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_get(
    tasks: *const TidingsTasks,
    key: *const c_char,
    outcome: *mut TidingsTasksOutcome,
    revision: *mut u64,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, key) = unsafe { (engine(tasks)?, text("the key", key)?) };
        let keys = vec![key.as_bytes().to_vec().into()];
        let found = match engine.ask(Request::Read { keys })? {
            Answer::Values(values, _) => values.into_iter().next(),
            other => return Err(Trouble::answer(&other)),
        };
        // SAFETY: as the caller promises.
        unsafe { put(revision, found.as_ref().map_or(0, |found| found.revision)) };
        let none = || Trouble::new(TidingsTasksStatus::NotFound, format!("{key} has no value"));
        let value = found.ok_or_else(none)?.value.into();
        // SAFETY: as the caller promises.
        unsafe { TidingsTasksOutcome::put_bytes(value, outcome) }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Writes the value of a key, at most 16 KiB, or deletes it if `bytes` is null; durable when it
/// returns. It is done only if the key is at the revision `expect`: 0 if it is to have no value,
/// `TIDINGS_TASKS_ANY` whatever it has. `TIDINGS_TASKS_STATUS_CHANGED`: it is at another one. One
/// that comes after the store's holder has died may be about the write itself: read the key then.
/// Writes the new revision to `revision`, unless that is null.
///
/// # Safety
/// `bytes` is null or has `count` bytes; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_set(
    tasks: *const TidingsTasks,
    key: *const c_char,
    bytes: *const u8,
    count: usize,
    expect: u64,
    revision: *mut u64,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, effect) = unsafe { (engine(tasks)?, effect(key, bytes, count, expect)?) };
        let written = match engine.ask(Request::Write { effects: vec![effect] })? {
            Answer::Written(written) => written,
            other => return Err(Trouble::answer(&other)),
        };
        // SAFETY: as the caller promises.
        unsafe { put(revision, written) };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// # Safety
/// `room` is null or valid.
unsafe fn put(room: *mut u64, value: u64) {
    // SAFETY: as the caller promises.
    if let Some(room) = unsafe { room.as_mut() } {
        *room = value;
    }
}
