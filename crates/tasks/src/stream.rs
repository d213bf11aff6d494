//! Streams: requests and messages over any stream of bytes, of one host or between two.
//!
//! What is too long for a frame is not sent, here or there: its request is refused. To end the
//! connection would not do, since what was not answered is sent again over the next one.

use std::io;

use tidings_tasks_core::message::{Answer, Call, Message, Refusal, Request};
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
    reading: impl AsyncRead + Unpin + Send,
    writing: impl AsyncWrite + Unpin,
    connection: Connection,
) -> io::Result<()> {
    let (sender, receiver) = connection.split();
    let instead = |buffer: &mut Vec<u8>, refused| frame::append(buffer, &refused);
    tokio::select! {
        ended = take_requests(reading, sender) => ended,
        ended = write_all(writing, receiver.into_inner(), instead) => ended,
    }
}

async fn take_requests(reading: impl AsyncRead + Unpin + Send, sender: Sender) -> io::Result<()> {
    let (mut reading, mut buffer) = (BufReader::new(reading), Vec::new());
    while let Some((call, request)) = frame::read(&mut reading, &mut buffer).await? {
        if sender.send(call, request).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// What is written in frames.
trait Framed: minicbor::Encode<()> {
    /// The request that it is, or that it answers.
    fn call(&self) -> Option<Call>;
}

impl Framed for (Call, Request) {
    fn call(&self) -> Option<Call> {
        Some(self.0)
    }
}

impl Framed for Message {
    fn call(&self) -> Option<Call> {
        match self {
            Self::Answer(call, _) => Some(*call),
            _ => None,
        }
    }
}

/// Writes what comes, as much as there is with one call. In the place of what is too long,
/// `instead` gets the refusal of its request.
async fn write_all<T: Framed>(
    mut writing: impl AsyncWrite + Unpin,
    mut queue: mpsc::Receiver<T>,
    instead: impl Fn(&mut Vec<u8>, Message) -> io::Result<()>,
) -> io::Result<()> {
    let (mut buffer, mut batch) = (Vec::new(), Vec::new());
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        buffer.clear();
        for one in batch.drain(..) {
            match (frame::append(&mut buffer, &one), one.call()) {
                (Ok(()), _) => {}
                (Err(error), Some(call)) => instead(&mut buffer, too_long(call, &error))?,
                (Err(error), None) => return Err(error),
            }
        }
        writing.write_all(&buffer).await?;
        writing.flush().await?;
    }
    Ok(())
}

fn too_long(call: Call, error: &io::Error) -> Message {
    let why = format!("{error}: send or ask for less at a time, and pass what is long as blobs");
    Message::Answer(call, Answer::Refused(Refusal::Invalid(why)))
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
        // Messages end with what reads them.
        let refusals = sender.downgrade();
        let instead = move |_: &mut Vec<u8>, refused| {
            if let Some(refusals) = refusals.upgrade() {
                // Beside what is written: who takes messages may wait until a request is sent.
                crate::spawn::spawn(async move { refusals.send(refused).await });
            }
            Ok(())
        };
        crate::spawn::spawn(read_all(reading, sender));
        crate::spawn::spawn(write_all(writing, queue, instead));
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

    /// The next message, if it is there already.
    pub(crate) fn arrived(&mut self) -> Option<Message> {
        self.messages.try_recv().ok()
    }
}

async fn read_all(
    reading: impl AsyncRead + Unpin + Send,
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

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    fn long() -> String {
        "x".repeat(frame::MAX_FRAME_BYTES as usize)
    }

    fn why(message: Option<Message>, of: Call) -> String {
        match message {
            Some(Message::Answer(call, Answer::Refused(refusal))) if call == of => {
                refusal.to_string()
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_request_that_is_too_long_is_refused_and_the_next_is_sent() {
        let ((here, there), mut buffer) = (duplex(1 << 10), Vec::new());
        let (reading, writing) = tokio::io::split(here);
        let mut remote = Remote::over(reading, writing);
        let long = Request::Join { name: long(), host: String::new(), holding: Vec::new() };
        assert!(remote.send(Call(1), long).await);
        assert!(remote.send(Call(2), Request::Heartbeat).await);
        let mut there = BufReader::new(there);
        let sent = frame::read::<(Call, Request)>(&mut there, &mut buffer).await.unwrap();
        assert_eq!(sent, Some((Call(2), Request::Heartbeat)));
        let why = why(remote.receive().await, Call(1));
        assert!(why.contains("at most 8388608 are possible: send or ask for less"), "{why}");
        drop(there);
        assert_eq!(remote.receive().await, None);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_a_refusal() {
        let ((here, there), (messages, queue)) = (duplex(1 << 10), mpsc::channel(2));
        let instead = |buffer: &mut Vec<u8>, refused| frame::append(buffer, &refused);
        let writing = crate::spawn::spawn(write_all(there, queue, instead));
        let long = Answer::Refused(Refusal::Invalid(long()));
        for message in [Message::Answer(Call(7), long), Message::Answer(Call(8), Answer::Done)] {
            messages.send(message).await.unwrap();
        }
        drop(messages);
        let (reading, writer) = tokio::io::split(here);
        let mut remote = Remote::over(reading, writer);
        assert!(why(remote.receive().await, Call(7)).contains("at most"));
        assert_eq!(remote.receive().await, Some(Message::Answer(Call(8), Answer::Done)));
        writing.await.unwrap().unwrap();
    }
}
