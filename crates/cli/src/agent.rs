//! `tidings agent ARGS…`: this process becomes `tidings-agent`, with all arguments unchanged.
//!
//! The agent is a program of its own, so that the daemon of every node carries neither tables nor
//! terminals. It is looked for beside this program, then on `PATH`.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidings_control::RUNTIME_DIR_VARIABLE;

use crate::Failure;

/// The agent's program.
pub const PROGRAM: &str = "tidings-agent";

/// `tidings [--runtime-dir DIR] agent ARGS…`, found before the other options are read: what
/// follows the word `agent` is the agent's, `--help` and `--runtime-dir` included.
#[derive(Debug, PartialEq, Eq)]
pub struct Passage<'a> {
    runtime_dir: Option<&'a OsStr>,
    arguments: &'a [OsString],
}

impl<'a> Passage<'a> {
    /// The call of the agent, if these arguments (program name first) request it.
    pub fn find(arguments: &'a [OsString]) -> Option<Self> {
        let mut runtime_dir = None;
        let mut rest = arguments.get(1..)?;
        loop {
            match rest {
                [word, arguments @ ..] if word == "agent" => {
                    return Some(Self { runtime_dir, arguments });
                }
                [option, value, later @ ..] if option == "--runtime-dir" => {
                    runtime_dir = Some(value.as_os_str());
                    rest = later;
                }
                [option, later @ ..] => {
                    let text = option.to_str()?;
                    runtime_dir = Some(OsStr::new(text.strip_prefix("--runtime-dir=")?));
                    rest = later;
                }
                [] => return None,
            }
        }
    }

    /// Becomes the agent; returns only if that fails.
    pub fn become_agent(self) -> Failure {
        become_agent(self.arguments, self.runtime_dir)
    }
}

/// Replaces this process by the agent; returns only if that fails.
pub fn become_agent(arguments: &[OsString], runtime_dir: Option<&OsStr>) -> Failure {
    let program = match find_program() {
        Ok(program) => program,
        Err(failure) => return failure,
    };
    let mut command = Command::new(&program);
    command.args(arguments);
    if let Some(runtime_dir) = runtime_dir {
        command.env(RUNTIME_DIR_VARIABLE, runtime_dir);
    }
    Failure::AgentProgram { program, source: command.exec() }
}

/// The agent's program: beside this one, else on `PATH`.
///
/// # Errors
/// [`Failure::NoAgentProgram`].
pub fn find_program() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = own.parent().map(Path::to_owned);
    beside
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|directory| directory.join(PROGRAM))
        .find(|program| program.is_file())
        .ok_or(Failure::NoAgentProgram { beside: own })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn everything_after_agent_is_the_agents() {
        for (line, runtime_dir, rest) in [
            ("tidings agent --help", None, vec!["--help"]),
            ("tidings agent", None, vec![]),
            ("tidings agent --runtime-dir /x", None, vec!["--runtime-dir", "/x"]),
            ("tidings --runtime-dir /y agent nodes", Some("/y"), vec!["nodes"]),
            ("tidings --runtime-dir=/y agent", Some("/y"), vec![]),
        ] {
            let words = words(line);
            let passage = Passage::find(&words).expect(line);
            assert_eq!(passage.runtime_dir, runtime_dir.map(OsStr::new), "{line}");
            assert_eq!(passage.arguments, rest, "{line}");
        }
    }

    #[test]
    fn other_commands_are_not_the_agents() {
        for line in ["tidings", "tidings show agent", "tidings --help agent", "tidings nodes"] {
            assert_eq!(Passage::find(&words(line)), None, "{line}");
        }
    }
}
