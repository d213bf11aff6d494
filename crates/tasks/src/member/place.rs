//! Places: where the service of a store is, as a member knows it, and why it cannot be had.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tidings_tasks_core::id::Part;
use tokio::sync::watch;

use crate::net::NetError;
use crate::net::endpoint::Endpoint;
use crate::parts::PartsError;
use crate::service::Services;
use crate::store::address::OpenError;

/// The first wait for a holder that does not listen yet; it doubles up to [`LONGEST_WAIT`].
pub(super) const FIRST_WAIT: Duration = Duration::from_millis(2);
pub(super) const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// How long a role is left to others by a member that only asks: longer than those who wait for it
/// need to see that it is free.
pub(super) const LEFT_TO_OTHERS: Duration = Duration::from_secs(1);

/// What the address of a process begins with.
pub(super) const SCHEME: &str = "tcp://";

/// The time that a member has to give up what it serves.
pub(super) const FAREWELL: Duration = Duration::from_secs(3);

/// Where the service is.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Nobody serves the store, as far as is known; why, if that is known.
    Nowhere(Option<LinkError>),
    /// In this process, which may listen for other hosts.
    Here(Services, Option<Endpoint>),
    /// Behind this socket.
    There(PathBuf),
    /// At this place of the network.
    Away(Endpoint),
    /// It is not to be had.
    Failed(LinkError),
}

impl Place {
    /// Why the store cannot be reached, if that is known.
    pub(super) fn trouble(&self) -> Option<LinkError> {
        match self {
            Self::Nowhere(trouble) => trouble.clone(),
            _ => None,
        }
    }
}

/// Where the services of all parts are.
///
/// In a store that several processes coordinate each part has a place. Else all parts have that of
/// the first.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) first: watch::Receiver<Place>,
    pub(super) others: Others,
}

/// The places of the parts behind the first, once they are known to have some of their own.
pub(super) type Others = Arc<OnceLock<Vec<watch::Sender<Place>>>>;

/// The places of the parts behind the first that are known.
pub(super) fn places_of(others: &Others) -> &[watch::Sender<Place>] {
    others.get().map_or(&[], Vec::as_slice)
}

impl Place {
    /// Those of the parts behind the first, before anything is known of them.
    pub(super) fn nowhere(parts: u16) -> Vec<watch::Sender<Self>> {
        (1..parts).map(|_| watch::channel(Self::Nowhere(None)).0).collect()
    }
}

impl Places {
    /// Where the service of a part is.
    pub(super) fn of(&self, part: Part) -> watch::Receiver<Place> {
        let at = usize::from(part.0).checked_sub(1);
        let own = at.and_then(|at| places_of(&self.others).get(at));
        own.map_or_else(|| self.first.clone(), watch::Sender::subscribe)
    }

    /// All that are known.
    pub(super) fn all(&self) -> Vec<Place> {
        let others = places_of(&self.others).iter().map(|place| place.borrow().clone());
        core::iter::once(self.first.borrow().clone()).chain(others).collect()
    }
}

/// Whether a member takes a role that is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bid {
    AtOnce,
    IfNobodyElse,
}

/// Why there is no link to a service.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LinkError {
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] Arc<OpenError>),
    /// The process that serves the store does not let this one in, or this one cannot listen.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The servers of the store are silent so far.
    #[error("{0} has not answered yet: are these its servers, and do most of them run?")]
    Silent(String),
    /// The way to the others is not known.
    #[error("{place}: {why}")]
    Route {
        /// The store.
        place: String,
        /// What the system said.
        why: String,
    },
    /// The servers of the store no longer answer.
    #[error("{place}: {why}; do most of its servers run?")]
    Lost {
        /// The store.
        place: String,
        /// What was noticed.
        why: String,
    },
    /// How many parts the store has is not known.
    #[error("{place}: {why}")]
    Parts {
        /// The store.
        place: String,
        /// What is wrong.
        why: PartsError,
    },
    /// The role names no address that this program knows.
    #[error(
        "{coordinator} serves {place} at `{address}`, which is no address: use programs of one \
         version"
    )]
    Role {
        /// The store.
        place: String,
        /// Who serves it.
        coordinator: String,
        /// Where it says to be.
        address: String,
    },
    /// The member has ended.
    #[error("this process no longer takes part in the store")]
    Ended,
}

/// Waits until the member is to end.
pub(super) async fn until_left(leaving: &watch::Receiver<bool>) {
    let mut leaving = leaving.clone();
    if leaving.wait_for(|is_leaving| *is_leaving).await.is_err() {
        // It was dropped, and with it whoever waits.
        core::future::pending::<()>().await;
    }
}
