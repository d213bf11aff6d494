//! A line: the connection to another worker, on which two threads of this process speak, the
//! worker's own and the one that says that it lives.
//!
//! Letters are staged and go as one record, so what is said at a time takes one system call. What
//! the socket does not take waits here, bounded by what workers say before they get an answer.
//!
//! Invariant: bytes go in the order of their records. Only the worker's thread reads.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mio::net::TcpStream;

use crate::direction::{Garbage, Opening, Sealing};
use crate::letter::Letter;

/// The sending side.
#[derive(Debug)]
struct Out {
    sealing: Sealing,
    /// Whether anything was sent since the last beat.
    spoke: bool,
    is_closed: bool,
}

/// The connection to another worker.
#[derive(Debug)]
pub(crate) struct Line {
    stream: TcpStream,
    out: Mutex<Out>,
}

/// What was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Read {
    /// So many bytes; there may be more later.
    Bytes(usize),
    /// The line has ended: its other end is closed, or says what makes no sense.
    End,
}

impl Line {
    /// On this connection.
    pub(crate) fn new(stream: TcpStream, sealing: Sealing) -> Self {
        Self { stream, out: Mutex::new(Out { sealing, spoke: false, is_closed: false }) }
    }

    /// Stages a letter.
    pub(crate) fn say(&self, letter: &Letter) {
        let mut out = self.out();
        if !out.is_closed {
            out.sealing.stage(|to| letter.put(to));
        }
    }

    /// Sends what is staged and what waits, as far as the socket takes it; whether it took all.
    pub(crate) fn flush(&self) -> bool {
        self.out().flush(&self.stream)
    }

    /// Says that this process lives, if it has said nothing else since it was last asked to.
    pub(crate) fn beat(&self) {
        let mut out = self.out();
        if out.is_closed {
            return;
        }
        if !out.spoke && out.sealing.waiting().is_empty() {
            out.sealing.stage(|to| Letter::Beat.put(to));
        }
        out.flush(&self.stream);
        out.spoke = false;
    }

    /// Says a last word.
    pub(crate) fn close(&self, last: Option<&Letter>) {
        let mut out = self.out();
        if let Some(letter) = last {
            out.sealing.stage(|to| letter.put(to));
        }
        out.flush(&self.stream);
        out.is_closed = true;
        // It may be closed by the other end.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Reads all that there is, a buffer at a time, and passes on its letters.
    pub(crate) fn read(
        &self,
        opening: &mut Opening,
        buffer: &mut [u8],
        mut pass: impl FnMut(Letter),
    ) -> Read {
        let mut all = 0;
        loop {
            match (&self.stream).read(buffer) {
                Ok(0) => return Read::End,
                Ok(bytes) => {
                    all += bytes;
                    let taken = opening.take(&buffer[..bytes], |record| {
                        Letter::all(record, &mut pass).ok_or(Garbage)
                    });
                    if taken.is_err() {
                        return Read::End;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Read::Bytes(all);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Read::End,
            }
        }
    }

    /// The connection, to be registered.
    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    fn out(&self) -> MutexGuard<'_, Out> {
        // A thread that panicked has staged whole letters or none.
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Out {
    fn flush(&mut self, stream: &TcpStream) -> bool {
        self.sealing.seal();
        while !self.sealing.waiting().is_empty() {
            match { stream }.write(self.sealing.waiting()) {
                Ok(bytes) => self.sealing.took(bytes),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // There is no room; or reading will find that it has ended.
                Err(_) => return false,
            }
            self.spoke = true;
        }
        true
    }
}
