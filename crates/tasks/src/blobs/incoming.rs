//! Blobs that come from another folder, in pieces and in order.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::draft::Unnamed;
use super::error::BlobError;
use super::folder::Folder;
use super::handle::Handle;

/// What is believed of the one that a blob comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// It may send anything: the hash of what has come is checked.
    Any,
    /// What has come is what a holder of the cluster's key has sent, byte for byte: it is believed
    /// as those believe it who map the file on its own host.
    Proven,
}

/// A blob that is coming. Dropped, it leaves nothing.
#[derive(Debug)]
pub(crate) struct Incoming {
    unnamed: Unnamed,
    handle: Handle,
    bytes: u64,
    hasher: Option<Sha256>,
}

impl Incoming {
    pub(super) fn begin(
        folder: &Arc<Folder>,
        handle: Handle,
        from: Source,
    ) -> Result<Self, BlobError> {
        let is_checked = from == Source::Any;
        if is_checked && handle.is_drawn() {
            return Err(BlobError::Unproven { handle });
        }
        let hasher = is_checked.then(Sha256::new);
        Ok(Self { unnamed: Unnamed::begin(folder)?, handle, bytes: 0, hasher })
    }

    /// Adds the next piece.
    ///
    /// # Errors
    /// No space, or more has come than the blob has. It is of no use any more.
    pub(crate) fn write(&mut self, piece: &[u8]) -> Result<(), BlobError> {
        self.bytes += piece.len() as u64;
        if self.bytes > self.handle.bytes {
            return Err(self.unnamed.other(self.bytes, &self.handle));
        }
        if let Some(hasher) = &mut self.hasher {
            hasher.update(piece);
        }
        self.unnamed.write(piece)
    }

    /// Makes it the blob, durable as its folder is.
    ///
    /// # Errors
    /// It is another one, or there is no space. Nothing is left of it.
    pub(crate) fn finish(self) -> Result<(), BlobError> {
        let hash = self.hasher.map_or(self.handle.hash, |hasher| hasher.finalize().into());
        if hash != self.handle.hash || self.bytes != self.handle.bytes {
            return Err(self.unnamed.other(self.bytes, &self.handle));
        }
        self.unnamed.name(&self.handle)
    }
}
