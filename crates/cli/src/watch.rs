//! `tidings watch`: events of other nodes as the agent detects them, one per line.
//!
//! A terminal gets the time, the event and the name; a pipe gets one JSON object per line. Each
//! line goes out as it comes, so that a program behind a pipe sees it at once. The command
//! ends with Ctrl-C, when the agent ends, and when the pipe is closed, even if nothing happens.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use clap::Args;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};
use tidings_control::{Notice, Watch};

use crate::Failure;
use crate::output::{self, Agent};
use crate::paint::Paint;
use crate::table;

/// The last time that can be written: the year 9999.
const TIME_MS_MOST: u64 = 253_402_300_799_999;

const AFTER_HELP: &str = concat!(
    "\
A terminal shows when, what and which node; a pipe, or --json, gets one JSON object per event.
Each object has `event`, `name`, `incarnation` and `time_ms` (milliseconds since 1970). Events:
joined, suspected, cleared, dead, back, left, restarted, forgotten; `missed` with a number in place
of the name, if lines were not read in time. Ctrl-C ends it with exit code 0.

Examples:
  tidings watch
  tidings watch | grep --line-buffered '\"event\":\"dead\"'",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings watch`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    /// Print one JSON object per line, on a terminal too
    #[arg(long)]
    json: bool,
}

/// Prints events until it is ended.
///
/// # Errors
/// A failure of reaching the agent, or of the output.
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    for signal in [SIGINT, SIGTERM] {
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(signal, 0, always)?;
    }
    let for_people = output::is_terminal() && !options.json;
    let mut watch = agent.connect()?.watch()?;
    if for_people {
        let observer = table::one_line(&watch.observer);
        output::print(&format!("events as {observer} sees them; Ctrl-C ends it\n"))?;
    }
    while is_read_while_waiting(&watch)? {
        let notice = watch.next_notice()?;
        if for_people {
            output::print(&(Paint::of_word(EVENT_AT).line(&line(&notice)) + "\n"))?;
        } else {
            output::print_json_line(&notice)?;
        }
    }
    Ok(())
}

/// Where the event stands in a line, behind the time.
const EVENT_AT: usize = "2026-11-27T13:00:00.000Z  ".len();

/// A notice for people: when, what, and which node.
fn line(notice: &Notice) -> String {
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(notice.time_ms.min(TIME_MS_MOST));
    let time = humantime::format_rfc3339_millis(time);
    let event = serde_json::to_value(notice.event).unwrap_or_default();
    let event = event.as_str().unwrap_or("other");
    let lost = notice.missed.map(|lost| format!("{lost} events, as they were not read in time"));
    let name = notice.name.clone().or(lost).unwrap_or_default();
    format!("{time}  {event:<9}  {}", table::one_line(&name))
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

#[cfg(test)]
mod tests {
    use tidings_control::Change;

    use super::*;

    #[test]
    fn people_read_when_what_and_who() {
        let mut notice = Notice {
            event: Change::Dead,
            name: Some("n\u{1b}7".to_owned()),
            time_ms: 1_795_784_405_250,
            ..Notice::default()
        };
        assert_eq!(line(&notice), "2026-11-27T13:00:05.250Z  dead       n 7");
        notice.time_ms = u64::MAX;
        assert!(line(&notice).starts_with("9999-12-31"), "{}", line(&notice));
        let missed = Notice { event: Change::Missed, missed: Some(3), ..Notice::default() };
        assert!(line(&missed).ends_with("missed     3 events, as they were not read in time"));
        assert_eq!(line(&missed).find("missed"), Some(EVENT_AT));
    }
}
