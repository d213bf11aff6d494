//! A connection to a service in the same process: what a worker or client sends, and what comes.

use tidings_tasks_core::message::{Call, Message, Peer, Request};
use tokio::sync::mpsc;

use super::error::ServiceError;
use super::input::Input;

/// A worker's or client's connection to a service in the same process.
#[derive(Debug)]
pub struct Connection {
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
}

/// The half of a connection that sends. Without it the connection ends.
#[derive(Debug)]
pub struct Sender {
    pub(super) peer: Peer,
    pub(super) inputs: mpsc::Sender<Input>,
}

/// The half of a connection that receives.
#[derive(Debug)]
pub struct Receiver(pub(super) mpsc::Receiver<Message>);

impl Connection {
    /// The halves, for those that send and receive at a time.
    pub fn split(self) -> (Sender, Receiver) {
        (self.sender, self.receiver)
    }

    /// Sends a request with a number that no other request of this session has.
    ///
    /// # Errors
    /// The service has ended.
    pub async fn send(&self, call: Call, request: Request) -> Result<(), ServiceError> {
        self.sender.send(call, request).await
    }

    /// The next message; `None` once the service has ended or taken this connection as gone.
    pub async fn receive(&mut self) -> Option<Message> {
        self.receiver.receive().await
    }

    /// As [`Connection::receive`], if it is there already.
    pub(crate) fn arrived(&mut self) -> Option<Message> {
        self.receiver.0.try_recv().ok()
    }
}

impl Sender {
    /// Sends a request with a number that no other request of this session has.
    ///
    /// # Errors
    /// The service has ended.
    pub async fn send(&self, call: Call, request: Request) -> Result<(), ServiceError> {
        let input = Input::Request(self.peer, call, request);
        self.inputs.send(input).await.map_err(|_| ServiceError::Ended)
    }
}

impl Receiver {
    /// The queue itself.
    pub(crate) fn into_inner(self) -> mpsc::Receiver<Message> {
        self.0
    }

    /// The next message; `None` once the service has ended or taken this connection as gone.
    pub async fn receive(&mut self) -> Option<Message> {
        self.0.recv().await
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let (inputs, peer) = (self.inputs.clone(), self.peer);
        // A full queue makes it wait; without a runtime the service is ending as well.
        let Err(mpsc::error::TrySendError::Full(close)) = inputs.try_send(Input::Close(peer))
        else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { inputs.send(close).await });
        }
    }
}
