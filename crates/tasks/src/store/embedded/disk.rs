//! The file under redb, and what went wrong with it.
//!
//! redb does nothing more after an error of the file; the store then has to open it again. What
//! that may rely on depends on the error. A write that was refused for want of space has left no
//! doubt: what the file holds can be read from it. But when a *sync* fails, the kernel may have
//! dropped what it was to write and still show it to readers, also to another process: only after
//! a restart of the machine do readers see what is on the disk. So a [`Disk`] remembers which of
//! both it was.
//!
//! Source: redb's own `FileBackend`; Rebello et al., "Can Applications Recover from fsync
//! Failures?", USENIX ATC 2020.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// What the file refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// Space, in the words of the system. The file can be opened again.
    Space(String),
    /// Something else. What is on the disk is not known.
    Other(String),
}

/// A file, opened once for all the times that redb opens it.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    file: Arc<File>,
    /// The first failure since redb opened it.
    failure: Arc<Mutex<Option<Failure>>>,
    /// What the next calls of its kind are to meet.
    #[cfg(test)]
    planned: Arc<Mutex<Vec<Failure>>>,
    /// What was done to the file.
    #[cfg(test)]
    calls: Arc<Mutex<Vec<Call>>>,
}

/// What was done to a file.
#[cfg(test)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Call {
    /// These bytes were written there.
    Write(u64, Vec<u8>),
    /// It got this length.
    SetLen(u64),
    /// All before was synced.
    Sync,
}

impl Disk {
    pub(super) fn new(file: File) -> Self {
        Self {
            file: file.into(),
            failure: Arc::default(),
            #[cfg(test)]
            planned: Arc::default(),
            #[cfg(test)]
            calls: Arc::default(),
        }
    }

    /// The same file without the failures of before. What still uses the old one can no longer
    /// write to it, once that has failed.
    pub(super) fn again(&self) -> Self {
        Self { failure: Arc::default(), ..self.clone() }
    }

    /// The first failure.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.failed().clone()
    }

    /// Makes a later call fail: the next for want of space, or the next sync for another reason.
    #[cfg(test)]
    pub(super) fn fail(&self, failure: Failure) {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
    }

    /// What was done to the file since it was opened.
    #[cfg(test)]
    pub(super) fn recorded(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How much was done to the file since it was opened.
    #[cfg(test)]
    pub(super) fn calls(&self) -> usize {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    #[cfg(test)]
    fn record(&self, call: Call) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    /// Lets a call fail that is to.
    #[cfg(test)]
    fn meet(&self, sync: bool) -> io::Result<()> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let is_next = |failure: &Failure| sync == matches!(failure, Failure::Other(_));
        let Some(next) = planned.iter().position(is_next) else { return Ok(()) };
        let failure = planned.remove(next);
        self.failed().get_or_insert(failure);
        Err(io::Error::other("it was to fail"))
    }

    fn failed(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something unless something else failed before.
    fn attempt<T>(&self, sync: bool, call: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        if let Some(failure) = &*self.failed() {
            return Err(io::Error::other(format!("{failure:?}")));
        }
        #[cfg(test)]
        self.meet(sync)?;
        call(&self.file).inspect_err(|error| {
            let what = error.to_string();
            let space = is_space(error) && !sync;
            let failure = if space { Failure::Space(what) } else { Failure::Other(what) };
            self.failed().get_or_insert(failure);
        })
    }
}

/// Whether an error says that there is no space.
pub(super) fn is_space(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.attempt(false, |file| Ok(file.metadata()?.len()))
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.attempt(false, |file| file.read_exact_at(&mut bytes, offset))?;
        Ok(bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let grows = len > self.len()?;
        self.attempt(false, |file| file.set_len(len))?;
        #[cfg(test)]
        self.record(Call::SetLen(len));
        // redb states the length in the header, and stops at a file that is shorter than that: so
        // the length must be on the disk before the header can be.
        if grows { self.sync_data(false) } else { Ok(()) }
    }

    fn sync_data(&self, _eventual: bool) -> io::Result<()> {
        self.attempt(true, File::sync_data)?;
        #[cfg(test)]
        self.record(Call::Sync);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.attempt(false, |file| file.write_all_at(data, offset))?;
        #[cfg(test)]
        self.record(Call::Write(offset, data.to_vec()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failure_nothing_is_written_until_it_is_opened_again() {
        let disk = Disk::new(tempfile::tempfile().unwrap());
        disk.write(0, b"1").unwrap();
        let refused = disk.attempt(false, |_| Err::<(), _>(ErrorKind::StorageFull.into()));
        assert!(refused.is_err() && matches!(disk.failure(), Some(Failure::Space(_))));
        assert!(disk.write(0, b"2").is_err());
        let again = disk.again();
        assert_eq!((again.failure(), again.read(0, 1).unwrap()), (None, b"1".to_vec()));
    }

    #[test]
    fn no_space_in_a_sync_leaves_doubt() {
        let disk = Disk::new(tempfile::tempfile().unwrap());
        let refused = disk.attempt(true, |_| Err::<(), _>(ErrorKind::StorageFull.into()));
        assert!(refused.is_err() && matches!(disk.failure(), Some(Failure::Other(_))));
    }
}
