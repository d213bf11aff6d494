//! A machine made of files below a folder: control groups of either version, tasks, interrupts.
//!
//! It can end this process by SIGKILL before the n-th change, and refuse a change of one file.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Signal, getpid, kill_process};
use tidings_cores::{CoreSet, Machine};

/// How its control groups are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    Unified,
    Own,
    None,
}

impl Groups {
    pub(crate) const ALL: [Self; 3] = [Self::Unified, Self::Own, Self::None];

    pub(crate) fn named(name: &str) -> Self {
        Self::ALL.into_iter().find(|groups| format!("{groups:?}") == name).expect("one of them")
    }
}

pub(crate) struct Tree {
    root: PathBuf,
    groups: Groups,
    changes: Cell<usize>,
    killed_at: Option<usize>,
    refused: Option<String>,
    calls_invalid: bool,
    forks: Cell<u32>,
}

/// Where the groups are.
pub(crate) const ROOT: &str = "/sys/fs/cgroup";

const TASKS: [(u32, &str, u64, &str); 4] = [
    (1, "init", 0, "0-3"),
    (12, "kworker/2:0", 0x420_0000, "2"),
    (40, "sshd", 0, "0-3"),
    (41, "pinned", 0, "1-2"),
];

impl Tree {
    /// A machine of four cores on two physical ones; interrupt 36 stays on core 0.
    pub(crate) fn make(root: &Path, groups: Groups) -> Self {
        let tree = Self::at(root, groups);
        tree.file("/sys/devices/system/cpu/online", "0-3\n");
        for core in 0..4 {
            let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
            tree.file(&path, if core < 2 { "0-1\n" } else { "2-3\n" });
        }
        tree.file("/proc/cmdline", "quiet rcu_nocbs=3\n");
        tree.file("/etc/machine-id", "made-up\n");
        tree.file("/proc/sys/kernel/random/boot_id", "first\n");
        tree.file("/proc/sys/vm/stat_interval", "1\n");
        tree.file("/proc/sys/kernel/watchdog_cpumask", "0-3\n");
        tree.file("/proc/irq/default_smp_affinity", "f\n");
        tree.file("/sys/devices/virtual/workqueue/cpumask", "f\n");
        for (number, name, list, effective) in
            [(24, "disk", "0-3", "2"), (25, "card", "3", "3"), (36, "queue", "0-3", "0")]
        {
            tree.file(&format!("/proc/irq/{number}/smp_affinity_list"), &format!("{list}\n"));
            tree.file(&format!("/proc/irq/{number}/effective_affinity_list"), effective);
            tree.file(&format!("/sys/kernel/irq/{number}/actions"), name);
        }
        tree.file("/proc/irq/36/managed", "");
        for (task, name, flags, cores) in TASKS {
            let stat =
                format!("{task} ({name}) S 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {task}7 0");
            tree.file(&format!("/proc/{task}/stat"), &stat);
            tree.file(&format!("/proc/{task}/task/{task}/comm"), name);
            tree.file(&format!("/affinity/{task}"), cores);
        }
        tree.make_groups();
        tree
    }

    fn make_groups(&self) {
        let mounts = |text: &str| {
            let line = format!("30 1 0:1 / {ROOT} rw - {text} rw,cpuset\n");
            self.file("/proc/self/mountinfo", &line);
        };
        let numbers = TASKS.map(|(task, ..)| format!("{task}\n")).concat();
        match self.groups {
            Groups::None => self.file("/proc/self/mountinfo", "30 1 0:1 / / rw - ext4 x rw\n"),
            Groups::Unified => {
                mounts("cgroup2 x");
                self.file(&format!("{ROOT}/cgroup.controllers"), "cpu cpuset\n");
                self.file(&format!("{ROOT}/cgroup.subtree_control"), "cpu\n");
                self.file(&format!("{ROOT}/cgroup.procs"), &numbers);
            }
            Groups::Own => {
                mounts("cgroup x");
                for (knob, value) in [("cpus", "0-3\n"), ("mems", "0\n")] {
                    self.file(&format!("{ROOT}/cpuset.{knob}"), value);
                    self.file(&format!("{ROOT}/other/cpuset.{knob}"), value);
                    self.file(&format!("{ROOT}/other/inner/cpuset.{knob}"), value);
                }
                self.file(&format!("{ROOT}/other/inner/cpuset.cpus"), "1-2\n");
                self.file(&format!("{ROOT}/tasks"), &numbers);
            }
        }
    }

    /// The machine that is there.
    pub(crate) fn at(root: &Path, groups: Groups) -> Self {
        let root = root.to_owned();
        let changes = Cell::new(0);
        Self {
            root,
            groups,
            changes,
            killed_at: None,
            refused: None,
            calls_invalid: false,
            forks: Cell::new(0),
        }
    }

    pub(crate) fn killed_at(mut self, change: usize) -> Self {
        self.killed_at = Some(change);
        self
    }

    pub(crate) fn refusing(mut self, path: &str) -> Self {
        self.refused = Some(path.to_owned());
        self
    }

    /// So often a task forks just before it leaves a group of ours.
    pub(crate) fn fork(&self, times: u32) {
        self.forks.set(times);
    }

    /// It takes a partition, and says then that it is none: as the kernel does.
    pub(crate) fn calling_partitions_invalid(mut self) -> Self {
        self.calls_invalid = true;
        self
    }

    /// Writes a file as another program, or the kernel, would.
    pub(crate) fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_dir_all(self.path(path)).expect("it is there");
    }

    /// Every file, without what differs in space only, and tasks in order.
    pub(crate) fn all(&self) -> BTreeMap<PathBuf, Vec<String>> {
        let (mut files, mut open) = (BTreeMap::new(), vec![self.root.clone()]);
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("read")) {
                if entry.path().is_dir() {
                    files.insert(entry.path(), Vec::new());
                    open.push(entry.path());
                } else {
                    let text = fs::read_to_string(entry.path()).expect("text");
                    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                    lines.sort();
                    files.insert(entry.path(), lines);
                }
            }
        }
        files
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Counts a change that is about to be made.
    fn change(&self, path: &str) -> io::Result<()> {
        let number = self.changes.get();
        self.changes.set(number + 1);
        if self.killed_at == Some(number) {
            kill_process(getpid(), Signal::KILL).expect("own process");
        }
        match &self.refused {
            Some(refused) if refused == path => Err(io::Error::from_raw_os_error(16)),
            _ => Ok(()),
        }
    }

    /// Moves a task as the kernel does: it is in one group of the hierarchy.
    fn join(&self, path: &str, task: &str) -> io::Result<()> {
        if task == "12" {
            return Err(io::Error::from_raw_os_error(22)); // bound to its core
        }
        let file = path.rsplit('/').next().expect("a name");
        let groups = ["", "/tidings.application", "/tidings.service"];
        for members in groups.map(|group| self.path(&format!("{ROOT}{group}/{file}"))) {
            let text = fs::read_to_string(&members).unwrap_or_default();
            if text.lines().any(|line| line == task) {
                let rest: Vec<&str> = text.lines().filter(|line| *line != task).collect();
                let end = if rest.is_empty() { "" } else { "\n" };
                fs::write(&members, rest.join("\n") + end)?;
            }
        }
        let add = |path: &str, task: &str| {
            let text = fs::read_to_string(self.path(path))? + task + "\n";
            fs::write(self.path(path), text)
        };
        if path == format!("{ROOT}/tasks") && self.forks.get() > 0 {
            self.forks.set(self.forks.get() - 1);
            let child = (9_000 + self.forks.get()).to_string();
            add(&format!("{ROOT}/tidings.service/tasks"), &child)?;
        }
        add(path, task)
    }
}

impl Machine for Tree {
    fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.path(path))
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        self.change(path)?;
        let place = self.path(path);
        if !place.exists() {
            return Err(io::ErrorKind::NotFound.into());
        }
        if path.ends_with("/tasks") || path.ends_with("/cgroup.procs") {
            return self.join(path, text.trim());
        }
        let group = path.rsplit_once('/').map_or("", |(group, _)| group);
        let tasks = fs::read_to_string(self.path(&format!("{group}/tasks"))).unwrap_or_default();
        if path.contains("/cpuset.") && text.trim().is_empty() && !tasks.is_empty() {
            return Err(io::Error::from_raw_os_error(28)); // tasks need a core
        }
        if path.ends_with(".partition") && self.calls_invalid {
            return fs::write(place, "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n");
        }
        if path.ends_with("subtree_control") {
            return fs::write(place, if text == "+cpuset" { "cpu cpuset\n" } else { "cpu\n" });
        }
        fs::write(place, format!("{}\n", text.trim()))
    }

    fn list(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).into_iter().flatten().filter_map(Result::ok);
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn make_group(&self, path: &str) -> io::Result<()> {
        self.change(path)?;
        fs::create_dir(self.path(path))?;
        let knobs: &[(&str, &str)] = match self.groups {
            Groups::Unified => &[
                ("cpuset.cpus", ""),
                ("cpuset.cpus.exclusive", "\n"),
                ("cpuset.cpus.partition", "member\n"),
                ("cgroup.procs", ""),
            ],
            _ => &[("cpuset.cpus", "\n"), ("cpuset.mems", "\n"), ("tasks", "")],
        };
        for (knob, value) in knobs {
            self.file(&format!("{path}/{knob}"), value);
        }
        Ok(())
    }

    fn remove_group(&self, path: &str) -> io::Result<()> {
        self.change(path)?;
        for members in ["tasks", "cgroup.procs"] {
            let tasks = fs::read_to_string(self.path(&format!("{path}/{members}")));
            if !tasks.unwrap_or_default().is_empty() {
                return Err(io::Error::from_raw_os_error(16));
            }
        }
        fs::remove_dir_all(self.path(path))
    }

    fn affinity(&self, task: u32) -> io::Result<CoreSet> {
        self.read(&format!("/affinity/{task}"))?.parse().map_err(io::Error::other)
    }

    fn set_affinity(&self, task: u32, cores: &CoreSet) -> io::Result<()> {
        let path = format!("/affinity/{task}");
        self.change(&path)?;
        if task == 12 {
            return Err(io::Error::from_raw_os_error(22));
        }
        fs::write(self.path(&path), cores.to_string())
    }

    fn may_move(&self, interrupt: u32) -> Option<bool> {
        Some(!self.path(&format!("/proc/irq/{interrupt}/managed")).exists())
    }
}
