//! Watching a run: progress on a terminal, and signals that stop it between two units of time.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::flag;

use crate::signals;

/// The exit code after a second signal: the first one is no longer handled.
const EXIT_IMPATIENT: i32 = 1;
/// How often the progress is written.
const EVERY: Duration = Duration::from_millis(100);

/// Whether a signal came; shared by all runs of a command.
#[derive(Clone, Debug)]
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on the first Ctrl-C, SIGTERM or SIGHUP is recorded, and a second one ends the
    /// process.
    pub(super) fn at_signals() -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in signals::ending() {
            flag::register_conditional_shutdown(signal, EXIT_IMPATIENT, Arc::clone(&stop))?;
            flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Self(stop))
    }

    /// Whether to stop.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Whether a run should continue.
    pub(super) fn verdict(&self) -> ControlFlow<()> {
        if self.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Shows the progress of a run on a terminal.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    stop: &'a Stop,
    is_seen: bool,
    written: Option<Instant>,
}

impl<'a> Watch<'a> {
    /// Watches one run.
    pub(super) fn of(stop: &'a Stop) -> Self {
        Self { stop, is_seen: io::stderr().is_terminal(), written: None }
    }

    /// A unit has been done; whether to continue.
    pub(super) fn unit(&mut self, done: u32, all: u32) -> ControlFlow<()> {
        self.share(f64::from(done) / f64::from(all.max(1)), done, all, "units");
        self.stop.verdict()
    }

    /// Shows that this share of the work is done, and how many of all `things`.
    pub(super) fn share(&mut self, share: f64, done: u32, all: u32, things: &str) {
        if self.is_seen && self.written.is_none_or(|written| written.elapsed() >= EVERY) {
            self.written = Some(Instant::now());
            let line = bar(share, done, all, things);
            let _ = write!(io::stderr().lock(), "\r{line}");
        }
    }

    /// The run is over: removes the bar.
    pub(super) fn end(&mut self) {
        if self.written.take().is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// A bar that is filled up to a share of its length, and how many of all things are done.
pub(crate) fn bar(share: f64, done: u32, all: u32, things: &str) -> String {
    let filled = ((30.0 * share) as usize).min(30);
    let bar = "#".repeat(filled) + &".".repeat(30 - filled);
    format!("[{bar}] {done} of {all} {things} ")
}

/// Writes lines to standard error; a failure of that is ignored.
pub(super) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_as_long_at_its_start_as_at_its_end() {
        assert_eq!(
            bar(0.5, 1, 4, "runs"),
            format!("[{}{}] 1 of 4 runs ", "#".repeat(15), ".".repeat(15))
        );
        for share in [0.0, 1.0, 1.1, f64::NAN] {
            assert_eq!(bar(share, 3, 4, "runs").len(), 45, "{share}");
        }
    }
}
