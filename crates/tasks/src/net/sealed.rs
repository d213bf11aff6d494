//! Sealed streams: bytes between two processes that nobody else can read, change or repeat.
//!
//! The stream is cut into *records*: the length of the body, four bytes little endian, the body,
//! and the seal's tag. Each direction has a key of its own, which only this connection has. The
//! nonce is the record's number and is not sent: a record that is missing, doubled, moved or from
//! another connection does not open. The length is sealed with the record, as its head.
//!
//! Invariants: a length is bounded before anything is read; after an error a stream gives nothing
//! more; records are opened in place, each before the next is looked at. A stream that was cut
//! between two records looks like one that ended: what is sent on it must tell by itself where it
//! ends.

use core::ops::Range;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tidings_primitives::seal::{HEAD_BYTES, Key, TAG_BYTES};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::direction::{Direction, LENGTH_BYTES};

/// The longest body of a record.
pub(super) const MAX_BODY_BYTES: usize = 64 << 10;

/// Bytes of the longest record.
const MAX_RECORD_BYTES: usize = LENGTH_BYTES + MAX_BODY_BYTES + TAG_BYTES;

/// Records that are got at a time.
const BUFFERED_RECORDS: usize = 4;

/// Where in a buffer begins what is sent: the length overwrites the end of the nonce, which is not.
const WIRE_AT: usize = HEAD_BYTES - LENGTH_BYTES;

/// What is read of a sealed stream. Records are opened where they have come to lie.
pub(crate) struct SealedReader<R> {
    stream: R,
    direction: Direction,
    /// Records as they come, and room before the first for what of its head is not sent.
    buffer: Vec<u8>,
    /// What has come and was not opened yet. It begins with a record.
    come: Range<usize>,
    /// The part of an opened body that was not read yet.
    open: Range<usize>,
}

impl<R> SealedReader<R> {
    pub(super) fn new(stream: R, key: &Key) -> Self {
        let buffer = vec![0; WIRE_AT + BUFFERED_RECORDS * MAX_RECORD_BYTES];
        let direction = Direction::new(key);
        Self { stream, direction, buffer, come: WIRE_AT..WIRE_AT, open: 0..0 }
    }

    /// The bytes of the record that is coming, as far as they are known; bounded.
    fn needed(&self) -> io::Result<usize> {
        let Some(length) = self.buffer[self.come.clone()].first_chunk::<LENGTH_BYTES>() else {
            return Ok(LENGTH_BYTES);
        };
        match u32::from_le_bytes(*length) as usize {
            body @ 1..=MAX_BODY_BYTES => Ok(LENGTH_BYTES + body + TAG_BYTES),
            body => Err(invalid(format!("a record of {body} bytes"))),
        }
    }

    /// Makes room for the rest of a record of so many bytes.
    fn make_room(&mut self, needed: usize) {
        if self.come.is_empty() || self.come.start + needed > self.buffer.len() {
            let bytes = self.come.len();
            self.buffer.copy_within(self.come.clone(), WIRE_AT);
            self.come = WIRE_AT..WIRE_AT + bytes;
        }
    }

    /// Opens the first record that has come, which has so many bytes.
    fn unseal(&mut self, bytes: usize) -> io::Result<()> {
        // What lies before it was read: there is room for the rest of its head.
        let record = self.come.start - WIRE_AT..self.come.start + bytes;
        let body = record.start + HEAD_BYTES..record.end - TAG_BYTES;
        let is_open = self.direction.open(&mut self.buffer[record.clone()]);
        if !is_open {
            return Err(invalid("a record that does not open: changed, or not the next".into()));
        }
        self.come.start = record.end;
        self.open = body;
        Ok(())
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl<R: AsyncRead + Unpin> SealedReader<R> {
    /// Opens the next record, or finds that there is none.
    fn poll_open(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let needed = self.needed()?;
            if needed > LENGTH_BYTES && needed <= self.come.len() {
                return Poll::Ready(self.unseal(needed));
            }
            self.make_room(needed);
            let mut place = ReadBuf::new(&mut self.buffer[self.come.end..]);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut place))?;
            match (place.filled().len(), self.come.len()) {
                (0, 0) => return Poll::Ready(Ok(())),
                (0, _) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                (read, _) => self.come.end += read,
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for SealedReader<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.open.is_empty() {
            ready!(this.poll_open(context))?;
        }
        let bytes = into.remaining().min(this.open.len());
        into.put_slice(&this.buffer[this.open.start..this.open.start + bytes]);
        this.open.start += bytes;
        Poll::Ready(Ok(()))
    }
}

/// What is written to a sealed stream. A flush is needed for the last of it to be sent.
pub(crate) struct SealedWriter<W> {
    stream: W,
    direction: Direction,
    buffer: Vec<u8>,
    /// The part of the buffer that was not sent yet.
    unsent: Range<usize>,
}

impl<W> SealedWriter<W> {
    pub(super) fn new(stream: W, key: &Key) -> Self {
        Self { stream, direction: Direction::new(key), buffer: Vec::new(), unsent: 0..0 }
    }

    fn seal(&mut self, body: &[u8]) {
        self.buffer.clear();
        self.buffer.resize(HEAD_BYTES, 0);
        self.buffer.extend(body);
        self.buffer.resize(HEAD_BYTES + body.len() + TAG_BYTES, 0);
        self.direction.seal(&mut self.buffer);
        self.buffer[WIRE_AT..HEAD_BYTES].copy_from_slice(&(body.len() as u32).to_le_bytes());
        self.unsent = WIRE_AT..self.buffer.len();
    }
}

impl<W: AsyncWrite + Unpin> SealedWriter<W> {
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unsent.is_empty() {
            let bytes = &self.buffer[self.unsent.clone()];
            match ready!(Pin::new(&mut self.stream).poll_write(context, bytes))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.unsent.start += sent,
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for SealedWriter<W> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_send(context))?;
        let bytes = &bytes[..bytes.len().min(MAX_BODY_BYTES)];
        if !bytes.is_empty() {
            this.seal(bytes);
            // What cannot be sent now is sent before the next record, or by a flush.
            if let Poll::Ready(Err(error)) = this.poll_send(context) {
                return Poll::Ready(Err(error));
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_send(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_send(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn key() -> Key {
        Key::from_bytes([7; 32])
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    fn sealed(pieces: &[Vec<u8>]) -> Vec<u8> {
        let mut writer = SealedWriter::new(Vec::new(), &key());
        run(async {
            for piece in pieces {
                writer.write_all(piece).await.unwrap();
            }
            writer.flush().await.unwrap();
        });
        writer.stream
    }

    fn opened(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let (mut reader, mut all) = (SealedReader::new(bytes, &key()), Vec::new());
        run(reader.read_to_end(&mut all)).map(|_| all)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_stream_is_read_as_it_is_written(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
            large in 0..200_000_usize,
        ) {
            let pieces = [pieces, vec![vec![3; large]]].concat();
            prop_assert_eq!(opened(&sealed(&pieces)).unwrap(), pieces.concat());
        }

        #[test]
        fn no_bytes_make_it_panic_or_open(bytes: Vec<u8>) {
            prop_assert!(opened(&bytes).map_or(true, |all| all.is_empty()));
        }

        #[test]
        fn any_change_is_noticed(at: prop::sample::Index, bit in 0..8_u8) {
            let mut bytes = sealed(&[vec![1; 20], vec![2; 20]]);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(opened(&bytes).is_err());
        }
    }

    #[test]
    fn a_record_that_is_doubled_missing_or_moved_does_not_open() {
        let bytes = sealed(&[vec![1; 20], vec![2; 20], vec![3; 20]]);
        let records: Vec<&[u8]> = bytes.chunks(bytes.len() / 3).collect();
        assert!(opened(&bytes).is_ok());
        for wrong in [[0, 0, 1], [1, 0, 2], [0, 2, 1]] {
            let bytes = wrong.map(|at| records[at]).concat();
            assert_eq!(opened(&bytes).unwrap_err().kind(), io::ErrorKind::InvalidData, "{wrong:?}");
        }
        let cut = opened(&bytes[..bytes.len() - 1]).unwrap_err();
        assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_length_is_bounded_before_it_is_believed() {
        for length in [0, MAX_BODY_BYTES as u32 + 1, u32::MAX] {
            let error = opened(&length.to_le_bytes()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }

    /// A writer whose stream takes some bytes at a time loses and doubles nothing, nor does a
    /// reader that gets records in parts, or some at a time.
    #[test]
    fn a_slow_stream_gets_all() {
        let all: Vec<u8> = (0..600_000).map(|at| (at / 7) as u8).collect();
        for at_a_time in [1_000, 100_000, 1 << 20] {
            let read = run(async {
                let (here, there) = tokio::io::duplex(at_a_time);
                let (mut writer, mut reader) =
                    (SealedWriter::new(here, &key()), SealedReader::new(there, &key()));
                let (mut read, write) = (Vec::new(), async {
                    writer.write_all(&all).await.unwrap();
                    writer.shutdown().await.unwrap();
                });
                tokio::join!(write, async { reader.read_to_end(&mut read).await.unwrap() });
                read
            });
            assert!(read == all, "{at_a_time}");
        }
    }
}
