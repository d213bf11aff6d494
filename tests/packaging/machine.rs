//! Machines with systemd, for what a package does when it is installed and its service runs.
//!
//! A machine is `tests/packaging/boot` on one of several hosts: systemd is the first process of
//! namespaces of its own, and the files are those of this machine, which stay as they are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidings_experiment::agents::Cluster;
use tidings_experiment::hosts::Hosts;

use crate::repository;

/// How long a machine boots; what it waits for is said before [`until`] gives up.
const BOOT: Duration = Duration::from_secs(150);

/// Waits until `condition` has a value.
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    Cluster::new().until(what, |_| condition())
}

/// A machine that runs; it ends, and all that it wrote goes, when it is dropped.
pub(crate) struct Machine {
    folder: TempDir,
    boot: Child,
}

impl Machine {
    /// Boots a machine on one of `hosts`.
    pub(crate) fn boot(hosts: &Hosts, host: usize) -> Self {
        let folder = TempDir::new().expect("a temporary directory");
        let log = fs::File::create(folder.path().join("log")).expect("an own directory");
        let mut command = Command::new("ip");
        command.args(&hosts.on(host)[1..]).arg(repository().join("tests/packaging/boot"));
        command.arg(folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let boot = command.spawn().expect("ip is there");
        let mut machine = Self { folder, boot };
        machine.until_up();
        machine
    }

    /// Waits until it has booted. A unit of Debian's own that fails then is not what is tested.
    fn until_up(&mut self) {
        let begin = Instant::now();
        until("systemd is up", || {
            let ended = self.boot.try_wait().expect("a child of this process");
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(ended.is_none(), "the machine has ended: {}", log());
            let state = self.state();
            let is_up = matches!(state.as_deref(), Some("running" | "degraded"));
            let is_in_time = is_up || begin.elapsed() < BOOT;
            assert!(is_in_time, "it is {state:?}: {}{}", log(), self.obstacles());
            is_up.then_some(())
        });
    }

    /// The state of the whole, in systemd's words; none before systemd is the first process.
    fn state(&self) -> Option<String> {
        let program = fs::read_link(format!("/proc/{}/exe", self.first_process()?)).ok()?;
        (program.file_name()? == "systemd").then(|| {
            // It may ask before systemd answers anybody.
            let said = self.run(&["timeout", "5", "systemctl", "is-system-running"]);
            String::from_utf8_lossy(&said.stdout).trim().to_owned()
        })
    }

    /// What keeps it from being up: jobs, units that failed, and the end of its journal.
    fn obstacles(&self) -> String {
        if self.first_process().is_none() {
            return String::new();
        }
        let script = "timeout 5 systemctl list-jobs; timeout 5 systemctl --failed; \
                      journalctl -n 40; ps -A";
        let output = self.run(&["sh", "-c", script]);
        [output.stdout, output.stderr]
            .map(|said| String::from_utf8_lossy(&said).into_owned())
            .concat()
    }

    /// Its first process, as this machine numbers it.
    fn first_process(&self) -> Option<u32> {
        let id = self.boot.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        children.split_whitespace().next()?.parse().ok()
    }

    /// Runs a command there, as root.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        let first = self.first_process().expect("it runs until it is dropped").to_string();
        let mut command = Command::new("nsenter");
        command.args(["-t", &first, "-p", "-m", "-i", "-u", "-n", "-C", "-r", "-w", "--"]);
        command.args(words).stdin(Stdio::null());
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8");
        command.output().expect("nsenter is there")
    }

    /// What a command says, which has to succeed.
    pub(crate) fn text(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let (out, err) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
        let out = String::from_utf8_lossy(out).into_owned();
        assert!(output.status.success(), "{words:?}: {out}{err}\n{}", self.journal());
        out
    }

    /// What the agent and its unit have said, as far as the journal has it.
    pub(crate) fn journal(&self) -> String {
        let words = ["journalctl", "--no-pager", "-o", "cat", "-u", "tidings-agent"];
        String::from_utf8_lossy(&self.run(&words).stdout).into_owned()
    }

    /// Waits until the journal has these words: it takes them up after the unit has said them.
    pub(crate) fn until_journal_says(&self, words: &str) {
        until(&format!("the journal has {words:?}"), || {
            self.journal().contains(words).then_some(())
        });
    }

    /// A file of this machine, as that machine sees it below /shared.
    pub(crate) fn share(&self, file: &Path) -> String {
        let name = file.file_name().expect("a file").to_str().expect("of plain letters");
        let there: PathBuf = self.folder.path().join("shared").join(name);
        fs::copy(file, there).expect("an own directory");
        format!("/shared/{name}")
    }

    /// Writes a file there, which only its owner, root, may read.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let name = self.folder.path().join("shared/text");
        fs::write(&name, text).expect("an own directory");
        self.text(&["install", "-D", "-m", "600", "/shared/text", path]);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.boot.kill();
        let _ = self.boot.wait();
        let mut clear = Command::new("unshare");
        clear.args(["--mount", "timeout", "60"]).arg(repository().join("tests/packaging/boot"));
        let _ = clear.arg(self.folder.path()).arg("clear").status();
    }
}
