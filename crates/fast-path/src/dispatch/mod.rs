//! Dispatch: the calls of code that knows nothing of this crate, shipped too.
//!
//! The kernel can send a signal (SIGSYS) for each system call of a thread before it is made:
//! *syscall user dispatch*, Linux 5.11. The handler ships the call as [`crate::shipper`] does, or
//! makes it in place, from the `gate`, and puts the result where the program expects it. So an
//! unmodified program runs with its calls shipped: the price is the signal.
//!
//! After a shipped call the handler does not return to the kernel: it has the program's registers
//! in the signal's frame, puts them back and jumps. A signal that blocks none and that came on the
//! stack that was in use leaves nothing else to undo.
//!
//! Some calls are about the signal's frame itself, and are done on it: the mask, the alternate
//! stack, the return from the program's own handlers. SIGSYS is never blocked, since a blocked one
//! ends the program: masks lose it on their way. Threads and processes that the program makes are
//! not dispatched, the kernel's rule: their calls are their own. `vfork` is `fork`, since its child
//! would overwrite the frame that its parent returns by.
//!
//! One thread of a process is dispatched at a time. Nothing here uses the C library or thread-local
//! memory, of which a program that was loaded may have its own.
//!
//! Source: NIX's calls that are "bounced out by a signal" (FOX, section 2.2); Linux,
//! Documentation/admin-guide/syscall-user-dispatch.rst.

mod gate;

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::error::DispatchError;
use crate::lane::Caller;
use crate::memory::Memory;
use crate::shippable::{Manner, manner};
use crate::shipper::{Call, Shipper, rest, shipped};

const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
const OFF: u64 = 0;
const ON: u64 = 1;
/// Gives a thread a shadow stack.
const ARCH_SHSTK_ENABLE: u64 = 0x5001;
/// What the kernel reads at each call.
const ALLOW: u8 = 0;
const BLOCK: u8 = 1;
/// SIGSYS in a mask.
const OWN_SIGNAL: u64 = 1 << (libc::SIGSYS - 1);

/// The lane of the thread that is dispatched, and whether a call of it is on its way: then the
/// calls of a signal handler that interrupts it run in place.
struct Own {
    taken: AtomicBool,
    busy: AtomicBool,
    lane: UnsafeCell<Option<(Arc<Memory>, Caller)>>,
}

// SAFETY: `lane` is accessed by the one thread that has `taken`, and there by one frame at a time,
// the one that has set `busy`; or before the thread is dispatched, and after it was.
unsafe impl Sync for Own {}

static OWN: Own = Own {
    taken: AtomicBool::new(false),
    busy: AtomicBool::new(false),
    lane: UnsafeCell::new(None),
};
static SELECTOR: AtomicU8 = AtomicU8::new(ALLOW);
static SHIPPED: AtomicU64 = AtomicU64::new(0);
static IN_PLACE: AtomicU64 = AtomicU64::new(0);
/// Whether the handler may go on with the program by itself, which saves a call of the kernel.
static RESUMES: AtomicBool = AtomicBool::new(false);
/// Whether the tally is written to the standard error when the program ends.
static TOLD: AtomicBool = AtomicBool::new(false);

/// This thread is dispatched while this lives.
#[derive(Debug)]
pub struct Dispatched {
    /// It is of one thread.
    _here: std::marker::PhantomData<*mut ()>,
}

/// How many calls were made where, of all threads that were dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// By the service.
    pub shipped: u64,
    /// By the thread itself.
    pub in_place: u64,
}

/// How many calls were made where.
pub fn tally() -> Tally {
    Tally { shipped: SHIPPED.load(Ordering::Relaxed), in_place: IN_PLACE.load(Ordering::Relaxed) }
}

/// Has the tally written to the standard error when the program ends.
pub fn tell_at_exit() {
    TOLD.store(true, Ordering::Relaxed);
}

/// Dispatches this thread's calls, through its shipper.
///
/// # Errors
/// If another thread is dispatched, or the kernel cannot.
pub fn begin(shipper: Shipper) -> Result<Dispatched, DispatchError> {
    if OWN.taken.swap(true, Ordering::Acquire) {
        return Err(DispatchError::Taken);
    }
    // SAFETY: `taken` is ours, and the thread is not dispatched yet.
    unsafe { *OWN.lane.get() = shipper.into_lane() };
    let dispatched = Dispatched { _here: std::marker::PhantomData };
    // The drop of `dispatched` undoes what was done, if what follows fails.
    set_handler().map_err(|source| DispatchError::System { call: "rt_sigaction", source })?;
    RESUMES.store(!gate::has_shadow_stack(), Ordering::Relaxed);
    let (begin, bytes) = gate::range();
    SELECTOR.store(ALLOW, Ordering::Relaxed);
    let selector = (&raw const SELECTOR) as u64;
    // SAFETY: the range is code, and the selector a byte that lives for ever; the call takes them.
    let result = unsafe {
        libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, ON, begin as u64, bytes as u64, selector)
    };
    if result != 0 {
        let source = std::io::Error::last_os_error();
        return Err(match source.raw_os_error() {
            Some(libc::EINVAL) => DispatchError::Unknown,
            _ => DispatchError::System { call: "prctl", source },
        });
    }
    SELECTOR.store(BLOCK, Ordering::Release);
    Ok(dispatched)
}

impl Drop for Dispatched {
    fn drop(&mut self) {
        SELECTOR.store(ALLOW, Ordering::Release);
        // SAFETY: turns dispatch off for this thread; it was this thread's, or never on.
        let _ = unsafe { libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, OFF, 0, 0, 0) };
        // SAFETY: the thread is not dispatched any more, and `taken` is still ours.
        drop(unsafe { (*OWN.lane.get()).take() });
        OWN.taken.store(false, Ordering::Release);
    }
}

/// A handler as the kernel has it; the C library would put a return of its own there.
#[repr(C)]
#[derive(Clone, Copy)]
struct Action {
    handler: u64,
    flags: u64,
    restorer: u64,
    mask: u64,
}

const SA_RESTORER: u64 = 0x0400_0000;

fn set_handler() -> std::io::Result<()> {
    let action = Action {
        handler: on_call as extern "C" fn(i32, *mut c_void, *mut libc::ucontext_t) as usize as u64,
        // Signals of the program come in the middle of a call that waits in place, as they would.
        flags: (libc::SA_SIGINFO | libc::SA_NODEFER) as u64 | SA_RESTORER,
        restorer: gate::handlers_return(),
        mask: 0,
    };
    let arguments = [libc::SIGSYS as u64, (&raw const action) as u64, 0, 8, 0, 0];
    // SAFETY: the action lives until the call is done; its handler is for this signal.
    let result = unsafe { gate::call(Call { number: libc::SYS_rt_sigaction as u64, arguments }) };
    match crate::service::error_in(result) {
        Some(error) => Err(std::io::Error::from_raw_os_error(error as i32)),
        None => Ok(()),
    }
}

/// The handler: one call of the program, and where its result belongs.
extern "C" fn on_call(_signal: i32, _info: *mut c_void, context: *mut libc::ucontext_t) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO its context, which nobody else has.
    let context = unsafe { &mut *context };
    let gregs = &context.uc_mcontext.gregs;
    let register = |which: i32| gregs[which as usize] as u64;
    let call = Call {
        number: register(libc::REG_RAX),
        arguments: [
            libc::REG_RDI,
            libc::REG_RSI,
            libc::REG_RDX,
            libc::REG_R10,
            libc::REG_R8,
            libc::REG_R9,
        ]
        .map(register),
    };
    if call.number == libc::SYS_rt_sigreturn as u64 {
        // The program's own handler returns, by the frame at its stack pointer.
        context.uc_mcontext.gregs[libc::REG_RIP as usize] = gate::handlers_return() as i64;
        return;
    }
    let shipped = by_service(call);
    let result = shipped.unwrap_or_else(|| in_place(call, context));
    context.uc_mcontext.gregs[libc::REG_RAX as usize] = result as i64;
    if shipped.is_some() && RESUMES.load(Ordering::Relaxed) {
        // SAFETY: this handler's signal blocks none and has no stack of its own, and a shipped call
        // is neither about the mask nor about the stack. Nothing is left to do here.
        unsafe { gate::resume(context) };
    }
}

/// Ships a call if it can be and none is on its way.
fn by_service(call: Call) -> Option<u64> {
    if manner(call.number, &call.arguments) == Manner::InPlace
        || OWN.busy.swap(true, Ordering::Acquire)
    {
        return None;
    }
    // SAFETY: `busy` is ours, so no other frame of this thread is here.
    let lane = unsafe { &mut *OWN.lane.get() };
    let result = lane.as_mut().and_then(|(memory, caller)| shipped(memory, caller, call));
    OWN.busy.store(false, Ordering::Release);
    let result = result?;
    SHIPPED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the program's call, or what is left of it.
    Some(rest(call, result, |call| unsafe { gate::call(call) }).unwrap_or(result))
}

/// Makes a call of the program by this thread.
fn in_place(mut call: Call, context: &mut libc::ucontext_t) -> u64 {
    IN_PLACE.fetch_add(1, Ordering::Relaxed);
    let [first, second, ..] = call.arguments;
    match call.number as libc::c_long {
        libc::SYS_rt_sigaction if first == libc::SIGSYS as u64 => return 0, // it stays ours
        libc::SYS_rt_sigaction if second != 0 => {
            // SAFETY: the program gives an action to the kernel at this address.
            let mut action = unsafe { *(second as *const Action) };
            action.mask &= !OWN_SIGNAL;
            call.arguments[1] = (&raw const action) as u64;
            // SAFETY: the program's call; the action lives until it is done.
            return unsafe { gate::call(call) };
        }
        // From now on only the kernel can return from a signal.
        libc::SYS_arch_prctl if first == ARCH_SHSTK_ENABLE => {
            RESUMES.store(false, Ordering::Relaxed);
        }
        libc::SYS_sigaltstack => arm(context),
        libc::SYS_vfork => call.number = libc::SYS_fork as u64,
        libc::SYS_clone if second != 0 => return clone(call, context),
        libc::SYS_clone if first & libc::CLONE_VM as u64 != 0 => {
            call.arguments[0] = first & !((libc::CLONE_VM | libc::CLONE_VFORK) as u64);
        }
        libc::SYS_clone3 => return clone3(call, context),
        libc::SYS_exit_group if TOLD.load(Ordering::Relaxed) => tell(),
        libc::SYS_prctl if first == PR_SET_SYSCALL_USER_DISPATCH as u64 => {
            return (libc::EINVAL as u64).wrapping_neg();
        }
        _ => {}
    }
    // SAFETY: the program's call.
    let result = unsafe { gate::call(call) };
    match call.number as libc::c_long {
        libc::SYS_rt_sigprocmask => keep_mask(context),
        libc::SYS_sigaltstack if first != 0 => keep_stack(context),
        _ => {}
    }
    result
}

/// A line of text that needs no memory of the program.
struct Text {
    bytes: [u8; 96],
    length: usize,
}

impl std::fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.get_mut(self.length..self.length + text.len());
        room.ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

fn tell() {
    use std::fmt::Write;
    let Tally { shipped, in_place } = tally();
    let mut text = Text { bytes: [0; 96], length: 0 };
    // Two numbers of 20 digits fit; were they cut, the program would end all the same.
    let _ = writeln!(text, "tidings: {shipped} calls shipped, {in_place} in place");
    let arguments = [2, text.bytes.as_ptr() as u64, text.length as u64, 0, 0, 0];
    // SAFETY: the text lives until the call is done.
    unsafe { gate::call(Call { number: libc::SYS_write as u64, arguments }) };
}

/// The return from this signal sets the mask: to what the program has set just now.
fn keep_mask(context: &mut libc::ucontext_t) {
    let mut mask = 0u64;
    let arguments = [0, 0, (&raw mut mask) as u64, 8, 0, 0];
    // SAFETY: asks for the mask, which is written here.
    unsafe { gate::call(Call { number: libc::SYS_rt_sigprocmask as u64, arguments }) };
    // SAFETY: the kernel's mask of 64 signals is the beginning of the C library's.
    unsafe { *(&raw mut context.uc_sigmask).cast::<u64>() = mask & !OWN_SIGNAL };
}

/// An alternate stack that a signal takes away is there again for the program's call about it; the
/// return from the signal would give it back.
fn arm(context: &libc::ucontext_t) {
    if context.uc_stack.ss_flags & gate::AUTODISARM == 0 {
        return;
    }
    let arguments = [(&raw const context.uc_stack) as u64, 0, 0, 0, 0, 0];
    // SAFETY: gives the thread the stack that it had; the description is in the signal's frame.
    unsafe { gate::call(Call { number: libc::SYS_sigaltstack as u64, arguments }) };
}

/// And the alternate stack.
fn keep_stack(context: &mut libc::ucontext_t) {
    let arguments = [0, (&raw mut context.uc_stack) as u64, 0, 0, 0, 0];
    // SAFETY: asks for the stack, which is written into the context.
    unsafe { gate::call(Call { number: libc::SYS_sigaltstack as u64, arguments }) };
}

/// The registers that a child has and a function keeps.
fn kept(context: &libc::ucontext_t) -> [u64; 6] {
    [libc::REG_RBX, libc::REG_RBP, libc::REG_R12, libc::REG_R13, libc::REG_R14, libc::REG_R15]
        .map(|which| context.uc_mcontext.gregs[which as usize] as u64)
}

/// Puts the place where the program goes on on the top of a child's stack; the new top.
fn prepared(top: u64, context: &libc::ucontext_t) -> u64 {
    let place = top - 8;
    // SAFETY: below the top of a stack that the program gives a child nothing is in use yet.
    unsafe {
        let place = place as *mut u64;
        place.write_unaligned(context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64);
    }
    place
}

fn clone(mut call: Call, context: &libc::ucontext_t) -> u64 {
    call.arguments[1] = prepared(call.arguments[1], context);
    // SAFETY: the program's call, with the address on top of its child's stack.
    unsafe { gate::clone(call, kept(context)) }
}

/// Words of `struct clone_args` up to which one is known: 2^6 bytes and three more (Linux 5.7).
const CLONE_WORDS: usize = 11;

fn clone3(mut call: Call, context: &libc::ucontext_t) -> u64 {
    let [at, bytes, ..] = call.arguments;
    if bytes > 8 * CLONE_WORDS as u64 || bytes < 64 {
        // SAFETY: the kernel refuses it, or its caller has a newer form; then it tries `clone`.
        return (libc::ENOSYS as u64).wrapping_neg();
    }
    let mut words = [0u64; CLONE_WORDS];
    // SAFETY: the program gives so many bytes to the kernel at this address.
    unsafe {
        std::ptr::copy_nonoverlapping(at as *const u8, words.as_mut_ptr().cast(), bytes as usize);
    }
    let [flags, .., stack, stack_bytes, _, _, _, _] = &mut words;
    if *stack == 0 {
        *flags &= !((libc::CLONE_VM | libc::CLONE_VFORK) as u64);
    } else {
        let top = prepared(*stack + *stack_bytes, context);
        *stack_bytes = top - *stack;
    }
    let with_stack = *stack != 0;
    call.arguments[0] = words.as_ptr() as u64;
    // SAFETY: as for `clone`; the words live until the call is done in the parent, and the child
    // does not look at them.
    unsafe { if with_stack { gate::clone(call, kept(context)) } else { gate::call(call) } }
}
