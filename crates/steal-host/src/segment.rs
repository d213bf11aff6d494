//! Making a segment: a file that appears whole, in the place of one that was left by a killed run,
//! and never of one in use.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tidings_pages::{Report, Shared};

use crate::error::CreateError;
use crate::layout::Shape;
use crate::memory::{Memory, Refusal};
use crate::rules::Rules;

/// The memory that workers of this host join, as its maker has it. Dropped, the file's name is
/// gone; who has joined keeps the memory as long as it lives.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    file: File,
}

impl Segment {
    /// Makes a segment for so many workers at `path`, best in a file system in memory such as
    /// `/dev/shm`. One that is there already is replaced if none of its processes lives.
    ///
    /// # Errors
    /// If no segment has these rules, another one is in use, something else is there, or there is
    /// no room. Nothing has changed then.
    pub fn create(path: &Path, workers: u32, rules: &Rules) -> Result<Self, CreateError> {
        let shape = rules.shape(workers).ok_or(CreateError::Rules { workers })?;
        let beside = beside(path)?;
        let unmade = |source| unmade(path, shape, source);
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unmade(error))?,
            _ => {}
        }
        let (file, _) = Memory::create(&beside, shape, rules).map_err(unmade)?;
        let placed = place(&beside, path);
        let _ = fs::remove_file(&beside); // it has its name, or its maker an error
        placed.map(|()| Self { path: path.to_owned(), file })
    }

    /// Puts it on pages of 2 MiB, for all who join it, as far as it fills such pages and the kernel
    /// has them; the report is of these. The usual segment has 16 MiB of rings.
    ///
    /// # Errors
    /// If the kernel does not say what it gave.
    pub fn enlarge_pages(&self) -> io::Result<Report> {
        let bytes = self.file.metadata()?.len();
        let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        tidings_pages::enlarge(&Shared::for_writing(&self.file, bytes)?.extent())
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        let mine = self.file.metadata().map(|own| (own.dev(), own.ino()));
        let there = fs::symlink_metadata(&self.path).map(|there| (there.dev(), there.ino()));
        if mine.is_ok() && mine.ok() == there.ok() {
            let _ = fs::remove_file(&self.path); // what remains is replaced the next time
        }
    }
}

fn unmade(path: &Path, shape: Shape, source: io::Error) -> CreateError {
    let (path, bytes) = (path.to_owned(), shape.file_bytes());
    match source.kind() {
        io::ErrorKind::StorageFull => CreateError::Full { path, bytes },
        _ => CreateError::Io { path, source },
    }
}

/// The name under which a segment is made, in the same directory.
fn beside(path: &Path) -> Result<PathBuf, CreateError> {
    let name = path.file_name().ok_or_else(|| CreateError::Io {
        path: path.to_owned(),
        source: io::Error::other("the path names no file"),
    })?;
    let mut name = name.to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(name))
}

/// Gives the new file its name.
fn place(beside: &Path, path: &Path) -> Result<(), CreateError> {
    let unplaced = |source| CreateError::Io { path: path.to_owned(), source };
    match fs::hard_link(beside, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            check_left(path)?;
            fs::rename(beside, path).map_err(unplaced)
        }
        linked => linked.map_err(unplaced),
    }
}

/// Whether what is there was left by a run of which nothing lives.
fn check_left(path: &Path) -> Result<(), CreateError> {
    let owned = path.to_owned();
    match Memory::open(path) {
        Ok((memory, _)) => match memory.living() {
            Some(identity) => Err(CreateError::InUse { path: owned, pid: identity.pid() }),
            None => Ok(()),
        },
        Err(Refusal::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(Refusal::Io(source)) => Err(CreateError::Io { path: owned, source }),
        Err(_) => Err(CreateError::Foreign { path: owned }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::MAX_WORKERS;
    use crate::mapping;

    #[test]
    fn a_segment_in_use_and_a_foreign_file_stay() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("segment");
        let segment = Segment::create(&path, 2, &Rules::default()).expect("room");
        let again = Segment::create(&path, 3, &Rules::default()).expect_err("in use");
        assert!(matches!(again, CreateError::InUse { pid, .. } if pid == std::process::id()));
        assert_eq!(fs::read_dir(directory.path()).expect("it").count(), 1);
        drop(segment);
        assert!(!path.exists());
        fs::write(&path, "a letter").expect("room");
        let again = Segment::create(&path, 3, &Rules::default()).expect_err("foreign");
        assert!(matches!(again, CreateError::Foreign { .. }), "{again}");
        assert_eq!(fs::read_dir(directory.path()).expect("it").count(), 1);
    }

    #[test]
    fn its_rings_are_put_on_large_pages_where_there_are_some() {
        let directory = tempfile::tempdir_in("/dev/shm").expect("a directory in memory");
        let segment = Segment::create(&directory.path().join("segment"), 24, &Rules::default());
        let report = segment.expect("room").enlarge_pages().expect("there is memory");
        assert!(report.resident_kib >= 8 << 10, "of some 16 MiB of rings: {report:?}");
    }

    /// No file system in memory has room for 64 TiB.
    #[test]
    fn a_full_file_system_is_named_with_what_is_needed() {
        let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
        let path = directory.path().join("segment");
        let full = mapping::create(&path, 1 << 46).expect_err("no room");
        let shape = Rules::default().shape(2).expect("a shape");
        let error = unmade(&path, shape, full);
        assert!(matches!(error, CreateError::Full { .. }), "{error}");
        assert!(error.to_string().contains(&format!("{} bytes", shape.file_bytes())));
    }

    #[test]
    fn no_segment_has_no_worker_or_too_many() {
        let path = Path::new("/dev/shm/tidings-never");
        for workers in [0, MAX_WORKERS + 1] {
            let refused = Segment::create(path, workers, &Rules::default()).expect_err("none");
            assert!(matches!(refused, CreateError::Rules { .. }));
        }
    }
}
