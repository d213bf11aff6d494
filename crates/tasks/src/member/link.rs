//! Links: connections to whoever serves the store.

use tidings_tasks_core::message::{Call, Message, Request};
use tokio::sync::watch;

use super::place::Place;
use crate::net::endpoint::Endpoint;
use crate::service::Connection;
use crate::stream::Remote;

/// A connection to whoever serves the store. It ends when that one does, or when another one is
/// known to serve: a process that is frozen keeps its connections, and answers nothing.
#[derive(Debug)]
pub struct Link(Way);

#[derive(Debug)]
enum Way {
    /// In this process.
    Here(Connection),
    /// To another one of this host.
    There(Remote),
    /// Over the network, to this place, for as long as nobody serves at another one.
    Away(Remote, Endpoint, watch::Receiver<Place>),
}

impl Link {
    pub(super) fn here(connection: Connection) -> Self {
        Self(Way::Here(connection))
    }

    pub(super) fn there(remote: Remote) -> Self {
        Self(Way::There(remote))
    }

    pub(super) fn away(remote: Remote, at: Endpoint, place: watch::Receiver<Place>) -> Self {
        Self(Way::Away(remote, at, place))
    }

    /// Sends a request; `false` if the link has ended.
    pub async fn send(&self, call: Call, request: Request) -> bool {
        match &self.0 {
            Way::Here(connection) => connection.send(call, request).await.is_ok(),
            Way::There(remote) => remote.send(call, request).await,
            Way::Away(remote, at, place) => tokio::select! {
                sent = remote.send(call, request) => sent,
                () = moved(place.clone(), at) => false,
            },
        }
    }

    /// The next message; `None` once the link has ended.
    pub async fn receive(&mut self) -> Option<Message> {
        match &mut self.0 {
            Way::Here(connection) => connection.receive().await,
            Way::There(remote) => remote.receive().await,
            Way::Away(remote, at, place) => tokio::select! {
                message = remote.receive() => message,
                () = moved(place.clone(), at) => None,
            },
        }
    }

    /// The next message, if it is there already.
    pub(crate) fn arrived(&mut self) -> Option<Message> {
        match &mut self.0 {
            Way::Here(connection) => connection.arrived(),
            Way::There(remote) | Way::Away(remote, ..) => remote.arrived(),
        }
    }
}

/// Returns when the service is known to be at another place than this one.
async fn moved(mut place: watch::Receiver<Place>, from: &Endpoint) {
    let is_other = |place: &Place| match place {
        Place::Away(now) => now != from,
        Place::Here(..) => true,
        // The one that was connected to may serve again.
        Place::Nowhere(_) | Place::There(_) | Place::Failed(_) => false,
    };
    if place.wait_for(is_other).await.is_err() {
        // The member has ended: the connection itself shows how that goes on.
        core::future::pending::<()>().await;
    }
}
