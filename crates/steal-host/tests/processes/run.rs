//! Processes that a test starts: this program again, each with a role, and what they say.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use tempfile::TempDir;
use tidings_steal_host::{Rules, Segment};

pub(crate) const PATH: &str = "TIDINGS_TEST_SEGMENT";
pub(crate) const ROLE: &str = "TIDINGS_TEST_ROLE";
/// A file that is there when phases that go on for ever are to end.
pub(crate) const STOP: &str = "TIDINGS_TEST_STOP";
pub(crate) const WORKERS: &str = "TIDINGS_TEST_WORKERS";

/// Where in a segment the first seat begins: behind the header and 256 lines of flags.
pub(crate) const SEATS_AT: usize = 512 + 256 * 64;

/// A segment, and the processes that were started for it.
pub(crate) struct Run {
    #[expect(dead_code, reason = "it is held, not read")]
    directory: TempDir,
    pub(crate) segment: Option<Segment>,
    pub(crate) path: PathBuf,
    pub(crate) workers: u32,
    pub(crate) children: Vec<Started>,
}

pub(crate) struct Started {
    pub(crate) child: Child,
    output: BufReader<ChildStdout>,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Run {
    pub(crate) fn new(workers: u32, rules: &Rules) -> Self {
        let directory = tempfile::tempdir_in("/dev/shm").expect("a file system in memory");
        let path = directory.path().join("segment");
        let segment = Some(Segment::create(&path, workers, rules).expect("room"));
        Self { directory, segment, path, workers, children: Vec::new() }
    }

    /// Starts a process for each role.
    pub(crate) fn start(mut self, roles: &[&str]) -> Self {
        for role in roles {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--exact", "worker", "--nocapture", "--test-threads=1"]);
            command.env(PATH, &self.path).env(ROLE, role).env(STOP, self.stop());
            command.env(WORKERS, self.workers.to_string());
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().expect("this program");
            let output = BufReader::new(child.stdout.take().expect("a pipe"));
            self.children.push(Started { child, output });
        }
        self
    }

    fn stop(&self) -> PathBuf {
        self.path.with_file_name("stop")
    }

    /// Kills one of them, which has ended when this returns.
    pub(crate) fn kill(&mut self, child: usize) {
        drop(self.children.remove(child));
    }

    /// Phases that go on for ever end now.
    pub(crate) fn end(&self) {
        std::fs::write(self.stop(), "").expect("room");
    }

    /// What each says next, behind its sign.
    pub(crate) fn said(&mut self) -> Vec<String> {
        self.children.iter_mut().map(Started::said).collect()
    }
}

impl Started {
    /// What it says next; empty if it ends before.
    pub(crate) fn said(&mut self) -> String {
        let mut line = String::new();
        while self.output.read_line(&mut line).expect("lines") > 0 {
            if let Some((_, said)) = line.split_once("says: ") {
                return said.trim().to_owned();
            }
            line.clear();
        }
        String::new()
    }

    pub(crate) fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        input.write_all(b"\n").expect("it reads");
    }
}
