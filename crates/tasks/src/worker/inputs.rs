//! Inputs of a command: what tasks before it have printed or returned, as files in a folder that
//! goes with the try.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;
use tidings_tasks_core::message::Answer;
use tidings_tasks_core::record::Outcome;
use tidings_tasks_core::retry::Cause;

use crate::work::{Input, Report};

use super::command::Parts;
use super::shared::Shared;
use super::verdict::{self, Verdict};

/// Where a command finds the folder.
const FOLDER: &str = "TIDINGS_INPUTS";

/// Fetches the inputs of a command, and has their paths where its words name them. They are there
/// as long as the folder is.
pub(super) async fn fetch(
    shared: &Shared,
    parts: &mut Parts,
    inputs: &[Input],
) -> Result<Option<TempDir>, Verdict> {
    if inputs.is_empty() {
        return Ok(None);
    }
    let folder = tempfile::tempdir_in(&shared.settings.scratch)
        .map_err(|error| verdict::host_fault(&error))?;
    for input in inputs {
        let content = content(shared, input).await.map_err(|text| {
            let text = format!("input {} ({}) cannot be had: {text}", input.name, input.task);
            Verdict::failed(Cause::Error, text)
        })?;
        write(folder.path(), input, &content).map_err(|error| verdict::host_fault(&error))?;
    }
    name(folder.path(), parts, inputs).map_err(|text| Verdict::failed(Cause::Error, text))?;
    Ok(Some(folder))
}

fn write(folder: &Path, input: &Input, content: &[u8]) -> io::Result<()> {
    fs::write(folder.join(&input.name), content)
}

/// Puts the paths where the command names them.
fn name(folder: &Path, parts: &mut Parts, inputs: &[Input]) -> Result<(), String> {
    let folder = folder.to_str().ok_or("the folder of the worker is not text in UTF-8")?;
    for input in inputs {
        let place = format!("{{in.{}}}", input.name);
        for word in parts.argv.iter_mut().filter(|word| word.contains(&place)) {
            *word = word.replace(&place, &format!("{folder}/{}", input.name));
        }
    }
    parts.environment.push((FOLDER.to_owned(), folder.to_owned()));
    Ok(())
}

/// What a task has printed or returned.
async fn content(shared: &Shared, input: &Input) -> Result<Vec<u8>, String> {
    let answer = shared.payloads.outcome(&shared.session, input.task).await;
    let finished = match answer.map_err(|error| error.to_string())? {
        Answer::Outcome(finished) => finished,
        Answer::Refused(refusal) => return Err(refusal.to_string()),
        other => return Err(format!("the coordinator said {other:?}")),
    };
    let Outcome::Done(result) = finished.outcome else {
        return Err("the task is not done".to_owned());
    };
    let Ok(report) = Report::from_result(&result) else { return Ok(result) };
    if !report.value.is_empty() {
        return Ok(report.value);
    }
    let output = report.stdout;
    match output.blob {
        Some(handle) => {
            let mapped = shared.payloads.get(handle).await.map_err(|error| error.to_string())?;
            Ok(mapped.to_vec())
        }
        None if output.bytes_total > output.tail.len() as u64 => Err(format!(
            "only the last {} of {} bytes that it printed were kept: name a folder that all hosts \
             share with --blobs",
            output.tail.len(),
            output.bytes_total
        )),
        None => Ok(output.tail),
    }
}
