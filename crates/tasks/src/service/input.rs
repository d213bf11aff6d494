//! What reaches a service from those who use it.

use tidings_tasks_core::coordinator::Counters;
use tidings_tasks_core::message::{Call, Message, Peer, Request};
use tokio::sync::{mpsc, oneshot};

/// What reaches the service.
#[derive(Debug)]
pub(super) enum Input {
    Open(Peer, mpsc::Sender<Message>),
    Request(Peer, Call, Request),
    Close(Peer),
    HostLost(String),
    Count(oneshot::Sender<(Counters, usize)>),
    Settle(oneshot::Sender<()>),
}
