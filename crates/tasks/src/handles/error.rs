//! Why a shared blob was not put, or is not to be had.

use tidings_tasks_core::message::Answer;
use tidings_tasks_core::output::SharedBlob;

use crate::blobs::BlobError;
use crate::net::NetError;
use crate::net::depot::DepotError;
use crate::session::SessionEnded;

use super::place::FOLDER;

/// Why something was not done with a shared blob. Nothing was left behind.
#[derive(Debug, thiserror::Error)]
pub enum ShareError {
    /// Nobody serves it any more, or it was freed.
    #[error(
        "the blob of {} bytes that was put on {} (sha256 {}) is gone: {why}; let whoever has put \
         it do so again, and hold it until a tuple names it",
        blob.bytes, blob.depot.host, short(&blob.hash)
    )]
    Gone {
        /// Which.
        blob: SharedBlob,
        /// Why.
        why: String,
    },
    /// The folder of this host says so.
    #[error("{0}{also}", also = remedy(.0))]
    Blob(#[from] BlobError),
    /// The owner's host cannot be reached, or does not say what is expected of it.
    #[error("the blob that was put on {host} cannot be fetched: {why}")]
    Fetch {
        /// Its host.
        host: String,
        /// Why.
        why: DepotError,
    },
    /// Others cannot be let in.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The session has ended.
    #[error(transparent)]
    Ended(#[from] SessionEnded),
    /// The coordinator has answered something else.
    #[error("the answer about a depot was {0:?}")]
    Answer(Box<Answer>),
    /// The process is ending.
    #[error("the runtime is ending")]
    Ending,
}

/// What helps besides, where memory is full.
fn remedy(error: &BlobError) -> String {
    match error {
        BlobError::Full { .. } => {
            format!(", free what is shared and not needed, or name another folder with {FOLDER}")
        }
        _ => String::new(),
    }
}

/// The first digits of a hash, by which people tell blobs apart.
fn short(hash: &[u8; 32]) -> String {
    let mut digits = crate::blobs::hex(hash);
    digits.truncate(12);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_memory_is_full_the_folder_and_the_remedy_are_named() {
        let folder = "/dev/shm/tidings-0/x/new".into();
        let full = ShareError::from(BlobError::Full { folder, why: "none left".to_owned() });
        let text = full.to_string();
        assert!(text.contains("/dev/shm/tidings-0/x/new") && text.contains(FOLDER), "{text}");
        let other = ShareError::from(BlobError::TooLarge).to_string();
        assert!(!other.contains(FOLDER), "{other}");
    }
}
