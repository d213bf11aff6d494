//! Python for a worker: the interpreter that calls functions, asked before it is needed.
//!
//! A call that goes to a worker whose interpreter cannot make it has failed. So a worker offers
//! Python only when it was told which interpreter, and that one has shown that it can.

use std::collections::BTreeMap;
use std::path;
use std::process::{Command, Stdio};

use super::client::Place;
use super::failure::TasksError;

/// The name of the language, as those who submit calls give it.
const LANGUAGE: &str = "python";

/// What the interpreter has to have.
const PROBE: &str = "import tidings.tasks.worker_process";

/// What it runs to call functions. Modules are also looked for where the worker was started.
const PROGRAM: &str =
    "import sys; from tidings.tasks.worker_process import main; main(sys.argv[1:])";

/// The runtimes of a worker with this interpreter; none without one.
pub(super) fn runtimes(
    interpreter: Option<&str>,
    place: &Place,
) -> Result<BTreeMap<String, Vec<String>>, TasksError> {
    let Some(interpreter) = interpreter else { return Ok(BTreeMap::new()) };
    probe(interpreter)?;
    let mut command: Vec<String> =
        [interpreter, "-c", PROGRAM, "--store"].map(str::to_owned).into();
    command.push(place.address.to_string());
    if let Some(keys) = &place.keys {
        let keys = path::absolute(keys)
            .map_err(|source| TasksError::System { what: "the path of the key file", source })?;
        command.extend(["--keys".to_owned(), keys.display().to_string()]);
    }
    // Beside a file, and for another host, the program finds them itself.
    if let Some(blobs) = place.blobs.as_ref().filter(|_| place.address.is_shared()) {
        command.extend(["--blobs".to_owned(), blobs.display().to_string()]);
    }
    Ok(BTreeMap::from([(LANGUAGE.to_owned(), command)]))
}

/// Whether an interpreter can call functions.
fn probe(interpreter: &str) -> Result<(), TasksError> {
    let tried = Command::new(interpreter).args(["-c", PROBE]).stdin(Stdio::null()).output();
    let why = match tried {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => last_line(&output.stderr),
        Err(error) => error.to_string(),
    };
    Err(TasksError::Usage(format!(
        "--python {interpreter}: it cannot call functions for tasks ({why}): install the package \
         `tidings` for it, or name another interpreter"
    )))
}

fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.trim_end().lines().next_back().unwrap_or("it says nothing").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_that_cannot_is_refused_in_a_sentence() {
        for (interpreter, why) in [("/none/python3", "No such file"), ("false", "says nothing")] {
            let error = probe(interpreter).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("install"), "{error}");
        }
        assert_eq!(last_line(b"Traceback\nNo module named x\n"), "No module named x");
    }
}
