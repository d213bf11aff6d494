//! `tidings store watch`: changes of keys as they come.
//!
//! First the keys are listed, then their changes are asked for from the revision before. When the
//! store no longer holds all of them, since the process that served it has died, the keys are
//! listed again: what differs is printed, so the last value of each key always is, if not each one
//! between.
//!
//! It ends with Ctrl-C, and when the pipe is closed, even if nothing changes.

use std::collections::BTreeMap;
use std::convert::Infallible;

use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tidings_tasks::spawn::spawn_blocking;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::transaction::Key;
use tidings_tasks_core::view::KeyChange;

use super::super::client::{Client, Place};
use super::super::ending::Ending;
use super::super::failure::TasksError;
use super::super::kinds;
use super::key::key;
use super::values::{Pages, bytes, line};

/// What is followed.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// How the keys begin [default: all]
    #[arg(value_parser = key)]
    prefix: Option<Key>,
    /// Print the present values first
    #[arg(long)]
    present: bool,
    /// Print one JSON object a change on a line
    #[arg(long)]
    json: bool,
}

/// Prints changes until a signal or a closed pipe ends it.
pub(super) async fn run(place: &Place, options: &Options) -> Result<(), TasksError> {
    let mut ending = Ending::begin()?;
    let client = Client::open(place, "watch")?;
    let ended = tokio::select! {
        Err(error) = follow(&client, options) => Err(error),
        _ = ending.next() => Ok(()),
        () = closed() => Ok(()),
    };
    client.leave().await;
    ended
}

/// Returns when nobody reads standard output any more.
async fn closed() {
    let wait = || {
        let stdout = std::io::stdout();
        loop {
            // A pipe without a reader is reported even if no event is requested.
            let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
            match poll(&mut asked, None) {
                Err(Errno::INTR) => {}
                polled => return polled.is_ok(),
            }
        }
    };
    if !spawn_blocking(wait).await.unwrap_or(false) {
        core::future::pending::<()>().await;
    }
}

/// Keys as they were when they were last printed.
struct Picture<'o> {
    options: &'o Options,
    /// The revisions of those that have a value.
    held: BTreeMap<Vec<u8>, u64>,
}

/// What is done with the keys that are there at first.
#[derive(Clone, Copy)]
enum First {
    Shown,
    /// Those that were written until this revision are held. Changes after it are told.
    Until(u64),
}

async fn follow(client: &Client, options: &Options) -> Result<Infallible, TasksError> {
    let (_, mut seen) = changes(client, options, None).await?;
    let mut picture = Picture { options, held: BTreeMap::new() };
    // What was written meanwhile is told by its change.
    let begins = if options.present { First::Shown } else { First::Until(seen) };
    picture.list(client, Some(begins)).await?;
    loop {
        let (told, until) = changes(client, options, Some(seen)).await?;
        seen = until;
        match told {
            Some(told) => picture.take(told)?,
            None => picture.list(client, None).await?,
        }
    }
}

async fn changes(
    client: &Client,
    options: &Options,
    after: Option<u64>,
) -> Result<(Option<Vec<KeyChange>>, u64), TasksError> {
    let prefix = bytes(options.prefix.as_ref()).into();
    match client.ask(Request::Changes { prefix, after }).await? {
        Answer::Changed(told, until) => Ok((told, until)),
        other => Err(TasksError::Answer(Box::new(other))),
    }
}

impl Picture<'_> {
    /// Prints changes that are later than what is held.
    fn take(&mut self, told: Vec<KeyChange>) -> Result<(), TasksError> {
        let mut lines = String::new();
        for change in told {
            let held = self.held.get(&*change.key);
            if held.is_some_and(|&held| held >= change.revision) {
                continue;
            }
            lines += &line(&change, self.options.json)?;
            match &change.value {
                Some(_) => drop(self.held.insert(change.key.to_vec(), change.revision)),
                None => drop(self.held.remove(&*change.key)),
            }
        }
        kinds::write_output(lines.as_bytes())
    }

    /// Reads the keys, and prints what differs from what is held; of those of the beginning nothing
    /// unless they are to be shown.
    async fn list(&mut self, client: &Client, first: Option<First>) -> Result<(), TasksError> {
        let mut gone = core::mem::take(&mut self.held);
        let mut pages = Pages::below(self.options.prefix.as_ref());
        while let Some(page) = pages.next(client).await? {
            let mut lines = String::new();
            for one in page {
                let change = KeyChange::from(one);
                let is_same = gone.remove(&*change.key) == Some(change.revision);
                match first {
                    Some(First::Until(seen)) if change.revision > seen => continue,
                    Some(First::Until(_)) => {}
                    _ if is_same => {}
                    _ => lines += &line(&change, self.options.json)?,
                }
                self.held.insert(change.key.into(), change.revision);
            }
            kinds::write_output(lines.as_bytes())?;
        }
        let gone = gone.into_iter().map(|(key, revision)| {
            line(&KeyChange { key: key.into(), value: None, revision }, self.options.json)
        });
        kinds::write_output(gone.collect::<Result<String, _>>()?.as_bytes())
    }
}
