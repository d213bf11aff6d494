//! What a phase waits for beside its tasks, and tasks that no task spawned.
//!
//! Who keeps results apart from tasks has more to end than tasks: results on their way, questions
//! that others have to answer. Each such thing is *held*: it counts as a task that nobody can
//! steal, so the phase does not end before it is released, and if its worker dies it is out of the
//! sums as that worker's tasks are. Who finds that tasks are lost adds them here.
//!
//! Invariant: what is released was held. All of this is counted in the view of the worker, so that
//! what is held or added when it learns of a death is in what it reports of those who live.

use super::{Stage, Worker};
use crate::frame::{Frame, Scope, TooLarge};

impl Worker {
    /// The phase does not end before so many things have been released here.
    pub fn hold(&mut self, things: u64) {
        if self.stage == Stage::Within {
            self.census.made(things);
        }
    }

    /// So many of the things that were held have ended.
    pub fn release(&mut self, things: u64) {
        if self.stage == Stage::Within {
            self.census.gone(things);
            self.settle_again();
        }
    }

    /// Adds a task of the phase outside of any task: one that was lost.
    ///
    /// Returns whether a phase is running here, to which it was added.
    ///
    /// # Errors
    /// If the task exceeds a slot.
    pub fn inject(&mut self, task: Frame) -> Result<bool, TooLarge> {
        self.fits(&task)?;
        if self.stage != Stage::Within {
            return Ok(false);
        }
        self.add(Frame { scope: Scope::PHASE, ..task });
        self.serve();
        Ok(true)
    }

    /// Drops the tasks that wait here, and returns them: they are not counted as lost.
    pub fn withdraw(&mut self) -> Vec<Frame> {
        let tasks: Vec<Frame> = core::iter::from_fn(|| self.queue.pop()).collect();
        self.census.gone(tasks.len() as u64);
        tasks
    }
}

#[cfg(test)]
mod tests {
    use tidings_primitives::Instant;

    use crate::config::{Config, lifelines};
    use crate::output::{Ending, Output};
    use crate::victims::NoBoard;
    use crate::worker::Done;

    use super::*;

    const NOW: Instant = Instant::EPOCH;

    fn alone() -> Worker {
        let mut worker = Worker::new(0, 1, &Config::new(lifelines(), 20), 1);
        worker.begin("phase", Vec::new(), NOW).unwrap();
        worker
    }

    fn ended(worker: &mut Worker) -> bool {
        assert_eq!(worker.next_task(NOW, &NoBoard), None);
        let outputs = core::iter::from_fn(|| worker.poll_output());
        outputs.into_iter().any(|output| output == Output::PhaseDone(Ending::Complete))
    }

    #[test]
    fn the_phase_waits_for_what_is_held() {
        let mut worker = alone();
        worker.hold(2);
        assert!(!ended(&mut worker));
        worker.release(1);
        assert!(!ended(&mut worker));
        worker.release(1);
        assert!(ended(&mut worker));
        worker.hold(1);
        worker.begin("phase", Vec::new(), NOW).unwrap();
        assert!(ended(&mut worker), "what was held outside of a phase is not counted");
    }

    #[test]
    fn a_task_that_no_task_spawned_runs_in_a_phase_alone() {
        let mut worker = alone();
        let task = Frame::new(3, 5, b"lost").unwrap();
        assert_eq!(worker.inject(task.clone()), Ok(true));
        assert_eq!(worker.next_task(NOW, &NoBoard).map(|frame| frame.function), Some(3));
        worker.finished(Done::Nothing, 5).unwrap();
        assert!(ended(&mut worker));
        assert_eq!(worker.inject(task), Ok(false));
        let large = Frame::new(0, 0, &[0; 300]).unwrap();
        assert_eq!(worker.inject(large).unwrap_err().bytes, 300);
    }

    #[test]
    fn what_is_withdrawn_is_not_waited_for() {
        let mut worker = Worker::new(0, 1, &Config::new(lifelines(), 20), 1);
        let tasks = vec![Frame::new(3, 5, b"one").unwrap(); 4];
        worker.begin("phase", tasks, NOW).unwrap();
        worker.next_task(NOW, &NoBoard).unwrap();
        assert_eq!(worker.withdraw().len(), 3);
        worker.finished(Done::Nothing, 5).unwrap();
        assert!(ended(&mut worker));
    }
}
