//! Control groups with cores: where they are, and what can be done with them.

use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// How programs are kept off application cores, the best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "way", content = "root")]
pub enum Way {
    /// A partition of cgroup v2, below this root.
    Partition(String),
    /// Groups of the controller cpuset of cgroup v1, below this root: one for all, one for
    /// applications.
    Shield(String),
    /// No groups: each task gets an affinity. What is started later inherits it.
    Affinities,
}

impl Way {
    /// The best that this machine has.
    pub fn best(machine: &dyn Machine) -> Self {
        let mounts = machine.read("/proc/self/mountinfo").unwrap_or_default();
        let mut best = Self::Affinities;
        for line in mounts.lines() {
            let Some((head, tail)) = line.split_once(" - ") else { continue };
            let Some(root) = head.split(' ').nth(4) else { continue };
            let mut tail = tail.split(' ');
            let kind = tail.next().unwrap_or_default();
            let has_option = tail.any(|part| part.split(',').any(|option| option == "cpuset"));
            if kind == "cgroup2" && offers(machine, root) {
                return Self::Partition(root.to_owned());
            }
            if kind == "cgroup" && has_option {
                best = Self::Shield(root.to_owned());
            }
        }
        best
    }

    /// As it is said to people.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Partition(_) => "an isolated partition of cgroup v2",
            Self::Shield(_) => "a shield of cgroup v1",
            Self::Affinities => "affinities, as no control group offers cores",
        }
    }

    /// The group of applications.
    pub fn application(&self) -> Option<String> {
        match self {
            Self::Partition(root) | Self::Shield(root) => {
                Some(format!("{root}/tidings.application"))
            }
            Self::Affinities => None,
        }
    }

    /// The group of all else, where it needs one.
    pub fn service(&self) -> Option<String> {
        match self {
            Self::Shield(root) => Some(format!("{root}/tidings.service")),
            Self::Partition(_) | Self::Affinities => None,
        }
    }

    /// The file of a group that names its tasks, and takes them.
    pub(crate) fn members(&self) -> &'static str {
        if matches!(self, Self::Partition(_)) { "cgroup.procs" } else { "tasks" }
    }
}

/// Whether groups below a root can have cores.
fn offers(machine: &dyn Machine, root: &str) -> bool {
    let names = machine.read(&format!("{root}/cgroup.controllers")).unwrap_or_default();
    names.split_whitespace().any(|name| name == "cpuset")
}
