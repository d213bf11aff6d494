//! How long a queue is.

use core::ffi::c_char;

use tidings_tasks_core::message::{Answer, Request};

use crate::arguments::{place, text};
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::tasks::{TidingsTasks, engine};

/// The tasks of a queue that have not ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct TidingsTasksQueue {
    /// Tasks that could be claimed now.
    pub ready: u64,
    /// Tasks that are not to be claimed before a time.
    pub delayed: u64,
    /// Tasks that a process has.
    pub running: u64,
}

/// Writes how long a queue is to `length`; all is 0 if it has no task that has not ended.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_queue(
    tasks: *const TidingsTasks,
    queue: *const c_char,
    length: *mut TidingsTasksQueue,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (engine, queue, length) =
            unsafe { (engine(tasks)?, text("the queue", queue)?, place("length", length)?) };
        let overview = match engine.ask(Request::Overview)? {
            Answer::Overview(overview) => overview,
            other => return Err(Trouble::answer(&other)),
        };
        let found = overview.queues.iter().find(|view| view.name == queue);
        if found.is_none() && overview.queues_total > overview.queues.len() as u64 {
            let text = "there are so many queues that this one is not among those that are shown";
            return Err(Trouble::new(TidingsTasksStatus::Refused, text));
        }
        *length = found.map_or_else(TidingsTasksQueue::default, |view| TidingsTasksQueue {
            ready: view.ready,
            delayed: view.delayed,
            running: view.running,
        });
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}
