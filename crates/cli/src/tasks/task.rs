//! `tidings task`: one task, by its id or the beginning of it.

use clap::{Args, Subcommand};
use tidings_tasks::work::Report;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Request};
use tidings_tasks_core::record::{Finished, Outcome};
use tidings_tasks_core::view::{Shown, Which};

use super::client::{Client, Place, Store, block_on, with};
use super::failure::TasksError;
use super::input::InputView;
use super::{explain, inputs, kinds, outputs, shape};
use crate::Failure;
use crate::output::{self, Agent};
use crate::table::{self, Align};

const AFTER_HELP: &str = concat!(
    "\
A task is named by its id, or by as many of its first digits as no other task begins with.

Examples:
  tidings task show 3f2a            where it is, how often it was tried, how it failed
  tidings task explain 3f2a         why it waits
  tidings task graph run/night      which tasks wait for which, and the critical path
  tidings task log 3f2a             what it has printed
  tidings task cancel 3f2a          it is stopped, and not tried again
  tidings task retry 3f2a           it has failed, or was cancelled: try it again",
    "\n\n",
    crate::exit_codes::exit_codes!()
);

/// Options of `tidings task`.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    store: Store,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show a task
    Show {
        /// Its id
        #[arg(value_parser = id)]
        task: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say in a sentence why a task waits
    Explain {
        /// Its id
        #[arg(value_parser = id)]
        task: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Show which tasks of queues wait for which, the critical path, and where outputs lie
    Graph {
        /// The queue, of a run `run/NAME`; several, if its tasks lie in several
        #[arg(value_name = "QUEUE", value_parser = kinds::name, required = true)]
        queues: Vec<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print what a task that is done has printed, or how its tries have failed
    Log {
        /// Its id
        #[arg(value_parser = id)]
        task: String,
    },
    /// Stop tasks; they are not tried again
    Cancel {
        /// Their ids
        #[arg(value_parser = id, required = true)]
        tasks: Vec<String>,
        /// Only if no worker has them; it fails at one that runs
        #[arg(long)]
        waiting: bool,
    },
    /// Try tasks again that have failed or were cancelled
    Retry {
        /// Their ids
        #[arg(value_parser = id, required = true)]
        tasks: Vec<String>,
    },
}

/// Shows or changes tasks.
///
/// # Errors
/// [`TasksError`].
pub fn run(agent: &Agent, options: &Options) -> Result<(), Failure> {
    let place = &options.store.place(agent)?;
    match &options.action {
        Action::Show { task, json } => {
            let (id, shown, inputs) = block_on(show(place, task))?;
            let view = kinds::TaskView::of(id, &shown).with_inputs(&inputs);
            if *json {
                output::print_json(&view)
            } else {
                output::print(&text(id, &shown, &inputs))
            }
        }
        Action::Explain { task, json } => {
            let view = block_on(with(place, "task", async |client: &Client| {
                let (id, shown) = find(client, task).await?;
                explain::explain(client, id, &shown).await
            }))?;
            if *json { output::print_json(&view) } else { output::print(&(view.text + "\n")) }
        }
        Action::Graph { queues, json } => {
            let graph = block_on(with(place, "task", async |client: &Client| {
                tokio::select! {
                    graph = shape::read(&client.session, queues, usize::MAX) => graph,
                    never = client.tell_troubles() => match never {},
                }
            }))?;
            if *json { output::print_json(&graph) } else { output::print(&shape::text(&graph)) }
        }
        Action::Log { task } => {
            Ok(block_on(with(place, "task", async |client: &Client| log(client, task).await))?)
        }
        Action::Cancel { tasks, waiting: false } => {
            change(place, tasks, |task| Request::Cancel { task })
        }
        Action::Cancel { tasks, waiting: true } => {
            change(place, tasks, |task| Request::Withdraw { task })
        }
        Action::Retry { tasks } => change(place, tasks, |task| Request::Revive { task }),
    }
}

/// The beginning of an id.
fn id(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > 32 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err("an id has up to 32 hexadecimal digits".to_owned());
    }
    Ok(text.to_ascii_lowercase())
}

fn change(
    place: &Place,
    tasks: &[String],
    request: impl Fn(TaskId) -> Request,
) -> Result<(), Failure> {
    let change = async |client: &Client| {
        for text in tasks {
            let (task, _) = find(client, text).await?;
            client.ask(request(task)).await?;
        }
        Ok(())
    };
    Ok(block_on(with(place, "task", change))?)
}

async fn show(place: &Place, text: &str) -> Result<(TaskId, Shown, Vec<InputView>), TasksError> {
    let found = async |client: &Client| {
        let (id, shown) = find(client, text).await?;
        let inputs = inputs::found(client, &shown.task().inputs).await?;
        Ok((id, client.whole(id, shown).await, inputs))
    };
    with(place, "task", found).await
}

/// The only task whose id begins so.
async fn find(client: &Client, text: &str) -> Result<(TaskId, Shown), TasksError> {
    let is_meant = |task: &TaskId| task.to_string().starts_with(text);
    let mut from = format!("{text:0<32}").parse().ok();
    let mut found = Vec::new();
    // A page has one record at least, so what lies behind the beginning is seen at once.
    while let Some(task) = from {
        let list = Request::List { queue: None, state: Which::All, from: Some(task), limit: 3 };
        let Answer::Listed(page, next) = client.ask(list).await? else { break };
        found.extend(page.into_iter().filter(|(task, _)| is_meant(task)));
        from = next.filter(is_meant).filter(|_| found.len() < 2);
    }
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(_), false) => Err(TasksError::NotFound(format!(
            "several tasks begin with `{text}`: give more digits"
        ))),
        (None, _) => Err(TasksError::NotFound(format!(
            "no task `{text}`: `tidings queue peek QUEUE` lists those of a queue, `tidings queue \
             dead QUEUE` those that have failed"
        ))),
    }
}

fn text(id: TaskId, shown: &Shown, inputs: &[InputView]) -> String {
    let task = shown.task();
    let mut rows = vec![
        ("task", id.to_string()),
        ("queue", task.queue.to_string()),
        ("state", kinds::state(shown).to_owned()),
        ("attempts", task.attempt.0.to_string()),
        ("need", task.need.to_string()),
    ];
    rows.extend(kinds::host(shown).map(|host| ("host", host.to_owned())));
    if !task.filter.is_empty() {
        rows.push(("where", task.filter.clone()));
    }
    if let Some(report) = kinds::shown_report(shown) {
        rows.push(("exit status", report.status.to_string()));
        rows.push(("wall time", format!("{:.3} s", report.wall_us as f64 / 1e6)));
        rows.push(("CPU time", format!("{:.3} s", report.cpu_us as f64 / 1e6)));
        rows.push(("largest memory", format!("{} bytes", report.max_rss_bytes)));
    }
    rows.extend(inputs.iter().map(|input| ("input", input.text())));
    for failure in &task.failures {
        rows.push(("failure", kinds::failure(failure, ": ")));
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
    table::render(&[("", Align::Left), ("", Align::Left)], &rows)
}

async fn log(client: &Client, text: &str) -> Result<(), TasksError> {
    let (id, shown) = find(client, text).await?;
    if let Shown::Finished(finished @ Finished { outcome: Outcome::Done(_), .. }) = &shown {
        let fetched = client.payloads.fetched(&client.session, id, finished.clone(), true).await?;
        let Outcome::Done(result) = fetched.outcome else { return Ok(()) };
        return match Report::from_result(&result) {
            Ok(report) => outputs::write(&report, &client.payloads).await,
            // An item of data: its result is what the claiming program has printed.
            Err(_) => kinds::write_output(&result),
        };
    }
    for failure in &shown.task().failures {
        let text = format!("-- {}\n", kinds::failure(failure, "\n"));
        kinds::write_output(text.as_bytes())?;
    }
    Ok(())
}
