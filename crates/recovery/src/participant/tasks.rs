//! The tasks of a participant, and what goes from its worker to its world.

use std::sync::Arc;

use tidings_primitives::Instant;
use tidings_steal::{Board, Done, Frame};

use super::{Contribution, Participant};
use crate::locations::Ticket;
use crate::message::Body;
use crate::output::{FinishError, Output};
use crate::plan::{MAX_OUTPUTS, Mark, Plan};

impl Participant {
    /// The number of the task to be run; without one, it does what an idle worker has to.
    pub fn next_task(&mut self, now: Instant, board: &dyn Board) -> Option<u64> {
        self.now = now;
        loop {
            if self.running.is_some() || self.is_full() {
                return None;
            }
            let round = self.round;
            self.running = self.pop(board);
            self.pump();
            if self.running.is_some() || self.round == round {
                return self.running.map(|ticket| ticket.task);
            }
        }
    }

    fn pop(&mut self, board: &dyn Board) -> Option<Ticket> {
        let tasks = self.plan.as_ref().map_or(0, |plan| plan.tasks());
        while let Some(frame) = self.worker.next_task(self.now, board) {
            let ticket = Ticket::of(&frame).filter(|ticket| ticket.task < tasks);
            if ticket.is_some() {
                return ticket;
            }
            self.counters.ignored += 1;
            self.end_of_worker(0);
        }
        None
    }

    /// The task that ran took this long, and adds this.
    ///
    /// A declared output that is not given adds nothing.
    ///
    /// # Errors
    /// If no task runs, or it adds what it has not declared. Nothing is added then.
    pub fn finished(
        &mut self,
        given: Vec<Contribution>,
        took_ns: u64,
        now: Instant,
    ) -> Result<(), FinishError> {
        self.now = now;
        let Some((ticket, plan)) = self.running.zip(self.plan.clone()) else {
            return Err(FinishError::OutsideTask);
        };
        let task = ticket.task;
        let outputs = self.outputs_of(&plan, task, given)?;
        self.running = None;
        for (output, (index, words)) in (0..=u8::MAX).zip(outputs) {
            self.contribute(Mark { task, output }, index, words);
        }
        self.end_of_worker(took_ns);
        if self.is_stopping {
            self.worker.withdraw();
        }
        self.pump();
        Ok(())
    }

    fn end_of_worker(&mut self, took_ns: u64) {
        let ended = self.worker.finished(Done::Nothing, took_ns);
        ended.expect("a task of the worker runs, and nothing follows it");
    }

    /// The board has changed.
    pub fn news(&mut self) {
        self.worker.news();
    }

    /// Gives others tasks unasked, if they have none and this participant many.
    pub fn shed(&mut self, now: Instant, board: &dyn Board) {
        self.now = now;
        self.worker.shed(now, board);
        self.pump();
    }

    /// For each declared output its block and what is added to it.
    fn outputs_of(
        &self,
        plan: &Arc<dyn Plan>,
        task: u64,
        given: Vec<Contribution>,
    ) -> Result<Vec<(u32, Vec<u64>)>, FinishError> {
        let declared = plan.outputs(task);
        let indices: Option<Vec<u32>> =
            declared.iter().map(|place| self.arrays.index(*place)).collect();
        let indices = indices.filter(|all| all.len() <= MAX_OUTPUTS);
        let indices = indices.ok_or(FinishError::Plan { task })?;
        let mut outputs: Vec<Option<Vec<u64>>> = vec![None; declared.len()];
        for Contribution { place, words } in given {
            let free =
                (0..declared.len()).find(|at| declared[*at] == place && outputs[*at].is_none());
            let at = free.ok_or(FinishError::Undeclared { task, place })?;
            let of_block = self.arrays.get(place.array).map_or(0, |array| array.words as usize);
            if words.len() != of_block {
                return Err(FinishError::Length { place, given: words.len(), words: of_block });
            }
            outputs[at] = Some(words);
        }
        Ok(indices.into_iter().zip(outputs.into_iter().map(Option::unwrap_or_default)).collect())
    }

    pub(super) fn frame(&self, ticket: Ticket) -> Frame {
        let work_ns = self.plan.as_ref().map_or(0, |plan| plan.work_ns(ticket.task));
        ticket.frame(work_ns).expect("twelve bytes fit any slot")
    }

    /// Tickets for tasks that are started again.
    pub(super) fn tickets(&self, tasks: &[u64]) -> Vec<Ticket> {
        let round = self.round.wrapping_sub(self.first_round);
        tasks.iter().map(|task| self.locations.restart(*task, round)).collect()
    }

    /// Starts tasks that are missing, unless the round is to end.
    pub(super) fn start(&mut self, tasks: &[u64]) {
        if self.is_stopping {
            return;
        }
        let tickets = self.tickets(tasks);
        for ticket in &tickets {
            let frame = self.frame(*ticket);
            if self.worker.inject(frame).is_ok_and(|is_added| is_added) {
                self.counters.again += 1;
            }
        }
        self.tell_homes(self.me, tickets);
    }

    /// Takes what the worker wants done.
    pub(super) fn pump(&mut self) {
        while let Some(output) = self.worker.poll_output() {
            match output {
                tidings_steal::Output::Send { to, mut message } => {
                    if let tidings_steal::Body::Given { frames, .. } = &mut message.body {
                        self.give(to, frames);
                    }
                    self.send(to, Body::Steal(message));
                }
                tidings_steal::Output::PhaseDone(ending) => self.round_done(&ending),
                tidings_steal::Output::Seeded(_) | tidings_steal::Output::Diverged(_) => {}
            }
        }
    }

    /// Tasks go to a thief: each has moved once more.
    fn give(&mut self, thief: u32, frames: &mut [Frame]) {
        let mut tickets = Vec::with_capacity(frames.len());
        for frame in frames {
            let Some(ticket) = Ticket::of(frame).map(Ticket::moved) else { continue };
            frame.state = self.frame(ticket).state;
            tickets.push(ticket);
        }
        self.tell_homes(thief, tickets);
    }

    /// Ends the phase for the world.
    pub(super) fn done(&mut self, ending: crate::output::Ending) {
        self.running = None;
        self.outputs.push_back(Output::Done(ending));
    }
}
