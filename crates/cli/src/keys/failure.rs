//! Why a key file was not made or changed.

use std::io;
use std::path::PathBuf;

use tidings_gossip::{KeyError, SignatureError};

/// Why a key file was not made or changed. The file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// There is a file already.
    #[error("{} exists: name another file, or replace it with --force", .0.display())]
    Exists(PathBuf),
    /// The file cannot be read or written.
    #[error("key file {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file does not contain a key ring.
    #[error("key file {}: {source}", path.display())]
    Keys {
        /// The file.
        path: PathBuf,
        /// What is wrong, and in which line.
        source: KeyError,
    },
    /// The file does not contain the secret of a node.
    #[error("identity file {}: {source}", path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: SignatureError,
    },
    /// No node can have this name.
    #[error("{0:?} is not the name of a node: give it with --name, as in its configuration")]
    Name(String),
    /// There is nothing to promote or to drop.
    #[error("key file {} has one key only: add one with `tidings keys add` first", .0.display())]
    OneKey(PathBuf),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes ({0})")]
    Random(io::Error),
}

impl KeyFileError {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Exists(_)
            | Self::Keys { .. }
            | Self::Identity { .. }
            | Self::Name(_)
            | Self::OneKey(_) => 2,
            Self::File { .. } | Self::Random(_) => 1,
        }
    }
}
