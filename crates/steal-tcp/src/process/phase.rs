//! A phase: what a process does from entering until nothing is left of it anywhere.
//!
//! Between tasks it looks for messages, as often as its rules say: a system call each time. Without
//! a task it sleeps until something comes, or until somebody has been silent for too long.

use std::time::{Duration, Instant};

use tidings_steal::{Done, Ending, Frame, Lost, NoBoard, Seeding};

use super::task::{Body, Task};
use super::{Process, tag_of};
use crate::error::PhaseError;

/// What a phase was on this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phase {
    /// With what it began.
    pub seeding: Seeding,
    /// From when all had entered until all had left.
    pub took: Duration,
}

/// Leaves if its thread panics, so that no other worker waits.
struct Within<'a>(&'a mut Process);

impl Drop for Within<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.leave();
        }
    }
}

/// The functions of a phase, and what its tasks are given.
struct Work<'a, T> {
    functions: &'a [Body<T>],
    user: &'a mut T,
    /// The first task that could not end as it wanted.
    trouble: Option<PhaseError>,
}

impl Process {
    /// Enters a phase with these tasks and returns when nothing is left of it at any worker. All
    /// workers enter the same phases in the same order, with as many functions; a task names its
    /// function by its place among them. Phases of one name are iterations of one computation.
    ///
    /// A task runs on any worker. What it finds it adds to `user`, which is this process's own.
    ///
    /// # Errors
    /// If a task cannot run, others do not enter this phase, or have died: see [`PhaseError`].
    ///
    /// # Panics
    /// If a task does. This process takes part no more then, and the others' phase ends with what
    /// is lost by that.
    pub fn phase<T>(
        &mut self,
        name: &str,
        list: Vec<Frame>,
        functions: &[Body<T>],
        user: &mut T,
    ) -> Result<Phase, PhaseError> {
        for (at, frame) in list.iter().enumerate() {
            let fits = self.fits(frame, functions.len());
            fits.map_err(|source| PhaseError::List { at, source })?;
        }
        let within = Within(self);
        let process = &mut *within.0;
        process.meet(tag_of(&(name, functions.len())), Vec::new(), Some(process.rules.patience))?;
        let began = Instant::now();
        process.ending = None;
        let time = process.time(began);
        // It fits and no phase runs, so nothing but a death of its own keeps it out.
        process.worker.begin(name, list, time).map_err(|_| PhaseError::Expelled)?;
        process.perform();
        let mut work = Work { functions, user, trouble: None };
        process.work(&mut work)?;
        process.meet(tag_of(&"end"), Vec::new(), None)?;
        process.report()?;
        work.trouble.map_or(Ok(()), Err)?;
        Ok(Phase { seeding: process.seeding, took: began.elapsed() })
    }

    /// Runs what there is until nothing is left.
    fn work<T>(&mut self, work: &mut Work<'_, T>) -> Result<(), PhaseError> {
        let poll = Duration::from_micros(u64::from(self.rules.poll_us));
        let mut now = Instant::now();
        let mut look = now;
        while self.ending.is_none() {
            if now >= look {
                self.turn(Duration::ZERO)?;
                look = now + poll;
            }
            self.stopped()?;
            if let Some(frame) = self.worker.next_task(self.time(now), &NoBoard) {
                now = self.run(&frame, work, now);
                self.perform();
                continue;
            }
            self.perform();
            if self.ending.is_none() {
                self.rest(self.deadline())?;
            }
            now = Instant::now();
        }
        self.stopped()
    }

    /// Runs a task; when it was done.
    #[inline]
    fn run<T>(&mut self, frame: &Frame, work: &mut Work<'_, T>, began: Instant) -> Instant {
        let count = work.functions.len();
        let body = work.functions[usize::from(frame.function)];
        let done = body(&mut Task { process: self, frame, functions: count }, work.user);
        let now = Instant::now();
        let fits = match &done {
            Done::Nothing => Ok(()),
            Done::ChildFirst { child: one, then } | Done::Finish { body: one, then } => {
                self.fits(one, count).and_then(|()| self.fits(then, count))
            }
        };
        let done = match fits {
            Ok(()) => done,
            Err(source) => {
                let function = frame.function;
                work.trouble.get_or_insert(PhaseError::Rest { function, source });
                Done::Nothing
            }
        };
        let took_ns = now.saturating_duration_since(began).as_nanos() as u64;
        // Who was expelled within the task has no task any more, and says so next.
        let _ = self.worker.finished(done, took_ns);
        now
    }

    /// When the worker wants to look again.
    fn deadline(&self) -> Option<Instant> {
        let due = self.worker.next_deadline()?;
        self.origin.checked_add(Duration::from_micros(u64::try_from(due.as_micros()).ok()?))
    }

    /// What is missing of the phase that has ended. Who has come to its end has done its part, even
    /// if it is gone by now: all who live say the same.
    fn report(&mut self) -> Result<(), PhaseError> {
        let is_news = self.note_lost();
        let (sent, finishes) = match self.ending.take() {
            Some(Ending::Lost(lost)) => (lost.sent, lost.finishes),
            Some(Ending::Expelled) => return Err(PhaseError::Expelled),
            Some(Ending::Complete) | None if is_news => (0, 0),
            Some(Ending::Complete) | None => return Ok(()),
        };
        Err(PhaseError::Lost(Lost { workers: self.lost().collect(), sent, finishes }))
    }
}
