//! A command that runs beside this process, in its terminal, while something is held for it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::ending::Ending;
use super::failure::TasksError;

/// Bytes of standard output that are kept.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// How a command has ended.
pub(super) struct Ended {
    status: ExitStatus,
    /// What it has printed, if that was wanted.
    output: Vec<u8>,
}

impl Ended {
    /// What it has printed, or its exit status as that of this process.
    pub(super) fn success(self, command: &[String]) -> Result<Vec<u8>, TasksError> {
        if self.status.success() {
            return Ok(self.output);
        }
        let status = match (self.status.code(), self.status.signal()) {
            (Some(code), _) => u8::try_from(code).unwrap_or(1),
            (None, Some(signal)) => u8::try_from(128 + signal).unwrap_or(1),
            (None, None) => 1,
        };
        Err(TasksError::Command { command: command.first().cloned().unwrap_or_default(), status })
    }
}

/// Runs a command; signals that come meanwhile are passed on to it. With an input it reads that,
/// and what it prints is returned.
pub(super) async fn run(
    command: &[String],
    input: Option<&[u8]>,
    ending: &mut Ending,
) -> Result<Ended, TasksError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(TasksError::Usage("name a command".to_owned()));
    };
    let mut child = Command::new(program);
    child.args(arguments).kill_on_drop(true);
    if input.is_some() {
        child.stdin(Stdio::piped()).stdout(Stdio::piped());
    }
    let mut child = child
        .spawn()
        .map_err(|source| TasksError::NotStarted { program: program.clone(), source })?;
    let pid = child.id().and_then(|pid| Pid::from_raw(pid as i32));
    let system = |source| TasksError::System { what: "the command", source };
    let mut waiting = core::pin::pin!(talk(&mut child, input));
    loop {
        tokio::select! {
            ended = &mut waiting => return ended.map_err(system),
            signal = ending.next() => {
                let signal = Signal::from_named_raw(signal);
                if let (Some(pid), Some(signal)) = (pid, signal) {
                    // It may have ended just now.
                    let _ = kill_process(pid, signal);
                }
            }
        }
    }
}

async fn talk(child: &mut Child, input: Option<&[u8]>) -> std::io::Result<Ended> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let write = async {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // It need not read all.
            let _ = stdin.write_all(input).await;
        }
    };
    let read = async {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            let mut kept = stdout.take(MAX_OUTPUT_BYTES);
            kept.read_to_end(&mut output).await?;
            // The rest is read, so that the command does not wait, and dropped.
            tokio::io::copy(&mut kept.into_inner(), &mut tokio::io::sink()).await?;
        }
        Ok::<_, std::io::Error>(output)
    };
    let ((), output) = tokio::join!(write, read);
    Ok(Ended { status: child.wait().await?, output: output? })
}
