//! Reading: a region of another process, piece by piece, each read while the one before is written.
//!
//! Two buffers take turns. One thread of a process reads at a time: what is completed is then of
//! one of its buffers.

use core::ffi::c_void;
use core::ptr;
use core::time::Duration;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use super::abi::{self, Memory};
use super::endpoint::{Fabric, FabricError, Place};

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The time in which a piece comes.
const PATIENCE: Duration = Duration::from_secs(5);

/// One thread at a time, whatever it reads.
static TURN: Mutex<()> = Mutex::new(());

/// A piece that is being read: its bytes, and what the provider wants beside them.
struct Buffer {
    bytes: Vec<u8>,
    context: Box<[u64; abi::CONTEXT_BYTES / 8]>,
    /// The memory, registered, if the provider wants that.
    memory: *mut Memory,
    /// What is in it, or is coming.
    filled: usize,
    is_coming: bool,
}

impl Fabric {
    /// Reads so many bytes of a place in pieces, which `take` gets in their order.
    ///
    /// # Errors
    /// The provider says so, or a piece has not come in time.
    pub(crate) fn read<E: From<FabricError>>(
        &self,
        from: &Place,
        bytes: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = self.peer(&from.name)?;
        let piece_bytes = PIECE_BYTES.min(self.max_read_bytes);
        let mut buffers = [self.buffer(piece_bytes)?, self.buffer(piece_bytes)?];
        let mut posted = 0;
        let mut post = |buffer: &mut Buffer| {
            buffer.filled = (bytes - posted).min(piece_bytes as u64) as usize;
            self.post(buffer, peer, from.address + posted, from.key)?;
            posted += buffer.filled as u64;
            Ok::<_, FabricError>(())
        };
        let mut read = || {
            let mut taken = 0;
            let mut next = 0;
            post(&mut buffers[0])?;
            while taken < bytes {
                let [first, second] = &mut buffers;
                let (now, other) = if next == 0 { (first, second) } else { (second, first) };
                if taken + (now.filled as u64) < bytes {
                    post(other)?;
                }
                self.complete(now, other)?;
                self.pieces.fetch_add(1, Ordering::Relaxed);
                take(&now.bytes[..now.filled])?;
                taken += now.filled as u64;
                next = 1 - next;
            }
            Ok(())
        };
        let ended = read();
        self.give_up(buffers);
        ended
    }

    fn buffer(&self, bytes: usize) -> Result<Buffer, FabricError> {
        let bytes = vec![0; bytes];
        let wants_memory = self.mr_mode & abi::MR_LOCAL != 0;
        let memory = if wants_memory { self.register(&bytes, abi::READ)? } else { ptr::null_mut() };
        Ok(Buffer { bytes, context: Box::default(), memory, filled: 0, is_coming: false })
    }

    /// Begins to read into a buffer.
    fn post(
        &self,
        buffer: &mut Buffer,
        peer: u64,
        address: u64,
        key: u64,
    ) -> Result<(), FabricError> {
        let until = Instant::now() + PATIENCE;
        loop {
            // SAFETY: the endpoint is open; bytes and context stay where they are until this piece
            // is completed (`give_up`), and nobody uses them before.
            let code = unsafe {
                let opened = self.lock();
                let memory = buffer.memory;
                let descriptor =
                    if memory.is_null() { ptr::null_mut() } else { (*memory).descriptor };
                let (to, context) = (buffer.bytes.as_mut_ptr().cast(), buffer.context.as_mut_ptr());
                let read = (*(*opened.endpoint).rma).read;
                let bytes = buffer.filled;
                read(opened.endpoint, to, bytes, descriptor, peer, address, key, context.cast())
            };
            match code {
                0 => break,
                abi::AGAIN if Instant::now() < until => self.drive(),
                code => return Err(FabricError(self.library.words(code))),
            }
        }
        buffer.is_coming = true;
        Ok(())
    }

    /// Waits until a buffer has come; the other one may come meanwhile.
    fn complete(&self, wanted: &mut Buffer, other: &mut Buffer) -> Result<(), FabricError> {
        let until = Instant::now() + PATIENCE;
        while wanted.is_coming {
            let (context, ended) = self.completed();
            for buffer in [&mut *wanted, &mut *other] {
                if !context.is_null() && ptr::eq(context, buffer.context.as_ptr().cast()) {
                    buffer.is_coming = false;
                }
            }
            ended?;
            if context.is_null() {
                if Instant::now() > until {
                    return Err(FabricError(format!("no piece has come in {PATIENCE:?}")));
                }
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// The context of the next operation that has ended, null if none has; and whether well.
    fn completed(&self) -> (*const c_void, Result<(), FabricError>) {
        let opened = self.lock();
        let mut context: *mut c_void = ptr::null_mut();
        // SAFETY: the queue is open, and its entries are of the format of one context.
        let code =
            unsafe { ((*(*opened.queue).ops).read)(opened.queue, (&raw mut context).cast(), 1) };
        match code {
            1 => (context, Ok(())),
            0 | abi::AGAIN => (ptr::null(), Ok(())),
            abi::FAILED => {
                // SAFETY: zeros are a value of it.
                let mut failure: abi::Failure = unsafe { core::mem::zeroed() };
                // SAFETY: the queue is open, and there is room for what it writes.
                let code =
                    unsafe { ((*(*opened.queue).ops).readerr)(opened.queue, &raw mut failure, 0) };
                let words = if code == 1 { failure.err as isize } else { code };
                (failure.context, Err(FabricError(self.library.words(words))))
            }
            code => (ptr::null(), Err(FabricError(self.library.words(code)))),
        }
    }

    /// Frees buffers once nothing is written to them any more. If that is not known, they stay for
    /// ever, and the endpoint is not used any more.
    fn give_up(&self, mut buffers: [Buffer; 2]) {
        let [first, second] = &mut buffers;
        // What has failed is completed, too.
        while first.is_coming && self.complete(first, second).is_ok() {}
        while second.is_coming && self.complete(second, first).is_ok() {}
        for buffer in buffers {
            if buffer.is_coming {
                self.lock().is_broken = true;
                core::mem::forget(buffer);
            } else if !buffer.memory.is_null() {
                self.unregister(buffer.memory);
            }
        }
    }
}
