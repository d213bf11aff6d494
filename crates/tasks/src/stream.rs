//! Streams: requests and messages over any stream of bytes, of one host or between two.

use std::io;

use tidings_tasks_core::message::{Call, Message, Request};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

use crate::frame;
use crate::service::{Connection, Sender};

/// Messages or requests that wait to be written or handled.
const QUEUE: usize = 1_024;

/// Messages or requests that are written at once.
const BATCH: usize = 256;

/// Passes on requests and messages until either side ends.
pub(crate) async fn pump(
    reading: impl AsyncRead + Unpin,
    writing: impl AsyncWrite + Unpin,
    connection: Connection,
) -> io::Result<()> {
    let (sender, receiver) = connection.split();
    tokio::select! {
        ended = take_requests(reading, sender) => ended,
        ended = write_all(writing, receiver.into_inner()) => ended,
    }
}

async fn take_requests(reading: impl AsyncRead + Unpin, sender: Sender) -> io::Result<()> {
    let (mut reading, mut buffer) = (BufReader::new(reading), Vec::new());
    while let Some((call, request)) = frame::read(&mut reading, &mut buffer).await? {
        if sender.send(call, request).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// Writes what comes, as much as there is with one call.
async fn write_all<T: minicbor::Encode<()>>(
    mut writing: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<T>,
) -> io::Result<()> {
    let (mut buffer, mut batch) = (Vec::new(), Vec::new());
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        buffer.clear();
        for one in batch.drain(..) {
            frame::append(&mut buffer, &one)?;
        }
        writing.write_all(&buffer).await?;
        writing.flush().await?;
    }
    Ok(())
}

/// A connection to a service in another process.
#[derive(Debug)]
pub struct Remote {
    requests: mpsc::Sender<(Call, Request)>,
    messages: mpsc::Receiver<Message>,
}

impl Remote {
    /// Over a stream whose other side has said which version it speaks.
    pub(crate) fn over(
        reading: impl AsyncRead + Unpin + Send + 'static,
        writing: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Self {
        let (requests, queue) = mpsc::channel(QUEUE);
        let (sender, messages) = mpsc::channel(QUEUE);
        tokio::spawn(read_all(reading, sender));
        tokio::spawn(write_all(writing, queue));
        Self { requests, messages }
    }

    /// Sends a request; `false` if the connection has ended.
    pub async fn send(&self, call: Call, request: Request) -> bool {
        self.requests.send((call, request)).await.is_ok()
    }

    /// The next message; `None` once the connection has ended.
    pub async fn receive(&mut self) -> Option<Message> {
        self.messages.recv().await
    }
}

async fn read_all(
    reading: impl AsyncRead + Unpin,
    sender: mpsc::Sender<Message>,
) -> io::Result<()> {
    let (mut reading, mut buffer) = (BufReader::new(reading), Vec::new());
    while let Some(message) = frame::read(&mut reading, &mut buffer).await? {
        if sender.send(message).await.is_err() {
            break;
        }
    }
    Ok(())
}
