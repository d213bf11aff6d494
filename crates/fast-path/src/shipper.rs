//! Shipped calls: a thread's system calls, made by the service in its place.
//!
//! The service's thread has the same memory and descriptors, so arguments are passed as they are.
//! The caller writes number and arguments into a line and waits for the result in the same line:
//! the line goes to the other core and back, which takes less than a system call that has to enter
//! the kernel by a trap. Its own core stays out of the kernel: no entry, no interrupt's work done
//! on the way out, no caches that the kernel has used.
//!
//! Which calls are shipped, and what becomes of the others: [`crate::shippable`].
//!
//! Source: FOX, sections 2.2 and 2.3: NIX's kernel cores, FusedOS's function shipping.

use std::sync::Arc;

use crate::error::LaneError;
use crate::lane::{CALL_WORDS, Caller, Outcome};
use crate::memory::{Life, Memory};
use crate::pause::Pause;
use crate::service::{Handler, Seat, Service, error_in};
use crate::shippable::{Manner, manner};

/// A result that no system call has: the call was not made, since it would have waited.
const WOULD_WAIT: u64 = 4_095u64.wrapping_neg();

/// A system call: its number and its arguments, as the kernel takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number on this machine, as of `libc::SYS_getppid`.
    pub number: u64,
    /// What it takes; what it does not take is not looked at.
    pub arguments: [u64; 6],
}

/// Where a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// By the service.
    Shipped,
    /// By the thread itself.
    InPlace,
}

/// One thread's way to have its calls made.
#[derive(Debug)]
pub struct Shipper {
    way: Option<(Arc<Memory>, Caller)>,
}

/// The service's end.
struct Calls;

impl Handler for Calls {
    fn run(&mut self, words: &[u64; CALL_WORDS]) -> Option<u64> {
        let [number, arguments @ ..] = *words;
        let call = Call { number, arguments };
        Some(match manner(number, &arguments) {
            Manner::NoWait => without_waiting(call),
            _ => raw(call),
        })
    }

    fn counts_failures(&self) -> bool {
        false
    }
}

impl Service {
    /// A shipper for one thread.
    ///
    /// # Errors
    /// If there is no lane left.
    pub fn shipper(&self) -> Result<Shipper, LaneError> {
        Ok(Shipper {
            way: match self.open(1, Calls)? {
                Seat::Shipped(memory) => Some((memory, Caller::default())),
                Seat::InPlace(Calls) => None,
            },
        })
    }
}

impl Shipper {
    /// Makes a system call, by the service if it can be and else in place. The result is the
    /// kernel's: up to 4,095 below 2^64 is an error.
    ///
    /// # Safety
    /// As for the call itself: what its arguments point to must be what the kernel expects, for as
    /// long as it lasts.
    #[inline]
    pub unsafe fn call(&mut self, call: Call) -> (u64, Made) {
        let Some((memory, caller)) = &mut self.way else { return (raw(call), Made::InPlace) };
        if manner(call.number, &call.arguments) == Manner::InPlace {
            return (raw(call), Made::InPlace);
        }
        match shipped(memory, caller, call) {
            Some(result) => match rest(call, result, raw) {
                Some(whole) => (whole, Made::InPlace),
                None => (result, Made::Shipped),
            },
            None => (raw(call), Made::InPlace),
        }
    }

    /// What it ships by, for code that has no shipper.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn into_lane(self) -> Option<(Arc<Memory>, Caller)> {
        self.way
    }

    /// The parent of this process: a call that takes nothing.
    pub fn parent(&mut self) -> u32 {
        let call = Call { number: libc::SYS_getppid as u64, arguments: [0; 6] };
        // SAFETY: it takes no arguments and always succeeds.
        unsafe { self.call(call) }.0 as u32
    }

    /// Writes bytes where a descriptor is, as `write`.
    ///
    /// # Errors
    /// As of the call.
    pub fn write(
        &mut self,
        to: std::os::fd::BorrowedFd<'_>,
        bytes: &[u8],
    ) -> std::io::Result<usize> {
        use std::os::fd::AsRawFd;
        let call = Call {
            number: libc::SYS_write as u64,
            arguments: [to.as_raw_fd() as u64, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0, 0],
        };
        // SAFETY: the bytes are live until the call is done, for which `call` waits.
        let (result, _) = unsafe { self.call(call) };
        match error_in(result) {
            Some(error) => Err(std::io::Error::from_raw_os_error(error as i32)),
            None => Ok(result as usize),
        }
    }
}

/// Has the service make a call; `None` if there is none, or if it leaves the call to the caller.
#[inline]
pub(crate) fn shipped(memory: &Memory, caller: &mut Caller, call: Call) -> Option<u64> {
    if memory.life() == Life::Ended {
        return None;
    }
    let mut words = [call.number; CALL_WORDS];
    words[1..].copy_from_slice(&call.arguments);
    let number = caller.fire(memory.lane(), &words)?;
    let mut pause = Pause::default();
    loop {
        match caller.outcome(memory.lane(), number) {
            Outcome::Done(WOULD_WAIT) => return None,
            Outcome::Done(result) => return Some(result),
            // One line, whose call is this one: it is never passed.
            Outcome::Pending | Outcome::Passed => {}
        }
        // After its end the service looks at no line; what it did before is seen by now.
        if memory.life() == Life::Ended {
            return match caller.outcome(memory.lane(), number) {
                Outcome::Done(result) if result != WOULD_WAIT => Some(result),
                _ => None,
            };
        }
        pause.once();
    }
}

/// What is left to do in place of a call that the service has made; its whole result, if any was.
///
/// A signal comes with some errors to the thread that makes the call, so it makes it once more.
/// And where the service would not wait, it may have written only some of the bytes.
pub(crate) fn rest(call: Call, result: u64, make: impl Fn(Call) -> u64) -> Option<u64> {
    if manner(call.number, &call.arguments) != Manner::NoWait {
        return None;
    }
    if let Some(error) = error_in(result) {
        let signalled = [libc::EPIPE, libc::EFBIG].contains(&(error as i32));
        return signalled.then(|| make(call));
    }
    let writes = [libc::SYS_write, libc::SYS_sendto, libc::SYS_pwrite64];
    let [_, at, bytes, ..] = call.arguments;
    if !writes.contains(&(call.number as libc::c_long)) || result >= bytes {
        return None;
    }
    let mut left = call;
    (left.arguments[1], left.arguments[2]) = (at + result, bytes - result);
    if call.number == libc::SYS_pwrite64 as u64 {
        left.arguments[3] += result;
    }
    let more = make(left);
    Some(if error_in(more).is_some() { result } else { result + more })
}

/// Makes a call that must not wait; [`WOULD_WAIT`] if it had to.
fn without_waiting(call: Call) -> u64 {
    let [descriptor, at, bytes, flags_or_offset, ..] = call.arguments;
    let mut call = call;
    let vector = [at, bytes];
    let number = call.number as libc::c_long;
    let by_vector = |number: libc::c_long, offset: u64| Call {
        number: number as u64,
        arguments: [
            descriptor,
            vector.as_ptr() as u64,
            1,
            offset,
            0, // the offset's upper half, of machines of 32 bits
            libc::RWF_NOWAIT as u64,
        ],
    };
    // An offset of -1 is that of the file, or none.
    match number {
        libc::SYS_read => call = by_vector(libc::SYS_preadv2, u64::MAX),
        libc::SYS_write => call = by_vector(libc::SYS_pwritev2, u64::MAX),
        libc::SYS_pwrite64 => call = by_vector(libc::SYS_pwritev2, flags_or_offset),
        _ => call.arguments[3] |= (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as u64,
    }
    let result = raw(call);
    match error_in(result).map(|error| error as i32) {
        // What knows no such flag, and what a descriptor that never waits says for itself.
        // And offsets of what has none, and kernels before 4.14.
        Some(
            libc::EAGAIN
            | libc::EOPNOTSUPP
            | libc::EINTR
            | libc::ESPIPE
            | libc::EINVAL
            | libc::ENOSYS,
        ) => WOULD_WAIT,
        _ => result,
    }
}

/// Makes a call on this thread.
pub(crate) fn raw(call: Call) -> u64 {
    let all = call.arguments;
    // SAFETY: who makes a `Call` and has it run has promised that its arguments are what the kernel
    // expects (`Shipper::call`); this passes them as they are.
    let result = unsafe {
        libc::syscall(call.number as libc::c_long, all[0], all[1], all[2], all[3], all[4], all[5])
    };
    if result == -1 {
        let error = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        return u64::from(error.unsigned_abs()).wrapping_neg();
    }
    result as u64
}
