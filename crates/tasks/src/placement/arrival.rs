//! Arrival: that a file comes to be where there is none, told by the kernel.
//!
//! An agent that is started later puts its board in its place by renaming, maybe into a folder that
//! it makes first. So the nearest folder that exists is watched for the name that is missing in it,
//! by inotify; and where a link says where the file will lie, the nearest folder there as well.
//!
//! Invariants:
//! * What comes after [`watch`] has returned is told, but for what is mounted over a watched
//!   folder, and folders above it that are renamed: who waits has to look now and then as well.
//! * Other files in such a folder, however many, wake a waiting process [`PAUSE`] apart.
//!
//! Source: inotify(7).

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Between two times that names are read which nobody waits for.
pub(super) const PAUSE: Duration = Duration::from_millis(250);

/// Links that are followed, each of which leads to another.
const LINKS: usize = 8;

/// How often folders may come to be while the nearest is looked for.
const TIMES: usize = 8;

/// Names that are read at a time: some, or the longest one.
const BYTES: usize = 4_096;

/// Folders that are watched, each for a name.
#[derive(Debug)]
pub(super) struct Watched {
    inotify: OwnedFd,
    awaited: Vec<(i32, OsString)>,
}

/// The same, known to the runtime.
#[derive(Debug)]
pub(super) struct Arrival {
    inotify: AsyncFd<OwnedFd>,
    awaited: Vec<(i32, OsString)>,
}

/// Watches for a file at a path.
///
/// # Errors
/// There are as many watches as this user may have, or a folder may not be read.
pub(super) fn watch(path: &Path) -> io::Result<Watched> {
    let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let mut watched = Watched { inotify, awaited: Vec::new() };
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        watched.watch(&path)?;
        let Ok(target) = fs::read_link(&path) else { return Ok(watched) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(Errno::LOOP.into())
}

impl Watched {
    /// Watches the nearest folder above a path.
    fn watch(&mut self, path: &Path) -> io::Result<()> {
        for _ in 0..TIMES {
            let (watch, missing) = self.nearest(path)?;
            let name = missing.file_name().unwrap_or_default().to_owned();
            self.awaited.push((watch, name));
            // It may have come to be before it was watched for; then what it lacks is missing.
            if missing == path || missing.symlink_metadata().is_err() {
                return Ok(());
            }
        }
        Err(Errno::NOENT.into())
    }

    /// The nearest folder, watched, and the path of what is looked for in it.
    fn nearest<'p>(&self, path: &'p Path) -> io::Result<(i32, &'p Path)> {
        let changes = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ATTRIB;
        let ends = WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
        let mut missing = path;
        while let Some(folder) = missing.parent() {
            let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let flags = changes | ends | WatchFlags::ONLYDIR;
            match inotify::add_watch(&self.inotify, named, flags) {
                Ok(watch) => return Ok((watch, missing)),
                Err(Errno::NOENT) => missing = folder,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::NOENT.into())
    }
}

impl Arrival {
    /// What is told to the runtime that this is called in.
    ///
    /// # Errors
    /// The runtime cannot wait for it.
    #[allow(unsafe_code, reason = "the safe way to do the same is deprecated as unsound")]
    pub(super) fn new(Watched { inotify, awaited }: Watched) -> io::Result<Self> {
        // SAFETY: an `OwnedFd` keeps its descriptor open for as long as it lives, and the same one;
        // the `AsyncFd` takes it, and nothing here exchanges it.
        let inotify = unsafe { AsyncFd::register_with_interest(inotify, Interest::READABLE) }?;
        Ok(Self { inotify, awaited })
    }

    /// Returns when the file may have come, or one of the folders above it.
    pub(super) async fn come(&self) {
        // What cannot be waited for may have come.
        while let Ok(mut ready) = self.inotify.readable().await {
            if self.has_come() {
                return;
            }
            ready.clear_ready();
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reads the names that there are, until one is awaited.
    fn has_come(&self) -> bool {
        let mut bytes = [MaybeUninit::uninit(); BYTES];
        let mut changes = Reader::new(self.inotify.get_ref(), &mut bytes);
        loop {
            match changes.next() {
                Ok(change) => {
                    let name = change.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    // Without a name the folder itself has gone, or there was too much to tell.
                    let is_awaited = |name: &OsStr| {
                        self.awaited.iter().any(|(watch, of)| *watch == change.wd() && of == name)
                    };
                    if name.is_none_or(is_awaited) {
                        return true;
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return error != Errno::AGAIN,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::os::unix::fs::symlink;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn arrival(path: &Path) -> Arrival {
        Arrival::new(watch(path).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_file_that_is_renamed_there_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board");
        let arrival = arrival(&path);
        fs::write(folder.path().join("board.tmp"), "").unwrap();
        fs::rename(folder.path().join("board.tmp"), &path).unwrap();
        arrival.come().await;
    }

    #[tokio::test]
    async fn so_are_folders_above_it_and_their_ends() {
        let folder = tempfile::tempdir().unwrap();
        let (outer, path) = (folder.path().join("run"), folder.path().join("run/tidings/board"));
        let first = arrival(&path);
        fs::create_dir(&outer).unwrap();
        first.come().await;
        let second = arrival(&path);
        fs::remove_dir(&outer).unwrap();
        second.come().await;
        let third = arrival(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        third.come().await;
        let last = arrival(&path);
        fs::write(&path, "").unwrap();
        last.come().await;
    }

    #[tokio::test]
    async fn so_is_what_a_link_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("board");
        symlink("memory/file", &link).unwrap();
        let memory = folder.path().join("memory");
        fs::create_dir(&memory).unwrap();
        let arrival = arrival(&link);
        fs::write(memory.join("file"), "").unwrap();
        arrival.come().await;
    }

    #[tokio::test]
    async fn other_names_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let arrival = arrival(&folder.path().join("board"));
        fs::write(folder.path().join("other"), "").unwrap();
        assert!(!arrival.has_come());
        let waits = pin!(arrival.come());
        assert!(waits.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("board");
        symlink(&link, &link).unwrap();
        assert!(watch(&link).is_err());
        symlink("nowhere", folder.path().join("run")).unwrap();
        assert!(watch(&folder.path().join("run/board")).is_err());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(watch(&folder.path().join("file/board")).is_err());
    }
}
