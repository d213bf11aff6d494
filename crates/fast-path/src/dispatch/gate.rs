//! The gate: the few instructions from which system calls are not dispatched.
//!
//! The kernel sends a signal for each system call of a dispatched thread, but for those made from
//! one range of addresses. This is that range: a call as it is, the return from a signal handler,
//! and the call that makes a thread or process with a stack of its own, which has to go on where
//! the program made it, with the program's registers. And what a handler does most often: to go on
//! after a shipped call without a call of the kernel.

use std::arch::{asm, global_asm};
use std::ffi::c_void;

use crate::shipper::Call;

global_asm!(
    ".pushsection .text.tidings_gate, \"ax\", @progbits",
    ".balign 64",
    ".hidden tidings_gate_begin",
    ".globl tidings_gate_begin",
    "tidings_gate_begin:",
    // Where signal handlers return to.
    ".hidden tidings_gate_return",
    ".globl tidings_gate_return",
    "tidings_gate_return:",
    "mov eax, 15",
    "syscall",
    "ud2",
    // rdi: number and arguments, seven words.
    ".hidden tidings_gate_call",
    ".globl tidings_gate_call",
    "tidings_gate_call:",
    "mov rax, [rdi]",
    "mov rsi, [rdi + 16]",
    "mov rdx, [rdi + 24]",
    "mov r10, [rdi + 32]",
    "mov r8, [rdi + 40]",
    "mov r9, [rdi + 48]",
    "mov rdi, [rdi + 8]",
    "syscall",
    "ret",
    // rdi: as above, and then rbx, rbp, r12 to r15. The child returns on its own stack, to the
    // address that was put there; the parent on this one.
    ".hidden tidings_gate_clone",
    ".globl tidings_gate_clone",
    "tidings_gate_clone:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov rax, [rdi]",
    "mov rsi, [rdi + 16]",
    "mov rdx, [rdi + 24]",
    "mov r10, [rdi + 32]",
    "mov r8, [rdi + 40]",
    "mov r9, [rdi + 48]",
    "mov rbx, [rdi + 56]",
    "mov rbp, [rdi + 64]",
    "mov r12, [rdi + 72]",
    "mov r13, [rdi + 80]",
    "mov r14, [rdi + 88]",
    "mov r15, [rdi + 96]",
    "mov rdi, [rdi + 8]",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "2:",
    "ret",
    // rdi: the registers of a context in the kernel's order, rsi: its vector registers and others.
    // Goes on there as after a system call, which leaves the place in rcx and the flags in r11.
    ".hidden tidings_gate_resume",
    ".globl tidings_gate_resume",
    "tidings_gate_resume:",
    "mov r11, rdi",
    "mov eax, [rsi + 472]",
    "mov edx, [rsi + 476]",
    "xrstor64 [rsi]",
    "mov rcx, [r11 + 128]",
    "push qword ptr [r11 + 136]",
    "popfq",
    "mov r8, [r11]",
    "mov r9, [r11 + 8]",
    "mov r10, [r11 + 16]",
    "mov r12, [r11 + 32]",
    "mov r13, [r11 + 40]",
    "mov r14, [r11 + 48]",
    "mov r15, [r11 + 56]",
    "mov rdi, [r11 + 64]",
    "mov rsi, [r11 + 72]",
    "mov rbp, [r11 + 80]",
    "mov rbx, [r11 + 88]",
    "mov rdx, [r11 + 96]",
    "mov rax, [r11 + 104]",
    "mov rsp, [r11 + 120]",
    "jmp rcx",
    ".hidden tidings_gate_end",
    ".globl tidings_gate_end",
    "tidings_gate_end:",
    ".popsection",
);

unsafe extern "C" {
    static tidings_gate_begin: u8;
    static tidings_gate_return: u8;
    static tidings_gate_end: u8;
    fn tidings_gate_call(words: *const [u64; 7]) -> u64;
    fn tidings_gate_clone(words: *const [u64; 13]) -> u64;
    fn tidings_gate_resume(registers: *const i64, vectors: *const c_void) -> !;
}

/// Where the gate begins, and how long it is.
pub(super) fn range() -> (usize, usize) {
    let (begin, end) =
        (&raw const tidings_gate_begin as usize, &raw const tidings_gate_end as usize);
    (begin, end - begin)
}

/// Where signal handlers return to.
pub(super) fn handlers_return() -> u64 {
    &raw const tidings_gate_return as u64
}

/// Makes a call from the gate, without looking at anything of the thread but its registers.
///
/// # Safety
/// As for the call itself.
pub(super) unsafe fn call(call: Call) -> u64 {
    let mut words = [call.number; 7];
    words[1..].copy_from_slice(&call.arguments);
    // SAFETY: the assembly reads seven words, keeps what the ABI has a function keep (the kernel
    // changes rax, rcx and r11 alone), and makes the call that the caller answers for.
    unsafe { tidings_gate_call(&raw const words) }
}

/// Makes a call that begins a child on a stack of its own.
///
/// # Safety
/// As for the call itself; on top of that stack is the address where the child goes on.
pub(super) unsafe fn clone(call: Call, kept: [u64; 6]) -> u64 {
    let mut words = [call.number; 13];
    words[1..7].copy_from_slice(&call.arguments);
    words[7..].copy_from_slice(&kept);
    // SAFETY: as for `call`; the registers that are set for the child are restored for the parent,
    // from this stack, which the child does not use.
    unsafe { tidings_gate_clone(&raw const words) }
}

/// Whether this thread has a shadow stack, on which the kernel puts what only its own return from a
/// signal takes off.
pub(super) fn has_shadow_stack() -> bool {
    let top: u64;
    // SAFETY: reads a register of the processor, or does nothing where there is none.
    unsafe {
        asm!("xor {0:e}, {0:e}", "rdsspq {0}", out(reg) top, options(nomem, nostack));
    }
    top != 0
}

/// What a frame of vector registers begins with, if it is of the form that is restored here.
const EXTENDED: u32 = 0x4650_5853;
/// Where that is.
const EXTENDED_AT: usize = 464;
/// Of an alternate stack: a signal takes it away, and the return from it gives it back.
pub(super) const AUTODISARM: i32 = 1 << 31;

/// Goes on with the program as its call returns, without a call of the kernel: with the registers
/// of the context, all of which the program finds as it left them, but for two that every system
/// call changes. Returns if the frame has what only the kernel restores.
///
/// # Safety
/// The context is that of a signal that blocks none, on the stack that was in use; neither it nor
/// the mask of signals has changed since. Nothing between here and the handler's begin has to be
/// done any more.
pub(super) unsafe fn resume(context: &libc::ucontext_t) {
    let vectors = context.uc_mcontext.fpregs.cast::<u8>();
    if vectors.is_null() || context.uc_stack.ss_flags & AUTODISARM != 0 {
        return;
    }
    // SAFETY: the kernel has put 512 bytes at least there, aligned to 64.
    let form = unsafe { vectors.add(EXTENDED_AT).cast::<u32>().read_unaligned() };
    if form == EXTENDED {
        // SAFETY: as the caller promises; the mask of what is restored is that of what was saved,
        // and stands behind the form.
        unsafe { tidings_gate_resume(context.uc_mcontext.gregs.as_ptr(), vectors.cast()) };
    }
}
