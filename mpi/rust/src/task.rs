//! The task that runs, as its function sees it.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::slice;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tidings_steal::{Done, Frame};
use tidings_steal_c::TidingsStealTask;

use crate::error::Refused;
use crate::sys::{self, Tasks};

/// A function of tasks. `T` is what the rank has, such as what its tasks have found.
pub type Body<T> = fn(&mut Task<'_>, &mut T) -> Done;

/// The task that runs.
#[derive(Debug)]
pub struct Task<'a> {
    tasks: *mut Tasks,
    within: PhantomData<&'a mut ()>,
}

impl<'a> Task<'a> {
    /// What it goes on with.
    #[must_use]
    pub fn state(&self) -> &'a [u8] {
        let mut bytes = 0;
        // SAFETY: the task runs, and its state stays until it has ended.
        unsafe {
            let state = sys::tidings_steal_state(self.tasks, &raw mut bytes);
            slice::from_raw_parts(state.cast(), bytes)
        }
    }

    /// Where in its function it is; 0 at its beginning.
    #[must_use]
    pub fn step(&self) -> u32 {
        // SAFETY: the task runs.
        unsafe { sys::tidings_steal_step(self.tasks) }
    }

    /// How long it is predicted to run, in nanoseconds; 0 if nobody knows.
    #[must_use]
    pub fn predicted_ns(&self) -> u64 {
        // SAFETY: the task runs.
        unsafe { sys::tidings_steal_predicted_ns(self.tasks) }
    }

    /// Help first: spawns another task, and goes on.
    ///
    /// # Errors
    /// If the other exceeds a slot, or there is no such function.
    pub fn spawn(&mut self, frame: &Frame) -> Result<(), Refused> {
        let state = frame.state.bytes();
        // SAFETY: the task runs, and the bytes are copied.
        Refused::unless_done(unsafe {
            sys::tidings_steal_spawn(
                self.tasks,
                frame.function,
                frame.work_ns,
                state.as_ptr().cast(),
                state.len(),
            )
        })
    }

    /// Answers thieves, and takes in what others have; for tasks that run longer than thieves
    /// should wait.
    pub fn progress(&mut self) {
        // SAFETY: the task runs.
        unsafe { sys::tidings_steal_progress(self.tasks) };
    }

    fn end(&mut self, done: &Done) -> Result<(), Refused> {
        let (first, then, call): (_, _, Continue) = match done {
            Done::Nothing => return Ok(()),
            Done::ChildFirst { child, then } => (child, then, sys::tidings_steal_child_first),
            Done::Finish { body, then } => (body, then, sys::tidings_steal_finish_first),
        };
        let (first, state) = (lent(first), then.state.bytes());
        // SAFETY: the task runs, and the bytes of both are copied.
        Refused::unless_done(unsafe {
            call(self.tasks, &raw const first, then.step, state.as_ptr().cast(), state.len())
        })
    }
}

type Continue = unsafe extern "C" fn(
    *mut Tasks,
    *const TidingsStealTask,
    u32,
    *const c_void,
    usize,
) -> core::ffi::c_int;

/// A frame as C has it, as long as the frame stays.
fn lent(frame: &Frame) -> TidingsStealTask {
    let state = frame.state.bytes();
    TidingsStealTask {
        function: frame.function,
        step: frame.step,
        work_ns: frame.work_ns,
        state: state.as_ptr().cast(),
        bytes: state.len(),
    }
}

/// A function as the library has it: what it is, and where this rank's `T` is during a phase.
pub(crate) struct Function<T> {
    pub(crate) body: Body<T>,
    pub(crate) own: *const core::cell::Cell<*mut T>,
}

/// Runs a task of one. If it panics, or ends in a way that cannot be, the job ends: the other
/// ranks would wait for it.
///
/// # Safety
/// `user` is a [`Function`] of this `T`, and a phase runs.
pub(crate) unsafe extern "C" fn run<T>(tasks: *mut Tasks, user: *mut c_void) {
    // SAFETY: as the caller promises; in a phase the cell has a place that nobody else uses.
    let (body, own) = unsafe {
        let function = &*user.cast::<Function<T>>();
        (function.body, &mut *(*function.own).get())
    };
    let mut task = Task { tasks, within: PhantomData };
    let what = match catch_unwind(AssertUnwindSafe(|| body(&mut task, own))) {
        Ok(done) => match task.end(&done) {
            Ok(()) => return,
            Err(refused) => refused.to_string(),
        },
        Err(_) => "it has panicked".to_owned(),
    };
    eprintln!("tidings-steal: a task cannot go on, and the job ends: {what}");
    // SAFETY: MPI has begun.
    unsafe { sys::tidings_rust_abort(3) };
}
