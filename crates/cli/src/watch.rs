//! `tidings watch`: events of other nodes as the agent detects them, one JSON object per line.
//!
//! Each line goes out as it comes, so that a program behind a pipe sees it at once. The command
//! ends with Ctrl-C, when the agent ends, and when the pipe is closed, even if nothing happens.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};
use tidings_control::Watch;

use crate::Failure;
use crate::output::{self, Agent};

const AFTER_HELP: &str = concat!(
    "\
Each line has `event`, `name`, `incarnation` and `time_ms` (milliseconds since 1970). Events:
joined, suspected, cleared, dead, back, left, restarted, forgotten; `missed` with a number in place
of the name, if lines were not read in time. Ctrl-C ends it with exit code 0.

Examples:
  tidings watch
  tidings watch | grep --line-buffered '\"event\":\"dead\"'",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings watch`: none yet.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {}

/// Prints events until it is ended.
///
/// # Errors
/// A failure of reaching the agent, or of the output.
pub fn run(agent: &Agent) -> Result<(), Failure> {
    for signal in [SIGINT, SIGTERM] {
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(signal, 0, always)?;
    }
    let mut watch = agent.connect()?.watch()?;
    while is_read_while_waiting(&watch)? {
        let notice = watch.next_notice()?;
        output::print_json_line(&notice)?;
    }
    Ok(())
}

/// Waits for something to read from the agent; `false` if the pipe of the output is closed.
fn is_read_while_waiting(watch: &Watch) -> Result<bool, Failure> {
    let stdout = std::io::stdout();
    while !watch.is_ready() {
        // A pipe without a reader is reported even if no event is requested.
        let output = PollFd::new(&stdout, PollFlags::empty());
        let mut asked = [PollFd::new(watch, PollFlags::IN), output];
        match poll(&mut asked, None) {
            Err(Errno::INTR) => continue,
            polled => polled.map_err(std::io::Error::from)?,
        };
        if asked[1].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return Ok(false);
        }
        if !asked[0].revents().is_empty() {
            return Ok(true);
        }
    }
    Ok(true)
}
