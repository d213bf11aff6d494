//! Submission: new tasks, checked, and given at once to a worker that has nothing to do.

use std::collections::BTreeSet;

use crate::id::{Attempt, TaskId};
use crate::keys::MAX_NAME_BYTES;
use crate::message::{
    Call, MAX_FILTER_BYTES, MAX_INLINE_BYTES, MAX_TASKS, Peer, Refusal, Submission,
};
use crate::output::MAX_COPIES;
use crate::record::{State, Task};
use crate::retry::Tally;

use super::Coordinator;
use super::change::{Altered, Change};
use super::order::ordered;
use super::partial::Found;

impl Coordinator {
    /// New tasks of a client. Those that are known are left out.
    pub(super) fn submit(&mut self, peer: Peer, call: Call, tasks: Vec<Submission>) {
        match check_tasks(&tasks).and_then(|()| ordered(tasks)) {
            Ok(tasks) => self.gather((peer, call), tasks),
            Err(reason) => self.refuse(peer, call, Refusal::Invalid(reason)),
        }
    }

    /// The queue that is full, of those of these tasks.
    pub(super) fn full_queue<'t>(&self, tasks: &'t [Submission]) -> Option<&'t str> {
        let mut last = None;
        tasks.iter().map(|task| task.queue.as_str()).find(|queue| {
            let is_known = last.replace(*queue) == Some(*queue);
            !is_known && self.table.live(queue) >= self.settings.queue_capacity
        })
    }

    /// Adds new tasks to a change, whatever became of their inputs.
    pub(super) fn add_tasks(
        &mut self,
        change: &mut Change,
        tasks: Vec<Submission>,
    ) -> Result<(), String> {
        check_tasks(&tasks)?;
        self.add_ordered(change, ordered(tasks)?, &Found::default())
    }

    /// Adds new tasks, each behind its inputs, of which these were found, to a change.
    pub(super) fn add_ordered(
        &mut self,
        change: &mut Change,
        tasks: Vec<Submission>,
        found: &Found,
    ) -> Result<(), String> {
        let classes = tasks.iter().map(|task| (&task.need, task.filter.as_str()));
        self.table.classes().check(classes)?;
        self.check_abroad(&tasks, found)?;
        for submission in tasks {
            let id = submission.id;
            if self.table.get(id).is_some() {
                self.counters.known += 1;
                continue;
            }
            let seen = found.seen(&submission.inputs);
            let mut task = self.task(submission, found);
            if task.state == State::Ready && self.is_next(&task) {
                self.give(id, &mut task, None);
            }
            let is_assigned = task.state.is_running();
            change.tasks.push(Altered {
                id,
                revision: None,
                task: Some(Box::new(task)),
                is_assigned,
                seen,
            });
        }
        Ok(())
    }

    /// Whether no other task of its queue could go to a session before a new one.
    fn is_next(&mut self, task: &Task) -> bool {
        let sessions = &mut self.sessions;
        sessions.any_room()
            && self
                .table
                .is_drained(&task.queue, |queue, id, class| sessions.can_take(queue, id, class))
    }

    fn task(&mut self, submission: Submission, found: &Found) -> Task {
        let submitted_ms = self.now_ms();
        let sequence = self.table.next_sequence;
        self.table.next_sequence += 1;
        let waits = submission.inputs.iter().any(|input| !found.done.contains(input));
        let state = match submission.delay_ms {
            _ if waits => State::Waiting,
            0 => State::Ready,
            delay_ms => State::Delayed(submitted_ms.saturating_add(delay_ms)),
        };
        Task {
            queue: submission.queue,
            group: submission.group,
            priority: submission.priority,
            sequence,
            payload: submission.payload,
            retry: submission.retry,
            attempt: Attempt(0),
            state,
            failures: Vec::new(),
            cancelled: false,
            submitted_ms,
            tally: Tally::default(),
            need: submission.need,
            filter: submission.filter,
            abroad: found.places(&submission.inputs),
            inputs: submission.inputs,
            copies: submission.copies,
            made: 0,
        }
    }
}

fn check_tasks(tasks: &[Submission]) -> Result<(), String> {
    if tasks.len() > MAX_TASKS {
        return Err(format!("{} tasks at once; at most {MAX_TASKS} are possible", tasks.len()));
    }
    for task in tasks {
        check_name("queue", &task.queue)?;
        if task.group.len() > MAX_NAME_BYTES {
            return Err(format!("the name of a group has at most {MAX_NAME_BYTES} bytes"));
        }
        if task.filter.len() > MAX_FILTER_BYTES {
            return Err(format!("a filter of nodes has at most {MAX_FILTER_BYTES} bytes"));
        }
        if task.copies > MAX_COPIES {
            let copies = task.copies;
            return Err(format!("an output on {copies} nodes; at most {MAX_COPIES} are possible"));
        }
        let bytes = task.payload.len();
        if bytes > MAX_INLINE_BYTES {
            return Err(format!(
                "a payload of {bytes} bytes; at most {MAX_INLINE_BYTES} are stored"
            ));
        }
    }
    let ids: BTreeSet<TaskId> = tasks.iter().map(|task| task.id).collect();
    if ids.len() < tasks.len() {
        return Err("two tasks have the same id".to_owned());
    }
    Ok(())
}

/// What is wrong with a name.
pub(super) fn check_name(of: &str, name: &str) -> Result<(), String> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(format!("the name of a {of} has 1 to {MAX_NAME_BYTES} bytes"));
    }
    Ok(())
}
