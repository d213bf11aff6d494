//! `tidings queue top`: queues, workers and the last failures over the whole screen, refreshed.
//!
//! Keys are read by a thread of their own, since this process may hold the store, and then others
//! wait for it.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use crossterm::event::KeyEvent;
use tidings_nodes::units::Unit;
use tidings_tasks::spawn::spawn;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::view::{Overview, QueueView, TryView};
use tokio::sync::mpsc;

use super::super::client::{Client, Place, ask, block_on, overview, with};
use super::super::failure::TasksError;
use super::super::kinds;
use super::super::rates::Rate;
use super::ls;
use crate::Failure;
use crate::full_screen::{self, Frame, FullScreen, Move, every, next_keys};
use crate::output;
use crate::table::{self, Align};

/// What the keys do.
const KEYS: &str = "q ends   up/down: scroll";

/// How long a thread waits for keys before it looks whether it is still needed.
const KEYS_WAIT: Duration = Duration::from_secs(60);

/// The digits of a task's id that are shown.
const ID_DIGITS: usize = 8;

/// How often.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// How often to ask, at most every 100ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = every)]
    every: Duration,
}

/// What is shown, and how fast tasks end.
#[derive(Default)]
struct Picture {
    overview: Box<Overview>,
    rates: BTreeMap<String, Rate>,
    all: Rate,
}

/// Shows the table until a key or a signal ends it; without a terminal once.
pub(super) fn run(place: &Place, options: &Options) -> Result<(), Failure> {
    if !full_screen::is_possible() {
        let overview = block_on(overview(place))?;
        let (headings, rows) = Picture { overview, ..Picture::default() }.text(now_ms());
        return output::print(&format!("{headings}\n{rows}"));
    }
    let watching = async |client: &Client| watch(client, options.every).await;
    Ok(block_on(with(place, "top", watching))?)
}

async fn watch(client: &Client, every: Duration) -> Result<(), TasksError> {
    let terminal = |source| TasksError::System { what: "the terminal", source };
    let mut keys = keys().map_err(terminal)?;
    let mut overviews = overviews(client, every);
    let _screen = FullScreen::enter().map_err(terminal)?;
    let (mut picture, mut scroll) = (Picture::default(), 0);
    loop {
        let trouble = client.member.trouble().map(|trouble| trouble.to_string());
        scroll = picture.draw(trouble, scroll).map_err(terminal)?;
        tokio::select! {
            pressed = keys.recv() => match pressed {
                None => return Ok(()),
                Some(pressed) => for key in pressed {
                    match Move::of(key) {
                        Move::End => return Ok(()),
                        by => scroll = by.from(scroll),
                    }
                }
            },
            overview = overviews.recv() => match overview {
                Some(overview) => picture.take(overview?, Instant::now()),
                None => return Err(client.ended().await),
            },
            // What is in the way of an answer is told.
            () = tokio::time::sleep(every.max(Duration::from_secs(1))) => {}
        }
    }
}

/// The keys as they are pressed; the end of it once a signal has come.
fn keys() -> io::Result<mpsc::Receiver<Vec<KeyEvent>>> {
    let ended = full_screen::signals()?;
    let (sender, receiver) = mpsc::channel(16);
    thread::Builder::new().name("keys".to_owned()).spawn(move || {
        while !ended.load(Ordering::Relaxed) {
            let Ok(keys) = next_keys(KEYS_WAIT, &ended) else { return };
            if sender.blocking_send(keys).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// What the coordinator says, again and again.
fn overviews(
    client: &Client,
    every: Duration,
) -> mpsc::Receiver<Result<Box<Overview>, TasksError>> {
    let (sender, receiver) = mpsc::channel(1);
    let session = client.session.clone();
    spawn(async move {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let answer = match ask(&session, Request::Overview).await {
                Ok(Answer::Overview(overview)) => Ok(overview),
                Ok(other) => Err(TasksError::Answer(Box::new(other))),
                Err(error) => Err(error),
            };
            let is_over = answer.is_err();
            if sender.send(answer).await.is_err() || is_over {
                return;
            }
        }
    });
    receiver
}

impl Picture {
    fn take(&mut self, overview: Box<Overview>, now: Instant) {
        let is_there = |name: &String| overview.queues.iter().any(|queue| queue.name == *name);
        self.rates.retain(|name, _| is_there(name));
        for queue in &overview.queues {
            let rate = self.rates.entry(queue.name.clone()).or_default();
            rate.note(now, queue.done + queue.failed);
        }
        self.all.note(now, overview.counters.done + overview.counters.failed);
        self.overview = overview;
    }

    fn draw(&self, trouble: Option<String>, scroll: usize) -> io::Result<usize> {
        let (headings, rows) = self.text(now_ms());
        let title = match trouble {
            Some(trouble) => format!("{trouble}; trying again"),
            None => self.title(),
        };
        Frame { title: &title, headings: &headings, rows: &rows, keys: KEYS }.draw(scroll)
    }

    fn title(&self) -> String {
        let counters = &self.overview.counters;
        format!(
            "{} tasks wait or run; since the coordinator began {} are done, {} have failed, {} tries \
             were lost; {} end a second",
            self.overview.tasks,
            counters.done,
            counters.failed,
            counters.lost,
            rate(&self.all),
        )
    }

    /// The headings of the queues, and all that follows.
    fn text(&self, now_ms: u64) -> (String, String) {
        let queues = self.queues();
        let (headings, rows) = queues.split_once('\n').unwrap_or((&queues, ""));
        let workers = ls::workers_text(&self.overview);
        let failures = failures(&self.overview.failures, now_ms);
        let board = ls::without_board(&self.overview);
        (headings.to_owned(), format!("{rows}\n{workers}\n{failures}{board}"))
    }

    fn queues(&self) -> String {
        let names = [
            "ready",
            "delayed",
            "waiting",
            "running",
            "unfit",
            "done",
            "failed",
            "ended/s",
            "time left",
        ];
        let right = names.map(|name| (name, Align::Right));
        let headings: Vec<_> = core::iter::once(("queue", Align::Left)).chain(right).collect();
        let unknown = Rate::default();
        let row = |queue: &QueueView| {
            let rate = self.rates.get(&queue.name).unwrap_or(&unknown);
            let waits = [queue.ready, queue.delayed, queue.waiting];
            let others = [queue.running, queue.unfit, queue.done, queue.failed];
            let counts = waits.into_iter().chain(others);
            let left = rate.seconds_for(waits.iter().sum::<u64>() + queue.running);
            let left = left.map_or("-".to_owned(), |left| Unit::Seconds.humanise(left));
            let counts = counts.map(|count| count.to_string());
            let last = [self::rate(rate), left];
            core::iter::once(queue.name.clone()).chain(counts).chain(last).collect()
        };
        table::render(&headings, &self.overview.queues.iter().map(row).collect::<Vec<_>>())
    }
}

/// The last failures, the last one first.
fn failures(failures: &[TryView], now_ms: u64) -> String {
    let headings = [
        ("failed", Align::Right),
        ("queue", Align::Left),
        ("task", Align::Left),
        ("attempt", Align::Right),
        ("host", Align::Left),
        ("cause", Align::Left),
        ("", Align::Left),
    ];
    let row = |one: &TryView| {
        // The coordinator's clock may be ahead of this one.
        let ago = Unit::Milliseconds.humanise(now_ms.saturating_sub(one.ended_ms) as f64);
        let id = one.task.to_string();
        vec![
            format!("{ago} ago"),
            one.queue.to_string(),
            id[..ID_DIGITS].to_owned(),
            one.attempt.0.to_string(),
            one.by.host.to_string(),
            one.cause.map_or("", kinds::cause).to_owned(),
            one.text.lines().next().unwrap_or_default().to_owned(),
        ]
    };
    table::render(&headings, &failures.iter().map(row).collect::<Vec<_>>())
}

fn rate(rate: &Rate) -> String {
    rate.per_second().map_or("-".to_owned(), |rate| format!("{rate:.1}"))
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::id::{Attempt, TaskId};
    use tidings_tasks_core::record::Running;
    use tidings_tasks_core::retry::Cause;
    use tidings_tasks_core::view::SessionView;

    use super::*;

    fn seen(done: u64) -> Box<Overview> {
        let name = "jobs".to_owned();
        let queue =
            QueueView { name, ready: 60, running: 4, done, failed: 1, ..QueueView::default() };
        let (worker, host) = ("w1".to_owned(), "n1".to_owned());
        let session = SessionView {
            name: worker.clone(),
            host: host.clone(),
            slots: 4,
            running: 4,
            ..SessionView::default()
        };
        let failure = TryView {
            number: 1,
            task: TaskId::from_bytes([0xab; 16]),
            attempt: Attempt(2),
            queue: "jobs".into(),
            by: Running { worker: worker.into(), host: host.into(), since_ms: 500, slot: 1 },
            ended_ms: 1_000,
            cause: Some(Cause::Exit),
            text: "exit status 3\nlast line".to_owned(),
        };
        Box::new(Overview {
            queues: vec![queue],
            sessions: vec![session],
            failures: vec![failure],
            board: true,
            ..Overview::default()
        })
    }

    #[test]
    fn queues_workers_and_failures_are_shown_with_their_rates() {
        let (mut picture, begin) = (Picture::default(), Instant::now());
        picture.take(seen(10), begin);
        picture.take(seen(26), begin + Duration::from_secs(2));
        let (headings, rows) = picture.text(61_000);
        assert_eq!(
            format!("{headings}\n{rows}"),
            "\
queue  ready  delayed  waiting  running  unfit  done  failed  ended/s  time left
jobs      60        0        0        4      0    26       1      8.0      8.0 s

worker  host  slots  running
w1      n1        4        4

     failed  queue  task      attempt  host  cause
1 m 0 s ago  jobs   abababab        2  n1    exit   exit status 3
"
        );
    }

    #[test]
    fn a_cluster_without_an_agent_is_said_to_be_one() {
        let (_, rows) = Picture::default().text(0);
        assert!(rows.ends_with("\ntasks with --where wait.\n"), "{rows}");
    }

    #[test]
    fn a_queue_that_is_gone_has_no_rate() {
        let mut picture = Picture::default();
        picture.take(seen(1), Instant::now());
        picture.take(Box::default(), Instant::now());
        assert!(picture.rates.is_empty());
    }
}
