//! What a declared task is given where it is done, and how it ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::tuple::Field;

use crate::inputs::{self, Content, InputError};
use crate::queue::Claimed;

use super::error::FlowError;
use super::job::{Body, Instance, Job};
use super::version::{self, Value, Version};

/// A declared task in hand, with what it was declared to be given.
#[derive(Debug)]
pub struct Given {
    claimed: Claimed,
    job: Job,
    values: Vec<Value>,
}

impl Given {
    /// Reads what a claimed item is given, if that is a declared task.
    ///
    /// # Errors
    /// It is none, or what it is given cannot be had: the try has failed by that. What its nodes
    /// have lost is made again, and it is tried again then.
    pub async fn of(claimed: Claimed) -> Result<Self, FlowError> {
        let job = match Job::from_payload(claimed.data()) {
            Ok(Some(job)) => job,
            Ok(None) => {
                let wrong = FlowError::Job("use a queue of its own for other items".to_owned());
                return failed(claimed, wrong).await;
            }
            Err(wrong) => return failed(claimed, FlowError::Job(wrong)).await,
        };
        match values(&claimed, &job.body.instances).await {
            Ok(values) => Ok(Self { claimed, job, values }),
            Err(error) => failed(claimed, error).await,
        }
    }

    /// The function that is to be called.
    pub fn function(&self) -> &str {
        &self.job.function
    }

    /// Its arguments.
    pub fn arguments(&self) -> &[Field] {
        &self.job.body.arguments
    }

    /// The instances that it has, in the order in which they were appended.
    pub fn instances(&self) -> &[Instance] {
        &self.job.body.instances
    }

    /// What is in them, in the same order.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// What is in those of one dependency.
    pub fn values_of<'a>(&'a self, dependency: &'a str) -> impl Iterator<Item = &'a Value> {
        let all = self.instances().iter().zip(&self.values);
        all.filter(move |(one, _)| one.dependency == dependency).map(|(_, value)| value)
    }

    /// The item that it is.
    pub fn claimed(&self) -> &Claimed {
        &self.claimed
    }

    /// It is done: these are the next versions of the instances that it changes, in the order in
    /// which they were appended. One that changes none may have a single result.
    ///
    /// # Errors
    /// They are not as many, and the try has failed by that; or as of [`Claimed::complete`].
    pub async fn complete(self, versions: Vec<Vec<u8>>) -> Result<(), FlowError> {
        let Body { changes, .. } = self.job.body;
        if versions.len() != usize::from(changes) && !(changes == 0 && versions.len() == 1) {
            let text = format!(
                "{} changes {changes} instances, and has made {} versions",
                self.job.function,
                versions.len()
            );
            return failed(self.claimed, FlowError::Versions(text)).await;
        }
        let result = if versions.is_empty() { Vec::new() } else { version::result(&versions) };
        Ok(self.claimed.complete(result).await?)
    }

    /// It could not be done, as of [`Claimed::fail`].
    ///
    /// # Errors
    /// As of [`Claimed::complete`].
    pub async fn fail(self, why: &str) -> Result<(), FlowError> {
        Ok(self.claimed.fail(why).await?)
    }

    /// Another one is to do it, as of [`Claimed::give_back`].
    ///
    /// # Errors
    /// As of [`Claimed::complete`].
    pub async fn give_back(self) -> Result<(), FlowError> {
        Ok(self.claimed.give_back().await?)
    }
}

/// A try has failed by an error.
async fn failed<T>(claimed: Claimed, error: FlowError) -> Result<T, FlowError> {
    let cause = match &error {
        FlowError::Input { source: InputError::Gone { .. }, .. } => Cause::Gone,
        _ => Cause::Error,
    };
    claimed.fail_by(cause, error.to_string()).await?;
    Err(error)
}

/// What is in instances, each result read once.
async fn values(claimed: &Claimed, instances: &[Instance]) -> Result<Vec<Value>, FlowError> {
    let mut read: BTreeMap<TaskId, Arc<Content>> = BTreeMap::new();
    let mut values = Vec::with_capacity(instances.len());
    for one in instances {
        values.push(match &one.version {
            Version::Data(data) => Value::of_data(data),
            Version::Made { task, part } => {
                if !read.contains_key(task) {
                    read.insert(*task, Arc::new(content(claimed, one, *task).await?));
                }
                let result = |why| FlowError::Result { instance: one.to_string(), why };
                Value::of(read[task].clone(), *part).map_err(result)?
            }
        });
    }
    Ok(values)
}

/// What the task has come to that has made an instance.
async fn content(claimed: &Claimed, one: &Instance, task: TaskId) -> Result<Content, FlowError> {
    let (session, payloads) = claimed.reach();
    let content = inputs::read_done(session, payloads, task).await;
    content.map_err(|source| FlowError::Input { instance: one.to_string(), source })
}
