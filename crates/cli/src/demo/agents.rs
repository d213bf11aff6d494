//! The agents of a demo: real processes, started, watched and ended.
//!
//! Each agent has a directory of its own below one temporary directory: its runtime directory,
//! which also holds its log. All share one temporary key file. Invariant: no agent outlives the
//! demo. A demo that ends by itself asks them to leave (SIGTERM) and waits; one that fails midway
//! ends them when the [`Cluster`] is dropped; if it is killed, the kernel's parent-death signal
//! ends them. Only in that last case the temporary directory stays behind.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::set_parent_process_death_signal;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process};
use tempfile::TempDir;
use tidings_board::BOARD_FILE;
use tidings_control::socket_path;

use super::failure::DemoError;
use super::plan::Plan;
use super::wakes::{Wake, Wakes};

/// How long agents may take to leave.
const FAREWELL: Duration = Duration::from_secs(5);

/// The longest path a Unix socket may have, in bytes (`sun_path` less its final zero).
const SOCKET_PATH_BYTES: usize = 107;

/// How many of the last lines of a log an error shows.
const LOG_LINES: usize = 10;

/// The agents and the directory they live in.
#[derive(Debug)]
pub struct Cluster {
    program: PathBuf,
    plan: Plan,
    home: TempDir,
    agents: Vec<Agent>,
}

/// One agent's process.
#[derive(Debug)]
pub struct Agent {
    /// The node's name.
    pub name: String,
    /// Its runtime directory.
    pub runtime_dir: PathBuf,
    child: Child,
    ended: Option<ExitStatus>,
}

impl Cluster {
    /// A temporary directory with a new key, and no agent yet.
    ///
    /// # Errors
    /// [`DemoError::Home`] or [`DemoError::LongPath`].
    pub fn prepare(program: PathBuf, plan: Plan) -> Result<Self, DemoError> {
        let parent = std::env::temp_dir();
        let failed = |source| DemoError::Home { parent: parent.clone(), source };
        let home = TempDir::with_prefix("tidings-demo-").map_err(failed)?;
        let longest = socket_path(&home.path().join(plan.name(plan.nodes - 1)));
        if longest.as_os_str().len() > SOCKET_PATH_BYTES {
            return Err(DemoError::LongPath { path: longest, limit: SOCKET_PATH_BYTES });
        }
        let key = crate::keys::fresh_line().map_err(failed)?;
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(key_path(home.path())).map_err(failed)?;
        file.write_all(key.as_bytes()).map_err(failed)?;
        Ok(Self { program, plan, home, agents: Vec::new() })
    }

    /// Starts the next agent, which learns of the others from `seed` unless it is the seed itself.
    ///
    /// # Errors
    /// [`DemoError::Start`].
    pub fn start_next(&mut self, seed: Option<&str>) -> Result<(), DemoError> {
        let name = self.plan.name(self.agents.len());
        let runtime_dir = self.home.path().join(&name);
        let arguments = self.arguments(&name, &runtime_dir, seed);
        let child = self.spawn(&runtime_dir, arguments).map_err(|source| DemoError::Start {
            program: self.program.clone(),
            name: name.clone(),
            source,
        })?;
        self.agents.push(Agent { name, runtime_dir, child, ended: None });
        Ok(())
    }

    fn arguments(&self, name: &str, runtime_dir: &Path, seed: Option<&str>) -> Vec<OsString> {
        let mut arguments = self.plan.agent_arguments();
        let mut option = |option: &str, value: OsString| {
            arguments.extend([OsString::from(option), value]);
        };
        option("--name", name.into());
        option("--runtime-dir", runtime_dir.into());
        option("--keys", key_path(self.home.path()).into());
        if let Some(seed) = seed {
            option("--seed", seed.into());
        }
        arguments
    }

    fn spawn(&self, runtime_dir: &Path, arguments: Vec<OsString>) -> io::Result<Child> {
        fs::DirBuilder::new().mode(0o700).create(runtime_dir)?;
        let log = File::create(log_path(runtime_dir))?;
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"TIDINGS_") {
                command.env_remove(name); // meant for this user's own agent
            }
        }
        // Ctrl-C is for the demo, which then ends its agents cleanly.
        command.process_group(0);
        end_with_parent(&mut command);
        command.spawn()
    }

    /// The agents started so far.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// The directory of everything.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Finds agents that have ended; returns the numbers of those not found before.
    pub fn reap(&mut self) -> Vec<usize> {
        let mut ended = Vec::new();
        for (number, agent) in self.agents.iter_mut().enumerate() {
            if agent.ended.is_none() {
                agent.ended = agent.child.try_wait().ok().flatten();
                ended.extend(agent.ended.is_some().then_some(number));
            }
        }
        ended
    }

    /// Kills one agent, as a crash of its host would end it.
    pub fn kill_one(&self, number: usize) {
        let _ = kill_process(Pid::from_child(&self.agents[number].child), Signal::KILL);
    }

    /// How many agents run.
    pub fn running(&self) -> usize {
        self.agents.iter().filter(|agent| agent.ended.is_none()).count()
    }

    /// The error that reports an agent's end.
    pub fn obituary(&self, number: usize) -> DemoError {
        let agent = &self.agents[number];
        DemoError::Ended {
            name: agent.name.clone(),
            status: agent.ended.map_or_else(|| "unknown status".to_owned(), |s| s.to_string()),
            log: agent.log_tail(),
        }
    }

    /// Asks every agent to leave and waits until all have ended; an agent that has not within five
    /// seconds, or at a second Ctrl-C, is killed. Returns how many were.
    pub fn stop(&mut self, wakes: &Wakes) -> usize {
        self.signal_all(Signal::TERM);
        let begin = Instant::now();
        loop {
            self.reap();
            let left = FAREWELL.saturating_sub(begin.elapsed());
            if self.running() == 0 {
                return 0;
            }
            if left.is_zero() || wakes.wait(left) == Wake::Stop {
                return self.kill();
            }
        }
    }

    /// Removes the temporary directory, or keeps it and prints where it is.
    ///
    /// # Errors
    /// What the system says if the directory cannot be removed.
    pub fn clear(mut self, keep: bool) -> io::Result<Option<PathBuf>> {
        self.kill();
        let home = self.home.path().to_owned();
        if keep {
            self.home.disable_cleanup(true);
            return Ok(Some(home));
        }
        self.remove_boards();
        fs::remove_dir_all(&home)?;
        Ok(None)
    }

    fn signal_all(&self, signal: Signal) {
        for agent in self.agents.iter().filter(|agent| agent.ended.is_none()) {
            // An agent that has just ended is a zombie until it is reaped: its number is still in
            // use.
            let _ = kill_process(Pid::from_child(&agent.child), signal);
        }
    }

    fn kill(&mut self) -> usize {
        let running = self.running();
        self.signal_all(Signal::KILL);
        for agent in self.agents.iter_mut().filter(|agent| agent.ended.is_none()) {
            agent.ended = agent.child.wait().ok();
        }
        running
    }
}

impl Cluster {
    /// Removes the boards of agents that were killed: where the temporary directory is not in
    /// memory they are elsewhere, and a link in it says where.
    fn remove_boards(&self) {
        for agent in &self.agents {
            if let Ok(board) = fs::read_link(agent.runtime_dir.join(BOARD_FILE)) {
                let _ = fs::remove_file(board); // there is none if the agent left
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill();
        self.remove_boards();
    }
}

impl Agent {
    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The last lines of the agent's log, indented.
    pub fn log_tail(&self) -> String {
        let path = log_path(&self.runtime_dir);
        let log = fs::read(&path).unwrap_or_default();
        tail(&String::from_utf8_lossy(&log), LOG_LINES)
    }
}

fn tail(log: &str, lines: usize) -> String {
    let all: Vec<&str> = log.lines().filter(|line| !line.trim().is_empty()).collect();
    if all.is_empty() {
        return "  (its log is empty)".to_owned();
    }
    let last = &all[all.len().saturating_sub(lines)..];
    last.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn key_path(home: &Path) -> PathBuf {
    home.join("cluster.key")
}

fn log_path(runtime_dir: &Path) -> PathBuf {
    runtime_dir.join("agent.log")
}

/// Makes the kernel end the process when this one ends, for any reason.
///
/// The signal is tied to the thread that starts the process: the main thread, which lives as long
/// as the demo. A parent that died before the call is recognised by the changed parent number.
#[allow(unsafe_code, reason = "there is no safe way to act between fork and exec")]
fn end_with_parent(command: &mut Command) {
    let parent = getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. The closure makes two
    // system calls, prctl and getppid; it allocates nothing, takes no lock and cannot unwind.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            if getppid() != Some(parent) {
                return Err(io::Error::from(io::ErrorKind::BrokenPipe));
            }
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_log_is_shown() {
        assert_eq!(tail("", 2), "  (its log is empty)");
        assert_eq!(tail("a\n\nb\nc\n", 2), "  b\n  c");
        assert_eq!(tail("a", 2), "  a");
    }
}
