//! One run: its processes are started in a group of their own, watched, and ended if they must be.
//!
//! Every process of a run carries a mark in its environment, the run's directory, which its
//! children inherit whatever group or session they put themselves into. So whatever a launcher
//! leaves behind is found and ended: after a run none of its processes is there, however the run
//! ended, and those of a lab that was killed are found later (`end_all_in`).
//!
//! A launcher's daemons may leave it and live on when it has ended. Where a run adopts them, this
//! process is their parent then, waits for them, and so knows what they and their ranks have used.
//!
//! While it waits it looks a few times a second how long its processes have waited for a processor
//! (`schedstat`); what they wait in the last quarter of a second is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::prctl::set_child_subreaper;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, waitpid,
};

use crate::pressure::{Counters, Disturbance};
use crate::scheduling::Scheduling;

/// How often a run is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// How long a run may take to end when it is asked to, unless its backend needs longer.
const FAREWELL: Duration = Duration::from_secs(2);
/// The variable that marks the processes of a run.
const MARK: &str = "TIDINGS_LAB_RUN";
/// Generations of processes that are looked at.
const DEPTH: usize = 8;

/// What is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Program and arguments.
    pub words: Vec<String>,
    /// Variables to set.
    pub environment: Vec<(String, String)>,
    /// Where it runs; its output goes to the files `stdout` and `stderr` there.
    pub directory: PathBuf,
    /// How long the launcher may take to end when it is asked to; two seconds if nothing is said.
    pub farewell: Option<Duration>,
    /// Whether processes that leave the launcher become this process's own: what they use is the
    /// run's then, and not others'.
    pub adopts: bool,
}

/// How a run ended.
#[derive(Debug)]
pub enum End {
    /// By itself.
    Itself(ExitStatus),
    /// It was ended: it took too long.
    Late,
    /// It was ended: the campaign is to stop.
    Stopped,
}

/// What was seen of a run from outside.
#[derive(Debug)]
pub struct Seen {
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub wall_s: f64,
    /// What the machine did besides.
    pub disturbance: Disturbance,
    /// How many processes its launcher left behind, which were ended.
    pub orphans: usize,
}

impl Launch {
    /// Runs it to its end, which is after `limit` at the latest, or when `stop` says so.
    ///
    /// # Errors
    /// What the system says if it cannot be started.
    pub fn run(
        &self,
        scheduling: Scheduling,
        limit: Duration,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<Seen> {
        if self.adopts {
            set_child_subreaper(true)?;
        }
        let before = Counters::now();
        let begin = Instant::now();
        let mut running = Running {
            child: self.start(scheduling)?,
            mark: mark(&self.directory),
            farewell: self.farewell.unwrap_or(FAREWELL),
            delays: BTreeMap::new(),
            adopts: self.adopts,
            adopted: BTreeSet::new(),
            orphans: 0,
        };
        let end = running.wait(begin, limit, stop);
        let wall_s = begin.elapsed().as_secs_f64();
        running.wait_for_adopted();
        running.end_marked();
        running.reap();
        let orphans = running.orphans;
        let mut disturbance = Counters::now().since(&before);
        disturbance.run_delay_share = running.delay_s().map(|delay_s| delay_s / wall_s);
        Ok(Seen { end: end?, wall_s, disturbance, orphans })
    }

    fn start(&self, scheduling: Scheduling) -> io::Result<Child> {
        let scheduled = scheduling.words().into_iter().chain(self.words.iter().cloned());
        let words: Vec<String> = scheduled.collect();
        let (program, arguments) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(self.environment.iter().cloned()).env(MARK, &self.directory);
        command.current_dir(&self.directory).process_group(0).stdin(Stdio::null());
        command.stdout(File::create(self.directory.join("stdout"))?);
        command.stderr(File::create(self.directory.join("stderr"))?);
        command.spawn()
    }
}

/// What no process but those of the run in a directory has in its environment.
fn mark(directory: &Path) -> Vec<u8> {
    [MARK.as_bytes(), b"=", directory.as_os_str().as_bytes()].concat()
}

/// Ends every process of a run in this directory, and counts them. They are asked first, and have
/// as long for it as a launcher has.
pub(crate) fn end_all_in(directory: &Path, farewell: Option<Duration>) -> usize {
    let mark = mark(directory);
    let (asked, found) = (Instant::now(), marked(&mark));
    for pid in &found {
        let _ = kill_process(*pid, Signal::TERM);
    }
    for pid in &found {
        let left = farewell.unwrap_or(FAREWELL).saturating_sub(asked.elapsed());
        if let Ok(file) = pidfd_open(*pid, PidfdFlags::empty()) {
            let _ = wait_for(&file, left);
        }
    }
    end_marked(&mark);
    found.len()
}

/// Ends every process that carries a mark, and names them.
fn end_marked(mark: &[u8]) -> Vec<Pid> {
    let mut ended = Vec::new();
    // One that is ended may have made another meanwhile: until a look finds none.
    for _ in 0..100 {
        let found: Vec<Pid> = marked(mark);
        if found.is_empty() {
            break;
        }
        for pid in &found {
            let _ = kill_process(*pid, Signal::KILL);
        }
        for pid in &found {
            // Who has no parent left is reaped by another; a moment is enough.
            if let Ok(file) = pidfd_open(*pid, PidfdFlags::empty()) {
                let _ = wait_for(&file, FAREWELL);
            }
        }
        ended.extend(found);
    }
    ended
}

/// A run whose processes are there.
struct Running {
    child: Child,
    mark: Vec<u8>,
    farewell: Duration,
    /// How long each process has waited for a processor, in nanoseconds.
    delays: BTreeMap<i32, u64>,
    adopts: bool,
    /// Processes of the run that have left the launcher, whose parent is this process.
    adopted: BTreeSet<i32>,
    /// Processes but the launcher that had to be ended.
    orphans: usize,
}

impl Running {
    fn wait(
        &mut self,
        begin: Instant,
        limit: Duration,
        stop: &dyn Fn() -> bool,
    ) -> io::Result<End> {
        let own = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(End::Itself(status));
            }
            let stops = stop();
            if stops || begin.elapsed() >= limit {
                self.end_politely()?;
                return Ok(if stops { End::Stopped } else { End::Late });
            }
            self.look();
            let nap = LOOK.min(limit.saturating_sub(begin.elapsed()));
            wait_for(&own, nap)?;
        }
    }

    /// Asks the launcher to end its ranks, and ends what is left after a while.
    fn end_politely(&mut self) -> io::Result<()> {
        let group = Pid::from_child(&self.child);
        let own = pidfd_open(group, PidfdFlags::empty())?;
        let _ = kill_process_group(group, Signal::TERM); // it may have ended just now
        let asked = Instant::now();
        while self.child.try_wait()?.is_none() {
            let left = self.farewell.saturating_sub(asked.elapsed());
            if left.is_zero() {
                let _ = kill_process_group(group, Signal::KILL);
                // Under SCHED_FIFO it dies only when ranks that spin have left it a processor.
                self.end_marked();
                self.child.wait()?;
                break;
            }
            wait_for(&own, left)?;
        }
        Ok(())
    }

    /// Ends every process of the run, and counts those that the launcher left.
    fn end_marked(&mut self) {
        let launcher = Pid::from_child(&self.child);
        self.orphans += end_marked(&self.mark).iter().filter(|pid| **pid != launcher).count();
    }

    /// Notes which processes have become this process's own by leaving the launcher.
    fn adopt(&mut self) {
        if !self.adopts {
            return;
        }
        for pid in children_of(std::process::id() as i32) {
            let is_known = pid == self.child.id() as i32 || self.adopted.contains(&pid);
            if !is_known && has(pid, &self.mark) {
                self.adopted.insert(pid);
            }
        }
    }

    /// Waits for adopted processes to end by themselves, as long as a launcher may take for it.
    fn wait_for_adopted(&mut self) {
        self.adopt();
        let begun = Instant::now();
        for pid in self.adopted.iter().filter_map(|&pid| Pid::from_raw(pid)) {
            if let Ok(file) = pidfd_open(pid, PidfdFlags::empty()) {
                let _ = wait_for(&file, self.farewell.saturating_sub(begun.elapsed()));
            }
        }
    }

    /// Takes note of the end of adopted processes: only then does the system say what they used.
    fn reap(&mut self) {
        for pid in self.adopted.iter().filter_map(|&pid| Pid::from_raw(pid)) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG); // one that stays is no zombie
        }
    }

    /// Notes how long the processes of the run have waited.
    fn look(&mut self) {
        self.adopt();
        let mut generation = vec![self.child.id() as i32];
        generation.extend(&self.adopted);
        for _ in 0..DEPTH {
            let mut children = Vec::new();
            for pid in generation {
                if let Some(delay_ns) = delay_ns(pid) {
                    self.delays.insert(pid, delay_ns);
                }
                children.extend(children_of(pid));
            }
            generation = children;
        }
    }

    fn delay_s(&self) -> Option<f64> {
        let all: u64 = self.delays.values().sum();
        (!self.delays.is_empty()).then_some(all as f64 / 1e9)
    }
}

/// Waits until a process ends, for this long at most; a signal may end it earlier.
fn wait_for(process: &impl std::os::fd::AsFd, most: Duration) -> io::Result<()> {
    let timeout = Timespec::try_from(most).ok();
    match poll(&mut [PollFd::new(process, PollFlags::IN)], timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The processes that have this in their environment and have not ended.
fn marked(wanted: &[u8]) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|&number: &i32| has(number, wanted)).filter_map(Pid::from_raw).collect()
}

/// Whether a process has this in its environment and has not ended.
fn has(pid: i32, wanted: &[u8]) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|variable| variable == wanted)
}

/// The second number of a process's schedstat: nanoseconds in which it could run and did not.
fn delay_ns(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

fn children_of(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// The exit code of a status, and in words how it ended if not well.
pub fn explained(status: ExitStatus) -> (Option<i32>, Option<String>) {
    match (status.code(), status.signal()) {
        (Some(0), _) => (Some(0), None),
        (Some(code), _) => (Some(code), Some(format!("ended with exit status {code}"))),
        (None, signal) => (None, Some(format!("was ended by signal {}", signal.unwrap_or(0)))),
    }
}

/// The last lines of what a run said, at most some hundred bytes.
pub fn last_words(directory: &Path) -> String {
    let tail = |name: &str| {
        let text = fs::read(directory.join(name)).unwrap_or_default();
        let from = text.len().saturating_sub(1_200);
        String::from_utf8_lossy(&text[from..]).trim().to_owned()
    };
    let (said, complained) = (tail("stdout"), tail("stderr"));
    let words = if complained.is_empty() { said } else { complained };
    // A launcher draws lines, and says in some five more that the program has failed.
    let is_word = |line: &&str| line.bytes().any(|byte| byte != b'-');
    let lines: Vec<&str> = words.lines().map(str::trim).filter(is_word).collect();
    lines[lines.len().saturating_sub(10)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str, directory: &Path) -> Launch {
        let words = ["sh", "-c", line].map(str::to_owned).to_vec();
        Launch { words, directory: directory.to_owned(), ..Launch::default() }
    }

    fn run(launch: &Launch, limit_ms: u64, stop: bool) -> Seen {
        let limit = Duration::from_millis(limit_ms);
        launch.run(Scheduling::Normal, limit, &|| stop).expect("there is a shell")
    }

    #[test]
    fn what_a_run_says_is_kept_and_its_status_is_explained() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let seen = run(&shell("echo yes; echo no >&2; exit 3", place.path()), 60_000, false);
        let End::Itself(status) = seen.end else { panic!("{seen:?}") };
        let wanted = (Some(3), Some("ended with exit status 3".to_owned()));
        assert_eq!(explained(status), wanted);
        assert_eq!(last_words(place.path()), "no");
        assert_eq!(fs::read_to_string(place.path().join("stdout")).expect("kept"), "yes\n");
    }

    /// Daemons of a launcher use processors, and it does not wait for them.
    #[test]
    fn what_an_adopted_process_used_is_of_the_run() {
        let place = tempfile::tempdir().expect("a temporary directory");
        // A child that uses a processor; its parent and the launcher end meanwhile.
        let line = "(i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done &)";
        let seen = run(&Launch { adopts: true, ..shell(line, place.path()) }, 60_000, false);
        assert!(seen.disturbance.cpu_s.is_some_and(|cpu_s| cpu_s > 0.05), "{seen:?}");
    }

    #[test]
    fn a_run_that_hangs_is_ended_with_all_it_has_started() {
        let place = tempfile::tempdir().expect("a temporary directory");
        // A session of its own, which receives no signal of a launcher.
        let line = "trap '' TERM; setsid sh -c \"trap '' TERM; echo up; while :; do sleep 60; done\" & \
                    while :; do sleep 60; done";
        let launch = shell(line, place.path());
        let seen = run(&launch, 300, false);
        assert!(matches!(seen.end, End::Late), "{seen:?}");
        assert!(seen.orphans >= 1, "the session outlived its launcher: {seen:?}");
        let stopped = run(&launch, 60_000, true);
        assert!(matches!(stopped.end, End::Stopped), "{stopped:?}");
    }

    #[test]
    fn the_time_that_a_run_uses_is_its_own() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let seen = run(&shell(spin, place.path()), 60_000, false);
        assert!(seen.disturbance.cpu_s.is_some_and(|cpu_s| cpu_s > 0.01), "{seen:?}");
        let share = seen.disturbance.others_share.expect("Linux counts");
        assert!((0.0..=1.0).contains(&share), "{seen:?}");
    }
}
