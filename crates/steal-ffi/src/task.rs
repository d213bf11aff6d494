//! Tasks as C has them.

use core::ffi::c_void;
use core::{ptr, slice};

use tidings_steal::{Frame, TooLarge};

/// A task, or what is left of one: a function, where in it, and the bytes that it goes on with.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TidingsStealTask {
    /// What runs: a number that all workers know.
    pub function: u16,
    /// Where in it; 0 at its beginning.
    pub step: u32,
    /// How long it is predicted to run, in nanoseconds; 0 if nobody knows.
    pub work_ns: u64,
    /// Its bytes, null only if there are none. Those that a worker gives stay until the task ends.
    pub state: *const c_void,
    /// How many they are.
    pub bytes: usize,
}

impl TidingsStealTask {
    /// The bytes of a frame, which stay where they are while the frame does.
    pub(crate) fn of(frame: &Frame) -> Self {
        let state = frame.state.bytes();
        let start = if state.is_empty() { ptr::null() } else { state.as_ptr().cast() };
        let (function, step, work_ns) = (frame.function, frame.step, frame.work_ns);
        Self { function, step, work_ns, state: start, bytes: state.len() }
    }

    /// A frame with a copy of the bytes; `None` if there are said to be some and are none.
    ///
    /// # Safety
    /// `state` is null or has `bytes` bytes.
    pub(crate) unsafe fn frame(&self) -> Option<Result<Frame, TooLarge>> {
        let state: &[u8] = match (self.state.is_null(), self.bytes) {
            (_, 0) => &[],
            (true, _) => return None,
            // SAFETY: it is not null and has that many bytes, as the caller promises.
            (false, bytes) => unsafe { slice::from_raw_parts(self.state.cast(), bytes) },
        };
        Some(Frame::new(self.function, self.work_ns, state).map(|frame| frame.at_step(self.step)))
    }
}
