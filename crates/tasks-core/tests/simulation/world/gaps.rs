//! A world in which nothing fails but coordinators, and tasks always wait: how long is none
//! dispatched?
//!
//! A gap is the time between two dispatches in a row. What it is made of: the session of who was
//! killed ends, another process is elected, reads what the part holds, and workers find it.

use tidings_tasks_core::coordinator::Coordinator;
use tidings_tasks_core::message::Submission;
use tidings_tasks_core::resources::Need;

use super::*;

/// More tasks than the workers have in hand, and one batch more.
const ENOUGH: usize = 40;
const BATCH: u64 = 20;

/// Kills of the coordinator.
const KILLS: u32 = 5;

impl World {
    /// The gaps of a world while coordinators are killed.
    pub(crate) fn gaps(seed: u64) -> Gaps {
        let mut world = Self::new(seed);
        world.gaps = Some(Gaps::default());
        world.weather.clear();
        while let Some(((at, _), event)) = world.events.pop_first() {
            world.now = at;
            world.happen(event);
            if world.is_quiet() {
                break;
            }
        }
        world.gaps.expect("it was set")
    }

    /// Something is dispatched now.
    pub(super) fn dispatched(&mut self) {
        let (now, is_left) = (self.now, self.gaps.is_some() && self.live() >= ENOUGH);
        if let Some(gaps) = &mut self.gaps {
            gaps.dispatched(now, is_left);
        }
    }

    /// Clients submit tasks, so that some always wait.
    pub(super) fn keep_waiting(&mut self, at: usize) {
        let is_full = self.live() >= ENOUGH + BATCH as usize;
        if at < WORKERS || is_full || !self.parties[at].calls.is_empty() {
            return;
        }
        let first = self.tasks.len() as u64;
        let mut tasks = Vec::new();
        for id in (first..first + BATCH).map(|number| TaskId::of("task", number)) {
            self.tasks.push((id, Kind::Plain));
            let task = submission(id, Kind::Plain, &mut self.chance);
            tasks.push(Submission { delay_ms: 0, need: Need::default(), ..task });
        }
        self.parties[at].ask(Request::Submit { tasks }, self.now);
    }

    /// The coordinator that serves is killed; more often than a process needs to come back.
    pub(super) fn kill_who_coordinates(&mut self) {
        let rest = ms(1_200 + self.chance.below(400));
        self.after(rest, Event::Fault);
        let is_it =
            |process: &Process| process.coordinator.as_ref().is_some_and(Coordinator::is_serving);
        let Some(at) = self.processes.iter().position(is_it) else { return };
        if let Some(gaps) = self.gaps.as_mut().filter(|gaps| gaps.kills < KILLS) {
            gaps.kills += 1;
            self.kill_process(at);
        }
    }
}
