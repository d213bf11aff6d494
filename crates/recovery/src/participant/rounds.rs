//! Rounds: a phase begins with what was given, goes on with what is missing, and ends complete.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidings_primitives::Instant;
use tidings_steal::output::BeginError as Refused;
use tidings_steal::{Ending as Ended, Frame};

use super::{Due, Participant};
use crate::ledger::Ledger;
use crate::locations::Ticket;
use crate::message::{Body, MAX_LISTED};
use crate::output::{BeginError, Ending};
use crate::placement::holders;
use crate::plan::{MAX_TASKS, Plan, given};

impl Participant {
    /// Enters the next phase with this plan. Name and plan are the same at all participants.
    ///
    /// # Errors
    /// If a phase is running, there are too many tasks, or others consider this participant dead.
    pub fn begin(
        &mut self,
        name: &str,
        plan: Arc<dyn Plan>,
        now: Instant,
    ) -> Result<(), BeginError> {
        self.now = now;
        if self.is_within {
            return Err(BeginError::WithinPhase);
        }
        let tasks = plan.tasks();
        if tasks > MAX_TASKS {
            return Err(BeginError::TooMany(tasks));
        }
        name.clone_into(&mut self.name);
        self.plan = Some(plan);
        self.first_round = self.round.wrapping_add(1);
        let zeroed = self.arrays.begin_phase(self.first_round);
        self.refusals.retain(|refusal| !zeroed.contains(&refusal.place.array));
        for index in self.blocks.indices() {
            let Some(place) = self.arrays.place(index) else { continue };
            if let Some(array) = self.arrays.get(place.array) {
                if zeroed.contains(&place.array) {
                    self.blocks.zero(index, array.words);
                }
            }
            let ledger = self.declared(place);
            self.blocks.declare(index, ledger);
        }
        self.locations.clear();
        self.began_with = self.view.clone();
        let workers = self.view.workers();
        let own = (0..workers).filter(|home| holders(*home, &self.view).0 == self.me);
        let own = own.flat_map(|home| given(home, workers, tasks));
        let frames = own.map(|task| self.frame(Ticket { task, version: 0 })).collect();
        self.enter(frames, &[])?;
        self.pump();
        Ok(())
    }

    /// Enters a round with these tasks, of which some are started again.
    fn enter(&mut self, frames: Vec<Frame>, again: &[u64]) -> Result<(), BeginError> {
        self.worker.begin(&self.name, frames, self.now).map_err(|error| match error {
            Refused::Expelled => BeginError::Expelled,
            Refused::WithinPhase | Refused::TooLarge(_) => BeginError::WithinPhase,
        })?;
        self.round = self.round.wrapping_add(1);
        (self.is_within, self.is_stopping) = (true, false);
        self.counters.rounds += 1;
        self.due.retain(|due| !due.is_of_round());
        self.worker.hold(self.due.len() as u64);
        self.started = again.iter().copied().collect();
        self.counters.again += again.len() as u64;
        self.asked.clear();
        for index in self.blocks.indices() {
            if self.blocks.is_lost(index) && self.owner(index) == self.me {
                self.refuse(index);
            }
        }
        for (from, message) in core::mem::take(&mut self.early) {
            self.take(from, message.round, message.body);
        }
        Ok(())
    }

    /// The worker has left a round.
    pub(super) fn round_done(&mut self, ended: &Ended) {
        self.is_within = false;
        match ended {
            Ended::Expelled => {
                self.is_expelled = true;
                self.done(Ending::Expelled);
            }
            Ended::Lost(_) => self.go_on(),
            Ended::Complete => {
                let ending = self.conclude();
                self.done(ending);
            }
        }
    }

    /// Workers died in the round: what is missing runs in the next one.
    fn go_on(&mut self) {
        self.running = None;
        let mut missing = if self.refusals.is_empty() { self.missing() } else { BTreeMap::new() };
        let own = missing.remove(&self.me).unwrap_or_default();
        let tickets = self.tickets(&own);
        let frames = tickets.iter().map(|ticket| self.frame(*ticket)).collect();
        if self.enter(frames, &own).is_err() {
            return self.done(Ending::Expelled);
        }
        self.tell_homes(self.me, tickets);
        for (to, tasks) in missing {
            for part in tasks.chunks(MAX_LISTED) {
                self.number = self.number.wrapping_add(1);
                let number = self.number;
                self.expect(Due::Listed { number, to });
                self.send(to, Body::Missing { number, tasks: part.to_vec() });
            }
        }
    }

    /// Tasks of which something is missing in the blocks of this owner, by who is to run them: the
    /// owner of a task's first output, so that it runs once though two blocks miss it.
    fn missing(&self) -> BTreeMap<u32, Vec<u64>> {
        let mut missing: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        let Some(plan) = &self.plan else { return missing };
        for index in self.blocks.indices() {
            let Some(ledger) = self.blocks.ledger(index) else { continue };
            if self.owner(index) != self.me {
                continue;
            }
            for mark in ledger.missing() {
                let first = plan.outputs(mark.task).first().and_then(|at| self.arrays.index(*at));
                let runner = first.map_or(self.me, |index| self.owner(index));
                missing.entry(runner).or_default().push(mark.task);
            }
        }
        for tasks in missing.values_mut() {
            tasks.sort_unstable();
            tasks.dedup();
        }
        missing
    }

    /// An owner misses something of tasks that this participant is to run.
    pub(super) fn start_missing(&mut self, tasks: &[u64]) {
        let most = self.plan.as_ref().map_or(0, |plan| plan.tasks());
        let is_new = |task: &&u64| **task < most && self.started.insert(**task);
        let new: Vec<u64> = tasks.iter().filter(is_new).copied().collect();
        self.start(&new);
    }

    /// Nobody died in the last round: all is held, if no block was lost.
    ///
    /// One who learns of a death after the end was decided, and before it heard of it, may have
    /// begun a block again that was complete: that is lost.
    /// A block is also lost if it was not completed since another one is lost.
    fn conclude(&mut self) -> Ending {
        let is_agreed = !self.refusals.is_empty();
        for index in self.blocks.indices() {
            let lacks = self.blocks.ledger(index).map_or(0, Ledger::lacks);
            let Some(place) = self.arrays.place(index).filter(|_| lacks > 0) else { continue };
            self.blocks.lose(index);
            if !is_agreed && self.owner(index) == self.me {
                self.refusals.insert(self.refusal(place, lacks));
            }
        }
        self.arrays.end_phase();
        if self.refusals.is_empty() {
            return Ending::Complete;
        }
        Ending::Refused(self.refusals.iter().cloned().collect())
    }
}
