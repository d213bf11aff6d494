//! A shared blob that a process holds: its bytes, mapped, for as long as it has them.

use core::ops::Deref;
use std::path::{Path, PathBuf};

use tidings_tasks_core::output::{Depot, SharedBlob};

use super::holder::Hold;
use crate::blobs::Mapped;

/// A shared blob. As long as it is held it stays, also if no tuple names it, where it is put by
/// this process or others of its folder. What was got of another depot is readable so long, and may
/// be freed there.
#[derive(Debug)]
pub struct Held {
    pub(super) blob: SharedBlob,
    pub(super) mapped: Mapped,
    pub(super) moved_bytes: u64,
    pub(super) from: Option<Depot>,
    pub(super) path: PathBuf,
    #[expect(dead_code, reason = "it is held, not read")]
    pub(super) hold: Option<Hold>,
}

impl Held {
    /// Its handle, for tuples.
    pub fn blob(&self) -> &SharedBlob {
        &self.blob
    }

    /// The file in memory that has its bytes, and nothing else: who maps that copies nothing.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes that came from another host for this; none: it lies in memory of this host, and
    /// was mapped as it is.
    pub fn moved_bytes(&self) -> u64 {
        self.moved_bytes
    }

    /// The depot from which this process has copied it, its owner's or one that had copied it
    /// before; none: nothing was copied for this.
    pub fn copied_from(&self) -> Option<&Depot> {
        self.from.as_ref()
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.mapped
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self
    }
}
