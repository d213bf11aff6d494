//! The programs under test and their directories.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::TempDir;

/// After this time a process counts as one that never ends.
const HANG: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// A program of this workspace.
pub(crate) fn built(program: &str) -> PathBuf {
    tidings_experiment::agents::programs().join(program)
}

/// A temporary directory and the programs that run in it.
pub(crate) struct Workplace {
    home: TempDir,
}

impl Workplace {
    pub(crate) fn new() -> Self {
        Self { home: TempDir::with_prefix("cli-").expect("a temporary directory") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.home.path()
    }

    /// `tidings` with these arguments, its files and its default runtime directory in here.
    pub(crate) fn tidings(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&built("tidings"));
        command.args(arguments);
        command
    }

    /// A program that keeps its files in here.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("TMPDIR", self.path()).env("TIDINGS_RUNTIME_DIR", self.path().join("runtime"));
        command
    }

    /// A directory with `tidings` and, as `tidings-agent`, this script; the path of `tidings`.
    pub(crate) fn install(&self, script: &str) -> PathBuf {
        let tidings = self.install_alone();
        let draft = self.path().join("draft");
        fs::write(&draft, script).expect("the script");
        put(&draft, &tidings.with_file_name("tidings-agent"));
        fs::remove_file(&draft).expect("it was just written");
        tidings
    }

    /// A directory with `tidings` and nothing else; the path of `tidings`.
    pub(crate) fn install_alone(&self) -> PathBuf {
        let bin = self.path().join("bin");
        fs::create_dir(&bin).expect("a directory");
        let tidings = bin.join("tidings");
        put(&built("tidings"), &tidings);
        tidings
    }

    /// The files in here.
    pub(crate) fn contents(&self) -> Vec<OsString> {
        let entries = fs::read_dir(self.path()).expect("the temporary directory");
        entries.map(|entry| entry.expect("a readable entry").file_name()).collect()
    }

    pub(crate) fn assert_empty(&self) {
        assert_eq!(self.contents(), Vec::<OsString>::new());
    }

    /// Processes whose command line names a file in here: the agents of a demo.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        let here = self.path().to_str().expect("temporary directories have plain names");
        let processes = fs::read_dir("/proc").expect("/proc is mounted");
        let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let named = numbers.filter(|number: &i32| {
            let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(here)
        });
        named.filter_map(Pid::from_raw).collect()
    }
}

/// Copies a program, by a process of its own: while this one writes a file, a process that another
/// test starts inherits the descriptor for a moment, and a file that is open for writing cannot be
/// executed ("Text file busy").
fn put(source: &Path, program: &Path) {
    let install = Command::new("install").args(["-m", "755"]).args([source, program]).status();
    assert!(install.expect("coreutils are there").success(), "{}", program.display());
}

/// Waits for the end of processes that are not this one's children.
pub(crate) fn wait_for_end(processes: &[Pid]) {
    for process in processes {
        // No such process: it has ended already.
        let Ok(end) = pidfd_open(*process, PidfdFlags::empty()) else { continue };
        let mut ends = [PollFd::new(&end, PollFlags::IN)];
        let ended = poll(&mut ends, Some(&HANG)).expect("nothing interrupts a test");
        assert_eq!(ended, 1, "process {process:?} goes on");
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
