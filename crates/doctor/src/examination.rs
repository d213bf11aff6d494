//! All mechanisms tried at once, each in a process of its own, within one time.
//!
//! An attempt prints its outcome as one JSON object. One that says nothing in time, or is ended by
//! a signal, does not work: the signal is the reason, as where a container kills what it forbids.
//! Invariant: when this returns, no process of an attempt lives, also if it returns an error.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Outcome, Verdict};
use crate::mechanisms::Mechanism;
use crate::{groups, system};

/// For all attempts together: with the rest a command ends within ten seconds.
const LIMIT: Duration = Duration::from_secs(8);

/// The most that an attempt may print.
const OUTCOME_BYTES_MOST: usize = 4096;

/// An examination could not begin. No attempt is left.
#[derive(Debug, thiserror::Error)]
#[error("cannot start an attempt as a process ({source}): allow more processes (ulimit -u)")]
pub struct ExaminationError {
    #[from]
    source: io::Error,
}

/// What an examination found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The release of the kernel, for those who compare reports; nothing is derived from it.
    pub kernel: String,
    /// Whether it ran as root.
    pub root: bool,
    /// How many mechanisms work, are degraded, and do not work.
    pub works: usize,
    /// See above.
    pub degraded: usize,
    /// See above.
    pub not: usize,
    /// One for each mechanism that was tried, in their order.
    pub findings: Vec<Finding>,
}

impl Report {
    fn of(findings: Vec<Finding>) -> Self {
        let count = |verdict| findings.iter().filter(|f| f.outcome.verdict == verdict).count();
        Self {
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            root: rustix::process::geteuid().is_root(),
            works: count(Verdict::Works),
            degraded: count(Verdict::Degraded),
            not: count(Verdict::Not),
            findings,
        }
    }
}

/// Mechanisms to try, and the command that tries one.
pub struct Examination<'a> {
    /// What is tried.
    pub mechanisms: &'a [Mechanism],
    /// The command of a process that calls [`attempt`] for this name and prints the outcome.
    pub command: &'a dyn Fn(&str) -> Command,
}

/// An attempt that runs, and what it has printed.
struct Running {
    mechanism: Mechanism,
    child: Child,
    printed: Vec<u8>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Examination<'_> {
    /// Tries all of them.
    ///
    /// # Errors
    /// [`ExaminationError`] if a process cannot be started.
    pub fn conduct(&self) -> Result<Report, ExaminationError> {
        groups::remove_left();
        let deadline = Instant::now() + LIMIT;
        let start = |mechanism: &Mechanism| {
            let mut command = (self.command)(mechanism.name);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            let child = command.spawn()?;
            Ok(Running { mechanism: *mechanism, child, printed: Vec::new() })
        };
        let running: io::Result<Vec<Running>> = self.mechanisms.iter().map(start).collect();
        let findings = running?.into_iter().map(|running| running.end(deadline)).collect();
        groups::remove_left();
        Ok(Report::of(findings))
    }
}

impl Running {
    fn end(mut self, deadline: Instant) -> Finding {
        let ended = self.read_until(deadline).then(|| self.child.wait());
        let outcome = match ended {
            Some(Ok(status)) => self.outcome(status),
            Some(Err(_)) => silent(),
            None => Outcome::not(
                format!("the attempt did not end within {} s", LIMIT.as_secs()),
                "try again on a machine with less load",
            ),
        };
        Finding {
            mechanism: self.mechanism.name.to_owned(),
            purpose: self.mechanism.purpose.to_owned(),
            outcome,
        }
    }

    /// Whether it has closed its output before the deadline.
    fn read_until(&mut self, deadline: Instant) -> bool {
        let Some(mut output) = self.child.stdout.take() else { return false };
        let mut bytes = [0; 512];
        while self.printed.len() < OUTCOME_BYTES_MOST {
            let left = deadline.saturating_duration_since(Instant::now());
            let left =
                Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            let mut fds = [PollFd::new(&output, PollFlags::IN)];
            match poll(&mut fds, Some(&left)) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return false,
            }
            match output.read(&mut bytes) {
                Ok(0) => return true,
                Ok(count) => self.printed.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        false
    }

    fn outcome(&self, status: ExitStatus) -> Outcome {
        if let Some(signal) = status.signal() {
            return Outcome::not(
                format!("the system ended the attempt with signal {signal}"),
                "allow the call where this runs (a container's profile of system calls)",
            );
        }
        serde_json::from_slice(&self.printed).unwrap_or_else(|_| silent())
    }
}

fn silent() -> Outcome {
    Outcome::not("the attempt ended without a word", "run it again, and report it as a defect")
}

/// Tries a mechanism in this process, which has to print the outcome as JSON and to end thereafter.
pub fn attempt(mechanism: &Mechanism) -> Outcome {
    system::end_with_parent();
    mechanism.attempt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanisms::ALL;

    fn conduct(script: &str) -> Report {
        let command = |_: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let examination = Examination { mechanisms: &ALL[..1], command: &command };
        examination.conduct().expect("sh starts")
    }

    #[test]
    fn what_an_attempt_prints_is_its_outcome() {
        let report = conduct(r#"echo '{"verdict":"degraded","found":"a","remedy":"b"}'"#);
        assert_eq!(report.findings[0].outcome, Outcome::degraded("a", "b"));
        assert_eq!((report.works, report.degraded, report.not), (0, 1, 0));
    }

    #[test]
    fn an_attempt_that_is_killed_or_says_nothing_does_not_work() {
        let killed = conduct("kill -SYS $$");
        assert_eq!(killed.findings[0].outcome.verdict, Verdict::Not);
        assert!(killed.findings[0].outcome.found.contains("signal 31"), "{killed:?}");
        assert!(conduct("exit 0").findings[0].outcome.found.contains("without a word"));
        let endless = conduct("yes");
        assert_eq!(endless.not, 1, "{endless:?}");
    }
}
