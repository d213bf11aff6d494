//! A cluster of the examples: one process a node, on ports that the kernel picked.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tidings_experiment::agents::programs;
use tidings_experiment::mpi::{library, root, run};

use crate::guide;

/// Long enough for a loaded machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a node's program is written in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    C,
}

/// What a process printed since it was started, and who waits for more.
type Printed = Arc<(Mutex<Vec<String>>, Condvar)>;

struct Process {
    child: Child,
    /// Its input ends with this.
    input: Option<ChildStdin>,
    printed: Printed,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Nodes, each of which is a process or has ended.
pub(crate) struct Cluster {
    folder: TempDir,
    languages: Vec<Language>,
    addresses: Vec<SocketAddr>,
    processes: Vec<Option<Process>>,
}

impl Cluster {
    /// Starts a node of each of these.
    pub(crate) fn of(languages: &[Language]) -> Self {
        let folder = TempDir::new().expect("there is room for temporary files");
        compile(&folder.path().join("udp"));
        let mut cluster = Self {
            folder,
            languages: languages.to_owned(),
            addresses: free_addresses(languages.len()),
            processes: languages.iter().map(|_| None).collect(),
        };
        if !languages.is_empty() {
            cluster.write_key([42; 32]);
        }
        for number in 0..languages.len() {
            cluster.start(number);
        }
        cluster
    }

    pub(crate) fn write_key(&self, key: [u8; 32]) {
        fs::write(self.folder.path().join("key"), key).expect("the folder can be written");
    }

    fn command(&self, language: Language) -> Command {
        let mut command = Command::new(match language {
            Language::Rust => programs().join("examples/udp"),
            Language::C => self.folder.path().join("udp"),
        });
        command.arg(self.folder.path());
        command
    }

    pub(crate) fn start(&mut self, number: usize) {
        let mut command = self.command(self.languages[number]);
        command.arg(number.to_string()).args(self.addresses.iter().map(SocketAddr::to_string));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the example is built");
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let printed = Printed::default();
        let written = Arc::clone(&printed);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                written.0.lock().expect("no panic holds it").push(line);
                written.1.notify_all();
            }
        });
        self.processes[number] = Some(Process { child, input, printed });
    }

    fn process(&self, number: usize) -> &Process {
        self.processes[number].as_ref().expect("it runs")
    }

    /// Ends a node as the power does.
    pub(crate) fn kill(&mut self, number: usize) {
        drop(self.processes[number].take());
    }

    /// Ends a node as its user does; it must end well.
    pub(crate) fn end_input(&mut self, number: usize) {
        let mut process = self.processes[number].take().expect("it runs");
        drop(process.input.take());
        let status = process.child.wait().expect("it is a child");
        assert!(status.success(), "{status}");
    }

    /// Waits until what a node printed is as is wanted.
    pub(crate) fn until(&self, number: usize, what: &str, good: impl Fn(&[String]) -> bool) {
        let (lines, more) = &*self.process(number).printed;
        let lines = lines.lock().expect("no panic holds it");
        let waiting = more.wait_timeout_while(lines, PATIENCE, |lines| !good(lines));
        let (lines, waited) = waiting.expect("no panic holds it");
        let tail = &lines[lines.len().saturating_sub(40)..];
        assert!(!waited.timed_out(), "n{number}: {what} never came:\n{}", tail.join("\n"));
    }

    /// Waits until each node that runs sees each other one alive, with what that process says.
    pub(crate) fn until_all_know_each_other(&self) {
        let running: Vec<usize> = (0..self.processes.len()).collect();
        for (&at, &other) in running.iter().flat_map(|at| running.iter().map(move |o| (at, o))) {
            let (alive, text) =
                (format!("n{other} Alive, "), format!(": pid {}", self.process(other).child.id()));
            let says = |line: &String| line.starts_with(&alive) && line.ends_with(&text);
            self.until(at, &format!("{alive}{text}"), |lines| lines.iter().any(says));
        }
    }

    /// Waits until each node that runs has this of another one in its last look at it.
    pub(crate) fn until_seen(&self, other: usize, state: &str) {
        let (of, wanted) = (format!("n{other} "), format!("n{other} {state}, "));
        for at in (0..self.processes.len()).filter(|&at| at != other) {
            if self.processes[at].is_none() {
                continue;
            }
            self.until(at, &wanted, |lines| {
                let last = lines.iter().rev().find(|line| line.starts_with(&of));
                last.is_some_and(|line| line.starts_with(&wanted))
            });
        }
    }

    /// What a program says that refuses to start with these words.
    pub(crate) fn refusal(&self, language: Language, words: &[&str]) -> String {
        let output = run(self.command(language).args(words).stdin(Stdio::null()));
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        String::from_utf8(output.stderr).expect("it is text")
    }
}

/// Compiles the example in C by the line that the guide has.
fn compile(program: &Path) {
    let line = guide::compile_line();
    let words: Vec<PathBuf> = line.split_whitespace().map(PathBuf::from).collect();
    let [compiler, words @ ..] = &words[..] else { panic!("the guide's line is empty") };
    let words = words.iter().map(|word| match word.to_str() {
        Some("target/release/libtidings_node.a") => library(),
        Some("udp") => program.to_owned(),
        _ => word.clone(),
    });
    let output = run(Command::new(compiler).args(words).current_dir(root()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Addresses that nobody else uses: ports that the kernel picks, on an address of loopback that is
/// this cluster's own. A node needs those of all before any of them is bound.
fn free_addresses(count: usize) -> Vec<SocketAddr> {
    static CLUSTERS: AtomicU16 = AtomicU16::new(1);
    let (pid, cluster) = (process::id(), CLUSTERS.fetch_add(1, Ordering::Relaxed));
    let [_, _, high, low] = pid.to_be_bytes();
    let ip = Ipv4Addr::new(127, 100 + (cluster as u8), high, low.max(1));
    let bind = |_| UdpSocket::bind((ip, 0)).expect("a free port");
    let sockets: Vec<UdpSocket> = (0..count).map(bind).collect();
    sockets.iter().map(|socket| socket.local_addr().expect("it is bound")).collect()
}
