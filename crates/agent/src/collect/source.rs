//! A small text file of the kernel that is read repeatedly.
//!
//! It stays open: reading it from offset 0 makes the kernel write it again, in one system call
//! instead of four. A file that is missing, unreadable or not as expected is skipped for
//! [`RETRY_AFTER`] and then tried again.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a source that failed is skipped, and how old a listing of devices may get.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(60);

/// The most bytes read of a file that grows with the number of devices.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// Bytes of a file that holds a number or a line.
pub(super) const LINE_BYTES: usize = 512;

/// Bytes of the longest record of these files. The kernel gives what fits into a page, in whole
/// records: less than a page, and by more than this, is the end.
const RECORD_BYTES: usize = 1024;
const PAGE_BYTES: usize = 4096;

/// What one pass over all sources shares.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// When it is, since the caller's fixed moment.
    pub(super) now: Duration,
    /// The text read last; kept for its allocation.
    scratch: Vec<u8>,
}

/// One file of the kernel.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    file: Option<File>,
    asleep_until: Duration,
}

impl Source {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None, asleep_until: Duration::ZERO }
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What `parse` makes of the file's first `limit` bytes. `None` if it is skipped, cannot be
    /// read or cannot be parsed; in the latter cases it is skipped from then on.
    pub(super) fn read<T>(
        &mut self,
        pass: &mut Pass,
        limit: usize,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        if pass.now < self.asleep_until {
            return None;
        }
        let parsed = self.refill(&mut pass.scratch, limit).and_then(parse);
        if parsed.is_none() {
            self.file = None;
            self.asleep_until = pass.now + RETRY_AFTER;
        }
        parsed
    }

    /// The number that the file holds.
    pub(super) fn read_number(&mut self, pass: &mut Pass) -> Option<i64> {
        self.read(pass, LINE_BYTES, |text| line(text)?.parse().ok())
    }

    fn refill<'s>(&mut self, scratch: &'s mut Vec<u8>, limit: usize) -> Option<&'s [u8]> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let file = self.file.as_ref()?;
        let mut filled = 0;
        loop {
            if filled == scratch.len() {
                scratch.resize((2 * filled).max(4096), 0);
            }
            let end = scratch.len().min(limit);
            let room = end - filled;
            let bytes = file.read_at(&mut scratch[filled..end], filled as u64).ok()?;
            filled += bytes;
            // Checking for the end would make the kernel write all of it once more.
            let ends = bytes < room && bytes + RECORD_BYTES < PAGE_BYTES;
            if bytes == 0 || ends || filled == limit {
                return Some(&scratch[..filled]);
            }
        }
    }
}

/// The first line of a file, trimmed.
pub(super) fn line(text: &[u8]) -> Option<&str> {
    str_of(text)?.lines().next().map(str::trim)
}

/// The text of a file; `None` if it is no UTF-8.
pub(super) fn str_of(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok()
}

/// The first line of a file that is read once in a while.
pub(super) fn line_once(path: &Path) -> Option<String> {
    std::fs::read(path).ok().as_deref().and_then(line).map(str::to_owned)
}

/// The names in a directory, in order; none if it is missing.
pub(super) fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// Something found by listing directories, listed again every [`RETRY_AFTER`].
#[derive(Debug)]
pub(super) struct Listing<T> {
    root: PathBuf,
    find: fn(&Path) -> T,
    found: Option<(Duration, T)>,
}

impl<T: PartialEq> Listing<T> {
    pub(super) fn new(root: PathBuf, find: fn(&Path) -> T) -> Self {
        Self { root, find, found: None }
    }

    /// What was found. Things that are found again as they were are kept, with their open files.
    pub(super) fn get(&mut self, now: Duration) -> &mut T {
        if self.found.as_ref().is_none_or(|(listed, _)| now >= *listed + RETRY_AFTER) {
            let fresh = (self.find)(&self.root);
            let kept = self.found.take().map(|(_, found)| found).filter(|found| *found == fresh);
            self.found = Some((now, kept.unwrap_or(fresh)));
        }
        &mut self.found.as_mut().expect("it was listed just now or before").1
    }
}

impl PartialEq for Source {
    /// Two sources are the same if they are the same file.
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Pass {
        Pass { now: Duration::from_secs(seconds), scratch: Vec::new() }
    }

    #[test]
    fn a_file_is_read_again_each_time() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("file");
        let mut source = Source::new(path.clone());
        for number in [7, 123, -8] {
            std::fs::write(&path, format!("{number}\n")).expect("the directory is writable");
            assert_eq!(source.read_number(&mut at(0)), Some(number));
        }
        let long = vec![b'x'; 10_000];
        std::fs::write(&path, &long).expect("the directory is writable");
        let mut bytes = |limit| source.read(&mut at(0), limit, |text| Some(text.len()));
        assert_eq!((bytes(512), bytes(MAX_BYTES)), (Some(512), Some(10_000)));
    }

    #[test]
    fn a_source_that_failed_is_skipped_for_a_minute() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("file");
        let mut source = Source::new(path.clone());
        assert_eq!(source.read_number(&mut at(5)), None);
        std::fs::write(&path, "7").expect("the directory is writable");
        assert_eq!(source.read_number(&mut at(64)), None);
        assert_eq!(source.read_number(&mut at(65)), Some(7));
        std::fs::write(&path, "seven").expect("the directory is writable");
        assert_eq!(source.read_number(&mut at(66)), None);
        std::fs::write(&path, "8").expect("the directory is writable");
        assert_eq!(source.read_number(&mut at(67)), None);
        assert_eq!(source.read_number(&mut at(126)), Some(8));
    }

    #[test]
    fn a_listing_is_renewed_once_a_minute() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut names = Listing::new(directory.path().to_owned(), names_in);
        assert!(names.get(Duration::ZERO).is_empty());
        std::fs::write(directory.path().join("a"), "").expect("the directory is writable");
        assert!(names.get(Duration::from_secs(59)).is_empty());
        assert_eq!(names.get(Duration::from_secs(60)).as_slice(), ["a"]);
    }
}
