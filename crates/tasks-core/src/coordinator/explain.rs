//! Explanations: why a task that has not ended does not run.
//!
//! What the record of a task says is not repeated. The rest lies in the memory of its coordinator:
//! which inputs are missing, and what the workers that are there could take.

use crate::class::Class;
use crate::id::TaskId;
use crate::message::{Answer, Call, Peer};
use crate::record::State;
use crate::view::{InputState, Lies, MAX_SHOWN_INPUTS, Unfit, Why};

use super::Coordinator;
use super::rooms::{Fit, Fits};
use super::table::{Entry, Place};

impl Coordinator {
    pub(super) fn explain(&mut self, peer: Peer, call: Call, id: TaskId) {
        let why = self.why(id);
        self.answer(peer, call, Answer::Explained(Box::new(why), self.lies(id)));
    }

    /// Where outputs lie that a task reads.
    fn lies(&self, id: TaskId) -> Vec<Lies> {
        let inputs = self.edges.inputs(id).iter();
        let outputs = inputs.filter_map(|input| Some((*input, self.outputs.get(*input)?)));
        let lies = outputs.map(|(task, output)| {
            let there = output.depots.iter().filter(|depot| self.depots.has(depot.id));
            let hosts = there.map(|depot| depot.host.clone()).collect();
            Lies { task, bytes: output.bytes, hosts }
        });
        lies.take(MAX_SHOWN_INPUTS).collect()
    }

    fn why(&self, id: TaskId) -> Why {
        if self.arriving.contains(&id) {
            return Why::Changing;
        }
        let Some(entry) = self.table.get(id) else { return Why::Absent };
        match entry.place() {
            Place::Waiting => {
                let missing = self.edges.missing(id);
                let first = missing.iter().take(MAX_SHOWN_INPUTS);
                let first = first.map(|input| (*input, self.input_state(*input))).collect();
                Why::Inputs(missing.len() as u32, first)
            }
            Place::Delayed => Why::Delayed,
            Place::Running => Why::Running(self.awaited_permits(id)),
            Place::Ready if entry.is_changing => Why::Changing,
            Place::Ready => match self.table.classes().get(entry.class()) {
                Some(class) => self.why_ready(entry.queue(), class),
                None => Why::Changing,
            },
        }
    }

    fn input_state(&self, id: TaskId) -> InputState {
        let is_again = self.outputs.get(id).is_some() && self.is_live(id);
        match self.table.get(id).map(Entry::place) {
            _ if is_again => InputState::Again,
            Some(Place::Ready) => InputState::Ready,
            Some(Place::Delayed) => InputState::Delayed,
            Some(Place::Waiting) => InputState::Waiting,
            Some(Place::Running) => InputState::Running,
            None if self.arriving.contains(&id) => InputState::Ready,
            None if self.inbox.part_of(id).is_some() => InputState::Abroad,
            None => InputState::Ended,
        }
    }

    /// The semaphores of which the worker that does a task waits for permits.
    fn awaited_permits(&self, id: TaskId) -> Vec<String> {
        let task = self.table.get(id).and_then(|entry| entry.task.as_deref());
        let Some(State::Running(running)) = task.map(|task| &task.state) else { return vec![] };
        let waits = self.permits.all().filter(|(_, semaphore)| {
            semaphore.waiting.iter().any(|grant| grant.holder == running.worker)
        });
        waits.map(|(name, _)| name.to_owned()).collect()
    }

    fn why_ready(&self, queue: &str, class: &Class) -> Why {
        let (mut workers, mut able, mut free) = (0, 0, 0);
        for session in self.sessions.takers(queue) {
            workers += 1;
            match session.fit(class) {
                Fit::Never => {}
                Fit::Later => able += 1,
                Fit::Now => (able, free) = (able + 1, free + 1),
            }
        }
        let ready = self.table.ready(queue) as u64;
        let is_full = self.sessions.full(queue, class).next().is_some();
        match (workers, able, free) {
            (0, ..) if !is_full => Why::NoWorker,
            (_, 0, _) => Why::Unfit(self.unfit(queue, class, workers)),
            (_, _, 0) => Why::Busy { workers: able, ready },
            _ => Why::Next { ready },
        }
    }

    /// What none of the workers of a queue has of what a class needs.
    fn unfit(&self, queue: &str, class: &Class, workers: u32) -> Unfit {
        let most = |name: &str| {
            let offers = self.sessions.takers(queue).map(|session| session.offers(name));
            offers.max().unwrap_or_default()
        };
        let lacks = class.need.iter().filter_map(|(name, amount)| {
            let most = most(name);
            (most < amount).then(|| (name.to_owned(), amount, most))
        });
        let accepted = |session: &_| self.sessions.accepts(session, &class.filter);
        Unfit {
            workers,
            lacks: lacks.collect(),
            is_filtered: !self.sessions.takers(queue).any(accepted),
            board: self.sessions.has_board(),
            full: self.sessions.full(queue, class).take(MAX_SHOWN_INPUTS).collect(),
        }
    }
}
