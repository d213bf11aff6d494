//! The command line of `tidings demo`.

use std::time::Duration;

use clap::Args;
use tidings_gossip::{Strategy, Window};

const AFTER_HELP: &str = concat!(
    "\
Every agent is a process of its own with its own directory, on loopback, sealed with a temporary
key. They always end with the demo. On a terminal the key k kills one of them, and the screen shows
who knew it when. --json prints one object, described in
docs/reference/cli.md; measured values are means over all agents after a warm-up.

Examples:
  tidings demo
  tidings demo --nodes 64 --seconds 30
  tidings demo --paper
  tidings demo --nodes 64 --interval 256ms --window 20% --seconds 30 --json
  tidings demo --nodes 8 --interval 1s --window 2 --keep",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings demo`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// How many agents to start, 2 to 512
    #[arg(long, value_name = "N", default_value_t = 24)]
    pub nodes: usize,
    /// The unit of time: how often each agent sends
    #[arg(long, value_name = "TIME", default_value = "256ms")]
    #[arg(value_parser = humantime::parse_duration)]
    pub interval: Duration,
    /// Entries sent per unit: per cent of the nodes, or a number
    #[arg(long, value_name = "SHARE", default_value = "20%")]
    pub window: Window,
    /// End after this many seconds; by default at Ctrl-C
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<Duration>,
    /// Print the figures of the run as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Bytes of payload in an entry
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    pub payload_bytes: u16,
    /// How an agent spreads the bytes of a window [default: grid, as agents do; uniform with
    /// --json]
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<Strategy>,
    /// Run the algorithm of the paper: strategy uniform, without failure detector
    #[arg(long, conflicts_with = "strategy")]
    pub paper: bool,
    /// Keep the agents' directories and logs
    #[arg(long)]
    pub keep: bool,
}

impl Options {
    /// The strategy that runs: that of agents, but in the scriptable form, whose figures are
    /// compared over versions, that of the paper.
    pub fn strategy(&self) -> Strategy {
        let usual = if self.paper || self.json { Strategy::Uniform } else { Strategy::Grid };
        self.strategy.unwrap_or(usual)
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds, such as 30".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("a number of seconds above 0".to_owned()),
    }
}
