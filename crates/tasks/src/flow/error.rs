//! What can be wrong with a flow, and what is left then.

use tidings_tasks_core::message::MAX_INPUTS;

use crate::inputs::InputError;
use crate::queue::QueueError;
use crate::work::{MAX_NAME_BYTES, MAX_WORK_BYTES};

/// Why something of a flow could not be done. All instances are as they were.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A name is none.
    #[error("the name {0:?}: 1 to {MAX_NAME_BYTES} bytes are possible, and none of them zero")]
    Name(String),
    /// There is a dependency of this name.
    #[error("{0} is declared already")]
    Declared(String),
    /// It was declared by another flow.
    #[error("{what} is declared by the flow {by}, not by {not_by}")]
    OtherFlow {
        /// The dependency or task.
        what: String,
        /// The flow that has declared it.
        by: String,
        /// The flow that was to use it.
        not_by: String,
    },
    /// A key, or arguments, are not of the types that were declared, or too long.
    #[error("{what} is {wrong}")]
    Fields {
        /// The dependency or task.
        what: String,
        /// What is wrong.
        wrong: String,
    },
    /// A key is computed of arguments of other types than those that the task is declared with.
    #[error("the key of {dependency} is computed of other arguments than {task} is declared with")]
    Arguments {
        /// The task.
        task: String,
        /// The dependency.
        dependency: String,
    },
    /// There is no such instance.
    #[error("there is no {0}: nothing has put it, or a task has taken it")]
    Missing(String),
    /// There is an instance where another was to come to.
    #[error("{0} is there already: take or change it")]
    Occupied(String),
    /// A task would take or change an instance twice.
    #[error("{0} is taken or changed twice at once")]
    Twice(String),
    /// A task would move two instances to one place.
    #[error("two come to {0} at once")]
    Together(String),
    /// A task has more instances than are possible.
    #[error(
        "{0} has {MAX_INPUTS} instances, the most that are possible: let tasks before join some"
    )]
    Many(String),
    /// A payload would be too long.
    #[error(
        "{task} would be given {bytes} bytes; at most {MAX_WORK_BYTES} are possible: let what is \
         large be made by tasks"
    )]
    Long {
        /// The task.
        task: String,
        /// How much it is.
        bytes: usize,
    },
    /// What was claimed is no task of a flow. It has failed by that.
    #[error("what was claimed is no declared task: {0}")]
    Job(String),
    /// What an instance is to be was not made, or cannot be had. A try has failed by that.
    #[error("{instance} cannot be had: {source}")]
    Input {
        /// The instance.
        instance: String,
        /// Why.
        source: InputError,
    },
    /// What has made an instance has another result than it was declared to have.
    #[error("{instance} cannot be had: {why}")]
    Result {
        /// The instance.
        instance: String,
        /// Why.
        why: String,
    },
    /// A task has not made what it was declared to change. The try has failed by that.
    #[error("{0}")]
    Versions(String),
    /// The queue could not be reached or has refused. What was to be sent is sent with the next.
    #[error(transparent)]
    Queue(#[from] QueueError),
}
