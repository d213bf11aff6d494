//! The task that runs, as its function sees it.

use tidings_steal::frame::TooLarge;
use tidings_steal::{Counters, Done, Frame};

use super::Process;
use crate::error::SpawnError;

/// What a function of tasks is. `T` is what the process has, such as what its tasks have found.
pub type Body<T> = fn(&mut Task<'_>, &mut T) -> Done;

/// The task that runs.
#[derive(Debug)]
pub struct Task<'a> {
    pub(super) process: &'a mut Process,
    pub(super) frame: &'a Frame,
    pub(super) functions: usize,
}

impl<'a> Task<'a> {
    /// The bytes that it goes on with.
    #[inline]
    pub fn state(&self) -> &'a [u8] {
        self.frame.state.bytes()
    }

    /// The step of its function, 0 at the beginning.
    pub fn step(&self) -> u32 {
        self.frame.step
    }

    /// The nanoseconds that it is predicted to run, 0 if nobody knows.
    pub fn predicted_ns(&self) -> u64 {
        self.frame.work_ns
    }

    /// Which worker runs it.
    pub fn worker(&self) -> u32 {
        self.process.number()
    }

    /// What the worker that runs it has done since it joined.
    pub fn counters(&self) -> Counters {
        self.process.counters()
    }

    /// Spawns another task, help first: this one goes on.
    ///
    /// # Errors
    /// If the other cannot run.
    #[inline]
    pub fn spawn(&mut self, frame: Frame) -> Result<(), SpawnError> {
        self.process.fits(&frame, self.functions)?;
        // A task runs here; if the worker cannot go on, the phase says so when the task has ended.
        let _ = self.process.worker.spawn(frame);
        self.process.perform();
        Ok(())
    }

    /// Looks for messages and answers them: for tasks longer than thieves should wait.
    pub fn progress(&mut self) {
        // What is wrong is said again at the end of the task.
        let _ = self.process.turn(core::time::Duration::ZERO);
    }
}

impl Process {
    /// Whether a task can run in a phase with so many functions.
    #[inline]
    pub(super) fn fits(&self, frame: &Frame, functions: usize) -> Result<(), SpawnError> {
        let (bytes, slot_bytes) = (frame.state.bytes().len(), self.rules.slot_bytes as usize);
        let function = frame.function;
        if bytes > slot_bytes {
            Err(TooLarge { bytes, slot_bytes }.into())
        } else if usize::from(function) >= functions {
            Err(SpawnError::Function { function, functions })
        } else {
            Ok(())
        }
    }
}
