//! Progress of a run: one line in place on standard error, where that is a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use super::row::Ended;
use crate::sim::watch::bar;

/// How often the line is drawn.
const PERIOD: Duration = Duration::from_millis(250);

/// The line of progress.
pub(super) struct Screen {
    rows: usize,
    done: usize,
    failed: usize,
    /// Those that were done before this run.
    before: usize,
    begin: Instant,
    is_seen: bool,
    is_drawn: bool,
    ticks: Option<tokio::time::Interval>,
}

impl Screen {
    pub(super) fn new(rows: usize) -> Self {
        let is_seen = io::stderr().is_terminal();
        Self {
            rows,
            done: 0,
            failed: 0,
            before: 0,
            begin: Instant::now(),
            is_seen,
            is_drawn: false,
            ticks: is_seen.then(|| tokio::time::interval(PERIOD)),
        }
    }

    /// Counts a task that has ended.
    pub(super) fn count(&mut self, ended: &Ended) {
        self.done += 1;
        self.failed += usize::from(!ended.is_done());
        self.before += usize::from(ended.was_done);
    }

    /// Comes when the line is to be drawn; never without a terminal.
    pub(super) async fn tick(&mut self) {
        match &mut self.ticks {
            Some(ticks) => drop(ticks.tick().await),
            None => core::future::pending().await,
        }
    }

    /// Draws the line.
    pub(super) fn draw(&mut self) {
        let bar = bar(
            self.done as f64 / self.rows.max(1) as f64,
            self.done as u32,
            self.rows as u32,
            "tasks",
        );
        let own = self.done - self.before;
        let left =
            self.begin.elapsed().as_secs_f64() / own.max(1) as f64 * (self.rows - self.done) as f64;
        let left = if own > 0 { format!("{left:.0} s left") } else { String::new() };
        let failed = match self.failed {
            0 => String::new(),
            failed => format!("  {failed} failed"),
        };
        let _ = write!(io::stderr().lock(), "\r\x1b[K{bar}{left}{failed}");
        self.is_drawn = true;
    }

    /// Removes the line, before something else is printed.
    pub(super) fn clear(&mut self) {
        if self.is_seen && std::mem::take(&mut self.is_drawn) {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
