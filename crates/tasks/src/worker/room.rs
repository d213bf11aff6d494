//! Room: what a worker does when a disk of its host is full.
//!
//! What cannot be kept here can be kept elsewhere. So a try whose input, output or result finds no
//! space is given back, which is no failure of it, and the worker takes no tasks until there is
//! some again: then it goes on by itself. A result that is there already is worth a short wait
//! first.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;
use tokio::time::Instant;

use crate::blobs::BlobError;
use crate::inputs::InputError;
use crate::net::depot::DepotError;
use crate::payloads::PayloadError;

/// Between two looks whether there is room.
pub(super) const LOOK: Duration = Duration::from_secs(1);

/// How long a result waits for room before its task is given to others, who do it again.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many looks a worker waits for all the room that one task wants.
const INSIST: u32 = 60;

/// The bytes that must fit before a worker goes on, whatever it was short of.
const AT_LEAST_BYTES: u64 = 1 << 20;

/// A folder of this host in which there is no room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Short {
    folder: PathBuf,
    bytes: u64,
    /// Where, why, and what to do about it.
    pub(super) text: String,
}

impl Short {
    /// What an error in writing so many bytes into a folder means, if it is this.
    pub(super) fn of_file(folder: &Path, bytes: u64, error: &io::Error) -> Option<Self> {
        let is_full = matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
        let text = || {
            format!(
                "no space in {}, where outputs and inputs of tasks lie while they run ({error}): \
                 make space there, or name another folder with TMPDIR",
                folder.display()
            )
        };
        is_full.then(|| Self { folder: folder.to_owned(), bytes, text: text() })
    }

    /// Where, why, what to do about it, and how much is wanted.
    pub(super) fn said(&self) -> String {
        format!("{} (at least {} bytes)", self.text, self.wanted_bytes())
    }

    /// Whether there can be room for it: none is made by waiting where all of the disk is less.
    pub(super) fn may_fit(&self) -> bool {
        let Ok(disk) = statvfs(&self.folder) else { return true };
        self.bytes <= disk.f_blocks.saturating_mul(disk.f_frsize)
    }

    /// The same place, as far as all tasks need it.
    pub(super) fn at_least(self) -> Self {
        Self { bytes: AT_LEAST_BYTES, ..self }
    }

    /// What is waited for after so many looks.
    fn after(self, looks: u32) -> Self {
        if looks < INSIST { self } else { self.at_least() }
    }

    fn wanted_bytes(&self) -> u64 {
        self.bytes.max(AT_LEAST_BYTES)
    }

    /// What an error in putting or reading so many bytes means, if it is this.
    pub(super) fn of_payload(error: &PayloadError, bytes: u64) -> Option<Self> {
        let (PayloadError::Blob(here) | PayloadError::Depot(DepotError::Blob(here))) = error else {
            return None;
        };
        let BlobError::Full { folder, .. } = here else { return None };
        Some(Self { folder: folder.clone(), bytes, text: here.to_string() })
    }

    /// The same of an input.
    pub(super) fn of_input(error: &InputError) -> Option<Self> {
        match error {
            InputError::Payload(error) => Self::of_payload(error, 0),
            _ => None,
        }
    }

    /// Waits until there is room; after a while for as much as all tasks need, since others than
    /// the one that wanted more can go on.
    pub(super) async fn over(self) {
        let mut looks = 0;
        loop {
            tokio::time::sleep(LOOK).await;
            looks += 1;
            let this = self.clone().after(looks);
            // A process that is ending needs none.
            if crate::spawn::spawn_blocking(move || this.has_room()).await.unwrap_or(true) {
                return;
            }
        }
    }

    /// Whether there is room: as much is taken, and given back. What else may be wrong there is
    /// said by whatever is written next.
    fn has_room(&self) -> bool {
        let bytes = self.wanted_bytes();
        let is_taken = tempfile::tempfile_in(&self.folder).and_then(|file| {
            match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, bytes) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
                other => Ok(other?),
            }
        });
        is_taken.err().is_none_or(|error| Self::of_file(&self.folder, bytes, &error).is_none())
    }
}

/// Waits for a moment if it is the store that has no room, which is waited for; `false` if it is
/// something else.
pub(super) async fn of_store(error: &PayloadError) -> bool {
    let is_full = matches!(error, PayloadError::Depot(DepotError::Full { .. }));
    if is_full {
        tokio::time::sleep(LOOK).await;
    }
    is_full
}

/// How long something waits that has found no room.
#[derive(Debug)]
pub(super) struct Patience(Instant);

impl Patience {
    pub(super) fn new() -> Self {
        Self(Instant::now() + PATIENCE)
    }

    /// Waits for a moment, after which it may be tried again; `false` if that was done for long
    /// enough.
    pub(super) async fn lasts(&self) -> bool {
        let lasts = Instant::now() < self.0;
        if lasts {
            tokio::time::sleep(LOOK).await;
        }
        lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(folder: &Path, bytes: u64) -> Short {
        let full = io::Error::from_raw_os_error(libc::ENOSPC);
        Short::of_file(folder, bytes, &full).unwrap()
    }

    #[test]
    fn a_folder_and_a_remedy_are_named() {
        let short = short(Path::new("/some/folder"), 1);
        assert!(short.text.contains("/some/folder") && short.text.contains("TMPDIR"));
        assert!(short.said().ends_with("(at least 1048576 bytes)"), "{}", short.said());
        let other = io::Error::from_raw_os_error(libc::EACCES);
        assert_eq!(Short::of_file(Path::new("/"), 1, &other), None);
        let why = "full".to_owned();
        let full = BlobError::Full { folder: "/blobs".into(), why };
        let of_copies = PayloadError::Depot(DepotError::Blob(full.clone()));
        let of_blobs = Short::of_payload(&PayloadError::Blob(full), 1).unwrap();
        assert!(of_blobs.text.contains("/blobs"));
        assert_eq!(Short::of_payload(&of_copies, 1), Some(of_blobs));
        assert_eq!(Short::of_payload(&PayloadError::NoPlace(1), 1), None);
    }

    /// One without room is a small disk of its own: `tests/tasks/room.rs`.
    #[test]
    fn room_is_what_can_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        assert!(short(folder.path(), 1).has_room());
        // What is wrong there is not that it is full.
        assert!(short(&folder.path().join("none"), 1).has_room());
    }

    #[test]
    fn what_is_more_than_the_disk_may_not_fit() {
        let folder = tempfile::tempdir().unwrap();
        assert!(short(folder.path(), 1).may_fit());
        assert!(!short(folder.path(), u64::MAX).may_fit());
        assert!(short(&folder.path().join("none"), u64::MAX).may_fit());
    }

    /// One task wanted more than there will be, and nobody else could go on.
    #[test]
    fn after_a_while_it_is_enough_if_others_can_go_on() {
        let wanted = short(Path::new("/"), 1 << 40);
        let after = |looks| wanted.clone().after(looks).wanted_bytes();
        assert_eq!([after(1), after(59), after(60)], [1 << 40, 1 << 40, 1 << 20]);
    }

    #[tokio::test(start_paused = true)]
    async fn patience_ends() {
        let (patience, begun) = (Patience::new(), Instant::now());
        while patience.lasts().await {}
        assert_eq!(begun.elapsed(), PATIENCE);
    }
}
