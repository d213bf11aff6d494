//! What a worker lays out for whoever comes first, where its program has one-sided communication.

use core::slice;

use tidings_steal::Message;

use crate::status::TidingsStealStatus;
#[cfg(doc)]
use crate::worker::tidings_steal_worker_free;
use crate::worker::{TidingsStealWorker, with, with_message};

impl TidingsStealWorker {
    /// Makes the message of what it lays out, if that is anything.
    fn lay_out(&mut self, most_bytes: usize) -> bool {
        let gift = self.worker.lay_out(most_bytes);
        gift.inspect(|gift| gift.encode_to(&mut self.message)).is_some()
    }
}

/// Takes half of the tasks out of the worker's queue for whoever comes first: writes where the
/// message begins that has them, until the next call with this worker, and its bytes, `most_bytes`
/// at most; 0 bytes if there is nothing to give. The program lays it where others can take it, once
/// and as a whole; who has taken it gives it to `tidings_steal_worker_receive` as this worker's.
/// Before the worker has nothing else the program clears that place, and if the message was still
/// there, calls `tidings_steal_worker_take_back`. Not where workers die, nor for a trace.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `message` and `bytes` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_lay_out(
    worker: *mut TidingsStealWorker,
    most_bytes: usize,
    message: *mut *const u8,
    bytes: *mut usize,
) -> TidingsStealStatus {
    // SAFETY: as the caller promises.
    unsafe { with_message(worker, message, bytes, |worker| Ok(worker.lay_out(most_bytes))) }
}

/// What this worker had laid out, of `bytes` bytes, was not taken: it is in its queue again.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `message` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_take_back(
    worker: *mut TidingsStealWorker,
    message: *const u8,
    bytes: usize,
) -> TidingsStealStatus {
    if message.is_null() {
        return TidingsStealStatus::Null;
    }
    // SAFETY: it is not null and has that many bytes, as the caller promises.
    let message = unsafe { slice::from_raw_parts(message, bytes) };
    let take_back = |worker: &mut TidingsStealWorker| {
        let gift = Message::decode(message).ok_or(TidingsStealStatus::Malformed)?;
        worker.worker.take_back(gift);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, take_back) }
}

/// Whose answer the worker waits for, having asked for tasks; `UINT32_MAX` if for nobody's. That
/// worker may have laid some out since, and answer no message before its task has ended.
///
/// # Safety
/// As [`tidings_steal_worker_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_asked(worker: *mut TidingsStealWorker) -> u32 {
    let mut asked = u32::MAX;
    let ask = |worker: &mut TidingsStealWorker| {
        asked = worker.worker.asked().unwrap_or(u32::MAX);
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, ask) };
    asked
}

/// Whether the worker is in a phase and has no task: now it takes back what it has laid out.
///
/// # Safety
/// As [`tidings_steal_worker_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_is_idle(worker: *mut TidingsStealWorker) -> bool {
    let mut is_idle = false;
    let ask = |worker: &mut TidingsStealWorker| {
        is_idle = worker.worker.is_idle();
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, ask) };
    is_idle
}
