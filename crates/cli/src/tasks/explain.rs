//! Why a task waits, in a sentence.

use serde::Serialize;
use tidings_tasks::items;
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::message::{Answer, Refusal, Request};
use tidings_tasks_core::record::{Outcome, State, Task};
use tidings_tasks_core::resources::{MEM, UNIT};
use tidings_tasks_core::view::{InputState, Lies, Shown, Unfit, Why};

use super::client::Client;
use super::failure::TasksError;
use super::kinds;

/// The tasks that are looked at on the way to the first of a chain.
const LONGEST_CHAIN: usize = 1_000;

/// Why a task is where it is, as JSON: docs/reference/tasks.md.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Explanation {
    pub(super) task: String,
    state: &'static str,
    reason: &'static str,
    pub(super) text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<InputLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs_missing: Option<u32>,
    /// Where outputs lie that it reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<OutputLine>,
    /// Where the chain of missing inputs begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<Box<Explanation>>,
}

/// An input that is not done.
#[derive(Debug, PartialEq, Serialize)]
struct InputLine {
    task: String,
    state: &'static str,
}

/// An output that stays on nodes.
#[derive(Debug, PartialEq, Serialize)]
struct OutputLine {
    task: String,
    bytes: u64,
    hosts: Vec<String>,
}

impl OutputLine {
    fn of(lies: &Lies) -> Self {
        Self { task: lies.task.to_string(), bytes: lies.bytes, hosts: lies.hosts.clone() }
    }

    fn text(&self) -> String {
        match &*self.hosts {
            [] => format!("its input {} is made again", self.task),
            hosts => format!("its input {} lies on {}", self.task, hosts.join(", ")),
        }
    }
}

/// Why a task that was found is where it is.
pub(super) async fn explain(
    client: &Client,
    id: TaskId,
    shown: &Shown,
) -> Result<Explanation, TasksError> {
    let (why, lies) = why(client, id).await?;
    let mut explanation = of(id, shown, &why);
    explanation.outputs = lies.iter().map(OutputLine::of).collect();
    for output in &explanation.outputs {
        explanation.text = format!("{}; {}", explanation.text, output.text());
    }
    if let Some(first) = first(client, &why).await? {
        let Explanation { text, .. } = &explanation;
        explanation.text = format!("{text}; first of all {}: {}", first.task, first.text);
        explanation.first = Some(Box::new(first));
    }
    Ok(explanation)
}

async fn why(client: &Client, task: TaskId) -> Result<(Why, Vec<Lies>), TasksError> {
    match client.ask(Request::Explain { task }).await? {
        Answer::Explained(why, lies) => Ok((*why, lies)),
        other => Err(TasksError::Answer(Box::new(other))),
    }
}

/// What is known of a task; `None` if it is not submitted yet, or has ended and is forgotten.
async fn shown(client: &Client, task: TaskId) -> Result<Option<Box<Shown>>, TasksError> {
    match client.ask(Request::Show { task }).await {
        Ok(Answer::Shown(shown)) => Ok(Some(shown)),
        Ok(other) => Err(TasksError::Answer(Box::new(other))),
        Err(TasksError::Refused(Refusal::NoTask)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What keeps a task from every worker that is there, in a sentence; `None` if nothing does.
pub(super) async fn obstacle(client: &Client, task: TaskId) -> Result<Option<String>, TasksError> {
    let Some(shown) = shown(client, task).await? else { return Ok(None) };
    let (why, _) = why(client, task).await?;
    let is_kept_from_all = matches!(why, Why::NoWorker | Why::Unfit(_));
    Ok(is_kept_from_all.then(|| of(task, &shown, &why).text))
}

/// Why the task waits, or runs, that is reached by going from one missing input to the next.
async fn first(client: &Client, of_all: &Why) -> Result<Option<Explanation>, TasksError> {
    let mut next = missing(of_all);
    for _ in 0..LONGEST_CHAIN {
        let Some(task) = next else { return Ok(None) };
        let (found, _) = why(client, task).await?;
        next = missing(&found);
        if next.is_some() {
            continue;
        }
        let shown = shown(client, task).await?;
        return Ok(shown.map(|shown| of(task, &shown, &found)));
    }
    Ok(None)
}

fn missing(why: &Why) -> Option<TaskId> {
    match why {
        Why::Inputs(_, first) => first.first().map(|(task, _)| *task),
        _ => None,
    }
}

fn of(id: TaskId, shown: &Shown, why: &Why) -> Explanation {
    let (reason, text) = match shown {
        Shown::Finished(finished) => match (&finished.outcome, finished.task.failures.last()) {
            (Outcome::Done(_), _) => ("done", "it is done".to_owned()),
            (Outcome::Cancelled, _) => ("cancelled", "it was cancelled".to_owned()),
            (Outcome::Failed, Some(last)) => {
                ("failed", format!("it has failed ({}): {}", kinds::cause(last.cause), last.text))
            }
            (Outcome::Failed, None) => ("failed", "it has failed".to_owned()),
        },
        Shown::Live(task) => live(task, why),
    };
    let (inputs, inputs_missing) = match why {
        Why::Inputs(missing, first) => (first.iter().map(line).collect(), Some(*missing)),
        _ => (Vec::new(), None),
    };
    Explanation {
        task: id.to_string(),
        state: kinds::state(shown),
        reason,
        text,
        inputs,
        inputs_missing,
        outputs: Vec::new(),
        first: None,
    }
}

fn live(task: &Task, why: &Why) -> (&'static str, String) {
    match why {
        Why::Absent | Why::Changing => {
            ("changing", "it is changing just now: ask again".to_owned())
        }
        Why::Inputs(missing, first) => ("inputs", inputs(*missing, first)),
        Why::Delayed => ("delay", delayed(task)),
        Why::Running(semaphores) if semaphores.is_empty() => ("running", "it runs".to_owned()),
        Why::Running(semaphores) => (
            "permits",
            format!("it runs, and its worker waits for permits of {}", semaphores.join(", ")),
        ),
        _ if items::is_item(&task.need) && is_unclaimed(why) => {
            let queue = &task.queue;
            let text = format!(
                "it is an item, and nobody claims items of queue {queue}: a program does, or \
                 `tidings queue claim {queue}`"
            );
            ("no_worker", text)
        }
        Why::NoWorker => (
            "no_worker",
            format!("no worker takes tasks of queue {}: start `tidings worker`", task.queue),
        ),
        Why::Unfit(unfit) if !unfit.full.is_empty() => ("full", full_text(&unfit.full)),
        Why::Unfit(unfit) => ("unfit", unfit_text(task, unfit)),
        Why::Busy { workers, ready } => (
            "busy",
            format!(
                "all {workers} workers that could take it are busy; {ready} tasks of its queue are \
                 ready, the largest priority first, then groups in turn, then the first one"
            ),
        ),
        Why::Next { ready } => {
            ("next", format!("a worker has room, and {ready} tasks of its queue are ready"))
        }
    }
}

/// Whether no session offers to claim anything of an item's queue. Workers do not.
fn is_unclaimed(why: &Why) -> bool {
    match why {
        Why::NoWorker => true,
        Why::Unfit(unfit) => unfit.lacks.iter().any(|(name, ..)| name == items::CLAIM),
        _ => false,
    }
}

fn inputs(missing: u32, first: &[(TaskId, InputState)]) -> String {
    let named = first.iter().take(4).map(|(id, state)| format!("{id} ({})", input_state(*state)));
    let named: Vec<String> = named.collect();
    let more = missing as usize - named.len().min(missing as usize);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let tasks = if missing == 1 { "task" } else { "tasks" };
    format!("it waits for {missing} {tasks} to be done: {}{more}", named.join(", "))
}

fn delayed(task: &Task) -> String {
    match task.state {
        State::Delayed(until_ms) => {
            format!("it is not to begin before {until_ms} ms since 1970 of the coordinator's clock")
        }
        _ => "it is not to begin yet".to_owned(),
    }
}

fn unfit_text(task: &Task, unfit: &Unfit) -> String {
    let none = format!("none of {} workers of queue {}", unfit.workers, task.queue);
    if unfit.is_filtered {
        let board = if unfit.board { "" } else { ", and there is no board of an agent" };
        return format!("{none} is on a node that `{}` accepts{board}", task.filter);
    }
    let lack = |(name, needed, most): &(String, u64, u64)| {
        format!("{name}={} (the most is {})", amount(name, *needed), amount(name, *most))
    };
    let lacks: Vec<String> = unfit.lacks.iter().map(lack).collect();
    match lacks.as_slice() {
        [] => format!("{none} has all of {} at once", task.need),
        lacks => format!("{none} has {}", lacks.join(" and ")),
    }
}

/// Workers that could take it, were there space on their hosts.
fn full_text(full: &[(String, String)]) -> String {
    let on = |(host, why): &(String, String)| format!("on {host}: {why}");
    let hosts: Vec<String> = full.iter().map(on).collect();
    format!("the workers that could take it wait for space; {}", hosts.join("; "))
}

fn amount(name: &str, amount: u64) -> String {
    if name == MEM { format!("{amount} B") } else { (amount as f64 / UNIT as f64).to_string() }
}

fn line((task, state): &(TaskId, InputState)) -> InputLine {
    InputLine { task: task.to_string(), state: input_state(*state) }
}

fn input_state(state: InputState) -> &'static str {
    match state {
        InputState::Ready => "ready",
        InputState::Delayed => "delayed",
        InputState::Waiting => "waiting",
        InputState::Running => "running",
        InputState::Ended => "ended",
        InputState::Again => "again",
        InputState::Abroad => "in another part",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_says_what_is_missing() {
        let id = TaskId::from_bytes([0xab; 16]);
        let state = InputState::Running;
        let one = inputs(1, &[(id, state)]);
        assert_eq!(one, format!("it waits for 1 task to be done: {id} (running)"));
        let many = inputs(9, &[(id, state); 9]);
        let full = full_text(&[("n1".to_owned(), "no space in /x: make space".to_owned())]);
        assert!(full.ends_with("wait for space; on n1: no space in /x: make space"), "{full}");
        assert!(many.ends_with(" and 5 more"), "{many}");
        assert_eq!((amount("mem", 5), amount("gpu", 500)), ("5 B".to_owned(), "0.5".to_owned()));
    }
}
