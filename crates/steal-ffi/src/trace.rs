//! Traces as C has them: what a worker did in a phase, and all of them as the bytes of a file.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{ptr, slice};

use tidings_steal::trace::{File, Trace};

use crate::status::TidingsStealStatus;
#[cfg(doc)]
use crate::worker::tidings_steal_worker_free;
use crate::worker::{TidingsStealWorker, with};

/// What one worker did in one phase.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsStealTrace {
    /// The hash of the tasks with which it began.
    pub tasks: u64,
    /// The trace.
    pub trace: *const u8,
    /// How many bytes it has.
    pub bytes: usize,
}

/// Writes what the worker did in the phase that it is in, or was in last, to `trace`. The bytes are
/// the worker's, until the next call with it.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `trace` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_trace(
    worker: *mut TidingsStealWorker,
    trace: *mut TidingsStealTrace,
) -> TidingsStealStatus {
    // SAFETY: it is null or valid, as the caller promises.
    let Some(to) = (unsafe { trace.as_mut() }) else { return TidingsStealStatus::Null };
    let show = |worker: &mut TidingsStealWorker| {
        let its = worker.trace();
        let bytes = its.bytes();
        *to = TidingsStealTrace { tasks: its.tasks, trace: bytes.as_ptr(), bytes: bytes.len() };
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, show) }
}

/// Writes the file of the traces of all `workers`, in their order, to the `room` bytes at `file`,
/// and returns how many bytes it has: nothing is written if they are more. 0 if something is null
/// or no trace. `program` is the same for all files that may be compared.
///
/// # Safety
/// `traces` is null or has `workers` traces, each with its bytes, and `file` is null or has `room`
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_traces_file(
    program: u64,
    traces: *const TidingsStealTrace,
    workers: u32,
    file: *mut u8,
    room: usize,
) -> usize {
    if traces.is_null() {
        return 0;
    }
    // SAFETY: there are as many, as the caller promises.
    let all = unsafe { slice::from_raw_parts(traces, workers as usize) };
    let encode = || {
        let read = all.iter().map(|one| {
            // SAFETY: each has its bytes, as the caller promises.
            unsafe { of(one) }
        });
        Some(File { program, traces: read.collect::<Option<_>>()? }.encode())
    };
    let Ok(Some(encoded)) = catch_unwind(AssertUnwindSafe(encode)) else { return 0 };
    if !file.is_null() && encoded.len() <= room {
        // SAFETY: there is room, as the caller promises, and the two do not overlap: one is new.
        unsafe { ptr::copy_nonoverlapping(encoded.as_ptr(), file, encoded.len()) };
    }
    encoded.len()
}

/// Has the worker do in the next phase what it did in the phase of which `file` is the file of
/// traces (`bytes` bytes), made for this `program`. All workers have to, and to begin with the same
/// tasks; a task is held while `tidings_steal_worker_waits` says so. Nothing has changed if the
/// file is refused.
///
/// # Safety
/// As [`tidings_steal_worker_free`]; `file` is null or has `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_replay(
    worker: *mut TidingsStealWorker,
    program: u64,
    file: *const u8,
    bytes: usize,
) -> TidingsStealStatus {
    if file.is_null() {
        return TidingsStealStatus::Null;
    }
    // SAFETY: it is not null and has as many bytes, as the caller promises.
    let file = unsafe { slice::from_raw_parts(file, bytes) };
    // SAFETY: as the caller promises.
    unsafe { with(worker, |worker| worker.replay(program, file)) }
}

/// Whether the task that runs may neither spawn nor end before a message has come: only where the
/// worker does again what it did.
///
/// # Safety
/// As [`tidings_steal_worker_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tidings_steal_worker_waits(worker: *mut TidingsStealWorker) -> bool {
    let mut waits = false;
    let ask = |worker: &mut TidingsStealWorker| {
        waits = worker.waits();
        Ok(())
    };
    // SAFETY: as the caller promises.
    unsafe { with(worker, ask) };
    waits
}

/// # Safety
/// `trace` is null or has its bytes.
unsafe fn of(trace: &TidingsStealTrace) -> Option<Trace> {
    let TidingsStealTrace { tasks, trace, bytes } = *trace;
    if bytes == 0 {
        return Some(Trace::new(tasks));
    }
    if trace.is_null() {
        return None;
    }
    // SAFETY: it has as many bytes, as the caller promises.
    let bytes = unsafe { slice::from_raw_parts(trace, bytes) };
    Trace::read(tasks, bytes).ok().map(|(trace, _)| trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_where_there_is_room() {
        // An event: nothing is left, after no step and 7 µs.
        let bytes = [5_u8, 7];
        let trace = TidingsStealTrace { tasks: 3, trace: bytes.as_ptr(), bytes: bytes.len() };
        let empty = TidingsStealTrace { tasks: 3, trace: ptr::null(), bytes: 0 };
        let traces = [trace, empty];
        // SAFETY: both have their bytes, and the file has as many as are said.
        let file = unsafe {
            let size = tidings_steal_traces_file(9, traces.as_ptr(), 2, ptr::null_mut(), 0);
            let mut file = vec![0; size];
            let again = tidings_steal_traces_file(9, traces.as_ptr(), 2, file.as_mut_ptr(), size);
            assert_eq!(again, size);
            file
        };
        let (read, events) = File::decode(&file).unwrap();
        assert_eq!((read.program, read.traces[0].bytes()), (9, &bytes[..]));
        assert_eq!(events.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn what_is_no_trace_makes_no_file() {
        let bytes = [7_u8];
        let wrong = TidingsStealTrace { tasks: 3, trace: bytes.as_ptr(), bytes: bytes.len() };
        let null = TidingsStealTrace { tasks: 3, trace: ptr::null(), bytes: 5 };
        for one in [wrong, null] {
            // SAFETY: it has its bytes, or is null.
            let size =
                unsafe { tidings_steal_traces_file(9, &raw const one, 1, ptr::null_mut(), 0) };
            assert_eq!(size, 0);
        }
        // SAFETY: null is allowed.
        let none = unsafe { tidings_steal_traces_file(9, ptr::null(), 0, ptr::null_mut(), 0) };
        assert_eq!(none, 0);
    }
}
