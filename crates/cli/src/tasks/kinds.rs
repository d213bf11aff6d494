//! Names and values of tasks as people and programs read and write them.

use std::borrow::Cow;
use std::env;
use std::fs::File;
use std::io::{self, Read as _};

use serde::Serialize;
use serde_json::Value;
use tidings_nodes::filter::Filter;
use tidings_nodes::units;
use tidings_tasks::work::{Input, Output, Report, What, Work, WorkLimits};
use tidings_tasks_core::id::TaskId;
use tidings_tasks_core::keys::MAX_NAME_BYTES;
use tidings_tasks_core::message::MAX_INLINE_BYTES;
use tidings_tasks_core::record::{Failure, Outcome, Running, State, Task, beginning};
use tidings_tasks_core::retry::Cause;
use tidings_tasks_core::view::Shown;

use super::failure::TasksError;
use super::input::InputView;
use crate::output;

/// What a worker reports of a task that is done, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct ReportView<'r> {
    status: i32,
    wall_s: f64,
    cpu_s: f64,
    max_rss_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_bytes: Option<u64>,
    host: &'r str,
    stdout: Cow<'r, str>,
    stdout_bytes: u64,
    stderr: Cow<'r, str>,
    stderr_bytes: u64,
}

/// How a try has failed, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct FailureView<'f> {
    attempt: u32,
    cause: &'static str,
    host: &'f str,
    text: &'f str,
    at_ms: u64,
    #[serde(flatten)]
    place: PlaceView<'f>,
}

/// In which place of which worker a try was, and since when, as JSON.
#[derive(Debug, Serialize)]
struct PlaceView<'p> {
    worker: &'p str,
    slot: u32,
    since_ms: u64,
}

/// A task, as JSON.
#[derive(Debug, Serialize)]
pub(super) struct TaskView<'t> {
    task: String,
    queue: &'t str,
    state: &'static str,
    attempts: u32,
    priority: i16,
    need: String,
    #[serde(rename = "where", skip_serializing_if = "str::is_empty")]
    filter: &'t str,
    submitted_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'t str>,
    #[serde(flatten)]
    place: Option<PlaceView<'t>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'t str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<InputView>,
    failures: Vec<FailureView<'t>>,
}

impl<'t> TaskView<'t> {
    pub(super) fn of(id: TaskId, shown: &'t Shown) -> Self {
        let task = shown.task();
        let ended_ms = match shown {
            Shown::Live(_) => None,
            Shown::Finished(finished) => Some(finished.ended_ms),
        };
        let (command, data) = match Work::from_payload(&task.payload) {
            Ok(Work { what: What::Command { argv, .. }, .. }) => (Some(argv), None),
            Ok(_) => (None, None),
            Err(_) => (None, data(&task.payload)),
        };
        // A report has no part that JSON has not.
        let report = shown_report(shown)
            .and_then(|report| serde_json::to_value(ReportView::of(&report)).ok());
        Self {
            task: id.to_string(),
            queue: &task.queue,
            state: state(shown),
            attempts: task.attempt.0,
            priority: task.priority,
            need: task.need.to_string(),
            filter: &task.filter,
            submitted_ms: task.submitted_ms,
            ended_ms,
            host: host(shown),
            place: by(shown).map(|by| PlaceView {
                worker: &by.worker,
                slot: by.slot,
                since_ms: by.since_ms,
            }),
            command,
            data,
            report,
            inputs: task.inputs.iter().copied().map(InputView::of).collect(),
            failures: task.failures.iter().map(FailureView::of).collect(),
        }
    }
}

impl TaskView<'_> {
    /// With these inputs, of which more is known.
    pub(super) fn with_inputs(self, inputs: &[InputView]) -> Self {
        Self { inputs: inputs.to_vec(), ..self }
    }
}

/// An item of data as text, if it is one.
pub(super) fn data(payload: &[u8]) -> Option<&str> {
    let text = core::str::from_utf8(payload).ok().filter(|text| !text.is_empty())?;
    (!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t')).then_some(text)
}

/// The name of where a task is.
pub(super) fn state(shown: &Shown) -> &'static str {
    match shown {
        Shown::Finished(finished) => outcome(&finished.outcome),
        Shown::Live(task) => match task.state {
            State::Ready => "ready",
            State::Delayed(_) => "delayed",
            State::Waiting => "waiting",
            State::Running(_) => "running",
        },
    }
}

/// Who has a task, or has done it.
fn by(shown: &Shown) -> Option<&Running> {
    match shown {
        Shown::Live(Task { state: State::Running(running), .. }) => Some(running),
        Shown::Live(_) => None,
        Shown::Finished(finished) => finished.done_by.as_ref(),
    }
}

/// The host that has a task, or on which it was done.
pub(super) fn host(shown: &Shown) -> Option<&str> {
    by(shown).map(|by| by.host.as_str())
}

/// What people call a task: the name of its work; else its queue.
pub(super) fn label(shown: &Shown) -> String {
    let name = name_of_work(shown);
    if name.is_empty() { shown.task().queue.to_string() } else { name }
}

/// The name of a task's work; empty if it has none, or it is in a blob.
pub(super) fn name_of_work(shown: &Shown) -> String {
    match shown_report(shown) {
        Some(report) => report.name,
        None => Work::from_payload(&shown.task().payload).map(|work| work.name).unwrap_or_default(),
    }
}

/// What its worker reports of a task that is done.
pub(super) fn report(outcome: &Outcome) -> Option<Report> {
    match outcome {
        Outcome::Done(result) => Report::from_result(result).ok(),
        Outcome::Failed | Outcome::Cancelled => None,
    }
}

/// What its worker reports of a task that is shown.
pub(super) fn shown_report(shown: &Shown) -> Option<Report> {
    match shown {
        Shown::Finished(finished) => report(&finished.outcome),
        Shown::Live(_) => None,
    }
}

/// How a try has failed, as people read it.
pub(super) fn failure(failure: &Failure, separator: &str) -> String {
    let (attempt, host, cause) = (failure.attempt.0, &failure.host, cause(failure.cause));
    format!("attempt {attempt} on {host}: {cause}{separator}{}", failure.text)
}

impl<'r> ReportView<'r> {
    pub(super) fn of(report: &'r Report) -> Self {
        let text = |output: &'r Output| String::from_utf8_lossy(&output.tail);
        Self {
            status: report.status,
            wall_s: report.wall_us as f64 / 1e6,
            cpu_s: report.cpu_us as f64 / 1e6,
            max_rss_bytes: report.max_rss_bytes,
            moved_bytes: (report.moved_bytes > 0).then_some(report.moved_bytes),
            host: &report.host,
            stdout: text(&report.stdout),
            stdout_bytes: report.stdout.bytes_total,
            stderr: text(&report.stderr),
            stderr_bytes: report.stderr.bytes_total,
        }
    }
}

impl<'f> FailureView<'f> {
    pub(super) fn of(failure: &'f Failure) -> Self {
        Self {
            attempt: failure.attempt.0,
            cause: cause(failure.cause),
            host: &failure.host,
            text: &failure.text,
            at_ms: failure.at_ms,
            place: PlaceView {
                worker: &failure.worker,
                slot: failure.slot,
                since_ms: failure.since_ms,
            },
        }
    }
}

/// The name of a cause.
pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Error => "error",
        Cause::Exit => "exit",
        Cause::Signal => "signal",
        Cause::Memory => "memory",
        Cause::Time => "time",
        Cause::Lost => "lost",
        Cause::Returned => "returned",
        Cause::Input => "input",
        Cause::Gone => "gone",
    }
}

/// The name of an outcome.
pub(super) fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Done(_) => "done",
        Outcome::Failed => "failed",
        Outcome::Cancelled => "cancelled",
    }
}

/// The directory of this process.
pub(super) fn directory() -> Result<String, TasksError> {
    let directory = env::current_dir()
        .map_err(|source| TasksError::System { what: "the current directory", source })?;
    let directory = directory.into_os_string().into_string();
    directory.map_err(|name| TasksError::Directory(name.into()))
}

/// A command that runs in a directory.
pub(super) fn work(
    argv: Vec<String>,
    directory: String,
    environment: Vec<(String, String)>,
    limits: WorkLimits,
    inputs: Vec<Input>,
) -> Result<Work, TasksError> {
    let name = argv.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word)).to_owned();
    let directory = Some(directory);
    let what = What::Command { argv, environment, directory, stdin: Vec::new(), inputs };
    let work = Work { name: beginning(&name, MAX_NAME_BYTES).to_owned(), what, limits };
    work.check().map_err(|error| TasksError::Usage(error.to_string()))?;
    Ok(work)
}

/// Writes bytes as they are to standard output.
pub(super) fn write_output(bytes: &[u8]) -> Result<(), TasksError> {
    output::write(bytes).map_err(TasksError::Output)
}

/// Bytes of the user's, such as `an item of data`: a text, `@FILE` or `@-`.
pub(super) fn given(text: &str, what: &str) -> Result<Vec<u8>, TasksError> {
    let mut bytes = Vec::new();
    match text.strip_prefix('@') {
        None => bytes.extend(text.as_bytes()),
        Some(file) => {
            let most = MAX_INLINE_BYTES as u64 + 1;
            let read = match file {
                "-" => io::stdin().lock().take(most).read_to_end(&mut bytes),
                path => File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)),
            };
            read.map_err(|error| TasksError::Usage(format!("{file}: {error}")))?;
        }
    }
    if bytes.len() > MAX_INLINE_BYTES {
        let text = format!("{what} has at most 16,384 bytes: put the name of a file instead");
        return Err(TasksError::Usage(text));
    }
    Ok(bytes)
}

/// `2GiB` in bytes, at least 1.
pub(super) fn size_bytes(text: &str) -> Result<u64, String> {
    let bytes = units::size_bytes(text).filter(|bytes| (1.0..=1e18).contains(bytes));
    let error = || "write a size such as 512MiB or 2GiB".to_owned();
    bytes.map(|bytes| bytes.ceil() as u64).ok_or_else(error)
}

/// The name of a run: it is part of the name of a queue.
pub(super) fn run_name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if text.is_empty() || !text.chars().all(is_plain) || text.len() > 64 {
        return Err("a name has 1 to 64 letters, digits, dots, underscores and hyphens".to_owned());
    }
    Ok(text.to_owned())
}

/// A condition on nodes, as it is written.
pub(super) fn condition(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let read = Filter::parse(text);
    read.map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// The name of a queue or semaphore.
pub(super) fn name(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > MAX_NAME_BYTES || text.chars().any(char::is_control) {
        let reason = "a name has 1 to 255 bytes and no control characters";
        return Err(reason.to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size_bytes("2GiB"), Ok(2 << 30));
        assert_eq!(size_bytes("1.5kB"), Ok(1_500));
        for wrong in ["", "0", "x", "3s", "-1B", "nan"] {
            assert!(size_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn data_is_shown_if_it_is_text() {
        assert_eq!(data("{\"n\":3}\n".as_bytes()), Some("{\"n\":3}\n"));
        for other in [&b""[..], b"a\0b", b"\xff", b"\x1b[31m"] {
            assert_eq!(data(other), None);
        }
    }

    #[test]
    fn names_of_runs_are_plain() {
        assert_eq!(run_name("monday-2.x_1"), Ok("monday-2.x_1".to_owned()));
        for wrong in ["", "a/b", "a b", "ä", &"x".repeat(65)] {
            assert!(run_name(wrong).is_err(), "{wrong}");
        }
        assert!(name("a\nb").is_err() && name("physics/a").is_ok());
    }
}
