//! `tidings queue claim`: an item of data for a command of a shell.
//!
//! The command has the item on its standard input; until it ends the item is its own, and if its
//! host dies it goes back into the queue.

use clap::Args;
use tidings_tasks::items;
use tidings_tasks::session::{Assigned, Notice};
use tidings_tasks_core::message::{MAX_INLINE_BYTES, Request};
use tidings_tasks_core::retry::Cause;

use super::super::beside;
use super::super::client::{Client, Place, block_on};
use super::super::ending::Ending;
use super::super::failure::TasksError;
use super::super::kinds;
use super::super::unknown::{others, overview};
use crate::Failure;
use crate::output;

/// Which item for which command.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = kinds::name)]
    queue: String,
    /// Fail with exit code 4 if there is no item, instead of waiting for one
    #[arg(long)]
    now: bool,
    /// The command; without one the item is printed, and done with
    #[arg(trailing_var_arg = true)]
    command: Vec<String>,
}

/// Runs the command with an item.
pub(super) fn run(place: &Place, options: &Options) -> Result<(), Failure> {
    Ok(block_on(claim(place, options))?)
}

async fn claim(place: &Place, options: &Options) -> Result<(), TasksError> {
    let mut ending = Ending::begin()?;
    let mut client = Client::open(place, "claim")?;
    let handled = async {
        let item = ending.or(item(&mut client, options)).await?;
        handle(&client, options, &item, &mut ending).await
    }
    .await;
    // The item is given back, unless it is done.
    client.leave().await;
    handled
}

/// Waits for an item.
async fn item(client: &mut Client, options: &Options) -> Result<Assigned, TasksError> {
    let overview = overview(client).await?;
    let queue = &options.queue;
    if !overview.queues.iter().any(|one| one.name == *queue && one.ready > 0) {
        let others = others(&overview);
        if options.now {
            let text = format!("the queue `{queue}` has no item that is ready; {others}");
            return Err(TasksError::NotFound(text));
        }
        output::complain(&format!(
            "waiting for an item of `{queue}`, of which none is ready; {others}"
        ));
    }
    client.ask(items::offer(&options.queue, 1)).await?;
    next(client).await
}

async fn next(client: &mut Client) -> Result<Assigned, TasksError> {
    loop {
        match client.notices.recv().await {
            Some(Notice::Assigned(assigned)) => return Ok(assigned),
            Some(_) => {}
            None => return Err(client.ended().await),
        }
    }
}

async fn handle(
    client: &Client,
    options: &Options,
    item: &Assigned,
    ending: &mut Ending,
) -> Result<(), TasksError> {
    let (task, attempt) = (item.task, item.attempt);
    let complete = |result: Vec<u8>| Request::Complete {
        task,
        attempt,
        result,
        children: Vec::new(),
        effects: Vec::new(),
        puts: Vec::new(),
    };
    if options.command.is_empty() {
        // Printed first: what was not printed is not done.
        kinds::write_output(&item.payload)?;
        return ending.or(client.ask(complete(Vec::new()))).await.map(drop);
    }
    let ended = beside::run(&options.command, Some(&item.payload), ending).await;
    match ended.and_then(|ended| ended.success(&options.command)) {
        Ok(mut output) => {
            kinds::write_output(&output)?;
            output.truncate(MAX_INLINE_BYTES);
            ending.or(client.ask(complete(output))).await.map(drop)
        }
        Err(error) => {
            let (cause, text, detail) = (Cause::Exit, error.to_string(), Vec::new());
            ending.or(client.ask(Request::Fail { task, attempt, cause, text, detail })).await?;
            Err(error)
        }
    }
}
