//! Progress of a run: a line and a table in place on standard error, where that is a terminal.
//!
//! The cursor stays at the begin of the line, so that all is removed by clearing what is below.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use tidings_nodes::units::Unit;
use tidings_tasks::spawn::spawn;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::view::{Overview, SessionView};
use tokio::sync::watch;

use super::super::client::Client;
use super::super::rates::Rate;
use super::live::Live;
use super::row::{Ended, Row};
use crate::output;
use crate::sim::watch::bar;

/// How often it is drawn.
const PERIOD: Duration = Duration::from_millis(250);

/// How often it is asked what runs.
const ASKED: Duration = Duration::from_secs(1);

/// The part of the terminal's lines that it takes, at most: one in so many.
const SHARE: usize = 2;

/// The line of progress, and who works below it.
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
    queues: Vec<String>,
    /// What the coordinator says; `None` before it was asked.
    overview: watch::Receiver<Option<Box<Overview>>>,
    live: Live,
}

impl Screen {
    /// The progress of a run of so many rows, whose tasks lie in `queues`.
    pub(super) fn new(rows: usize, client: &Client, queues: Vec<String>) -> Self {
        let seen = io::stderr().is_terminal().then(|| Seen {
            ticks: tokio::time::interval(PERIOD),
            overview: overviews(client),
            queues,
            live: Live::default(),
        });
        let (ended, failed, before) = (0, 0, 0);
        Self { rows, ended, failed, before, rate: Rate::default(), is_drawn: false, seen }
    }

    /// A task of the run, which ends later.
    pub(super) fn know(&mut self, row: &Row) {
        if let Some(seen) = &mut self.seen {
            seen.live.add(row.submission.id, row.label());
        }
    }

    /// Counts a task that has ended.
    pub(super) fn count(&mut self, ended: &Ended) {
        if let Some(seen) = &mut self.seen {
            seen.live.remove(ended.row.submission.id);
        }
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

    /// Draws it.
    pub(super) fn draw(&mut self) {
        let now = Instant::now();
        self.rate.note(now, (self.ended - self.before) as u64);
        let (width, height) = output::terminal_size();
        let (running, full, table) = match &mut self.seen {
            Some(seen) => (seen.look(now), seen.full(), seen.live.lines(now, height / SHARE)),
            None => (None, None, Vec::new()),
        };
        let lines = core::iter::once(self.line(running, full)).chain(table);
        let cut = |line: String| line.chars().take(width.saturating_sub(1)).collect::<String>();
        let text: Vec<String> = lines.map(cut).collect();
        let up = match text.len() - 1 {
            0 => String::new(),
            below => format!("\x1b[{below}A"),
        };
        let _ = write!(io::stderr().lock(), "\r\x1b[J{}\r{up}", text.join("\n"));
        self.is_drawn = true;
    }

    fn line(&self, running: Option<u64>, full: Option<String>) -> String {
        let share = self.ended as f64 / self.rows.max(1) as f64;
        let mut line = bar(share, self.ended as u32, self.rows as u32, "tasks");
        let mut add = |text: String| {
            line.push_str("  ");
            line.push_str(&text);
        };
        if let Some(running) = running {
            add(format!("{running} running"));
        }
        full.into_iter().for_each(&mut add);
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

    /// Removes it, before something else is printed.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let _ = write!(io::stderr().lock(), "\r\x1b[J");
        }
    }
}

impl Seen {
    /// Which hosts of workers of the run's queues are full; `None` if none is.
    fn full(&self) -> Option<String> {
        let overview = self.overview.borrow();
        let is_of = |one: &&SessionView| {
            one.queues.is_empty() || one.queues.iter().any(|queue| self.queues.contains(queue))
        };
        let full = overview.as_ref()?.sessions.iter().filter(|one| one.full.is_some());
        let hosts: BTreeSet<&str> = full.filter(is_of).map(|one| &*one.host).collect();
        match hosts.len() {
            0 => None,
            1 => hosts.first().map(|host| format!("no space on {host}")),
            many => Some(format!("no space on {many} hosts")),
        }
    }

    /// Takes what the coordinator has said last; how many tasks of the run's queues run.
    fn look(&mut self, now: Instant) -> Option<u64> {
        if self.overview.has_changed().unwrap_or(false) {
            if let Some(overview) = &*self.overview.borrow_and_update() {
                self.live.look(overview, now);
            }
        }
        running(self.overview.borrow().as_ref()?, &self.queues)
    }
}

/// How many tasks of these queues run; `None` where none of them has tasks.
fn running(overview: &Overview, queues: &[String]) -> Option<u64> {
    let of_run = overview.queues.iter().filter(|one| queues.contains(&one.name));
    of_run.map(|one| one.running).reduce(|sum, running| sum + running)
}

/// What the coordinator says, asked as long as somebody wants to know.
fn overviews(client: &Client) -> watch::Receiver<Option<Box<Overview>>> {
    let (sender, receiver) = watch::channel(None);
    let session = client.session.clone();
    spawn(async move {
        let mut ticks = tokio::time::interval(ASKED);
        while !sender.is_closed() {
            ticks.tick().await;
            let Ok(answer) = session.ask(Request::Overview).await else { return };
            let Answer::Overview(overview) = answer else { continue };
            sender.send_replace(Some(overview));
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidings_tasks_core::view::QueueView;

    #[test]
    fn what_runs_is_that_of_all_queues_of_the_run() {
        let queue = |name: &str, running| QueueView {
            name: name.to_owned(),
            running,
            ..QueueView::default()
        };
        let queues = vec![queue("gpu", 4), queue("of others", 90), queue("run/a", 3)];
        let overview = Overview { queues, ..Overview::default() };
        let own = ["run/a".to_owned(), "gpu".to_owned()];
        assert_eq!(running(&overview, &own), Some(7));
        assert_eq!(running(&overview, &own[..1]), Some(3));
        assert_eq!(running(&Overview::default(), &own), None);
    }

    #[test]
    fn the_line_says_how_much_is_done_and_how_fast() {
        let (rate, seen) = (Rate::default(), None);
        let (rows, ended, failed, before) = (100, 30, 2, 10);
        let mut screen = Screen { rows, ended, failed, before, rate, is_drawn: false, seen };
        let begin = Instant::now();
        assert!(screen.line(None, None).ends_with("] 30 of 100 tasks   2 failed"));
        screen.rate.note(begin, 0);
        screen.rate.note(begin + Duration::from_secs(4), 20);
        let line = screen.line(Some(8), Some("no space on n1".to_owned()));
        let end = "] 30 of 100 tasks   8 running  no space on n1  2 failed  5.0/s  14.0 s left";
        assert!(line.ends_with(end), "{line}");
    }
}
