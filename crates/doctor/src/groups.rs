//! Control groups with cores: a group of one's own is made, entered, left and removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use rustix::thread::{CpuSet, sched_getaffinity};

use crate::finding::Outcome;

/// What groups of this program are called, before the number of a process.
const PREFIX: &str = "tidings-doctor-";

const REMEDY: &str = "run as root; in a container mount the control groups for writing";

/// Where groups with cores are.
enum Groups {
    /// The unified hierarchy, with the controller offered.
    Unified(PathBuf),
    /// The controller's own hierarchy.
    Own(PathBuf),
}

/// A group with one core, which this process enters and leaves.
pub(crate) fn cpusets() -> Outcome {
    let instead = "only affinities keep programs apart";
    match found() {
        None => Outcome::degraded(
            format!("no control group offers cores; {instead}"),
            "mount cgroup2 with the controller cpuset",
        ),
        Some(Groups::Own(root)) => match enter_own(&root) {
            Ok(()) => Outcome::works("a group of cgroup v1 was made, entered and removed"),
            Err(error) => Outcome::degraded(format!("a group of v1: {error}; {instead}"), REMEDY),
        },
        Some(Groups::Unified(root)) => match enter_unified(&root) {
            Ok(found) => Outcome::works(found),
            Err(error) => Outcome::degraded(format!("a group of v2: {error}; {instead}"), REMEDY),
        },
    }
}

/// Removes groups of processes that have ended, as of an attempt that was killed.
pub(crate) fn remove_left() {
    let Some(Groups::Own(root) | Groups::Unified(root)) = found() else { return };
    for entry in fs::read_dir(root).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if number.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn found() -> Option<Groups> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut own = None;
    for line in mounts.lines() {
        let (head, tail) = line.split_once(" - ")?;
        let place = PathBuf::from(head.split(' ').nth(4)?);
        let mut tail = tail.split(' ');
        match tail.next() {
            Some("cgroup2") if controllers(&place).contains("cpuset") => {
                return Some(Groups::Unified(place));
            }
            Some("cgroup") if tail.any(|part| part.split(',').any(|option| option == "cpuset")) => {
                own = Some(Groups::Own(place));
            }
            _ => {}
        }
    }
    own
}

fn controllers(root: &Path) -> String {
    fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default()
}

/// A folder of a group; removed with this.
struct Group(PathBuf);

impl Group {
    fn below(root: &Path) -> io::Result<Self> {
        let folder = root.join(format!("{PREFIX}{}", process::id()));
        fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn enter_own(root: &Path) -> io::Result<()> {
    let group = Group::below(root)?;
    fs::write(group.0.join("cpuset.mems"), fs::read(root.join("cpuset.mems"))?)?;
    let before = own_group("cpuset").map(|path| root.join(path)).ok_or(io::ErrorKind::NotFound)?;
    enter(&group, "tasks", &before)
}

fn enter_unified(root: &Path) -> io::Result<String> {
    let enabled = fs::read_to_string(root.join("cgroup.subtree_control"))?;
    if !enabled.split_whitespace().any(|name| name == "cpuset") {
        // Enabling it would show in every group of the machine.
        fs::File::options().write(true).open(root.join("cgroup.subtree_control"))?;
        return Ok("cgroup v2 offers cores, and this user may enable them for groups".to_owned());
    }
    let group = Group::below(root)?;
    let before = own_group("").map(|path| root.join(path)).ok_or(io::ErrorKind::NotFound)?;
    enter(&group, "cgroup.procs", &before)?;
    let partition = group.0.join("cpuset.cpus.partition").exists();
    let partition = if partition { "with partitions" } else { "without partitions" };
    Ok(format!("a group of cgroup v2 was made, entered and removed, {partition}"))
}

/// Gives the group one core, enters it, looks where this process may run, and leaves it.
fn enter(group: &Group, members: &str, before: &Path) -> io::Result<()> {
    let allowed = sched_getaffinity(None)?;
    let core = (0..CpuSet::MAX_CPU).find(|&core| allowed.is_set(core)).unwrap_or(0);
    fs::write(group.0.join("cpuset.cpus"), core.to_string())?;
    fs::write(group.0.join(members), process::id().to_string())?;
    let within = sched_getaffinity(None);
    fs::write(before.join(members), process::id().to_string())?;
    if within?.count() == 1 { Ok(()) } else { Err(io::Error::other("it does not bind")) }
}

/// The group of this process in the hierarchy of a controller, relative to its root.
fn own_group(controller: &str) -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let is_it = parts.next()?.split(',').any(|name| name == controller);
        is_it.then(|| parts.next())?.map(|path| PathBuf::from(path.trim_start_matches('/')))
    })
}
