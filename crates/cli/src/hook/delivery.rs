//! One delivery: a program that is started, or a socket that is written.
//!
//! A program has a group of processes of its own. Whatever ends the delivery — the time limit, or
//! the end of this command — the whole group ends with it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tidings_gossip::roster;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::event::{Event, Kind};

/// How long a program that is asked to end (SIGTERM) has for that.
const GRACE: Duration = Duration::from_secs(2);

/// Why nothing was told.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// There is no such program.
    #[error("no program `{}` that can be executed: check its path and mode", .0.display())]
    NoProgram(PathBuf),
    /// It does not start.
    #[error("`{}` does not start ({source})", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It has failed.
    #[error("`{}` has failed ({status})", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
    },
    /// It, or the socket, took too long.
    #[error("`{}` took longer than {}: raise --time-limit",
        target.display(), humantime::format_duration(*limit))]
    TimeLimit {
        /// The program or socket.
        target: PathBuf,
        /// The time that it had.
        limit: Duration,
    },
    /// The socket cannot be written.
    #[error("the socket {} cannot be written ({source}): does anybody listen?", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Who is told.
#[derive(Debug)]
pub(super) enum Target {
    Socket(PathBuf),
    Program(PathBuf, Vec<OsString>),
}

impl Target {
    /// A program with its arguments.
    ///
    /// # Errors
    /// There is no such program.
    pub(super) fn program(words: &[OsString]) -> Result<Self, HookError> {
        let (name, arguments) = words.split_first().expect("clap requires a program");
        let path = find(name).ok_or_else(|| HookError::NoProgram(name.into()))?;
        Ok(Self::Program(path, arguments.to_vec()))
    }

    /// Tells of events, within a time limit.
    ///
    /// # Errors
    /// It is not known whether they were told.
    pub(super) async fn deliver(&self, events: &[Event], limit: Duration) -> Result<(), HookError> {
        match self {
            Self::Socket(path) => {
                let late = |_| HookError::TimeLimit { target: path.clone(), limit };
                let lines = lines(events);
                let written = timeout(limit, write(path, lines.as_bytes()));
                let failed = |source| HookError::Socket { path: path.clone(), source };
                written.await.map_err(late)?.map_err(failed)
            }
            Self::Program(path, arguments) => start(path, arguments, events, limit).await,
        }
    }
}

async fn write(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut stream = UnixStream::connect(path).await?;
    stream.write_all(lines).await?;
    stream.shutdown().await
}

async fn start(
    path: &Path,
    arguments: &[OsString],
    events: &[Event],
    limit: Duration,
) -> Result<(), HookError> {
    let failed = |source| HookError::Start { program: path.to_owned(), source };
    let mut command = Command::new(path);
    command.args(arguments).stdin(Stdio::piped()).process_group(0);
    for &kind in Kind::all() {
        command.env_remove(kind.variable());
    }
    command.envs(lists(events));
    let mut child = command.spawn().map_err(failed)?;
    let group = Group::of(&child);
    let done = timeout(limit, async {
        if let Some(mut input) = child.stdin.take() {
            // A program need not read.
            let _ = input.write_all(lines(events).as_bytes()).await;
        }
        child.wait().await
    });
    let Ok(status) = done.await else {
        group.signal(Signal::TERM);
        let _ = timeout(GRACE, child.wait()).await;
        return Err(HookError::TimeLimit { target: path.to_owned(), limit });
    };
    let status = status.map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    Err(HookError::Failed { program: path.to_owned(), status })
}

/// The processes of a program. Those that are left when it is dropped are killed.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id as i32)))
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.0 {
            let _ = kill_process_group(leader, signal); // all may have ended
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// One JSON object a line.
fn lines(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        let line = serde_json::to_string(event);
        text.push_str(&line.expect("an event holds only numbers and strings"));
        text.push('\n');
    }
    text
}

/// The variables of a program: of each event its nodes as a host list.
fn lists(events: &[Event]) -> BTreeMap<String, String> {
    let mut names: BTreeMap<Kind, Vec<&str>> = BTreeMap::new();
    for event in events {
        names.entry(event.kind).or_default().push(&event.name);
    }
    names.into_iter().map(|(kind, names)| (kind.variable(), roster::compress(&names))).collect()
}

/// The file of a program, which is looked for in `PATH` if its name has no slash.
fn find(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: Kind, name: &str) -> Event {
        let (name, observer) = (name.to_owned(), "n1".to_owned());
        Event { kind, name, observer, incarnation: 3, time_ms: 1_700_000_000_123, changes: 1 }
    }

    #[test]
    fn events_have_the_documented_form() {
        let expected = "{\"event\":\"dead\",\"name\":\"n5\",\"observer\":\"n1\",\"incarnation\":3,\
             \"time_ms\":1700000000123,\"changes\":1}\n";
        assert_eq!(lines(&[event(Kind::Dead, "n5")]), expected);
    }

    #[test]
    fn nodes_of_an_event_are_one_host_list() {
        let events = [
            event(Kind::Dead, "n03"),
            event(Kind::Dead, "n04"),
            event(Kind::Alone, "n1"),
            event(Kind::Dead, "n05"),
        ];
        let expected = [("TIDINGS_ALONE", "n1"), ("TIDINGS_DEAD", "n[03-05]")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(lists(&events), BTreeMap::from(expected));
    }

    #[test]
    fn a_program_is_a_file_that_may_be_executed() {
        assert!(find(OsStr::new("sh")).is_some());
        for name in ["no-such-program-xyz", "/etc/passwd", "/usr/bin", "./no/such"] {
            assert_eq!(find(OsStr::new(name)), None, "{name}");
        }
    }
}
