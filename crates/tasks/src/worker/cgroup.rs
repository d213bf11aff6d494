//! Control groups (cgroup v2): one for each task, where the worker may make them.
//!
//! What is in one cannot leave it, unlike a process group: all that a task has started is killed
//! together, its processor time is counted whole, and the kernel keeps its memory within a limit.
//! They lie below the group in which the worker is. Whether that is possible depends on who the
//! worker is and how it was started (for systemd: `Delegate=yes`); without them everything works
//! by process group, and a memory limit by measuring.
//!
//! Source: Documentation/admin-guide/cgroup-v2.rst of Linux.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FlockOperation, flock};

use super::system::{self, Preparation};

/// How the names of workers' groups begin.
const NAME: &str = "tidings-";

/// Workers of this process so far: each has a group of its own.
static WORKERS: AtomicU64 = AtomicU64::new(0);

/// The control groups of a worker. Dropped, it kills what is in them.
#[derive(Debug)]
pub(super) struct Cgroups {
    folder: PathBuf,
    /// The folder, locked: others remove a group of which nobody has the lock.
    _lock: OwnedFd,
    has_memory: bool,
    made: AtomicU64,
    leftovers: Leftovers,
}

/// Makes a folder that others leave alone; nothing, if one of them was faster than the lock.
fn make_locked(folder: &Path) -> Option<OwnedFd> {
    fs::create_dir(folder).ok()?;
    let lock = locked(folder)?;
    folder.exists().then_some(lock)
}

/// A folder with a lock that goes when this process ends.
fn locked(folder: &Path) -> Option<OwnedFd> {
    let file = OwnedFd::from(File::open(folder).ok()?);
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// Removes the groups of workers that were killed together with what watched over them. Numbers of
/// processes mean something within one container alone, so the lock decides.
fn remove_left(own: &Path) {
    for entry in fs::read_dir(own).into_iter().flatten().flatten() {
        let (name, folder) = (entry.file_name(), entry.path());
        let worker = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next());
        if worker.is_none_or(|worker| Path::new("/proc").join(worker).exists()) {
            continue;
        }
        let Some(_lock) = locked(&folder) else { continue };
        for inner in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(inner.path());
        }
        // One that still has processes stays.
        let _ = fs::remove_dir(folder);
    }
}

/// Groups whose processes were killed and were not gone yet.
type Leftovers = Arc<Mutex<Vec<PathBuf>>>;

/// The control group of a task. Dropped, it kills what is in it.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
    is_limited: bool,
    leftovers: Leftovers,
}

impl Cgroups {
    /// Makes a group for a worker, if that is possible here.
    pub(super) fn make() -> Option<Self> {
        let own = own_folder(Path::new("/proc/self"))?;
        let number = WORKERS.fetch_add(1, Ordering::Relaxed);
        Self::make_in(&own, &format!("{NAME}{}-{number}", std::process::id()))
    }

    fn make_in(own: &Path, name: &str) -> Option<Self> {
        remove_left(own);
        let folder = own.join(name);
        let lock = (0..3).find_map(|_| make_locked(&folder))?;
        // Without the controller there are groups all the same, only no limits.
        let _ = fs::write(own.join("cgroup.subtree_control"), "+memory");
        let has_memory = fs::write(folder.join("cgroup.subtree_control"), "+memory").is_ok();
        let leftovers = Leftovers::default();
        let all = Self { folder, _lock: lock, has_memory, made: AtomicU64::new(0), leftovers };
        // Before Linux 5.14 there is none, and a group that cannot be killed is of no use.
        (all.folder.join("cgroup.kill").exists() && all.can_be_joined()).then_some(all)
    }

    /// Whoever may make groups may still not be allowed to move processes there.
    fn can_be_joined(&self) -> bool {
        let Ok((_group, procs)) = self.add(0) else { return false };
        let preparation =
            Preparation { guardian: None, cgroup: Some(procs), inherited: Vec::new() };
        let mut command = Command::new("/bin/sh");
        system::spawn(command.args(["-c", ":"]), preparation)
            .and_then(|mut child| child.wait())
            .is_ok()
    }

    /// Where they are.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A group for a task, and the file to which its first process writes that it joins.
    ///
    /// # Errors
    /// It could not be made; there is none.
    pub(super) fn add(&self, memory_bytes: u64) -> io::Result<(Cgroup, File)> {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.join(number.to_string());
        let is_limited = self.has_memory && memory_bytes > 0;
        self.sweep();
        fs::create_dir(&folder)?;
        let group = Cgroup { folder, is_limited, leftovers: self.leftovers.clone() };
        if is_limited {
            fs::write(group.folder.join("memory.max"), memory_bytes.to_string())?;
            // With swap it would take longer, and the disk of all. Not everywhere is there any.
            let _ = fs::write(group.folder.join("memory.swap.max"), "0");
            // The limit ends the task, not one process of it.
            let _ = fs::write(group.folder.join("memory.oom.group"), "1");
        }
        let procs = File::options().write(true).open(group.folder.join("cgroup.procs"))?;
        Ok((group, procs))
    }

    /// Removes groups whose processes are gone by now.
    fn sweep(&self) {
        let mut leftovers = self.leftovers.lock().unwrap_or_else(PoisonError::into_inner);
        leftovers.retain(|folder| fs::remove_dir(folder).is_err() && folder.exists());
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let _ = fs::remove_dir(entry.path());
        }
        // What is not dead yet keeps it: then the guardian removes it.
        let _ = fs::remove_dir(&self.folder);
    }
}

impl Cgroup {
    /// Whether the kernel limits its memory.
    pub(super) fn is_limited(&self) -> bool {
        self.is_limited
    }

    /// Kills all that is in it.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
    }

    /// The processor time of all that was ever in it, in microseconds.
    pub(super) fn cpu_us(&self) -> Option<u64> {
        number(&fs::read_to_string(self.folder.join("cpu.stat")).ok()?, "usage_usec")
    }

    /// Whether the kernel has killed in it, for want of memory.
    pub(super) fn was_out_of_memory(&self) -> bool {
        let events = fs::read_to_string(self.folder.join("memory.events")).unwrap_or_default();
        number(&events, "oom_kill").is_some_and(|kills| kills > 0)
    }

    /// The processes in it.
    pub(super) fn processes(&self) -> Vec<i32> {
        let all = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        all.lines().filter_map(|line| line.parse().ok()).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill();
        if fs::remove_dir(&self.folder).is_err() {
            // What is not dead yet keeps it.
            let mut leftovers = self.leftovers.lock().unwrap_or_else(PoisonError::into_inner);
            leftovers.push(std::mem::take(&mut self.folder));
        }
    }
}

/// The value of a key in a file of lines `KEY NUMBER`.
fn number(text: &str, key: &str) -> Option<u64> {
    let value = |line: &str| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(value)
}

/// The folder of the control group in which a process is.
fn own_folder(process: &Path) -> Option<PathBuf> {
    let groups = fs::read_to_string(process.join("cgroup")).ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read_to_string(process.join("mountinfo")).ok()?;
    let (root, mount) = mounts.lines().find_map(mounted)?;
    // Where only a part of the hierarchy is mounted, paths are below that part.
    let below = Path::new(path).strip_prefix(root).ok()?;
    Some(Path::new(mount).join(below))
}

/// What is mounted where, if a line of mountinfo is of cgroup v2.
fn mounted(line: &str) -> Option<(&str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(3);
    after.starts_with("cgroup2 ").then_some((fields.next()?, fields.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(cgroup: &str, mountinfo: &str) -> Option<PathBuf> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup"), cgroup).unwrap();
        fs::write(folder.path().join("mountinfo"), mountinfo).unwrap();
        own_folder(folder.path())
    }

    #[test]
    fn a_group_is_found_where_the_hierarchy_is_mounted() {
        let hybrid = "9:name=systemd:/\n4:memory:/a\n0::/user.slice/b.scope\n";
        let mounts = "30 20 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      31 20 0:27 / /sys/fs/cgroup/unified rw shared:5 - cgroup2 cgroup2 rw\n";
        let found = Path::new("/sys/fs/cgroup/unified/user.slice/b.scope");
        assert_eq!(own(hybrid, mounts).as_deref(), Some(found));
        let part = "31 20 0:27 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let found = Path::new("/sys/fs/cgroup/y");
        assert_eq!(own("0::/docker/x/y\n", part).as_deref(), Some(found));
        assert_eq!(own("0::/elsewhere\n", part), None);
        assert_eq!(own("4:memory:/a\n", mounts), None);
        assert_eq!(own(hybrid, ""), None);
    }

    #[test]
    fn numbers_are_found_by_their_whole_key() {
        let events = "oom 3\noom_kill 2\noom_group_kill 1\n";
        assert_eq!(number(events, "oom_kill"), Some(2));
        assert_eq!(number(events, "oom_group"), None);
        assert_eq!(number("usage_usec x\n", "usage_usec"), None);
    }

    #[test]
    fn groups_are_removed_that_nobody_has() {
        let own = tempfile::tempdir().unwrap();
        let [left, held, other] = ["tidings-9999999-0", "tidings-9999998-0", "user.slice"];
        for name in [left, held, other] {
            fs::create_dir_all(own.path().join(name).join("0")).unwrap();
        }
        let lock = locked(&own.path().join(held)).unwrap();
        remove_left(own.path());
        let is_there = |name: &str| own.path().join(name).join("0").exists();
        assert_eq!([left, held, other].map(is_there), [false, true, true]);
        assert!(!own.path().join(left).exists());
        drop(lock);
        remove_left(own.path());
        assert!(!is_there(held));
    }

    #[test]
    fn what_is_no_hierarchy_makes_no_groups() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Cgroups::make_in(folder.path(), "a").is_none());
        assert!(Cgroups::make_in(&folder.path().join("none"), "a").is_none());
    }
}
