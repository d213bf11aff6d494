//! One executable of the operator's: how often it is run, as whom, and a run of it.
//!
//! `NAME.toml` beside it may say `interval`, `time_limit` and `user`. A run has a group of
//! processes of its own, which ends with it or with its time, and its output is bounded.
//!
//! Invariant: nobody but root and the user of the agent can have the agent run something: the file,
//! its settings and their folder belong to one of these, and others may not write there.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::unistd::{Uid, User};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How often it is run, and how long a run may take, where nothing is said.
const INTERVAL: Duration = Duration::from_secs(60);
const TIME_LIMIT: Duration = Duration::from_secs(10);
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(86_400);

/// The most bytes that it may write, and of its complaints.
const OUTPUT_BYTES: u64 = 64 << 10;
const COMPLAINT_BYTES: u64 = 512;
const SETTINGS_BYTES: u64 = 16 << 10;

/// Where its own programs are looked for.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The numbers of a user and of his group.
type Ids = (u32, u32);

/// An executable, and how it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) name: String,
    path: PathBuf,
    pub(super) interval: Duration,
    pub(super) time_limit: Duration,
    /// As whom, if the agent may choose.
    user: Option<Ids>,
    /// What is not as asked for.
    pub(super) remark: Option<String>,
}

/// What stands beside it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    interval: Option<String>,
    time_limit: Option<String>,
    user: Option<String>,
}

/// Why an executable is not run, or has said nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    #[error("{} cannot be read ({source})", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "{} can be changed by others than root and the agent's user: give it to one of them, and \
         take the right to write from group and others", .0.display()
    )]
    Unsafe(PathBuf),
    #[error("{}: {reason}", path.display())]
    Settings { path: PathBuf, reason: String },
    #[error("it does not start ({0})")]
    Start(io::Error),
    #[error("it failed ({status}){said}")]
    Failed { status: ExitStatus, said: String },
    #[error(
        "it took longer than {}, and was killed: raise its time_limit",
        humantime::format_duration(*.0)
    )]
    TimeLimit(Duration),
    #[error("it wrote more than {OUTPUT_BYTES} bytes, and was killed")]
    TooMuch,
    #[error("its output is no UTF-8")]
    NoText,
    #[error("its output could not be read ({0})")]
    Broken(io::Error),
}

impl Program {
    /// The executable at `path`, with what stands beside it.
    ///
    /// # Errors
    /// If it is not safe to run, or its settings cannot be read.
    pub(super) fn at(path: &Path, name: String) -> Result<Self, ProgramError> {
        examine(path)?;
        let place = path.with_file_name(format!("{name}.toml"));
        let Beside { interval, time_limit, user } = beside(&place)?;
        let wrong = |reason| ProgramError::Settings { path: place.clone(), reason };
        let duration = |key, text: Option<String>, default| {
            text.map_or(Ok(default), |text| duration(key, &text)).map_err(wrong)
        };
        let interval = duration("interval", interval, INTERVAL)?;
        let time_limit = duration("time_limit", time_limit, TIME_LIMIT)?;
        let (user, remark) = match user {
            Some(user) => account(&user).map_err(wrong)?,
            None => (None, None),
        };
        Ok(Self { name, path: path.to_owned(), interval, time_limit, user, remark })
    }

    /// Runs it once.
    ///
    /// # Errors
    /// It said nothing that can be used. None of its processes is left.
    pub(super) async fn run(&self) -> Result<String, ProgramError> {
        let mut command = Command::new(&self.path);
        command.env_clear().env("PATH", PATH).env("LC_ALL", "C").current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        let mut child = command.spawn().map_err(ProgramError::Start)?;
        let group = Group::of(&child);
        let (output, errors) = (child.stdout.take(), child.stderr.take());
        let done = timeout(self.time_limit, async {
            // Of one that writes too much nothing more is awaited.
            let errors = async { Ok(complaint(errors).await) };
            let (output, said) = tokio::try_join!(all_of(output), errors)?;
            let status = child.wait().await.map_err(ProgramError::Broken)?;
            if !status.success() {
                return Err(ProgramError::Failed { status, said });
            }
            String::from_utf8(output).map_err(|_| ProgramError::NoText)
        });
        let done = done.await.unwrap_or(Err(ProgramError::TimeLimit(self.time_limit)));
        drop(group);
        let _ = child.wait().await; // whether it ended well was seen before
        done
    }
}

/// Checks that only root and the agent's user can change what is run.
pub(super) fn examine(path: &Path) -> Result<Metadata, ProgramError> {
    let unreadable = |source| ProgramError::Unreadable { path: path.to_owned(), source };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    let owner = Uid::from_raw(metadata.uid());
    let safe = (owner.is_root() || owner == Uid::effective()) && metadata.mode() & 0o022 == 0;
    if safe { Ok(metadata) } else { Err(ProgramError::Unsafe(path.to_owned())) }
}

/// The settings at `place`, if there are any.
fn beside(place: &Path) -> Result<Beside, ProgramError> {
    match std::fs::symlink_metadata(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Beside::default()),
        _ => {}
    }
    let metadata = examine(place)?;
    let wrong = |reason: String| ProgramError::Settings { path: place.to_owned(), reason };
    if !metadata.is_file() || metadata.len() > SETTINGS_BYTES {
        return Err(wrong(format!("no file of at most {SETTINGS_BYTES} bytes")));
    }
    let unreadable = |source| ProgramError::Unreadable { path: place.to_owned(), source };
    let text = std::fs::read_to_string(place).map_err(unreadable)?;
    toml::from_str(&text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))
}

fn duration(key: &str, text: &str) -> Result<Duration, String> {
    let read = humantime::parse_duration(text).map_err(|error| format!("{key}: {error}"))?;
    let allowed = (SHORTEST..=LONGEST).contains(&read);
    if allowed { Ok(read) } else { Err(format!("{key} is not from 100ms to 1day")) }
}

/// The ids of a user if the agent can run something as him, else what it does instead.
fn account(name: &str) -> Result<(Option<Ids>, Option<String>), String> {
    let known = User::from_name(name).map_err(|error| format!("user {name}: {error}"))?;
    let user = known.ok_or_else(|| format!("there is no user {name}"))?;
    if user.uid == Uid::effective() {
        return Ok((None, None));
    }
    if Uid::effective().is_root() {
        return Ok((Some((user.uid.as_raw(), user.gid.as_raw())), None));
    }
    let remark = format!("it runs as the agent's user, not as {name}: the agent is not root");
    Ok((None, Some(remark)))
}

async fn all_of(output: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, ProgramError> {
    let output = bounded(output, OUTPUT_BYTES + 1).await.map_err(ProgramError::Broken)?;
    if output.len() as u64 > OUTPUT_BYTES { Err(ProgramError::TooMuch) } else { Ok(output) }
}

async fn bounded(from: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(most).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// The first line of what it complains of; the rest is read and forgotten.
async fn complaint(from: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut from) = from else { return String::new() };
    let first = bounded(Some(&mut from), COMPLAINT_BYTES).await.unwrap_or_default();
    let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await; // it matters to nobody
    let text = String::from_utf8_lossy(&first);
    match text.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!(": {}", line.escape_debug()),
        None => String::new(),
    }
}

/// The processes of a run. Those that are left when it is dropped are killed.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id as i32)))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL); // an error says that none is left
        }
    }
}
