//! Balancing between two phases: what a worker sends to those above and below it in a tree of
//! workers, of which each has `TIDINGS_STEAL_ARITY` below it.
//!
//! The program adds up what all keep, and each worker begins. What those below have said is taken
//! in, in their order, and what goes up is given; what comes from above is taken in, and what goes
//! to each below is given, in their order. Where a message cannot be sent all should give up: with
//! the next phase, they begin with what they are given.

use core::slice;

use tidings_steal::balance::Hierarchy;
use tidings_steal::balance::wire;
use tidings_steal::{Balancing, Frame};

use crate::status::TidingsStealStatus;
#[cfg(doc)]
use crate::worker::tidings_steal_worker_free;
use crate::worker::{Answer, TidingsStealWorker, text, with, with_message};

/// Workers directly below one: w · 8 + 1 to w · 8 + 8 are below w, as far as there are.
pub const TIDINGS_STEAL_ARITY: u32 = 8;

const _: () = assert!(TIDINGS_STEAL_ARITY as usize == Hierarchy::PAPER.arity);

impl TidingsStealWorker {
    fn balance(&mut self, name: &[u8], average_ns: f64) -> Answer {
        let begun = self.worker.balance(text(name)?, average_ns);
        self.balancing = Some(begun.ok_or(TidingsStealStatus::WithinPhase)?);
        Ok(())
    }

    fn begun(&mut self) -> Result<&mut Balancing, TidingsStealStatus> {
        self.balancing.as_mut().ok_or(TidingsStealStatus::Unbalanced)
    }

    /// Takes in what a worker above or below it has said; worker 0 has itself above.
    fn take(&mut self, from: u32, message: &[u8]) -> Answer {
        if from > self.me { self.below(message) } else { self.above(message) }
    }

    /// Makes what goes to one of these.
    fn give(&mut self, to: u32) -> Answer {
        if to > self.me { self.down() } else { self.up() }
    }

    fn below(&mut self, message: &[u8]) -> Answer {
        let risen = wire::get_risen(message, self.workers).ok_or(TidingsStealStatus::Malformed)?;
        self.fit(risen.rest.iter().map(|given| &given.task))?;
        self.begun()?.below(risen);
        Ok(())
    }

    fn above(&mut self, message: &[u8]) -> Answer {
        let handed = if self.me == 0 {
            Vec::new()
        } else {
            wire::get_handed(message, self.workers).ok_or(TidingsStealStatus::Malformed)?
        };
        self.fit(handed.iter().map(|given| &given.task))?;
        self.down = self.begun()?.fall(handed).into_iter();
        Ok(())
    }

    fn up(&mut self) -> Answer {
        let risen = self.begun()?.rise();
        wire::put_risen(&mut self.message, &risen);
        Ok(())
    }

    fn down(&mut self) -> Answer {
        let tasks = self.down.next().ok_or(TidingsStealStatus::Unbalanced)?;
        wire::put_handed(&mut self.message, &tasks);
        Ok(())
    }

    fn balanced(&mut self) -> Result<u64, TidingsStealStatus> {
        let balancing = self.balancing.take().ok_or(TidingsStealStatus::Unbalanced)?;
        Ok(self.worker.balanced(balancing))
    }

    fn fit<'a>(&self, frames: impl IntoIterator<Item = &'a Frame>) -> Answer {
        let mut frames = frames.into_iter();
        let fits = frames.all(|frame| frame.state.bytes().len() <= self.slot_bytes);
        if fits { Ok(()) } else { Err(TidingsStealStatus::TooLarge) }
    }
}

/// The bytes behind a pointer, none where it is null.
///
/// # Safety
/// It is null or has that many bytes, which nobody changes while they are used.
unsafe fn bytes_of<'a>(bytes: *const u8, count: usize) -> &'a [u8] {
    if bytes.is_null() {
        return &[];
    }
    // SAFETY: it is not null and has that many bytes, as the caller promises.
    unsafe { slice::from_raw_parts(bytes, count) }
}

/// How long the tasks took that the worker ran in the last phase of a name (`name_bytes` bytes of
/// UTF-8), in nanoseconds; `UINT64_MAX` if it keeps nothing of it.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `name` is null or has `name_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_kept_ns(
    worker: *mut TidingsStealWorker,
    name: *const u8,
    name_bytes: usize,
) -> u64 {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes_of(name, name_bytes) };
    let mut kept_ns = None;
    let ask = |worker: &mut TidingsStealWorker| {
        kept_ns = worker.worker.kept_ns(text(name)?);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, ask) };
    kept_ns.unwrap_or(u64::MAX)
}

/// Begins to balance, between two phases, what all workers ran in the last phase of a name: it took
/// `average_ns` a worker. Until `tidings_steal_worker_balanced` the worker keeps nothing of it.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `name` is null or has `name_bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_balance(
    worker: *mut TidingsStealWorker,
    name: *const u8,
    name_bytes: usize,
    average_ns: f64,
) -> TidingsStealStatus {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes_of(name, name_bytes) };
    // SAFETY: as the caller promises.
    unsafe { with(worker, |worker| worker.balance(name, average_ns)) }
}

/// Takes in what worker `from`, above it or below it in the tree, has sent; worker 0 has itself
/// above, which sends no bytes. Those below come first, in their order.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `message` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_balance_take(
    worker: *mut TidingsStealWorker,
    from: u32,
    message: *const u8,
    bytes: usize,
) -> TidingsStealStatus {
    // SAFETY: as the caller promises.
    let message = unsafe { bytes_of(message, bytes) };
    // SAFETY: as the caller promises.
    unsafe { with(worker, |worker| worker.take(from, message)) }
}

/// Writes where the message begins that goes to worker `to`, until the next call, and its bytes: to
/// that above when those below have sent theirs, and to those below when it has, in their order.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `message` and `bytes` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_balance_give(
    worker: *mut TidingsStealWorker,
    to: u32,
    message: *mut *const u8,
    bytes: *mut usize,
) -> TidingsStealStatus {
    // SAFETY: as the caller promises.
    unsafe { with_message(worker, message, bytes, |worker| worker.give(to).map(|()| true)) }
}

/// Keeps what the worker has now, and writes how many of these tasks it had not had to `came`.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `came` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_balanced(
    worker: *mut TidingsStealWorker,
    came: *mut u64,
) -> TidingsStealStatus {
    // SAFETY: it is null or valid, as the caller promises.
    let Some(came) = (unsafe { came.as_mut() }) else { return TidingsStealStatus::Null };
    let end = |worker: &mut TidingsStealWorker| {
        *came = worker.balanced()?;
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, end) }
}
