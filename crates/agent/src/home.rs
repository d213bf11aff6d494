//! The runtime directory: one agent's home, locked for as long as the agent runs.
//!
//! The lock (`flock` on `agent.lock`) is what makes "is another agent running here?" answerable.
//! The agent releases it at its end, and the kernel with the process, however that ends, so a
//! left-over socket can be removed without asking. Invariant: the holder of a [`Home`] is the only
//! agent in that directory.
//!
//! In a directory that others can write, another user could put a link in the place of the lock and
//! make the agent overwrite its target, and `/tmp/tidings-<uid>` is a name that any user may take
//! first. So the directory, and a link to it, must belong to this user or to root, and must not be
//! writable by everyone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;

const LOCK_FILE: &str = "agent.lock";

/// All users may enter, for the board; only the owner may write. The other files, and the control
/// socket, have permissions of their own.
const DIRECTORY_MODE: u32 = 0o755;

/// The permission bit that lets others write.
const OTHERS_WRITE: u32 = 0o002;

/// The user root.
const ROOT: u32 = 0;

/// The runtime directory, locked.
#[derive(Debug)]
pub(crate) struct Home {
    path: PathBuf,
    lock: File,
}

/// Why the runtime directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// It cannot be created or written.
    #[error(
        "the runtime directory {} cannot be written ({source}): choose another with --runtime-dir, \
         or give this user write permission there", path.display()
    )]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no room left in it.
    #[error(
        "the runtime directory {} has no room left ({source}): free some there, or choose another \
         with --runtime-dir", path.display()
    )]
    Full {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Other users can change it.
    #[error(
        "the runtime directory {} {fault}, so other users could replace the agent's files: choose \
         another with --runtime-dir, or restrict it to this user", path.display()
    )]
    Exposed {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        fault: String,
    },
    /// Another agent uses it.
    #[error(
        "another agent{} runs with the runtime directory {}: stop it, or give this one a directory \
         of its own with --runtime-dir", process(*pid), path.display()
    )]
    Taken {
        /// The directory.
        path: PathBuf,
        /// The other agent's process number, if it is known.
        pid: Option<u32>,
    },
}

impl HomeError {
    /// What it means that a file of the runtime directory `path` cannot be written.
    pub(crate) fn unwritable(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { path, source }
            }
            _ => Self::Unwritable { path, source },
        }
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or(String::new(), |pid| format!(" (process {pid})"))
}

impl Home {
    /// Creates the directory if it is missing, locks it, and removes the socket of an agent that
    /// ended without doing so.
    pub(crate) fn enter(path: &Path) -> Result<Self, HomeError> {
        let unwritable = |source| HomeError::unwritable(path, source);
        let is_new = !path.exists();
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path).map_err(unwritable)?;
        trust(path, geteuid().as_raw())?;
        if is_new {
            // Whatever the umask.
            let mode = fs::Permissions::from_mode(DIRECTORY_MODE);
            fs::set_permissions(path, mode).map_err(unwritable)?;
        }
        let lock = lock(path)?;
        for socket in
            [tidings_control::socket_path(path), tidings_control::reading_socket_path(path)]
        {
            remove_socket(&socket).map_err(unwritable)?;
        }
        Ok(Self { path: path.to_owned(), lock })
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Home {
    /// Unlocks explicitly: a program that another thread is about to start has a copy of the file
    /// until it is executed, and the copy would keep the lock for as long.
    fn drop(&mut self) {
        // Without it the lock goes with the last copy of the file.
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

/// The user whose agent a check of this directory is about: the own, but for root its owner.
pub(crate) fn checked_for(path: &Path) -> Result<u32, HomeError> {
    let user = geteuid().as_raw();
    if user != ROOT {
        return Ok(user);
    }
    let directory = fs::metadata(path).map_err(|source| HomeError::unwritable(path, source))?;
    Ok(directory.uid())
}

/// Rejects a directory, or a link to it, that another than `user` and root could have made or can
/// write in. The directory exists.
pub(crate) fn trust(path: &Path, user: u32) -> Result<(), HomeError> {
    let unreadable = |source| HomeError::unwritable(path, source);
    let directory = fs::metadata(path).map_err(unreadable)?;
    let named = fs::symlink_metadata(path).map_err(unreadable)?;
    let fault = fault([named.uid(), directory.uid()], directory.mode(), user);
    fault.map_or(Ok(()), |fault| Err(HomeError::Exposed { path: path.to_owned(), fault }))
}

/// What is wrong with a directory of these `owners` (of its name, of itself) and this `mode`.
fn fault(owners: [u32; 2], mode: u32, user: u32) -> Option<String> {
    let foreign = owners.into_iter().find(|&owner| owner != user && owner != ROOT);
    let belongs = foreign.map(|owner| format!("belongs to the user {owner}"));
    let writable = || format!("is writable by everyone (mode {:04o})", mode & 0o7777);
    belongs.or_else(|| (mode & OTHERS_WRITE != 0).then(writable))
}

fn lock(path: &Path) -> Result<File, HomeError> {
    let unwritable = |source| HomeError::unwritable(path, source);
    let mut open = OpenOptions::new();
    open.read(true).write(true).create(true).truncate(false);
    open.custom_flags(OFlags::NOFOLLOW.bits() as i32);
    let mut file = open.open(path.join(LOCK_FILE)).map_err(unwritable)?;
    if let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK {
            return Err(unwritable(error.into()));
        }
        let mut pid = String::new();
        let _ = file.read_to_string(&mut pid); // only for the message
        return Err(HomeError::Taken { path: path.to_owned(), pid: pid.trim().parse().ok() });
    }
    let write = |file: &mut File| {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    write(&mut file).map_err(unwritable)?;
    Ok(file)
}

/// The process number of the agent that uses `path`, if there is one.
pub(crate) fn holder(path: &Path) -> Option<u32> {
    let mut file = File::open(path.join(LOCK_FILE)).ok()?;
    let free = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
    let mut pid = String::new();
    file.read_to_string(&mut pid).ok()?;
    if free { None } else { pid.trim().parse().ok() }
}

/// Removes what an earlier agent left; the caller holds the lock. Anything but a socket stays, and
/// fails the binding later.
fn remove_socket(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => fs::remove_file(path),
        _ => Ok(()),
    }
}

/// Replaces a file by one with this text: it is written beside it and renamed, so that a crash
/// leaves the old text or the new one.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension("tmp");
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_agent_is_rejected_until_the_first_has_ended() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("a/b");
        let first = Home::enter(&path).expect("free");
        let message = Home::enter(&path).expect_err("taken").to_string();
        let expected = format!(
            "another agent (process {}) runs with the runtime directory {}: stop it, or give this \
             one a directory of its own with --runtime-dir",
            std::process::id(),
            path.display()
        );
        assert_eq!(message, expected);
        drop(first);
        Home::enter(&path).expect("free again");
    }

    /// As that of a journal in the experiments, the lock of a directory that had been left could
    /// still be held while another thread started a program.
    #[test]
    fn a_directory_that_was_left_is_free_although_a_copy_of_its_lock_is_open() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let home = Home::enter(directory.path()).expect("free");
        let copy = home.lock.try_clone().expect("a copy");
        drop(home);
        Home::enter(directory.path()).expect("it was left");
        drop(copy);
    }

    #[test]
    fn a_left_over_socket_is_removed_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let socket = tidings_control::socket_path(directory.path());
        drop(std::os::unix::net::UnixListener::bind(&socket).expect("fresh"));
        drop(Home::enter(directory.path()).expect("free"));
        assert!(!socket.exists());
        fs::write(&socket, "precious").expect("writable");
        drop(Home::enter(directory.path()).expect("free"));
        assert!(socket.exists());
    }

    #[test]
    fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (home, precious) = (directory.path().join("home"), directory.path().join("precious"));
        fs::create_dir(&home).expect("a fresh directory is writable");
        fs::write(&precious, "precious").expect("writable");
        std::os::unix::fs::symlink(&precious, home.join(LOCK_FILE)).expect("writable");
        assert!(matches!(Home::enter(&home), Err(HomeError::Unwritable { .. })));
        assert_eq!(fs::read_to_string(&precious).expect("there"), "precious");
    }

    #[test]
    fn a_directory_that_others_can_change_is_rejected() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let open = fs::Permissions::from_mode(0o1777);
        fs::set_permissions(directory.path(), open).expect("an own directory");
        let message = Home::enter(directory.path()).expect_err("open").to_string();
        let expected = "is writable by everyone (mode 1777), so other users could replace the \
                        agent's files: choose another with --runtime-dir";
        assert!(message.contains(expected), "{message}");
        assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 0);
        for (owners, mode, fault) in [
            ([7, 7], 0o40_700, None),
            ([ROOT, 7], 0o40_750, None),
            ([7, ROOT], 0o40_770, None),
            ([8, 7], 0o40_700, Some("belongs to the user 8")),
            ([7, 8], 0o40_700, Some("belongs to the user 8")),
        ] {
            assert_eq!(super::fault(owners, mode, 7).as_deref(), fault, "{owners:?}");
        }
    }

    #[test]
    fn a_full_disk_differs_from_a_missing_permission() {
        let of = |kind: io::ErrorKind| HomeError::unwritable(Path::new("/run/t"), kind.into());
        let full = of(io::ErrorKind::StorageFull).to_string();
        assert!(full.starts_with("the runtime directory /run/t has no room left ("), "{full}");
        assert!(full.contains("free some there"), "{full}");
        assert!(matches!(of(io::ErrorKind::PermissionDenied), HomeError::Unwritable { .. }));
    }

    #[test]
    fn an_unwritable_place_is_named_with_the_remedy() {
        let path = Path::new("/dev/null/tidings");
        let message = Home::enter(path).expect_err("not a directory").to_string();
        assert!(message.starts_with("the runtime directory /dev/null/tidings cannot be written ("));
        assert!(message.ends_with("or give this user write permission there"), "{message}");
    }
}
