//! The output of a process as it comes: its end is kept, all of it goes to a file if it is long.
//!
//! The file has no name from the beginning, so nothing is left of it however the worker ends.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use tokio::net::unix::pipe::Receiver;

use crate::work::TAIL_BYTES;

use super::room::Short;

/// What is read at once.
const READ_BYTES: usize = 16 << 10;

/// The bytes of an output that are kept as a blob, from its beginning. Of more, the end is in the
/// report; the rest is only counted.
const MAX_KEPT_BYTES: u64 = 1 << 30;

/// An output that is being read.
#[derive(Debug)]
pub(super) struct Capture {
    pipe: Option<Receiver>,
    /// Where a long output is kept; none: it is not.
    scratch: Option<PathBuf>,
    read: Read,
}

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) bytes_total: u64,
    tail: VecDeque<u8>,
    /// All of it, once it is longer than its end.
    pub(super) whole: Option<File>,
    /// There is no room for all of it.
    pub(super) short: Option<Short>,
}

impl Capture {
    /// Reads from this end of a pipe, and keeps what is long in this folder.
    ///
    /// # Errors
    /// It is no pipe.
    pub(super) fn new(pipe: OwnedFd, scratch: Option<PathBuf>) -> io::Result<Self> {
        let pipe = Some(Receiver::from_owned_fd(pipe)?);
        Ok(Self { pipe, scratch, read: Read::default() })
    }

    /// Waits until something comes and takes it. Never ends once the output has ended. May be
    /// dropped at any time.
    pub(super) async fn pump(&mut self) {
        self.readable().await;
        self.take_some();
    }

    /// Waits until something comes. Never ends once the output has ended.
    pub(super) async fn readable(&self) {
        match &self.pipe {
            // What is wrong with a pipe is told by reading it.
            Some(pipe) => drop(pipe.readable().await),
            None => core::future::pending().await,
        }
    }

    /// Takes some of what has come.
    pub(super) fn take_some(&mut self) {
        self.take(Receiver::try_read);
    }

    /// Waits until the output ends.
    pub(super) async fn finish(&mut self) {
        while self.pipe.is_some() {
            self.pump().await;
        }
    }

    /// Takes what is there now, at most 2 MiB: a writer must not keep the worker.
    pub(super) fn take_rest(&mut self) {
        // The runtime of tokio may not have seen yet that there is something, so the pipe, which
        // does not block, is asked itself.
        let read = |pipe: &Receiver, buffer: &mut [u8]| Ok(rustix::io::read(pipe, buffer)?);
        for _ in 0..(2 << 20) / READ_BYTES {
            if !self.take(read) {
                break;
            }
        }
    }

    /// Whether there is no room for all that comes.
    pub(super) fn is_short(&self) -> bool {
        self.read.short.is_some()
    }

    /// What was read since the last time; what follows is of another task.
    pub(super) fn split(&mut self) -> Read {
        std::mem::take(&mut self.read)
    }

    /// Takes some of what is there. Returns whether there may be more.
    fn take(&mut self, read: impl Fn(&Receiver, &mut [u8]) -> io::Result<usize>) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut buffer = [0; READ_BYTES];
        match read(pipe, &mut buffer) {
            Ok(0) => self.pipe = None,
            Ok(bytes) => self.read.add(&buffer[..bytes], self.scratch.as_ref()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => self.pipe = None,
        }
        self.pipe.is_some()
    }
}

impl Read {
    /// The end of it.
    pub(super) fn tail(&self) -> Vec<u8> {
        self.tail.iter().copied().collect()
    }

    fn add(&mut self, bytes: &[u8], scratch: Option<&PathBuf>) {
        let before = self.bytes_total;
        self.bytes_total += bytes.len() as u64;
        if let Some(scratch) = scratch {
            if let Err(error) = self.keep(before, bytes, scratch) {
                // Without room others do the task; whatever else it is costs the blob.
                self.short = Short::of_file(scratch, self.bytes_total, &error);
                self.whole = None;
            }
        }
        let start = bytes.len().saturating_sub(TAIL_BYTES);
        self.tail.extend(&bytes[start..]);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
    }

    /// Writes to the file, which begins when the end alone no longer has all.
    fn keep(&mut self, before: u64, bytes: &[u8], scratch: &PathBuf) -> io::Result<()> {
        let was_short = before <= TAIL_BYTES as u64;
        if was_short && self.bytes_total > TAIL_BYTES as u64 {
            let mut file = tempfile::tempfile_in(scratch)?;
            file.write_all(&self.tail())?;
            self.whole = Some(file);
        }
        let room = MAX_KEPT_BYTES.saturating_sub(before).min(bytes.len() as u64);
        match &mut self.whole {
            Some(file) => file.write_all(&bytes[..room as usize]),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_end_and_the_whole_are_kept(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..5_000), 0..8),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let (mut read, scratch) = (Read::default(), folder.path().to_owned());
            for piece in &pieces {
                read.add(piece, Some(&scratch));
            }
            let all = pieces.concat();
            prop_assert_eq!(read.bytes_total, all.len() as u64);
            prop_assert_eq!(read.tail(), &all[all.len().saturating_sub(TAIL_BYTES)..]);
            prop_assert_eq!(read.whole.is_some(), all.len() > TAIL_BYTES);
            if let Some(mut file) = read.whole {
                let mut whole = Vec::new();
                file.rewind().unwrap();
                file.read_to_end(&mut whole).unwrap();
                prop_assert_eq!(whole, all);
            }
        }
    }

    #[test]
    fn without_a_folder_only_the_end_is_kept() {
        let mut read = Read::default();
        read.add(&[7; 10_000], None);
        assert_eq!((read.bytes_total, read.tail().len()), (10_000, TAIL_BYTES));
        let missing = PathBuf::from("/no/such/folder");
        read.add(&[7; 10_000], Some(&missing));
        assert!(read.whole.is_none());
    }
}
