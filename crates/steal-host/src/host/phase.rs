//! A phase: what a worker does from entering until nothing is left of it anywhere.
//!
//! It looks for messages before each task, which is a load or two of a line that changes only when
//! somebody has something for it. Without a task it waits a moment for answers, then it sleeps.

use std::time::{Duration, Instant};

use tidings_steal::{Done, Ending, Frame, Lost, Seeding};

use super::{Body, Host, Task, tag_of};
use crate::error::PhaseError;
use crate::rules::Search;
use crate::shown::Shown;

/// After how long a worker that sleeps looks at what others show of their work. It is woken by who
/// has something to give; this is for what nobody gives, as there was too little to be gained.
const UNIT: Duration = Duration::from_millis(10);

/// What a phase was on this worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Phase {
    /// With what it began.
    pub seeding: Seeding,
    /// From when all had entered until all had left.
    pub took: Duration,
}

/// Leaves if its thread panics, so that no other worker waits.
struct Within<'a>(&'a mut Host);

impl Drop for Within<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.leave();
        }
    }
}

impl Host {
    /// Enters a phase with these tasks and returns when nothing is left of it at any worker. All
    /// workers enter the same phases in the same order, with as many functions; a task names its
    /// function by its place among them. Phases of one name are iterations of one computation.
    ///
    /// A task runs on any worker. What it finds it adds to `user`, which is this process's own.
    ///
    /// # Errors
    /// If a task cannot run, others do not enter this phase, or have ended: see [`PhaseError`].
    ///
    /// # Panics
    /// If a task does. This worker takes part no more then, and the others' phase ends with what is
    /// lost by that.
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
        let host = &mut *within.0;
        host.show_place();
        host.meet(tag_of(&(name, functions.len())), Some(host.rules.patience))?;
        let began = Instant::now();
        host.ending = None;
        let now = host.time(began);
        // It fits, no phase runs, and nobody takes this worker for dead.
        host.worker.begin(name, list, now).map_err(|_| PhaseError::Ended)?;
        host.shown_ns = (host.rules.search == Search::Known).then_some(u64::MAX);
        host.perform()?;
        let trouble = host.work(functions, user)?;
        host.shown_ns = None;
        host.memory.show_work(host.me, None);
        host.meet(tag_of(&"end"), None)?;
        host.report()?;
        trouble.map_or(Ok(()), Err)?;
        Ok(Phase { seeding: host.seeding, took: began.elapsed() })
    }

    /// Runs what there is until nothing is left; the first task that could not end as it wanted.
    fn work<T>(
        &mut self,
        functions: &[Body<T>],
        user: &mut T,
    ) -> Result<Option<PhaseError>, PhaseError> {
        // A worker asks for the time when it has nothing to do, and may be told an earlier one.
        let (mut now, mut trouble) = (Instant::now(), None);
        while self.ending.is_none() {
            self.turn()?;
            if self.has_left {
                return Err(PhaseError::Ended);
            }
            let (time, board) = (self.time(now), Shown { memory: &self.memory, me: self.me });
            let frame = self.worker.next_task(time, &board);
            self.perform()?;
            if let Some(frame) = frame {
                now = self.run(&frame, functions, user, &mut trouble).unwrap_or(now);
                self.perform()?;
            } else {
                if self.ending.is_none() {
                    self.rest(self.deadline())?;
                    self.worker.news();
                }
                now = Instant::now();
            }
        }
        Ok(trouble)
    }

    /// Runs a task, and times it if anybody will ask, when it says when that has ended: a clock
    /// takes a fifth of an empty task.
    #[inline]
    fn run<T>(
        &mut self,
        frame: &Frame,
        functions: &[Body<T>],
        user: &mut T,
        trouble: &mut Option<PhaseError>,
    ) -> Option<Instant> {
        let body = functions[usize::from(frame.function)];
        let began = (frame.work_ns > 0 || self.rules.retain).then(Instant::now);
        let done = body(&mut Task { host: self, frame, functions: functions.len() }, user);
        let ended = began.map(|_| Instant::now());
        let took = began.zip(ended).map(|(began, ended)| ended - began);
        let took_ns = took.map_or(0, |took| took.as_nanos() as u64);
        let function = frame.function;
        let fits = match &done {
            Done::Nothing => Ok(()),
            Done::ChildFirst { child: first, then } | Done::Finish { body: first, then } => {
                self.fits(first, functions.len()).and_then(|()| self.fits(then, functions.len()))
            }
        };
        let done = match fits {
            Ok(()) => done,
            Err(source) => {
                trouble.get_or_insert(PhaseError::Rest { function, source });
                Done::Nothing
            }
        };
        // A worker that has left within the task has no task any more, and says so next.
        let _ = self.worker.finished(done, took_ns);
        ended
    }

    /// When the worker wants to look again; if others show their work, after some time in any case.
    fn deadline(&self) -> Option<Instant> {
        let looks = (self.rules.search == Search::Known).then(|| Instant::now() + UNIT);
        let Some(due) = self.worker.next_deadline() else { return looks };
        let due_us = u64::try_from(due.as_micros()).unwrap_or(0);
        let due = self.origin.checked_add(Duration::from_micros(due_us));
        looks.map_or(due, |looks| due.map(|due| due.min(looks)))
    }

    /// What is missing of the phase that has ended. Who has come to its end has done its part,
    /// even if it is gone by now: all who live say the same.
    fn report(&mut self) -> Result<(), PhaseError> {
        let is_news = self.find_lost();
        let (sent, finishes) = match self.ending.take() {
            Some(Ending::Lost(lost)) => (lost.sent, lost.finishes),
            Some(Ending::Expelled) => {
                self.leave();
                return Err(PhaseError::Ended);
            }
            Some(Ending::Complete) | None if is_news => (0, 0),
            Some(Ending::Complete) | None => return Ok(()),
        };
        Err(PhaseError::Lost(Lost { workers: self.lost().collect(), sent, finishes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rules, Segment};

    /// What a worker shows while each of its tasks runs, and after the phase.
    fn shown(search: Search) -> (Vec<Option<u64>>, Option<u64>) {
        fn look(task: &mut Task<'_>, shown: &mut Vec<Option<u64>>) -> Done {
            shown.push(task.host.memory.work(task.host.me));
            if shown.len() == 1 {
                task.spawn(Frame::new(0, 100, &[]).expect("it fits")).expect("it fits");
                shown.push(task.host.memory.work(task.host.me));
            }
            Done::Nothing
        }
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("segment");
        let rules = Rules { search, ..Rules::default() };
        let _segment = Segment::create(&path, 1, &rules).expect("room");
        let mut host = Host::join(&path, 1).expect("a seat");
        let (list, mut shown) = (vec![Frame::new(0, 100, &[]).expect("it fits"); 2], Vec::new());
        host.phase("shown", list, &[look as Body<_>], &mut shown).expect("nobody ends");
        (shown, host.memory.work(0))
    }

    #[test]
    fn a_worker_shows_what_it_has_while_a_phase_runs() {
        let (shown_within, shown_after) = shown(Search::Known);
        let shown_within: Vec<u64> = shown_within.into_iter().flatten().collect();
        assert_eq!(shown_within.len(), 4, "it shows something each time: {shown_within:?}");
        assert!(shown_within[0] > 0 && shown_within[1] > shown_within[0], "{shown_within:?}");
        assert_eq!((shown_within[3], shown_after), (0, None));
        assert_eq!(shown(Search::Lifelines), (vec![None; 4], None));
    }
}
