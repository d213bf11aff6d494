//! `tidings worker`: does tasks of others until it is asked to end.
//!
//! Asked once, it takes no more tasks, lets those that run end for a while, and gives the rest back
//! to their queues; asked twice, it gives all back at once. A batch job's time limit asks as well.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::env;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use tidings_tasks::worker::{Event, Worker};
use tidings_tasks_core::resources::Need;
use tokio::sync::mpsc;

use super::client::{Client, Place, Store, block_on, tell_troubles};
use super::ending::Ending;
use super::failure::TasksError;
use super::queue::without_board;
use super::{kinds, own_worker, python, unknown};
use crate::Failure;
use crate::output::{self, Agent};

const AFTER_HELP: &str = concat!(
    "\
A worker does tasks of the store until Ctrl-C or SIGTERM. Then it takes no more, gives running
tasks the time of --drain to end, and gives back what has not ended; asked again, it gives back all
at once. In a job of Slurm it begins with that so long before the job's time limit
($SLURM_JOB_END_TIME); other batch systems say theirs by --until. Tasks of a worker that is killed
run elsewhere.

Examples:
  tidings worker                          as many tasks as cores, of all queues
  tidings worker --slots 2 --queue jobs --resource gpu=2
  tidings worker --queue python --python python3
  srun --ntasks-per-node 1 tidings worker --store file:/scratch/me/tasks",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings worker`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// How many tasks at a time [default: the cores it may use]
    #[arg(short = 'n', long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    slots: Option<u32>,
    /// A queue of which it takes tasks; repeat the option, or separate names by commas [default:
    /// all]
    #[arg(long = "queue", value_name = "QUEUE", value_delimiter = ',', value_parser = kinds::name)]
    queues: Vec<String>,
    /// What it offers beside its processors and memory, such as gpu=2
    #[arg(long = "resource", value_name = "NAME=AMOUNT")]
    resources: Vec<Need>,
    /// The interpreter that calls functions for tasks of Python, such as python3: one for which the
    /// package `tidings` is installed
    #[arg(long, value_name = "PROGRAM")]
    python: Option<String>,
    /// How long running tasks may take when it is asked to end
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = humantime::parse_duration)]
    drain: Duration,
    /// When the job that it is in ends: it drains so long before. Seconds since 1970, as
    /// `date -d 18:30 +%s` prints them, or a time in UTC such as 2026-07-01T16:30:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<SystemTime>,
    /// Print a line for each task that begins or ends
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    store: Store,
}

/// Does tasks until a signal comes.
///
/// # Errors
/// [`TasksError`]: the store cannot be had.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let place = options.store.place(agent)?;
    Ok(block_on(work(&place, options))?)
}

async fn work(place: &Place, options: &Options) -> Result<(), TasksError> {
    let mut ending = Ending::begin()?;
    let client = Client::stay(place, "worker")?;
    let offer = own_worker::Offer {
        queues: options.queues.clone(),
        slots: options.slots.unwrap_or_else(own_worker::cores),
        resources: resources(&options.resources),
        runtimes: python::runtimes(options.python.as_deref(), place)?,
        drain: options.drain,
    };
    let begun = format!(
        "worker {}: {} slots, {}; Ctrl-C ends it",
        client.name,
        offer.slots,
        match offer.queues.as_slice() {
            [] => "all queues".to_owned(),
            queues => format!("queues {}", queues.join(", ")),
        }
    );
    let (worker, mut events) = own_worker::begin(&client, place, offer)?;
    let member = client.member.clone();
    output::complain(&begun);
    let reached = async {
        let endpoint = member.listens().await;
        output::complain(&if place.address.is_shared() {
            "this worker decides which task goes where, for all".to_owned()
        } else {
            format!("other hosts take part with --store tcp://{endpoint}")
        });
        core::future::pending::<Infallible>().await
    };
    let missing = async {
        // Later the worker's own session is enough: this one, of the client, ends.
        if let Err(error) = tell_what_is_missing(client, place, &options.queues).await {
            output::complain(&error.to_string());
        }
        core::future::pending::<Infallible>().await
    };
    tokio::select! {
        _ = ending.next() => {}
        () = time_limit(options.drain, options.until) => output::complain("the job's time limit comes: draining"),
        error = watch(&mut events, options.verbose) => return Err(error),
        never = reached => match never {},
        never = missing => match never {},
        never = tell_troubles(&member) => match never {},
    }
    drain(worker, &mut events, &mut ending, options.verbose).await;
    member.leave().await;
    Ok(())
}

/// Says which queues have no task yet, of which one may be mistyped; and that hosts that die are
/// found by their sessions alone, where tasks have several hosts.
async fn tell_what_is_missing(
    client: Client,
    place: &Place,
    queues: &[String],
) -> Result<(), TasksError> {
    if queues.is_empty() && !place.address.is_of_hosts() {
        return Ok(());
    }
    let overview = unknown::overview(&client).await?;
    if let Some(text) = unknown::not_there_yet(&overview, queues) {
        output::complain(&text);
    }
    if place.address.is_of_hosts() {
        let text = without_board(&overview).trim().replace('\n', " ");
        if !text.is_empty() {
            output::complain(&text);
        }
    }
    Ok(())
}

/// Lets running tasks end, or gives them back if it is asked again.
async fn drain(
    worker: Worker,
    events: &mut mpsc::Receiver<Event>,
    ending: &mut Ending,
    is_verbose: bool,
) {
    tokio::select! {
        () = worker.drain() => {}
        _ = ending.next() => {}
        // It has ended, as it was asked.
        _ = watch(events, is_verbose) => {}
    }
    worker.stop().await;
}

/// Ends so long before the job's time limit; never without a job.
async fn time_limit(before: Duration, until: Option<SystemTime>) {
    let of_job = env::var("SLURM_JOB_END_TIME").ok().and_then(|text| moment(&text).ok());
    let Some(end) = of_job.into_iter().chain(until).min() else {
        return core::future::pending().await;
    };
    let left = end.duration_since(SystemTime::now()).unwrap_or_default();
    // The farewell takes a moment as well.
    let margin = before + Duration::from_secs(5);
    tokio::time::sleep(left.saturating_sub(margin)).await;
}

/// A moment, in seconds since 1970 or as RFC 3339 writes it.
fn moment(text: &str) -> Result<SystemTime, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let moment = match seconds {
        Some(seconds) => UNIX_EPOCH.checked_add(seconds),
        None => humantime::parse_rfc3339(text).ok(),
    };
    moment.ok_or_else(|| {
        "write seconds since 1970, or a time in UTC such as 2026-07-01T16:30:00Z".to_owned()
    })
}

/// Prints what happens, and ends if the worker cannot go on.
async fn watch(events: &mut mpsc::Receiver<Event>, is_verbose: bool) -> TasksError {
    while let Some(event) = events.recv().await {
        match event {
            Event::Started { task, attempt, .. } if is_verbose => {
                output::complain(&format!("{task} began, attempt {}", attempt.0));
            }
            Event::Ended { task, cause, .. } if is_verbose => {
                let how = cause.map_or("done", kinds::cause);
                output::complain(&format!("{task} ended: {how}"));
            }
            Event::Closed(reason) => return TasksError::Worker(reason),
            Event::Lapsed => output::complain(
                "this worker was silent for too long: its tasks run elsewhere, their results here \
                 no longer count",
            ),
            event => {
                if let Some(text) = own_worker::of_room(&event) {
                    output::complain(&text);
                }
            }
        }
    }
    // It says why before.
    TasksError::Worker("it has said no more".to_owned())
}

/// All that is named, the last amount of each.
fn resources(given: &[Need]) -> BTreeMap<String, u64> {
    given.iter().flat_map(Need::iter).map(|(name, amount)| (name.to_owned(), amount)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_seconds_or_times_in_utc() {
        let seconds = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(moment("86400"), Ok(seconds(86_400)));
        assert_eq!(moment("1970-01-02T00:00:00Z"), Ok(seconds(86_400)));
        for wrong in ["", "18:30", "-1", &u64::MAX.to_string()] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
