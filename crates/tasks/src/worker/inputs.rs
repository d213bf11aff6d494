//! Inputs of a command: what tasks before it have printed or returned, as files in a folder that
//! goes with the try.

use std::fs;
use std::io;
use std::path::Path;

use tempfile::TempDir;
use tidings_tasks_core::retry::Cause;

use crate::inputs::{self, InputError};
use crate::work::Input;

use super::command::Parts;
use super::room::Short;
use super::shared::Shared;
use super::verdict::{self, Verdict};

/// Where a command finds the folder.
const FOLDER: &str = "TIDINGS_INPUTS";

/// Fetches the inputs of a command, and has their paths where its words name them. They are there
/// as long as the folder is. The second result: how many bytes came from other nodes.
pub(super) async fn fetch(
    shared: &Shared,
    parts: &mut Parts,
    all: &[Input],
) -> Result<(Option<TempDir>, u64), Verdict> {
    if all.is_empty() {
        return Ok((None, 0));
    }
    let mut moved_bytes = 0;
    let scratch = &shared.settings.scratch;
    let not_written = |error| verdict::not_written(scratch, &error);
    let folder = tempfile::tempdir_in(scratch).map_err(not_written)?;
    for input in all {
        let content = inputs::read_done(&shared.session, &shared.payloads, input.task).await;
        let content = content.map_err(|error| {
            let text = format!("input {} ({}) cannot be had: {error}", input.name, input.task);
            not_had(&error, text)
        })?;
        moved_bytes += content.moved_bytes();
        write(folder.path(), input, &content).map_err(not_written)?;
    }
    name(folder.path(), parts, all).map_err(|text| Verdict::failed(Cause::Error, text))?;
    Ok((Some(folder), moved_bytes))
}

/// The verdict on a try that cannot have an input.
pub(super) fn not_had(error: &InputError, text: String) -> Verdict {
    match (Short::of_input(error), error) {
        (Some(short), _) => Verdict::no_room(short),
        (None, InputError::Gone { .. }) => Verdict::failed(Cause::Gone, text),
        (None, _) => Verdict::failed(Cause::Error, text),
    }
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
