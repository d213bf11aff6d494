//! Flows: a computation that is declared by what its tasks read, move on and change.

use core::ffi::c_char;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use tidings_tasks::flow::{Declared, Dependency, Flow, FlowError, Value, Version};
use tidings_tasks::queue::Queue;
use tidings_tasks_core::id::TaskId;

use crate::arguments::{all, place, text, value};
use crate::engine::Engine;
use crate::field::{TidingsTasksField, fields};
use crate::outcome::ended;
use crate::status::{TidingsTasksError, TidingsTasksStatus, Trouble, answered};
use crate::submission::TidingsTasksId;
use crate::tasks::{TidingsTasks, engine};

/// Dependencies and tasks that are declared, and the instances that there are. One thread uses it
/// at a time. Only pointers to it leave the library.
#[derive(Debug)]
pub struct TidingsTasksFlow {
    pub(crate) flow: Flow,
    /// With the kinds of their fields.
    pub(crate) dependencies: Vec<(Dependency, Vec<u32>)>,
    pub(crate) tasks: Vec<Declared>,
    /// Why a key could not be computed.
    pub(crate) wrong: Wrong,
    /// What was read last.
    read: Option<Value>,
    engine: Arc<Engine>,
}

/// What a function that computes keys leaves behind.
pub(crate) type Wrong = Arc<Mutex<Option<Trouble>>>;

/// A kind of data, as a flow has declared it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksDependency {
    /// The flow.
    pub flow: *const TidingsTasksFlow,
    /// Which of its dependencies, from 0.
    pub number: usize,
}

/// A task, as a flow has declared it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsTasksDeclared {
    /// The flow.
    pub flow: *const TidingsTasksFlow,
    /// Which of its tasks, from 0.
    pub number: usize,
}

impl TidingsTasksFlow {
    /// # Safety
    /// `flow` is null, or from `tidings_tasks_flow` and not freed, and used by this thread alone.
    pub(crate) unsafe fn of<'a>(flow: *mut Self) -> Result<&'a mut Self, Trouble> {
        // SAFETY: as the caller promises.
        let flow = unsafe { place("the flow", flow)? };
        flow.engine.check()?;
        Ok(flow)
    }

    pub(crate) fn dependency(&self, dependency: TidingsTasksDependency) -> Result<usize, Trouble> {
        let is_own = ptr::eq(dependency.flow, self) && dependency.number < self.dependencies.len();
        let foreign = || Trouble::argument("the dependency is declared by another flow");
        is_own.then_some(dependency.number).ok_or_else(foreign)
    }

    pub(crate) fn task(&self, task: TidingsTasksDeclared) -> Result<usize, Trouble> {
        let is_own = ptr::eq(task.flow, self) && task.number < self.tasks.len();
        let foreign = || Trouble::argument("the task is declared by another flow");
        is_own.then_some(task.number).ok_or_else(foreign)
    }

    /// Trouble of a flow; if a key is why, what is wrong with that.
    fn trouble(&self, error: FlowError) -> Trouble {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner).take();
        wrong.unwrap_or_else(|| error.into())
    }
}

/// Begins a flow whose tasks lie in a queue and writes it to `flow`; null, if it cannot. Its name
/// stands for what it declares and submits: a program that is started again goes on with what it
/// did under it, and another computation needs another one. Free it before the store is closed.
///
/// # Safety
/// Each pointer is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow(
    tasks: *const TidingsTasks,
    queue: *const c_char,
    name: *const c_char,
    flow: *mut *mut TidingsTasksFlow,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (flow, engine) = unsafe { (place("flow", flow)?, engine(tasks)?) };
        *flow = ptr::null_mut();
        // SAFETY: as the caller promises.
        let (queue, name) = unsafe { (text("the queue", queue)?, text("the name", name)?) };
        let queue = Queue::over(engine.session.clone(), engine.payloads.clone(), queue);
        *flow = Box::into_raw(Box::new(TidingsTasksFlow {
            flow: Flow::of(queue, name),
            dependencies: Vec::new(),
            tasks: Vec::new(),
            wrong: Wrong::default(),
            read: None,
            engine: engine.clone(),
        }));
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Gives a flow's memory back, with all that it has declared; its tasks go on. What was submitted
/// and not sent is dropped. Null is allowed.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_free(flow: *mut TidingsTasksFlow) {
    // SAFETY: as the caller promises.
    let free = || unsafe { taken(flow).map(drop) };
    // SAFETY: null is allowed.
    unsafe { answered(ptr::null_mut(), free) };
}

/// Takes a flow back from the program.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed.
unsafe fn taken(flow: *mut TidingsTasksFlow) -> Result<Box<TidingsTasksFlow>, Trouble> {
    if flow.is_null() {
        return Err(Trouble::argument("the flow is null"));
    }
    // SAFETY: it was made by `Box::into_raw`, and is taken back once.
    let flow = unsafe { Box::from_raw(flow) };
    match flow.engine.check() {
        Ok(()) => Ok(flow),
        Err(trouble) => {
            // The threads that its parts belong to are not in this process.
            core::mem::forget(flow);
            Err(trouble)
        }
    }
}

/// Lets an instance be there that is not: bytes, which are copied and go with each task that reads
/// them.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed; `key` is null or has `key_count`
/// fields, whose bytes are as their kinds say; `bytes` is null or has `count` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_put(
    flow: *mut TidingsTasksFlow,
    dependency: TidingsTasksDependency,
    key: *const TidingsTasksField,
    key_count: usize,
    bytes: *const u8,
    count: usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let version = Version::from(unsafe { all("the bytes", bytes, count)? });
        // SAFETY: as the caller promises.
        unsafe { put(flow, dependency, key, key_count, version) }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// The same, of what a task of the store makes: of this flow, or any other that was submitted.
///
/// # Safety
/// As `tidings_tasks_flow_put`; `id` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_put_task(
    flow: *mut TidingsTasksFlow,
    dependency: TidingsTasksDependency,
    key: *const TidingsTasksField,
    key_count: usize,
    id: *const TidingsTasksId,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let task = TaskId::from_bytes(unsafe { value("id", id)? }.bytes);
        // SAFETY: as the caller promises.
        unsafe { put(flow, dependency, key, key_count, task.into()) }
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// # Safety
/// As `tidings_tasks_flow_put`.
unsafe fn put(
    flow: *mut TidingsTasksFlow,
    dependency: TidingsTasksDependency,
    key: *const TidingsTasksField,
    key_count: usize,
    version: Version,
) -> Result<(), Trouble> {
    // SAFETY: as the caller promises.
    let (flow, key) =
        unsafe { (TidingsTasksFlow::of(flow)?, fields(all("the key", key, key_count)?)?) };
    let number = flow.dependency(dependency)?;
    Ok(flow.flow.put(&flow.dependencies[number].0, key, version)?)
}

/// Submits a declared task for these arguments and, unless it is null, writes its id to `id`. An
/// instance that is not there, or would be taken twice, is an error, and changes nothing. The task
/// is durable when the next `tidings_tasks_flow_send` or `tidings_tasks_flow_get` has returned;
/// each thousandth submission sends what waits.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed; `arguments` is null or has `count`
/// fields, whose bytes are as their kinds say; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_submit(
    flow: *mut TidingsTasksFlow,
    task: TidingsTasksDeclared,
    arguments: *const TidingsTasksField,
    count: usize,
    id: *mut TidingsTasksId,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (flow, arguments) =
            unsafe { (TidingsTasksFlow::of(flow)?, fields(all("arguments", arguments, count)?)?) };
        let declared = &flow.tasks[flow.task(task)?];
        let submitted = flow.engine.wait(flow.flow.submit(declared, arguments));
        let task = submitted.map_err(|error| flow.trouble(error))?;
        // SAFETY: as the caller promises.
        if let Some(id) = unsafe { id.as_mut() } {
            id.bytes = task.to_bytes();
        }
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Sends what was submitted: it is durable when this answers `TIDINGS_TASKS_STATUS_OK`. Else it is
/// sent again with the next, and what is there already is there once. Waits while a queue is full.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_send(
    flow: *mut TidingsTasksFlow,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let flow = unsafe { TidingsTasksFlow::of(flow)? };
        Ok(flow.engine.wait(flow.flow.send())?)
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Sends what was submitted, waits until all that changes an instance is done, and writes what is
/// in it. The bytes are there until this is called again, or the flow is freed.
/// `TIDINGS_TASKS_STATUS_TIMEOUT`: it is not done; with a time of 0 it tells so at once.
/// `TIDINGS_TASKS_STATUS_REFUSED`: a task that makes it has failed.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed; `key` is null or has `key_count`
/// fields, whose bytes are as their kinds say; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_get(
    flow: *mut TidingsTasksFlow,
    dependency: TidingsTasksDependency,
    key: *const TidingsTasksField,
    key_count: usize,
    timeout_ms: u64,
    bytes: *mut *const u8,
    count: *mut usize,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (flow, key, bytes, count) = unsafe {
            let flow = TidingsTasksFlow::of(flow)?;
            let key = fields(all("the key", key, key_count)?)?;
            (flow, key, place("bytes", bytes)?, place("count", count)?)
        };
        (*bytes, *count) = (ptr::null(), 0);
        let number = flow.dependency(dependency)?;
        let dependency = &flow.dependencies[number].0;
        let task = flow.flow.version(dependency, key.clone())?.task();
        flow.engine.wait(flow.flow.send())?;
        if let Some(task) = task {
            // However it has ended, what follows says so.
            ended(&flow.engine, task, timeout_ms)?;
        }
        let read = flow.engine.wait(flow.flow.get(dependency, key))?;
        let read = flow.read.insert(read);
        (*bytes, *count) = (read.as_ptr(), read.len());
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}

/// Sends what was submitted, removes what the store has of tasks of the flow that have ended, and
/// frees it as `tidings_tasks_flow_free`, whatever is answered. After that a flow of this name does
/// all of them again.
///
/// # Safety
/// `flow` is null, or from `tidings_tasks_flow` and not freed; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_tasks_flow_forget(
    flow: *mut TidingsTasksFlow,
    error: *mut TidingsTasksError,
) -> TidingsTasksStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let flow = unsafe { taken(flow)? };
        let TidingsTasksFlow { flow, engine, .. } = *flow;
        Ok(engine.wait(flow.forget())?)
    };
    // SAFETY: as the caller promises.
    unsafe { answered(error, call) }
}
