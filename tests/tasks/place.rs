//! A store of its own for each test, and pipes by which tasks and a test wait for each other.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::Value;
use tempfile::TempDir;

/// A folder with a store, or for one that is elsewhere.
pub(crate) struct Place {
    folder: TempDir,
    store: String,
}

/// A program that runs; it is killed if the test ends before it does.
pub(crate) struct Running(Option<Child>);

/// A named pipe, open at both ends, so that nobody who opens it waits.
pub(crate) struct Pipe {
    lines: BufReader<File>,
    end: File,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::with_prefix("tasks-").unwrap();
        let store = format!("file:{}", folder.path().join("store").display());
        Self { folder, store }
    }

    /// Whose store lies in a folder of its own, `disk`, which a test can make small.
    pub(crate) fn with_disk() -> Self {
        let place = Self::new();
        fs::create_dir(place.path("disk")).unwrap();
        Self { store: format!("file:{}", place.path("disk/store").display()), ..place }
    }

    /// Whose store lies at this address.
    pub(crate) fn of(store: String) -> Self {
        Self { store, ..Self::new() }
    }

    /// The address of the store.
    pub(crate) fn store(&self) -> &str {
        &self.store
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `tidings` with these arguments; the folder is its current one, and the store lies in it.
    pub(crate) fn tidings(&self, arguments: &[&str]) -> Command {
        let mut command = self.with_store(&tidings_experiment::agents::programs().join("tidings"));
        command.args(arguments);
        command
    }

    /// A program whose current folder this is, and whose store lies in it.
    pub(crate) fn with_store(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        self.in_store(&mut command);
        command
    }

    /// Gives a program this folder, with the store in it.
    pub(crate) fn in_store<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .current_dir(self.folder.path())
            .env("TIDINGS_STORE", &self.store)
            .env("TMPDIR", self.folder.path())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("TIDINGS_RUNTIME_DIR", self.path("runtime"))
            .stdin(Stdio::null())
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.tidings(arguments).output().unwrap()
    }

    /// What it prints; it must end with 0.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {} {errors}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// The object that it prints.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(arguments)).unwrap()
    }

    /// Starts it in the background, its standard output and error in pipes.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.tidings(arguments);
        Running::begin(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// A script that tasks run: `sh NAME ARGUMENT`.
    pub(crate) fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A pipe through which tasks and the test speak.
    pub(crate) fn pipe(&self, name: &str) -> Pipe {
        let path = self.path(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let end = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        Pipe { lines: BufReader::new(end.try_clone().unwrap()), end }
    }

    /// The lines of a file that tasks have written, sorted; none if there is no file.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

impl Running {
    /// Starts a command in the background.
    pub(crate) fn begin(command: &mut Command) -> Self {
        Self(Some(command.spawn().unwrap()))
    }

    /// Its standard output, if that was piped and nobody has it yet.
    pub(crate) fn output(&mut self) -> ChildStdout {
        self.0.as_mut().unwrap().stdout.take().unwrap()
    }

    /// The number of its process.
    pub(crate) fn number(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.0.as_ref().unwrap()), signal).unwrap();
    }

    /// Kills it and waits until it is gone.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// The next line that it writes to standard error.
    pub(crate) fn complaint(&mut self) -> String {
        let mut line = Vec::new();
        let stderr = self.0.as_mut().unwrap().stderr.as_mut().unwrap();
        // A byte at a time: what follows is left for the next call.
        let mut byte = [0];
        while std::io::Read::read(stderr, &mut byte).unwrap() == 1 && byte != *b"\n" {
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap()
    }

    /// How it ends: the exit code, and what it has printed.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Pipe {
    /// Waits for the next line.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits for so many lines, and returns them sorted.
    pub(crate) fn some(&mut self, count: usize) -> Vec<String> {
        let mut lines: Vec<String> = (0..count).map(|_| self.line()).collect();
        lines.sort();
        lines
    }

    /// Lets so many of those go on that read a line each.
    pub(crate) fn let_go(&mut self, count: usize) {
        self.end.write_all("go\n".repeat(count).as_bytes()).unwrap();
    }
}

/// Waits until a process has ended, which may be nobody's child any more.
pub(crate) fn wait_for_end(process: i32) {
    let process = Pid::from_raw(process).unwrap();
    // No such process: it has ended already.
    let Ok(end) = pidfd_open(process, PidfdFlags::empty()) else { return };
    let limit = Timespec { tv_sec: 60, tv_nsec: 0 };
    let ended = poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&limit)).unwrap();
    assert_eq!(ended, 1, "process {process:?} goes on");
}
