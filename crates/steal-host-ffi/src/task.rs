//! The task that runs, as its function sees it.

use core::ffi::c_void;

use tidings_steal_host::{Done, Task};

use crate::arguments::{frame, place, value};
use crate::status::{TidingsHostStatus, Trouble, answered};

/// The most bytes of a task, in units that any type may lie on.
const STATE_UNITS: usize = 4096 / size_of::<u128>();

/// A function of tasks. `user` is what the phase was given in this process.
pub type TidingsHostBody =
    Option<unsafe extern "C" fn(task: *mut TidingsHostTask, user: *mut c_void)>;

/// The task that runs. It ends when its function returns.
#[derive(Debug)]
pub struct TidingsHostTask {
    /// The host's own, of which nothing else remains while the function runs.
    task: *mut c_void,
    done: Option<Done>,
    state: *const c_void,
}

/// What the functions of a phase are.
pub(crate) struct Program {
    pub(crate) bodies: Vec<unsafe extern "C" fn(*mut TidingsHostTask, *mut c_void)>,
    pub(crate) user: *mut c_void,
    /// Where the bytes of the task that runs lie, aligned for C.
    state: Box<[u128]>,
}

impl Program {
    /// One of these functions.
    pub(crate) fn new(bodies: &[TidingsHostBody], user: *mut c_void) -> Result<Self, Trouble> {
        let bodies: Option<Vec<_>> = bodies.iter().copied().collect();
        let bodies = bodies.ok_or_else(|| Trouble::argument("a function is null"))?;
        Ok(Self { bodies, user, state: vec![0; STATE_UNITS].into() })
    }

    /// Runs a task by its function.
    pub(crate) fn run(task: &mut Task<'_>, program: &mut Self) -> Done {
        let body = program.bodies[usize::from(task.function())];
        let state = task.state();
        assert!(state.len() <= size_of_val(&*program.state), "a frame's bytes are bounded");
        let room = program.state.as_mut_ptr();
        // SAFETY: the room has as many bytes, as was just checked, and is another allocation.
        unsafe { room.cast::<u8>().copy_from_nonoverlapping(state.as_ptr(), state.len()) };
        let mut shown = TidingsHostTask {
            task: (&raw mut *task).cast(),
            done: None,
            state: room.cast_const().cast(),
        };
        // SAFETY: who entered the phase promises that its functions may be called so.
        unsafe { body(&raw mut shown, program.user) };
        shown.done.unwrap_or(Done::Nothing)
    }
}

impl TidingsHostTask {
    /// The host's own.
    fn task<'a, 'b: 'a>(&'a mut self) -> &'a mut Task<'b> {
        // SAFETY: `run` borrows the task for as long as this lives, and uses it by nothing else in
        // that time; the lifetime within is that of the phase, and what is borrowed from it, its
        // bytes, is read within the function only.
        unsafe { &mut *self.task.cast::<Task<'b>>() }
    }

    fn end(&mut self, done: Done) -> Result<(), Trouble> {
        if self.done.is_some() {
            return Err(ended());
        }
        self.done = Some(done);
        Ok(())
    }
}

fn ended() -> Trouble {
    Trouble::task("the task has ended its step: return from its function")
}

/// The bytes of the task that runs, aligned as memory of malloc is, and how many they are; `bytes`
/// may be null.
///
/// # Safety
/// `task` is what a function of tasks was given, and that has not returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_state(
    task: *mut TidingsHostTask,
    bytes: *mut usize,
) -> *const c_void {
    // SAFETY: as the caller promises.
    let (task, bytes) = unsafe { (task.as_mut(), bytes.as_mut()) };
    let Some(task) = task else { return core::ptr::null() };
    if let Some(bytes) = bytes {
        *bytes = task.task().state().len();
    }
    task.state
}

/// Where in its function the task is; 0 at its beginning.
///
/// # Safety
/// As [`tidings_host_state`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_step(task: *mut TidingsHostTask) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { task.as_mut() }.map_or(0, |task| task.task().step())
}

/// How long the task is predicted to run, in nanoseconds; 0 if nobody knows.
///
/// # Safety
/// As [`tidings_host_state`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_predicted_ns(task: *mut TidingsHostTask) -> u64 {
    // SAFETY: as the caller promises.
    unsafe { task.as_mut() }.map_or(0, |task| task.task().predicted_ns())
}

/// The number of the worker that runs the task.
///
/// # Safety
/// As [`tidings_host_state`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_worker(task: *mut TidingsHostTask) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { task.as_mut() }.map_or(0, |task| task.task().worker())
}

/// Help first: spawns a task, whose bytes are copied, and goes on. It is predicted to run for
/// `work_ns` nanoseconds, 0 if nobody knows.
///
/// # Safety
/// As [`tidings_host_state`]; `state` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_spawn(
    task: *mut TidingsHostTask,
    function: u16,
    work_ns: u64,
    state: *const c_void,
    bytes: usize,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (task, frame) =
            unsafe { (place("task", task)?, frame(function, work_ns, (state, bytes))?) };
        if task.done.is_some() {
            return Err(ended());
        }
        Ok(task.task().spawn(frame)?)
    };
    // SAFETY: null is allowed.
    unsafe { answered(core::ptr::null_mut(), call) }
}

/// A task that another one begins, whose bytes are copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsHostChild {
    /// Its function, by its place among those of the phase.
    pub function: u16,
    /// How long it is predicted to run, in nanoseconds; 0 if nobody knows.
    pub work_ns: u64,
    /// Its bytes.
    pub state: *const c_void,
    /// How many they are.
    pub bytes: usize,
}

/// Ends the step with a task and with what is left of this one.
///
/// # Safety
/// As [`tidings_host_child_first`].
unsafe fn end_with(
    task: *mut TidingsHostTask,
    child: *const TidingsHostChild,
    step: u32,
    (state, bytes): (*const c_void, usize),
    done: impl FnOnce(tidings_steal_host::Frame, tidings_steal_host::Frame) -> Done,
) -> TidingsHostStatus {
    let call = || {
        // SAFETY: as the caller promises.
        let (task, child) = unsafe { (place("task", task)?, value("child", child)?) };
        let own = task.task();
        let (function, predicted_ns) = (own.function(), own.predicted_ns());
        // SAFETY: as the caller promises.
        let (first, then) = unsafe {
            let first = frame(child.function, child.work_ns, (child.state, child.bytes))?;
            (first, frame(function, predicted_ns, (state, bytes))?.at_step(step))
        };
        own.check(&first)?;
        own.check(&then)?;
        task.end(done(first, then))
    };
    // SAFETY: null is allowed.
    unsafe { answered(core::ptr::null_mut(), call) }
}

/// Work first: ends this step. The child runs next, and what is left of this task, which goes on at
/// `step` with these bytes, can be stolen. The last thing that the function does.
///
/// # Safety
/// As [`tidings_host_state`]; `child` is null or valid; each `state` is null or has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_child_first(
    task: *mut TidingsHostTask,
    child: *const TidingsHostChild,
    step: u32,
    state: *const c_void,
    bytes: usize,
) -> TidingsHostStatus {
    let done = |child, then| Done::ChildFirst { child, then };
    // SAFETY: as the caller promises.
    unsafe { end_with(task, child, step, (state, bytes), done) }
}

/// Ends this step. `body` runs, and when it and all that it spawns are done, what is left of this
/// task, which goes on at `step` with these bytes. The last thing that the function does.
///
/// # Safety
/// As [`tidings_host_child_first`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_finish_first(
    task: *mut TidingsHostTask,
    body: *const TidingsHostChild,
    step: u32,
    state: *const c_void,
    bytes: usize,
) -> TidingsHostStatus {
    let done = |body, then| Done::Finish { body, then };
    // SAFETY: as the caller promises.
    unsafe { end_with(task, body, step, (state, bytes), done) }
}

/// Answers thieves; for tasks that run longer than thieves should wait.
///
/// # Safety
/// As [`tidings_host_state`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_host_progress(task: *mut TidingsHostTask) {
    let call = || {
        // SAFETY: as the caller promises.
        unsafe { place("task", task)? }.task().progress();
        Ok(())
    };
    // SAFETY: null is allowed.
    unsafe { answered(core::ptr::null_mut(), call) };
}
