//! Outcomes: what Python is told of the tasks that it has submitted.

use tidings_tasks::work::Report;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::Answer;
use tidings_tasks_core::record::{Failure, Finished, Outcome as Ended};
use tidings_tasks_core::view::Unfit;

/// What has become of a task.
pub(crate) struct Outcome {
    pub(crate) task: TaskId,
    pub(crate) end: End,
    /// Whether it was left where it was, and was asked for.
    pub(crate) is_fetched: bool,
}

/// How.
pub(crate) enum End {
    /// The call has returned this.
    Done(Vec<u8>),
    /// The call has returned something long. The task is held until it is released.
    Left,
    /// By the last of these.
    Failed(Vec<Failure>),
    /// Nobody wants it.
    Cancelled,
    /// It was not submitted, or its outcome cannot be had, for this reason.
    Refused(String),
    /// It has not ended: no worker could take it and others of its kind.
    Unfit(Box<Obstacle>),
    /// It has not ended, or is not the last: a worker has come for this kind.
    Fits(u32),
}

/// Why no worker could take calls of a kind.
pub(crate) struct Obstacle {
    /// Which kind.
    pub(crate) kind: u32,
    pub(crate) queue: String,
    /// The nodes that it is for.
    pub(crate) filter: String,
    /// None if nobody takes anything of the queue.
    pub(crate) unfit: Option<Unfit>,
}

/// How a task has ended, whose result is whole.
pub(crate) fn end_of(finished: Finished) -> End {
    match finished.outcome {
        Ended::Done(mut result) => match Report::value_in(&result) {
            // Of the whole report nothing else is wanted.
            Some(value) => {
                result.truncate(value.end);
                End::Done(result.split_off(value.start))
            }
            None => match Report::from_result(&result) {
                Ok(report) => End::Done(report.value),
                Err(error) => End::Refused(error.to_string()),
            },
        },
        Ended::Failed => End::Failed(finished.task.failures),
        Ended::Cancelled => End::Cancelled,
    }
}

/// Why there is no outcome.
pub(crate) fn refused(answer: &Answer) -> String {
    match answer {
        Answer::Refused(refusal) => refusal.to_string(),
        other => format!("the answer of one who waits was {other:?}"),
    }
}
