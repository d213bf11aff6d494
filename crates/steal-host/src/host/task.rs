//! The task that runs, as its function sees it.

use tidings_steal::frame::TooLarge;
use tidings_steal::{Done, Frame};

use super::Host;
use crate::error::SpawnError;

/// A function of tasks. `T` is what the process has, such as what its tasks have found.
pub type Body<T> = fn(&mut Task<'_>, &mut T) -> Done;

/// The task that runs.
#[derive(Debug)]
pub struct Task<'a> {
    pub(super) host: &'a mut Host,
    pub(super) frame: &'a Frame,
    pub(super) functions: usize,
}

impl<'a> Task<'a> {
    /// What it goes on with.
    #[inline]
    pub fn state(&self) -> &'a [u8] {
        self.frame.state.bytes()
    }

    /// Its function, by its place among those of the phase.
    pub fn function(&self) -> u16 {
        self.frame.function
    }

    /// Whether another task could run in this phase.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self, frame: &Frame) -> Result<(), SpawnError> {
        self.host.fits(frame, self.functions)
    }

    /// Where in its function it is; 0 at its beginning.
    pub fn step(&self) -> u32 {
        self.frame.step
    }

    /// How long it is predicted to run, in nanoseconds; 0 if nobody knows.
    pub fn predicted_ns(&self) -> u64 {
        self.frame.work_ns
    }

    /// The number of the worker that runs it.
    pub fn worker(&self) -> u32 {
        self.host.me
    }

    /// Help first: spawns another task, and goes on.
    ///
    /// # Errors
    /// If the other cannot run.
    #[inline]
    pub fn spawn(&mut self, frame: Frame) -> Result<(), SpawnError> {
        self.host.fits(&frame, self.functions)?;
        // It fits, and a task runs. A worker that cannot go on says so when this task has ended.
        let _ = self.host.worker.spawn(frame);
        let _ = self.host.perform();
        Ok(())
    }

    /// Answers thieves; for tasks that run longer than thieves should wait.
    pub fn progress(&mut self) {
        // As in `spawn`.
        let _ = self.host.turn();
    }
}

impl Host {
    /// Whether a task can run in a phase with so many functions.
    #[inline]
    pub(super) fn fits(&self, frame: &Frame, functions: usize) -> Result<(), SpawnError> {
        let (bytes, slot_bytes) = (frame.state.bytes().len(), self.rules.slot_bytes as usize);
        if bytes > slot_bytes {
            return Err(TooLarge { bytes, slot_bytes }.into());
        }
        let function = frame.function;
        if usize::from(function) >= functions {
            return Err(SpawnError::Function { function, functions });
        }
        Ok(())
    }
}
