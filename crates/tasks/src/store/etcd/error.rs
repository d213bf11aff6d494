//! Why a place in an etcd cannot be used as a store, and what to do about it.

/// The version of the keys and of what lies in them.
pub(super) const FORMAT: u64 = 1;

/// Why a place in an etcd is not used. It is as it was before.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OpenError {
    /// None of the servers answers, or all refuse.
    #[error("{place} cannot be used: {why}; are these its servers, and do most of them run?")]
    Unreachable {
        /// The place.
        place: String,
        /// What the last server said, or the system.
        why: String,
    },
    /// Another version of the program wrote it.
    #[error(
        "{place} has the format {found}, this program knows {FORMAT}: use the program that wrote \
         it, or name another prefix"
    )]
    Format {
        /// The place.
        place: String,
        /// The version of its format.
        found: u64,
    },
    /// It is the store of another cluster.
    #[error("{place} is the store of cluster `{found}`, not `{wanted}`: name another prefix")]
    Cluster {
        /// The place.
        place: String,
        /// Whose it is.
        found: String,
        /// Whose it was to be.
        wanted: String,
    },
    /// Something else lies there.
    #[error("{place} holds keys that are no store of Tidings: name another prefix")]
    NoStore {
        /// The place.
        place: String,
    },
    /// A server acknowledges what is not on its disk.
    #[error(
        "{server} acknowledges commits before they are on its disk: start that etcd without \
         --unsafe-no-fsync"
    )]
    Unsynced {
        /// The server.
        server: String,
    },
}
