//! Reaching a store, whoever has it open.
//!
//! A process opens a store itself where it can. A file that another process of this host holds it
//! uses through that process's socket; what is named by `tcp://HOST:PORT` through the process that
//! listens there. Through another process it has the keys that are [offered](crate::net::store).

use std::sync::Arc;

use tidings_blocks::block::Reach;

use super::address::{Address, OpenError};
use super::embedded;
use super::{Lost, Store};
use crate::net::Credentials;
use crate::net::store::remote::RemoteStore;
use crate::socket;

/// A store, and how this process has it.
#[derive(Clone)]
pub struct Reached {
    /// The store.
    pub store: Arc<dyn Store>,
    /// Whether this process has it open itself.
    pub by: Reach,
}

/// Why a store is not reached. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReachError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The process that has it open does not offer it to this one.
    #[error("{at}: {why}; does a process that has the store open run there, with this key?")]
    Through {
        /// The store.
        at: String,
        /// Why.
        why: String,
    },
}

impl Address {
    /// Opens the store, or uses it through the process that has it open.
    ///
    /// # Errors
    /// Neither can be done.
    pub async fn reach(&self, own: &Credentials) -> Result<Reached, ReachError> {
        let through = |reached: Result<RemoteStore, Lost>| match reached {
            Ok(store) => Ok(Reached { store: Arc::new(store), by: Reach::Through }),
            Err(lost) => Err(ReachError::Through { at: self.to_string(), why: lost.0 }),
        };
        if let Self::Tcp(at) = self {
            return through(RemoteStore::at(at, own).await);
        }
        match (self.open(&own.cluster).await, self) {
            (Ok(store), _) => Ok(Reached { store, by: Reach::Direct }),
            (Err(OpenError::File(embedded::OpenError::Held { .. })), Self::File(path)) => {
                through(RemoteStore::behind(socket::beside(path)).await)
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

impl std::fmt::Debug for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reached({:?})", self.by)
    }
}
