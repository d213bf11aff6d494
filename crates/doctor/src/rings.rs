//! Rings shared with the kernel: a call that does nothing goes through one.

use std::io;

use io_uring::{IoUring, opcode};

use crate::finding::Outcome;

/// Written into the call, and looked for in its completion.
const MARK: u64 = 0x7469_6469_6e67;

/// How long the polling thread spins without calls, in milliseconds.
const POLL_IDLE_MS: u32 = 10;

const REMEDY: &str = "allow io_uring_setup, io_uring_enter and io_uring_register where this runs \
    (a container's profile of system calls), and set kernel.io_uring_disabled=0; till then plain \
    calls are used";

/// A ring, one call through it.
pub(crate) fn io_uring() -> Outcome {
    match IoUring::new(4).and_then(|mut ring| pass(&mut ring)) {
        Ok(()) => Outcome::works("a call went through a ring"),
        Err(error) => Outcome::not(format!("a ring: {error}"), REMEDY),
    }
}

/// The same with a thread of the kernel that polls the ring.
pub(crate) fn sqpoll() -> Outcome {
    let ring = IoUring::builder().setup_sqpoll(POLL_IDLE_MS).build(4);
    match ring.and_then(|mut ring| pass(&mut ring)) {
        Ok(()) => Outcome::works("a call went through a polled ring"),
        Err(error) => match io_uring().verdict {
            crate::Verdict::Works => {
                let found = format!("a polled ring: {error}; rings without polling work");
                Outcome::degraded(found, "give CAP_SYS_NICE (kernels before 5.13)")
            }
            _ => Outcome::not(format!("a polled ring: {error}"), REMEDY),
        },
    }
}

fn pass(ring: &mut IoUring) -> io::Result<()> {
    let call = opcode::Nop::new().build().user_data(MARK);
    // SAFETY: a call that does nothing names no memory.
    unsafe { ring.submission().push(&call) }
        .map_err(|_| io::Error::other("an empty ring has no room"))?;
    ring.submit_and_wait(1)?;
    match ring.completion().next() {
        Some(done) if done.user_data() == MARK && done.result() == 0 => Ok(()),
        Some(done) => Err(io::Error::from_raw_os_error(-done.result())),
        None => Err(io::Error::other("no completion")),
    }
}
