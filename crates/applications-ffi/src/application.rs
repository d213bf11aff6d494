//! What C calls: an application with what this process has found of it.

use core::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use crate::names;
use crate::program::Program;

/// An application. Only pointers to it leave the library.
pub struct TidingsApplication(Box<dyn Program>);

/// Gets a task: its predicted work in nanoseconds, 0 if nobody knows, and its bytes, which stay
/// until it returns.
pub type TidingsGive = Option<
    unsafe extern "C" fn(user: *mut c_void, work_ns: u64, task: *const c_void, bytes: usize),
>;

/// Calls a function of C with each task.
///
/// # Safety
/// While what is returned is used, `give` may be called with `user`.
unsafe fn giver(
    give: unsafe extern "C" fn(*mut c_void, u64, *const c_void, usize),
    user: *mut c_void,
) -> impl FnMut(u64, &[u8]) {
    move |work_ns, task| {
        // SAFETY: as the caller promises.
        unsafe { give(user, work_ns, task.as_ptr().cast(), task.len()) }
    }
}

/// Does `what`; the answer is `or` if it panics or the application is null.
///
/// # Safety
/// `application` is null or from `tidings_application_open`, was not freed, and nobody else uses
/// it.
unsafe fn with<T>(
    application: *mut TidingsApplication,
    or: T,
    what: impl FnOnce(&mut dyn Program) -> T,
) -> T {
    // SAFETY: as the caller promises.
    let Some(application) = (unsafe { application.as_mut() }) else { return or };
    catch_unwind(AssertUnwindSafe(|| what(&mut *application.0))).unwrap_or(or)
}

/// The application of this name, such as `uts:T1`, `fib:30`, `queens:12`, `scf:4x2x2`, `tce:24,8`,
/// `homology:400` or `uneven:1000`; null if there is none.
///
/// # Safety
/// `name` is null or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_open(name: *const c_char) -> *mut TidingsApplication {
    if name.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: it is not null, and ends with a zero byte, as the caller promises.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    match catch_unwind(|| names::named(name)) {
        Ok(Some(program)) => Box::into_raw(Box::new(TidingsApplication(program))),
        Ok(None) | Err(_) => core::ptr::null_mut(),
    }
}

/// Gives its memory back. Null is allowed.
///
/// # Safety
/// `application` is null or from `tidings_application_open`, was not freed, and nobody uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_free(application: *mut TidingsApplication) {
    if !application.is_null() {
        // SAFETY: it was made by `Box::into_raw` and not freed, as the caller promises.
        drop(unsafe { Box::from_raw(application) });
    }
}

/// Gives the tasks with which process `process` of `processes` begins.
///
/// # Safety
/// `application` is from `tidings_application_open` and in use by nobody else; `give` is null or
/// may be called with `user`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_roots(
    application: *mut TidingsApplication,
    process: u32,
    processes: u32,
    give: TidingsGive,
    user: *mut c_void,
) {
    let Some(give) = give else { return };
    // SAFETY: as the caller promises.
    let mut give = unsafe { giver(give, user) };
    let roots = |program: &mut dyn Program| program.roots(process, processes, &mut give);
    // SAFETY: as the caller promises.
    unsafe { with(application, (), roots) }
}

/// Runs a task, and gives what it spawns; false if these bytes are no task.
///
/// # Safety
/// As [`tidings_application_roots`]; `task` has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_run(
    application: *mut TidingsApplication,
    task: *const c_void,
    bytes: usize,
    give: TidingsGive,
    user: *mut c_void,
) -> bool {
    let (Some(give), false) = (give, task.is_null()) else { return false };
    // SAFETY: it is not null and has that many bytes, as the caller promises.
    let task = unsafe { slice::from_raw_parts(task.cast::<u8>(), bytes) };
    // SAFETY: as the caller promises.
    let mut give = unsafe { giver(give, user) };
    // SAFETY: as the caller promises.
    unsafe { with(application, false, |program| program.run(task, &mut give)) }
}

/// What a task is predicted to take, in nanoseconds, whoever runs it; 0 if nobody knows, or these
/// bytes are no task.
///
/// # Safety
/// As [`tidings_application_roots`]; `task` has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_cost(
    application: *mut TidingsApplication,
    task: *const c_void,
    bytes: usize,
) -> u64 {
    if task.is_null() {
        return 0;
    }
    // SAFETY: it is not null and has that many bytes, as the caller promises.
    let task = unsafe { slice::from_raw_parts(task.cast::<u8>(), bytes) };
    // SAFETY: as the caller promises.
    unsafe { with(application, 0, |program| program.cost_ns(task)) }
}

/// Writes what this process has found to `words`, if `room` words are enough, and returns how many
/// it takes.
///
/// # Safety
/// As [`tidings_application_roots`]; `words` is null or has `room` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_total(
    application: *mut TidingsApplication,
    words: *mut u64,
    room: usize,
) -> usize {
    let total = |program: &mut dyn Program| program.total();
    // SAFETY: as the caller promises.
    let total = unsafe { with(application, Vec::new(), total) };
    if total.len() <= room && !words.is_null() {
        // SAFETY: there is room for that many, as the caller promises.
        unsafe { slice::from_raw_parts_mut(words, total.len()) }.copy_from_slice(&total);
    }
    total.len()
}

/// Adds what another process has found; false if these words are no total.
///
/// # Safety
/// As [`tidings_application_roots`]; `words` has `count` words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_merge(
    application: *mut TidingsApplication,
    words: *const u64,
    count: usize,
) -> bool {
    if words.is_null() {
        return false;
    }
    // SAFETY: it is not null and has that many words, as the caller promises.
    let words = unsafe { slice::from_raw_parts(words, count) };
    // SAFETY: as the caller promises.
    unsafe { with(application, false, |program| program.merge(words)) }
}

/// Forgets what this process has found.
///
/// # Safety
/// As [`tidings_application_roots`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_clear(application: *mut TidingsApplication) {
    // SAFETY: as the caller promises.
    unsafe { with(application, (), |program| program.clear()) }
}

/// Writes what was found, in words, to `text` (`room` bytes, 0 at its end, cut if it is longer).
/// Returns 1 if it is right, 0 if it is wrong, -1 if that is not known; with `compute`, which may
/// take long, it is found out by running all on this thread.
///
/// # Safety
/// As [`tidings_application_roots`]; `text` is null or has `room` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_application_verdict(
    application: *mut TidingsApplication,
    compute: bool,
    text: *mut c_char,
    room: usize,
) -> i32 {
    let verdict = |program: &mut dyn Program| program.verdict(compute);
    // SAFETY: as the caller promises.
    let (said, is_right) = unsafe { with(application, (String::new(), Some(false)), verdict) };
    if !text.is_null() && room > 0 {
        // SAFETY: it is not null and has that many bytes, as the caller promises.
        let text = unsafe { slice::from_raw_parts_mut(text.cast::<u8>(), room) };
        let length = said.len().min(room - 1);
        text[..length].copy_from_slice(&said.as_bytes()[..length]);
        text[length] = 0;
    }
    is_right.map_or(-1, i32::from)
}
