//! Results of a run: what tasks have printed, each as a whole, or an object in JSON for each.

use std::collections::BTreeMap;

use serde::Serialize;
use tidings_tasks::payloads::Payloads;
use tidings_tasks::work::Report;
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::retry::Cause;

use super::super::{kinds, outputs};
use super::row::{Ended, Row};
use crate::output;
use crate::tasks::TasksError;

/// What prints results.
pub(super) struct Printer {
    json: bool,
    /// In the order of rows: those that ended before one that has not wait for it.
    held: Option<BTreeMap<usize, Ended>>,
    next: usize,
    failed: usize,
    payloads: Payloads,
    /// The names of tasks of a graph that are not done: people do not know them by their ids. Who
    /// waits in vain names one that has failed.
    names: BTreeMap<String, String>,
}

/// A task that has ended, as JSON: docs/reference/tasks.md.
#[derive(Serialize)]
struct Line<'e> {
    number: usize,
    task: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'e str>,
    arguments: &'e [String],
    command: &'e [String],
    outcome: &'static str,
    attempts: u32,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    done_before: bool,
    #[serde(flatten)]
    report: Option<kinds::ReportView<'e>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<kinds::FailureView<'e>>,
}

impl Printer {
    /// Results whose large outputs are among `payloads`.
    pub(super) fn new(json: bool, keep_order: bool, payloads: Payloads) -> Self {
        let (held, names) = (keep_order.then(BTreeMap::new), BTreeMap::new());
        Self { json, held, next: 1, failed: 0, payloads, names }
    }

    /// A task of the run, whose result comes later.
    pub(super) fn know(&mut self, row: &Row) {
        if let Some(place) = &row.place {
            self.names.insert(row.submission.id.to_string(), place.name.clone());
        }
    }

    /// A text with names instead of the ids of tasks.
    fn named(&self, text: &str) -> String {
        let name = |word| self.names.get(word).map_or(word, String::as_str);
        text.split(' ').map(name).collect::<Vec<_>>().join(" ")
    }

    /// How many results wait for those before them.
    pub(super) fn held(&self) -> usize {
        self.held.as_ref().map_or(0, BTreeMap::len)
    }

    /// How many tasks have failed.
    pub(super) fn failed(&self) -> usize {
        self.failed
    }

    /// Prints a result, now or in its turn.
    pub(super) async fn take(&mut self, ended: Ended) -> Result<(), TasksError> {
        self.failed += usize::from(!ended.is_done());
        if ended.is_done() && ended.row.place.is_some() {
            self.names.remove(&ended.row.submission.id.to_string());
        }
        let Some(held) = &mut self.held else { return self.print(&ended).await };
        held.insert(ended.row.number, ended);
        while let Some(ended) = self.held.as_mut().and_then(|held| held.remove(&self.next)) {
            self.print(&ended).await?;
            self.next += 1;
        }
        Ok(())
    }

    async fn print(&self, ended: &Ended) -> Result<(), TasksError> {
        let report = kinds::report(&ended.finished.outcome);
        if self.json {
            print_json(ended, report.as_ref())
        } else {
            self.print_output(ended, report.as_ref()).await
        }
    }

    async fn print_output(&self, ended: &Ended, report: Option<&Report>) -> Result<(), TasksError> {
        if let Some(report) = report {
            if ended.finished.kept.is_some() && !ended.row.is_printed {
                return Ok(());
            }
            return outputs::write(report, &self.payloads).await;
        }
        let (row, task) = (&ended.row, &ended.finished.task);
        let command = row.label();
        match (&ended.finished.outcome, task.failures.last()) {
            (Outcome::Cancelled, _) => output::complain(&format!("`{command}` was cancelled")),
            (_, Some(last)) if last.cause == Cause::Input => {
                output::complain(&format!("`{command}` was not run: {}", self.named(&last.text)));
            }
            (_, Some(last)) => output::complain(&format!(
                "`{command}` failed on {} (attempt {}, {}): {}",
                last.host,
                last.attempt.0,
                kinds::cause(last.cause),
                last.text
            )),
            (_, None) => output::complain(&format!("`{command}` failed")),
        }
        Ok(())
    }
}

fn print_json(ended: &Ended, report: Option<&Report>) -> Result<(), TasksError> {
    let (row, task) = (&ended.row, &ended.finished.task);
    let failures = task.failures.iter().map(kinds::FailureView::of);
    let line = Line {
        number: row.number,
        task: row.submission.id.to_string(),
        name: row.place.as_ref().map(|place| place.name.as_str()),
        arguments: &row.arguments,
        command: &row.command,
        outcome: kinds::outcome(&ended.finished.outcome),
        attempts: task.attempt.0,
        done_before: ended.was_done,
        report: report.map(kinds::ReportView::of),
        failures: failures.collect(),
    };
    let mut text = serde_json::to_vec(&line).map_err(|error| TasksError::Output(error.into()))?;
    text.push(b'\n');
    kinds::write_output(&text)
}
