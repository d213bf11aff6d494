//! Lists: of queues and workers, and of the tasks of one queue.

use clap::Args;
use serde::Serialize;
use tidings_tasks::work::{What, Work};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::record::beginning;
use tidings_tasks_core::view::{Overview, QueueView, SessionView, Shown, Which};

use super::super::client::{Client, Place, block_on, overview, with};
use super::super::kinds;
use super::super::pages::Pages;
use super::super::unknown::expect_known;
use crate::Failure;
use crate::output;
use crate::table::{self, Align};

/// The words of a command that a list shows.
const MAX_SHOWN_BYTES: usize = 60;

/// Without an agent.
const NO_BOARD: &str = "
No agent runs on the coordinator's host: tasks of a host that dies move when its sessions end, and
tasks with --where wait.
";

/// A part of a list.
#[derive(Debug, Args)]
pub(super) struct Page {
    /// The queue
    #[arg(value_name = "QUEUE", value_parser = kinds::name)]
    queue: String,
    /// How many tasks
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object a task on a line
    #[arg(long)]
    json: bool,
}

/// Queues and workers, as JSON: docs/reference/tasks.md.
#[derive(Debug, Serialize)]
pub(super) struct Picture {
    queues: Vec<QueueLine>,
    queues_total: u64,
    workers: Vec<WorkerLine>,
    sessions_total: u64,
    tasks: u64,
    done: u64,
    failed: u64,
    lost: u64,
    superseded: u64,
    board: bool,
}

#[derive(Debug, Serialize)]
struct QueueLine {
    name: String,
    ready: u64,
    delayed: u64,
    waiting: u64,
    running: u64,
    unfit: u64,
    done: u64,
    failed: u64,
}

#[derive(Debug, Serialize)]
struct WorkerLine {
    name: String,
    host: String,
    slots: u32,
    running: u32,
    silent_ms: u64,
    /// Why it takes no tasks now: a folder of its host is full.
    full: Option<String>,
}

/// Lists the queues and the workers.
pub(super) fn queues(place: &Place, json: bool) -> Result<(), Failure> {
    let overview = block_on(overview(place))?;
    if json {
        output::print_json(&of(&overview))
    } else {
        output::print_table(&text(&overview))?;
        output::print(without_board(&overview))
    }
}

/// Lists tasks that have not ended.
pub(super) fn live(place: &Place, page: &Page) -> Result<(), Failure> {
    list(place, page, Which::Live)
}

/// Lists tasks that have failed.
pub(super) fn dead(place: &Place, page: &Page) -> Result<(), Failure> {
    list(place, page, Which::Failed)
}

/// What is said of an overview.
pub(super) fn of(overview: &Overview) -> Picture {
    let counters = &overview.counters;
    Picture {
        queues: (overview.queues.iter())
            .map(|one| QueueLine {
                name: one.name.clone(),
                ready: one.ready,
                delayed: one.delayed,
                waiting: one.waiting,
                running: one.running,
                unfit: one.unfit,
                done: one.done,
                failed: one.failed,
            })
            .collect(),
        queues_total: overview.queues_total,
        workers: workers(overview)
            .map(|one| WorkerLine {
                name: one.name.clone(),
                host: one.host.clone(),
                slots: one.slots,
                running: one.running,
                silent_ms: one.silent_ms,
                full: one.full.clone(),
            })
            .collect(),
        sessions_total: overview.sessions_total,
        tasks: overview.tasks,
        done: counters.done,
        failed: counters.failed,
        lost: counters.lost,
        superseded: counters.superseded,
        board: overview.board,
    }
}

/// Sessions that take tasks, or have some.
fn workers(overview: &Overview) -> impl Iterator<Item = &SessionView> {
    overview.sessions.iter().filter(|one| one.slots > 0 || one.running > 0 || one.full.is_some())
}

fn text(overview: &Overview) -> String {
    let right = |name| (name, Align::Right);
    let headings = [
        ("queue", Align::Left),
        right("ready"),
        right("delayed"),
        right("waiting"),
        right("running"),
        right("unfit"),
    ];
    let row = |one: &QueueView| {
        let numbers = [one.ready, one.delayed, one.waiting, one.running, one.unfit];
        core::iter::once(one.name.clone()).chain(numbers.map(|n| n.to_string())).collect()
    };
    let rows: Vec<_> = overview.queues.iter().map(row).collect();
    format!("{}\n{}", table::render(&headings, &rows), workers_text(overview))
}

/// What it means that the coordinator knows of no hosts from an agent; nothing if it does.
pub(in crate::tasks) fn without_board(overview: &Overview) -> &'static str {
    if overview.board { "" } else { NO_BOARD }
}

/// The table of workers.
pub(super) fn workers_text(overview: &Overview) -> String {
    let headings = [
        ("worker", Align::Left),
        ("host", Align::Left),
        ("slots", Align::Right),
        ("running", Align::Right),
    ];
    let row = |one: &SessionView| {
        let slots = if one.full.is_some() { "no space".into() } else { one.slots.to_string() };
        vec![one.name.clone(), one.host.clone(), slots, one.running.to_string()]
    };
    table::render(&headings, &workers(overview).map(row).collect::<Vec<_>>())
}

fn list(place: &Place, page: &Page, which: Which) -> Result<(), Failure> {
    let read = async |client: &Client| {
        let mut pages = Pages::new(Some(&page.queue), which);
        let mut tasks = Vec::new();
        while tasks.len() < page.limit {
            let Some(more) = pages.next(client).await? else { break };
            for (id, shown) in more.into_iter().take(page.limit - tasks.len()) {
                tasks.push((id, client.whole(id, shown).await));
            }
        }
        if tasks.is_empty() {
            expect_known(client, &page.queue).await?;
        }
        Ok(tasks)
    };
    let tasks = block_on(with(place, "queue", read))?;
    if page.json {
        return tasks
            .iter()
            .try_for_each(|(id, shown)| output::print_json_line(&kinds::TaskView::of(*id, shown)));
    }
    let headings = [
        ("task", Align::Left),
        ("state", Align::Left),
        ("attempts", Align::Right),
        ("host", Align::Left),
        ("work", Align::Left),
        ("last failure", Align::Left),
    ];
    let rows: Vec<_> = tasks.iter().map(|(id, shown)| row(*id, shown)).collect();
    output::print_table(&table::render(&headings, &rows))
}

fn row(id: TaskId, shown: &Shown) -> Vec<String> {
    let task = shown.task();
    let failure = task.failures.last().map(|last| {
        let text = last.text.lines().next().unwrap_or_default();
        format!("{}: {}", kinds::cause(last.cause), beginning(text, MAX_SHOWN_BYTES))
    });
    let host = kinds::host(shown).unwrap_or("-").to_owned();
    vec![
        id.to_string(),
        kinds::state(shown).to_owned(),
        task.attempt.0.to_string(),
        host,
        work(&task.payload),
        failure.unwrap_or_else(|| "-".to_owned()),
    ]
}

/// What a payload says is to be done, in short.
fn work(payload: &[u8]) -> String {
    match Work::from_payload(payload) {
        Ok(Work { what: What::Command { argv, .. }, .. }) => {
            beginning(&argv.join(" "), MAX_SHOWN_BYTES).to_owned()
        }
        Ok(work) => beginning(&work.name, MAX_SHOWN_BYTES).to_owned(),
        Err(_) if payload.is_empty() => "-".to_owned(),
        Err(_) => match kinds::data(payload) {
            Some(text) => beginning(text, MAX_SHOWN_BYTES).to_owned(),
            None => format!("{} bytes of data", payload.len()),
        },
    }
}
