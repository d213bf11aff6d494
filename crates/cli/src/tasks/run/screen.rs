//! Progress of a run: one line in place on standard error, where that is a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use tidings_nodes::units::Unit;
use tidings_tasks_core::message::{Answer, Request};
use tokio::sync::watch;

use super::super::client::Client;
use super::super::rates::Rate;
use super::row::Ended;
use crate::output;
use crate::sim::watch::bar;

/// How often the line is drawn.
const PERIOD: Duration = Duration::from_millis(250);

/// How often it is asked how many tasks run.
const ASKED: Duration = Duration::from_secs(1);

/// The line of progress.
pub(super) struct Screen {
    rows: usize,
    ended: usize,
    failed: usize,
    /// Those that were done before this run.
    before: usize,
    rate: Rate,
    is_drawn: bool,
    /// Where that is a terminal.
    seen: Option<Seen>,
}

struct Seen {
    ticks: tokio::time::Interval,
    /// How many tasks run, as far as is known.
    running: watch::Receiver<Option<u64>>,
}

impl Screen {
    /// The progress of a run of so many rows, whose tasks lie in `queue`.
    pub(super) fn new(rows: usize, client: &Client, queue: String) -> Self {
        let seen = io::stderr().is_terminal().then(|| Seen {
            ticks: tokio::time::interval(PERIOD),
            running: running(client, queue),
        });
        let (ended, failed, before) = (0, 0, 0);
        Self { rows, ended, failed, before, rate: Rate::default(), is_drawn: false, seen }
    }

    /// Counts a task that has ended.
    pub(super) fn count(&mut self, ended: &Ended) {
        self.ended += 1;
        self.failed += usize::from(!ended.is_done());
        self.before += usize::from(ended.was_done);
    }

    /// Comes when the line is to be drawn; never without a terminal.
    pub(super) async fn tick(&mut self) {
        match &mut self.seen {
            Some(seen) => drop(seen.ticks.tick().await),
            None => core::future::pending().await,
        }
    }

    /// Draws the line.
    pub(super) fn draw(&mut self) {
        self.rate.note(Instant::now(), (self.ended - self.before) as u64);
        let running = self.seen.as_ref().and_then(|seen| *seen.running.borrow());
        let (width, _) = output::terminal_size();
        let line: String = self.line(running).chars().take(width.saturating_sub(1)).collect();
        let _ = write!(io::stderr().lock(), "\r\x1b[K{line}");
        self.is_drawn = true;
    }

    fn line(&self, running: Option<u64>) -> String {
        let share = self.ended as f64 / self.rows.max(1) as f64;
        let mut line = bar(share, self.ended as u32, self.rows as u32, "tasks");
        let mut add = |text: String| {
            line.push_str("  ");
            line.push_str(&text);
        };
        if let Some(running) = running {
            add(format!("{running} running"));
        }
        if self.failed > 0 {
            add(format!("{} failed", self.failed));
        }
        if let Some(rate) = self.rate.per_second().filter(|rate| *rate > 0.0) {
            add(format!("{rate:.1}/s"));
        }
        if let Some(left) = self.rate.seconds_for((self.rows - self.ended) as u64) {
            add(format!("{} left", Unit::Seconds.humanise(left)));
        }
        line
    }

    /// Removes the line, before something else is printed.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// How many tasks of a queue run, asked as long as somebody wants to know.
fn running(client: &Client, queue: String) -> watch::Receiver<Option<u64>> {
    let (sender, receiver) = watch::channel(None);
    let session = client.session.clone();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(ASKED);
        while !sender.is_closed() {
            ticks.tick().await;
            let Ok(answer) = session.ask(Request::Overview).await else { return };
            let Answer::Overview(overview) = answer else { continue };
            let of_run = overview.queues.iter().find(|one| one.name == queue);
            sender.send_replace(of_run.map(|one| one.running));
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_much_is_done_and_how_fast() {
        let (rate, seen) = (Rate::default(), None);
        let (rows, ended, failed, before) = (100, 30, 2, 10);
        let mut screen = Screen { rows, ended, failed, before, rate, is_drawn: false, seen };
        let begin = Instant::now();
        assert!(screen.line(None).ends_with("] 30 of 100 tasks   2 failed"));
        screen.rate.note(begin, 0);
        screen.rate.note(begin + Duration::from_secs(4), 20);
        let line = screen.line(Some(8));
        let end = "] 30 of 100 tasks   8 running  2 failed  5.0/s  14.0 s left";
        assert!(line.ends_with(end), "{line}");
    }
}
