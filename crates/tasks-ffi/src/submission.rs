//! Tasks that are submitted, cancelled and forgotten.

use core::ffi::c_char;
use std::ptr;

use tidings_tasks::items;
use tidings_tasks::work::{What, Work, WorkLimits};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request, Submission};
use tidings_tasks_core::resources;
use tidings_tasks_core::retry::Retry;

use crate::arguments::{all, optional_text, place, text, value};
use crate::limits::{TIDINGS_TASKS_ID_TEXT_BYTES, TIDINGS_TASKS_MAX};
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered, write};
use crate::tasks::{TidingsTasks, engine};

/// Who calls functions of C: the runtime of their calls.
pub(crate) const RUNTIME: &str = "c";

/// Which task.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TidingsTasksId {
    /// 128 bits, which follow from what the task is.
    pub bytes: [u8; 16],
}

/// A task as it is submitted. What is null or 0 is as usual: initialise it with `{0}`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksSubmission {
    /// Which task: `tidings_tasks_id`. Submitted again, it adds nothing.
    pub id: TidingsTasksId,
    /// The queue.
    pub queue: *const c_char,
    /// The function that is to do it, by its name in `tidings_tasks_work`. Null: the payload alone
    /// says what is to be done.
    pub function: *const c_char,
    /// What is to be done.
    pub payload: *const u8,
    /// How many bytes that is, of any number.
    pub payload_bytes: usize,
    /// Groups of a queue get equal shares of those who take tasks. Null: the group without a name.
    pub group: *const c_char,
    /// The larger, the earlier.
    pub priority: i16,
    /// How often it is tried again after it has failed. When its process dies it is tried again
    /// anyhow, until that has happened three times on two hosts, or six times on one.
    pub retries: u16,
    /// For how long it is not assigned, in milliseconds.
    pub delay_ms: u64,
    /// What it takes of the `resources` of the process that claims it, such as `gpu=1,mem=4GiB`.
    /// Null: nothing.
    pub need: *const c_char,
    /// On which nodes it may run, as for `tidings nodes --where`. Null: on all.
    pub filter: *const c_char,
    /// Tasks that are to be done before it, which it can read (`tidings_tasks_input`): they were
    /// submitted before, or are with it. If one is not done, it fails without being tried.
    pub inputs: *const TidingsTasksId,
    /// How many they are, at most 256.
    pub input_count: usize,
}

impl TidingsTasksSubmission {
    /// # Safety
    /// Its pointers are null or valid.
    pub(crate) unsafe fn read(&self) -> Result<Submission, Trouble> {
        // SAFETY: as the caller promises.
        let (queue, function, payload, group, need, filter, inputs) = unsafe {
            (
                text("the queue", self.queue)?,
                optional_text("the function", self.function)?,
                all("the payload", self.payload, self.payload_bytes)?,
                optional_text("the group", self.group)?,
                optional_text("the need", self.need)?,
                optional_text("the filter", self.filter)?,
                all("the inputs", self.inputs, self.input_count)?,
            )
        };
        let need = resources::parse(need.unwrap_or_default());
        let need = need.and_then(|need| items::need_of(&need));
        let need = need.map_err(|error| Trouble::argument(error.to_string()))?;
        let payload = match function {
            Some(name) => call(name, payload)?,
            None => payload.to_vec(),
        };
        let retry = Retry { errors: self.retries, exits: self.retries, ..Retry::default() };
        let task = Submission::new(TaskId::from_bytes(self.id.bytes), queue, payload);
        let (group, priority) = (group.unwrap_or_default().into(), self.priority);
        Ok(Submission {
            group,
            priority,
            delay_ms: self.delay_ms,
            retry,
            need,
            filter: filter.unwrap_or_default().to_owned(),
            inputs: inputs.iter().map(|id| TaskId::from_bytes(id.bytes)).collect(),
            ..task
        })
    }
}

impl TidingsTasksSubmission {
    /// How tasks of a flow are submitted that are to be as this one.
    ///
    /// # Safety
    /// Its pointers are null or valid.
    pub(crate) unsafe fn like(&self) -> Result<Submission, Trouble> {
        let like = Self {
            queue: c"".as_ptr(),
            function: ptr::null(),
            payload: ptr::null(),
            payload_bytes: 0,
            delay_ms: 0,
            inputs: ptr::null(),
            input_count: 0,
            ..*self
        };
        // SAFETY: as the caller promises.
        unsafe { like.read() }
    }
}

/// The payload of a task that a function does.
fn call(name: &str, body: &[u8]) -> Result<Vec<u8>, Trouble> {
    let (runtime, body, inputs) = (RUNTIME.to_owned(), body.to_vec(), Vec::new());
    let what = What::Call { runtime, code: None, body, inputs };
    let work = Work { name: name.to_owned(), what, limits: WorkLimits::default() };
    work.check().map_err(|error| Trouble::argument(error.to_string()))?;
    Ok(work.to_payload())
}

/// Writes the id of task number `number` of what is called `name`. The same name and number are the
/// same task, in every program.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_id(
    name: *const c_char,
    number: u64,
    id: *mut TidingsTasksId,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (name, id) = unsafe { (text("the name", name)?, place("id", id)?) };
        id.bytes = TaskId::of(name, number).to_bytes();
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Writes an id as 32 hexadecimal digits, as `tidings task show` takes it, to
/// `TIDINGS_TASKS_ID_TEXT_BYTES` bytes.
///
/// # Safety
/// `id` is null or valid; `room` is null or has that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_id_text(
    id: *const TidingsTasksId,
    room: *mut [c_char; TIDINGS_TASKS_ID_TEXT_BYTES],
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (id, room) = unsafe { (value("id", id)?, place("room", room)?) };
        write(&TaskId::from_bytes(id.bytes).to_string(), room);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Submits `count` tasks, at most `TIDINGS_TASKS_MAX`: all or none. They are durable when it
/// returns. Waits while a queue is full. Writes how many of them are new to `added`, unless that is
/// null.
///
/// # Safety
/// `submissions` is null or has `count` values, whose pointers are null or valid; the others are
/// null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_submit(
    tasks: *const TidingsTasks,
    submissions: *const TidingsTasksSubmission,
    count: usize,
    added: *mut usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let submit = || {
        // SAFETY: as the caller promises.
        let (engine, submissions) =
            unsafe { (engine(tasks)?, all("submissions", submissions, count)?) };
        if count > TIDINGS_TASKS_MAX {
            let text = format!("{count} tasks; at most {TIDINGS_TASKS_MAX} are submitted at once");
            return Err(Trouble::argument(text));
        }
        // SAFETY: as the caller promises.
        let read = submissions.iter().map(|one| unsafe { one.read() });
        let submissions = read.collect::<Result<Vec<_>, _>>()?;
        let submit = engine.payloads.submit(&engine.session, submissions, &[]);
        let known = match engine.wait(submit)? {
            Answer::Submitted(known) => known as usize,
            Answer::Refused(refusal) => return Err(refusal.into()),
            other => return Err(Trouble::answer(&other)),
        };
        // SAFETY: as the caller promises.
        if let Some(added) = unsafe { added.as_mut() } {
            *added = known;
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, submit) }
}

/// Cancels a task: nobody wants it any more. Who does it is told by `tidings_tasks_is_wanted`.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_cancel(
    tasks: *const TidingsTasks,
    id: *const TidingsTasksId,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let cancel = || {
        // SAFETY: as the caller promises.
        let (engine, id) = unsafe { (engine(tasks)?, value("id", id)?) };
        engine.ask(Request::Cancel { task: TaskId::from_bytes(id.bytes) })?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, cancel) }
}

/// Cancels a task, unless somebody does it: then this answers `TIDINGS_TASKS_STATUS_REFUSED`, and
/// the task goes on.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_withdraw(
    tasks: *const TidingsTasks,
    id: *const TidingsTasksId,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let withdraw = || {
        // SAFETY: as the caller promises.
        let (engine, id) = unsafe { (engine(tasks)?, value("id", id)?) };
        engine.ask(Request::Withdraw { task: TaskId::from_bytes(id.bytes) })?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, withdraw) }
}

/// Deletes the records of `count` tasks that have ended, at most `TIDINGS_TASKS_MAX`; others are
/// left as they are. Submitted again, such a task is a new one.
///
/// # Safety
/// `ids` is null or has `count` values; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_forget(
    tasks: *const TidingsTasks,
    ids: *const TidingsTasksId,
    count: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let forget = || {
        // SAFETY: as the caller promises.
        let (engine, ids) = unsafe { (engine(tasks)?, all("ids", ids, count)?) };
        let tasks: Vec<TaskId> = ids.iter().map(|id| TaskId::from_bytes(id.bytes)).collect();
        for task in &tasks {
            engine.waits.forget(*task);
        }
        engine.ask(Request::Forget { tasks })?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, forget) }
}
