//! `tidings queue put`: a command for workers, or data for a program that claims it.

use std::time::Duration;

use clap::Args;
use tidings_tasks::items;
use tidings_tasks::work::WorkLimits;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::Submission;
use tidings_tasks_core::resources::Need;
use tidings_tasks_core::retry::Retry;

use super::super::client::{Client, Place, block_on, random_name, with};
use super::super::failure::TasksError;
use super::super::kinds;
use crate::Failure;
use crate::output;

/// What is put where.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = kinds::name)]
    queue: String,
    /// An item of data: a text, @FILE for the bytes of a file, @- for standard input; at most 16
    /// KiB
    #[arg(
        long,
        value_name = "DATA",
        conflicts_with = "command",
        required_unless_present = "command"
    )]
    data: Option<String>,
    /// Makes the task known by this key: put again, nothing is added
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The larger, the earlier
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    priority: i16,
    /// Not before this time has passed
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = humantime::parse_duration)]
    delay: Duration,
    /// How often it is tried again after a failure
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u16,
    /// Whose it is: groups of a queue get equal shares of the workers
    #[arg(long, value_name = "GROUP", default_value = "", hide_default_value = true)]
    group: String,
    /// What the task occupies of its worker: cpus=4,mem=8GiB,gpu=1
    #[arg(long, value_name = "NEED", default_value = "cpus=1", conflicts_with = "data")]
    need: Need,
    /// On which nodes it may run: a condition as of `tidings nodes --where`
    #[arg(long = "where", value_name = "CONDITION", default_value = "", hide_default_value = true)]
    #[arg(value_parser = kinds::condition)]
    filter: String,
    /// The command
    #[arg(trailing_var_arg = true)]
    command: Vec<String>,
}

/// Puts a task and prints its id.
pub(super) fn run(place: &Place, options: &Options) -> Result<(), Failure> {
    let submission = options.submission()?;
    let id = submission.id;
    let submit = async |client: &Client| client.submit(submission).await;
    block_on(with(place, "queue", submit))?;
    output::print(&format!("{id}\n"))
}

impl Options {
    fn submission(&self) -> Result<Submission, TasksError> {
        let id = match &self.key {
            Some(key) => items::id(&self.queue, key),
            None => TaskId::of(&format!("queue\0{}{}", random_name()?, random_name()?), 0),
        };
        let (payload, need) = if let Some(data) = &self.data {
            (kinds::given(data, "an item of data")?, items::need())
        } else {
            let work = kinds::work(
                self.command.clone(),
                kinds::directory()?,
                Vec::new(),
                WorkLimits::default(),
                Vec::new(),
            )?;
            (work.to_payload(), self.need.clone())
        };
        let retry = Retry { errors: self.retries, exits: self.retries, ..Retry::default() };
        Ok(Submission {
            group: self.group.as_str().into(),
            priority: self.priority,
            delay_ms: self.delay.as_millis() as u64,
            retry,
            need,
            filter: self.filter.clone(),
            ..Submission::new(id, self.queue.clone(), payload)
        })
    }
}
