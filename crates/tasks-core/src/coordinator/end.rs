//! Ends: of tries, and of tasks.

use crate::id::{Attempt, TaskId};
use crate::keys;
use crate::message::{
    Answer, Call, Effect, MAX_INLINE_BYTES, Message, Peer, Put, Refusal, Submission,
};
use crate::output::Kept;
use crate::record::{Failure, Finished, Outcome, Running, State, Task};
use crate::retry::{Cause, Next};
use crate::view::TryView;

use super::Coordinator;
use super::change::{Altered, Change};
use super::effects::add_effects;
use super::reading::Purpose;

/// What a worker says of a try that has succeeded.
pub(super) struct Completion {
    pub(super) result: Vec<u8>,
    pub(super) children: Vec<Submission>,
    pub(super) effects: Vec<Effect>,
    pub(super) puts: Vec<Put>,
    /// Where its output lies, if it stays on nodes.
    pub(super) kept: Option<Kept>,
}

/// Why a try has failed.
pub(super) struct Fault {
    pub(super) cause: Cause,
    pub(super) text: String,
    pub(super) detail: Vec<u8>,
}

impl Fault {
    /// One that is told in words alone.
    pub(super) fn new(cause: Cause, text: impl Into<String>) -> Self {
        Self { cause, text: text.into(), detail: Vec::new() }
    }
}

impl Coordinator {
    /// A try of a task has succeeded: result, children, effects and tuples in one commit.
    pub(super) fn complete(
        &mut self,
        (peer, call): (Peer, Call),
        (id, attempt): (TaskId, Attempt),
        completion: Completion,
    ) {
        let Completion { result, children, effects, puts, kept } = completion;
        let Some(task) = self.last_try(id, attempt) else {
            return self.read_finished(id, Purpose::Repeated(attempt, peer, call));
        };
        let task = if kept.is_some() { task.clone() } else { task.without_payload() };
        let is_first = task.made == 0;
        let mut change = Change {
            messages: vec![(peer, Message::Answer(call, Answer::Done))],
            origin: Some((peer, call)),
            ..Change::default()
        };
        let mut checked = check_result(&result);
        checked = checked.and_then(|()| kept.as_ref().map_or(Ok(()), Kept::check));
        let mut added = Ok(());
        // Of a task that was done before they were written then.
        if is_first {
            checked = checked.and_then(|()| add_effects(&mut change, effects));
            added = self.add_puts(&mut change, puts);
            checked = checked.and_then(|()| self.add_tasks(&mut change, children));
        }
        if let Err(refusal) = checked.map_err(Refusal::Invalid).and(added) {
            return self.refuse(peer, call, refusal);
        }
        self.end_task_with(change, id, task, (Outcome::Done(result), kept));
    }

    /// A try of a task has failed. Nothing happens if it is not the last one.
    pub(super) fn fail(
        &mut self,
        id: TaskId,
        attempt: Attempt,
        fault: Fault,
        origin: Option<(Peer, Call)>,
    ) {
        let Some(mut task) = self.last_try(id, attempt).cloned() else {
            if let Some((peer, call)) = origin {
                self.read_finished(id, Purpose::Repeated(attempt, peer, call));
            }
            return;
        };
        let at_ms = self.now_ms();
        let Some(Running { worker, host, since_ms, slot }) = task.running(attempt).cloned() else {
            return;
        };
        let Fault { mut cause, text, detail } = fault;
        // What it does not wait for is not made again for it: to try again would not help.
        if cause == Cause::Gone && task.inputs.is_empty() {
            cause = Cause::Error;
        }
        task.note(Failure { attempt, cause, text, host, at_ms, since_ms, worker, slot, detail });
        let done = |(peer, call)| (peer, Message::Answer(call, Answer::Done));
        let messages = origin.map(done).into_iter().collect();
        let tried = task.failures.last().map(|last| TryView::failed(id, &task, last));
        let change = Change { messages, origin, tried: tried.map(Box::new), ..Change::default() };
        if cause == Cause::Lost {
            self.counters.lost += 1;
        }
        if task.cancelled {
            return self.end_task(change, id, task, Outcome::Cancelled);
        }
        match task.retry.next(cause, &task.tally) {
            Next::Stop => self.end_task(change, id, task, Outcome::Failed),
            // Which of its inputs are there is looked at again.
            Next::Again(0) if cause == Cause::Gone => {
                self.again(change, id, task, State::Waiting);
            }
            Next::Again(0) => self.again(change, id, task, State::Ready),
            Next::Again(wait_ms) => {
                self.again(change, id, task, State::Delayed(at_ms.saturating_add(wait_ms)));
            }
        }
    }

    /// Nobody wants a task any more.
    pub(super) fn cancel(&mut self, peer: Peer, call: Call, id: TaskId) {
        let Some(entry) = self.table.get(id) else {
            return self.read_finished(id, Purpose::Cancelled(id, peer, call));
        };
        let revision = entry.revision;
        let Some(mut task) = entry.task.clone() else {
            let key = keys::task(self.settings.part, id);
            return self.want(vec![key], Purpose::Cancel(id, peer, call));
        };
        task.cancelled = true;
        let mut change = Change {
            messages: vec![(peer, Message::Answer(call, Answer::Done))],
            origin: Some((peer, call)),
            ..Change::default()
        };
        let State::Running(running) = &task.state else {
            return self.end_task(change, id, *task, Outcome::Cancelled);
        };
        if let Some(worker) = self.sessions.named(&running.worker) {
            change.messages.push((worker, Message::Stop { task: id, attempt: task.attempt }));
        }
        change.tasks.push(Altered::to(id, Some(revision), Some(task)));
        self.stage(change);
    }

    /// A task is not wanted any more, unless a worker has it.
    pub(super) fn withdraw(&mut self, peer: Peer, call: Call, id: TaskId) {
        match self.table.get(id).map(|entry| &entry.task) {
            Some(Some(task)) if matches!(task.state, State::Running(_)) => {
                self.refuse(peer, call, Refusal::State("running".to_owned()));
            }
            Some(None) => {
                let key = keys::task(self.settings.part, id);
                self.want(vec![key], Purpose::Withdraw(id, peer, call));
            }
            _ => self.cancel(peer, call, id),
        }
    }

    /// The record of a task if this try is its last one, and runs.
    fn last_try(&self, id: TaskId, attempt: Attempt) -> Option<&Task> {
        let task = self.table.get(id)?.task.as_deref()?;
        task.running(attempt).is_some().then_some(task)
    }

    /// A task goes back to its queue.
    fn again(&mut self, mut change: Change, id: TaskId, mut task: Task, state: State) {
        self.set_ending(id, &task);
        self.end_claims(&mut change, (id, task.attempt), false);
        task.state = state;
        let revision = self.table.get(id).map(|entry| entry.revision);
        change.tasks.push(Altered::to(id, revision, Some(Box::new(task))));
        self.stage(change);
    }

    /// A task ends.
    pub(super) fn end_task(&mut self, change: Change, id: TaskId, task: Task, outcome: Outcome) {
        self.end_task_with(change, id, task, (outcome, None));
    }

    fn end_task_with(
        &mut self,
        mut change: Change,
        id: TaskId,
        mut task: Task,
        (outcome, kept): (Outcome, Option<Kept>),
    ) {
        self.set_ending(id, &task);
        let is_done = matches!(outcome, Outcome::Done(_));
        // What a task pulls that was done before is there again: it has pulled what it was to.
        self.end_claims(&mut change, (id, task.attempt), is_done && task.made == 0);
        task.made = task.made.saturating_add(u32::from(kept.is_some()));
        let revision = self.table.get(id).map(|entry| entry.revision);
        change.tasks.push(Altered::to(id, revision, None));
        let done_by = match core::mem::replace(&mut task.state, State::Ready) {
            State::Running(running) if is_done => Some(running),
            _ => None,
        };
        let finished = Finished { outcome, task, ended_ms: self.now_ms(), done_by, kept };
        change.tried = change.tried.or_else(|| TryView::done(id, &finished).map(Box::new));
        change.ended = Some((id, Box::new(finished)));
        self.stage(change);
    }

    /// A try is over once its change is committed: another task may take its slot, in the same
    /// commit.
    fn set_ending(&mut self, id: TaskId, task: &Task) {
        let State::Running(running) = &task.state else { return };
        if let Some(peer) = self.sessions.having(&running.worker, id, task.attempt) {
            self.sessions.set_ending(peer, id, true);
        }
    }

    /// The worker that did a task, so far as is known here, no longer does, unless it runs on by
    /// the try `next`.
    pub(super) fn free_worker(&mut self, id: TaskId, next: Option<Attempt>) {
        let Some(task) = self.table.get(id).and_then(|entry| entry.task.as_ref()) else { return };
        let State::Running(running) = &task.state else { return };
        let attempt = task.attempt;
        if next == Some(attempt) {
            return;
        }
        self.absent.remove(&running.worker, id);
        if let Some(peer) = self.sessions.having(&running.worker, id, attempt) {
            self.sessions.end(peer, id);
        }
    }
}

fn check_result(result: &[u8]) -> Result<(), String> {
    let bytes = result.len();
    if bytes > MAX_INLINE_BYTES {
        return Err(format!("a result of {bytes} bytes; at most {MAX_INLINE_BYTES} are stored"));
    }
    Ok(())
}
