//! A blob that a program writes itself, into a file in memory: so the bytes are copied once.

use std::path::Path;

use super::error::ShareError;
use super::held::Held;
use super::opened::Handles;
use crate::blobs;

/// A blob that is being written. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct Draft {
    handles: Handles,
    draft: blobs::Draft,
}

impl Handles {
    /// Begins a blob that the program writes.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn draft(&self) -> Result<Draft, ShareError> {
        let draft = self.folder().draft()?;
        Ok(Draft { handles: self.clone(), draft })
    }
}

impl Draft {
    /// The file, which is empty and is to be written.
    pub fn path(&self) -> &Path {
        self.draft.path()
    }

    /// Makes what was written a blob, which is held until that is dropped. Nobody writes to the
    /// file any more. Blocks while the bytes are hashed.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn finish(self) -> Result<Held, ShareError> {
        let Self { handles, mut draft } = self;
        draft.take_written()?;
        handles.own(draft.finish()?, 0)
    }

    /// The same, without a hash: its name is drawn, and nothing of it is read. Who is not on this
    /// host gets it by connections that the cluster's secret key seals, and by nothing else.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn finish_unhashed(self) -> Result<Held, ShareError> {
        let Self { handles, draft } = self;
        handles.own(draft.finish_unhashed()?, 0)
    }
}
