//! `tidings hook`: a program or a socket is notified of what has happened to nodes.
//!
//! A thread follows the agent (`follow`) and knows how nodes stand (`standing`), so that only
//! news is passed on, also after notices were lost and after a restart of the agent. What has not
//! been told yet is kept once a node, as its newest event (`pending`): a node that comes and goes
//! costs no more than one that dies once, and a program that fails, or takes long, finds the newest
//! state when it is started again (`delivery`). Nothing is queued behind a slow program.
//!
//! One delivery runs at a time, and two begins are at least `--every` apart. After a failure the
//! pause doubles, up to 64 times `--every`; the events stay.

mod delivery;
mod event;
mod follow;
mod pending;
mod standing;
mod threshold;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tidings_nodes::filter::Filter;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::output::{self, Agent};
use crate::{Failure, signals};
pub use delivery::HookError;
use delivery::Target;
use event::{Event, Kind};
use pending::Pending;
use threshold::Threshold;

/// Events of one delivery at most. A name has 63 characters, so their lists fit an environment.
const BATCH: usize = 1_000;

/// Events between the thread that follows and the one that delivers.
const QUEUE: usize = 1_024;

/// After so many failures the pause no longer grows.
const DOUBLINGS: u32 = 6;

const AFTER_HELP: &str = concat!(
    "\
The program reads one JSON object a line from its standard input: `event`, `name`, `observer`,
`incarnation`, `time_ms` (milliseconds since 1970) and `changes`, how many events of the node have
come together in this one. Its environment has the names of each event's nodes as a host list, such
as TIDINGS_DEAD=n[0003-0005]. A socket gets the same lines.

A program that fails, or runs longer than --time-limit, is started again with the newest event of
each node. When the agent ends, this command waits for it. Ctrl-C ends it with exit code 0.

Examples:
  tidings hook --on dead,back -- /etc/tidings/on-change
  tidings hook --when 'temperature > 90' --for 30s --on met,unmet -- /etc/tidings/on-heat
  tidings hook --on dead --every 10s -- sh -c 'logger \"dead: $TIDINGS_DEAD\"'
  tidings hook --socket /run/monitor.sock",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings hook`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// The events to report
    #[arg(long, value_name = "EVENT,...", value_delimiter = ',')]
    #[arg(default_value = "dead,back,left,joined,alone,accompanied,met,unmet")]
    on: Vec<Kind>,
    /// The least time between two starts of the program, or two connections
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = positive)]
    every: Duration,
    /// How long the program, or the socket, may take; then it is killed and tried again
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = positive)]
    time_limit: Duration,
    /// Report also nodes for which this begins to hold, as `met`, and no longer does, as `unmet`
    #[arg(long = "when", value_name = "CONDITION")]
    condition: Option<String>,
    /// How long the condition must hold
    #[arg(long = "for", value_name = "TIME", default_value = "0s", requires = "condition")]
    #[arg(value_parser = humantime::parse_duration)]
    least: Duration,
    /// Report nodes that are dead, or for which --when holds, at the start, too
    #[arg(long)]
    at_start: bool,
    /// A Unix socket to which the lines are written, instead of a program
    #[arg(long, value_name = "PATH", conflicts_with = "program")]
    socket: Option<PathBuf>,
    /// The program to start, with its arguments
    #[arg(last = true, value_name = "PROGRAM", required_unless_present = "socket")]
    program: Vec<OsString>,
}

/// A time above zero.
fn positive(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if time.is_zero() {
        return Err("it has to be above 0, as in 1s".to_owned());
    }
    Ok(time)
}

/// Reports events until it is ended.
///
/// # Errors
/// The program is not there, or the agent cannot be reached at the start.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let target = match &options.socket {
        Some(path) => Target::Socket(path.clone()),
        None => Target::program(&options.program)?,
    };
    let condition = options.condition.as_deref().map(Filter::parse).transpose()?;
    let threshold = condition.map(|filter| Threshold::new(filter, options.least));
    let (sender, heard) = mpsc::channel(QUEUE);
    follow::begin(agent, &options.on, options.at_start, threshold, sender)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(serve(&target, options, heard))
}

/// Delivers what comes.
async fn serve(
    target: &Target,
    options: &Options,
    mut heard: mpsc::Receiver<Event>,
) -> Result<(), Failure> {
    let mut ended = endings()?;
    let mut pending = Pending::default();
    let (mut due, mut failures) = (Instant::now(), 0_u32);
    loop {
        let begun = tokio::select! {
            Some(event) = heard.recv() => {
                pending.add(event);
                continue;
            }
            () = sleep_until(due), if !pending.is_empty() => Instant::now(),
            Some(()) = ended.recv() => return Ok(()),
        };
        let batch = pending.take(BATCH);
        let delivered = {
            let delivery = target.deliver(&batch, options.time_limit);
            tokio::pin!(delivery);
            loop {
                tokio::select! {
                    delivered = &mut delivery => break delivered,
                    Some(event) = heard.recv() => pending.add(event),
                    // What was begun ends with this, and its processes with it.
                    Some(()) = ended.recv() => return Ok(()),
                }
            }
        };
        match delivered {
            Ok(()) => failures = 0,
            Err(error) => {
                let count = batch.len();
                output::complain(&format!("{error}: {count} events are reported again"));
                failures += 1;
                pending.give_back(batch);
            }
        }
        due = begun + options.every * (1 << failures.min(DOUBLINGS));
    }
}

/// Signals that end the command.
fn endings() -> std::io::Result<mpsc::Receiver<()>> {
    let (sender, ended) = mpsc::channel(1);
    for number in signals::ending() {
        let (mut signal, sender) = (signal(SignalKind::from_raw(number))?, sender.clone());
        tokio::spawn(async move {
            signal.recv().await;
            let _ = sender.try_send(()); // one is enough
        });
    }
    Ok(ended)
}
