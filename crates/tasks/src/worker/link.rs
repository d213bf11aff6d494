//! The link to a runtime process: frames in both directions, without waiting for one to go on with
//! the other.

use std::io;

use tokio::io::Interest;
use tokio::net::UnixStream;

use crate::runtime::{FromRuntime, MAX_FRAME_BYTES, ToRuntime};

/// What is read at once.
const READ_BYTES: usize = 16 << 10;
/// The room that a link keeps in each direction while it has nothing to pass on.
const KEPT_BYTES: usize = 32 << 10;

/// The length before a frame.
const LENGTH_BYTES: usize = 4;

/// One end of the socket pair.
#[derive(Debug)]
pub(super) struct Link {
    socket: UnixStream,
    incoming: Vec<u8>,
    /// How much of it was taken: what is left is moved to the front when more is read.
    taken: usize,
    outgoing: Vec<u8>,
    written: usize,
}

impl Link {
    pub(super) fn new(socket: UnixStream) -> Self {
        Self { socket, incoming: Vec::new(), taken: 0, outgoing: Vec::new(), written: 0 }
    }

    /// Adds a frame to what is written while frames are waited for.
    ///
    /// # Errors
    /// It is too long, in bytes; nothing was added.
    pub(super) fn say(&mut self, said: &ToRuntime) -> Result<(), usize> {
        let from = self.outgoing.len();
        self.outgoing.extend([0; LENGTH_BYTES]);
        tidings_tasks_core::record::append(said, &mut self.outgoing);
        let bytes = self.outgoing.len() - from - LENGTH_BYTES;
        match u32::try_from(bytes) {
            Ok(length) if length <= MAX_FRAME_BYTES => {
                self.outgoing[from..from + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
                Ok(())
            }
            _ => {
                self.outgoing.truncate(from);
                Err(bytes)
            }
        }
    }

    /// The next frame. May be dropped at any time.
    ///
    /// # Errors
    /// The process has closed the socket, or says what is no frame.
    pub(super) async fn next(&mut self) -> io::Result<FromRuntime> {
        loop {
            if let Some(frame) = self.frame()? {
                return Ok(frame);
            }
            let is_silent = self.outgoing.is_empty();
            let both = Interest::READABLE | Interest::WRITABLE;
            let interest = if is_silent { Interest::READABLE } else { both };
            let ready = self.socket.ready(interest).await?;
            if ready.is_writable() && !is_silent {
                self.write()?;
            }
            if ready.is_readable() {
                self.read()?;
            }
        }
    }

    /// Whether more was read than the frames that were taken.
    pub(super) fn has_more(&self) -> bool {
        self.taken < self.incoming.len()
    }

    /// The next frame if it is there, or `None`. A process that has ended has said it before.
    pub(super) fn rest(&mut self) -> Option<FromRuntime> {
        let mut buffer = [0; READ_BYTES];
        loop {
            match self.frame() {
                Ok(None) => {}
                said => return said.ok().flatten(),
            }
            // The runtime of tokio may not have seen yet that there is something.
            match rustix::io::read(&self.socket, &mut buffer) {
                Ok(0) | Err(_) => return None,
                Ok(bytes) => {
                    self.forget_taken();
                    self.incoming.extend(&buffer[..bytes]);
                }
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        self.written += would_block(self.socket.try_write(&self.outgoing[self.written..]))?;
        if self.written == self.outgoing.len() {
            // What a large call took is given back.
            self.outgoing.clear();
            self.outgoing.shrink_to(KEPT_BYTES);
            self.written = 0;
        }
        Ok(())
    }

    /// Adds what there is to what is left.
    fn read(&mut self) -> io::Result<()> {
        self.forget_taken();
        self.incoming.reserve(READ_BYTES);
        match self.socket.try_read_buf(&mut self.incoming) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            other => would_block(other).map(drop),
        }
    }

    /// Moves what is left to the front.
    fn forget_taken(&mut self) {
        self.incoming.drain(..std::mem::take(&mut self.taken));
        if self.incoming.is_empty() {
            self.incoming.shrink_to(KEPT_BYTES);
        }
    }

    /// A frame, if all of it is there.
    fn frame(&mut self) -> io::Result<Option<FromRuntime>> {
        let left = &self.incoming[self.taken..];
        let Some((length, rest)) = left.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let bytes = u32::from_le_bytes(*length);
        if bytes > MAX_FRAME_BYTES {
            let reason =
                format!("a frame of {bytes} bytes; at most {MAX_FRAME_BYTES} are possible");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let Some(frame) = rest.get(..bytes as usize) else { return Ok(None) };
        let decoded = minicbor::decode(frame);
        let frame = decoded
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        self.taken += LENGTH_BYTES + bytes as usize;
        Ok(Some(frame))
    }
}

fn would_block(done: io::Result<usize>) -> io::Result<usize> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use tidings_tasks_core::id::{Attempt, TaskId};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn link() -> (Link, UnixStream) {
        let (here, there) = UnixStream::pair().unwrap();
        (Link::new(here), there)
    }

    fn run(task: TaskId, attempt: Attempt, body: Vec<u8>) -> ToRuntime {
        let (queue, inputs) = ("".into(), Vec::new());
        let (code, code_hash, is_ahead) = (None, None, false);
        ToRuntime::Run { task, attempt, queue, code, code_hash, body, inputs, is_ahead }
    }

    #[tokio::test]
    async fn what_was_said_before_an_end_is_there_without_waiting() {
        let (mut link, mut there) = link();
        assert_eq!(link.rest(), None);
        let said =
            FromRuntime::Ready { runtime_version: "x".repeat(40_000), ahead: 1, can_wait: false };
        let frame = minicbor::to_vec(&said).unwrap();
        there.write_all(&(frame.len() as u32).to_le_bytes()).await.unwrap();
        there.write_all(&frame).await.unwrap();
        drop(there);
        assert_eq!(link.rest(), Some(said));
        assert_eq!(link.rest(), None);
    }

    /// Neither side reads before it has written: more than a socket holds, both ways.
    #[tokio::test]
    async fn what_is_said_goes_out_while_frames_come_in() {
        let (mut link, mut there) = link();
        let (task, attempt) = (TaskId::of("task", 1), Attempt(1));
        let body = vec![7; 4 << 20];
        link.say(&run(task, attempt, body)).unwrap();
        let said = link.outgoing.clone();
        let text = "x".repeat(4 << 20);
        let answer =
            FromRuntime::Failed { task, attempt, text, detail: Vec::new(), is_of_host: false };
        let frame = minicbor::to_vec(&answer).unwrap();
        let other = crate::spawn::spawn(async move {
            there.write_all(&(frame.len() as u32).to_le_bytes()).await.unwrap();
            there.write_all(&frame).await.unwrap();
            let mut heard = vec![0; said.len()];
            there.read_exact(&mut heard).await.unwrap();
            assert!(heard == said);
        });
        assert_eq!(link.next().await.unwrap(), answer);
        assert!(link.next().await.is_err(), "the other side has ended");
        other.await.unwrap();
    }

    #[tokio::test]
    async fn what_is_no_frame_ends_the_link() {
        let frames: [&[u8]; 3] =
            [&(MAX_FRAME_BYTES + 1).to_le_bytes(), &[1, 0, 0, 0, 0xff], &[9, 0, 0, 0, 1]];
        for bytes in frames {
            let (mut link, mut there) = link();
            there.write_all(bytes).await.unwrap();
            drop(there);
            assert!(link.next().await.is_err(), "{bytes:?}");
        }
    }

    #[tokio::test]
    async fn what_is_too_long_is_not_said() {
        let (mut link, _there) = link();
        let (task, attempt) = (TaskId::of("task", 1), Attempt(1));
        let body = vec![7; MAX_FRAME_BYTES as usize];
        assert!(link.say(&run(task, attempt, body)).unwrap_err() > MAX_FRAME_BYTES as usize);
        assert!(link.outgoing.is_empty());
    }
}
