//! The gate: the few instructions from which system calls are not dispatched.
//!
//! The kernel sends a signal for each system call of a dispatched thread, but for those made from
//! one range of addresses. This is that range: a call as it is, the return from a signal handler,
//! and the call that makes a thread or process with a stack of its own, which has to go on where
//! the program made it, with the program's registers.

use std::arch::global_asm;

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
