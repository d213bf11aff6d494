//! Progress of an experiment, a bar on a terminal and a line now and then elsewhere, and the signal
//! that ends it.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use signal_hook::flag;
use tidings_experiment::conduct::Watcher;

use crate::output;
use crate::signals;
use crate::sim::watch::bar;

/// Where there is no terminal, a line is printed no more often.
const PAUSE: Duration = Duration::from_secs(60);

/// Progress, and the signal that came.
pub(super) struct Screen {
    signal: Arc<AtomicUsize>,
    is_seen: bool,
    begin: Instant,
    /// What is counted.
    things: &'static str,
    /// Runs that were done before, once it is known.
    before: Option<usize>,
    /// When a line was printed, where there is no terminal.
    printed: Option<Instant>,
}

impl Screen {
    /// From now on signals are noted; none ends the process, which has children to end first.
    pub(super) fn begin(things: &'static str) -> io::Result<Self> {
        let signal = Arc::new(AtomicUsize::new(0));
        for number in signals::ending() {
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        let is_seen = io::stderr().is_terminal();
        Ok(Self { signal, is_seen, begin: Instant::now(), things, before: None, printed: None })
    }

    pub(super) fn end(&self) {
        if self.is_seen {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

impl Screen {
    /// Progress as a line: of the first run, of the last, and each minute between.
    fn print(&mut self, done: usize, all: usize, left: &str, next: &str) {
        let is_due = self.printed.is_none_or(|printed| printed.elapsed() >= PAUSE);
        if !is_due && done < all {
            return;
        }
        self.printed = Some(Instant::now());
        let done = format!("{done} of {all} {}", self.things);
        let parts = [done.as_str(), left, next].into_iter().filter(|part| !part.is_empty());
        output::complain(&parts.collect::<Vec<_>>().join(", "));
    }
}

impl Watcher for Screen {
    fn progress(&mut self, done: usize, all: usize, next: &str) {
        let before = *self.before.get_or_insert(done);
        let left = self.begin.elapsed().as_secs_f64() / (done - before).max(1) as f64
            * (all - done) as f64;
        let left = if done > before { format!("{left:.0} s left") } else { String::new() };
        if !self.is_seen {
            self.print(done, all, &left, next);
            return;
        }
        let bar = bar(done as f64 / all.max(1) as f64, done as u32, all as u32, self.things);
        let _ = write!(io::stderr().lock(), "\r\x1b[K{bar}{left}  {next}");
    }

    fn say(&mut self, text: &str) {
        self.end();
        output::complain(text);
    }

    fn stopped(&self) -> Option<i32> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}
