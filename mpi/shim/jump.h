/*
 * The wrapper's untimed path for functions with parameters on the stack, in x86-64 assembly.
 *
 * It ends in a jump to the library's function, so the parameters may stay where they are but for
 * the communicators. A compiler copies each parameter on the stack onto itself before it jumps: for
 * the twelve of MPI_Sendrecv 18 instructions more (docs/decisions/0013-wrappers-that-jump.md). What
 * MPI passes is whole numbers and pointers, so the first six are in registers, and each other has
 * eight bytes of the stack, behind the address of return (System V ABI, AMD64, 3.2.3). rax is free.
 */
#ifndef TIDINGS_SHIM_JUMP_H
#define TIDINGS_SHIM_JUMP_H

#include <mpi.h>

#if defined(__x86_64__) && defined(__LP64__)
#define SHIM_JUMPS
#endif

/* Handles are pointers, or whole numbers of four bytes in the family of MPICH. */
#if defined(OPEN_MPI) || defined(MPI_ABI_VERSION)
#define SHIM_REGISTER(wide, narrow) "%" #wide
#else
#define SHIM_REGISTER(wide, narrow) "%" #narrow
#endif

/* If calls may only go to marked places (CET), a function begins with the marker. */
#ifdef __CET__
#define SHIM_MARK "endbr64\n"
#else
#define SHIM_MARK ""
#endif

/* shim_comm() for a communicator in a register. */
#define SHIM_REPLACE_IN(wide, narrow)                                                          \
    "cmp shim_all(%rip), " SHIM_REGISTER(wide, narrow) "\n"                                    \
    "cmove shim_world(%rip), " SHIM_REGISTER(wide, narrow) "\n"

/* shim_comm() for a communicator `bytes` bytes above the stack pointer. */
#define SHIM_REPLACE_AT(bytes)                                                                 \
    "mov " #bytes "(%rsp), " SHIM_REGISTER(rax, eax) "\n"                                      \
    SHIM_REPLACE_IN(rax, eax)                                                                  \
    "mov " SHIM_REGISTER(rax, eax) ", " #bytes "(%rsp)\n"

/* The function of a name and of P and that name; `slot` is its place in shim_real, in bytes. */
#define SHIM_JUMP(name, slot, replace)                                                         \
    __asm__(".text\n"                                                                          \
            ".globl " #name ", P" #name "\n"                                                   \
            ".type " #name ", @function\n.type P" #name ", @function\n"                        \
            ".p2align 4\n" #name ":\nP" #name ":\n" SHIM_MARK                                  \
            "cmpb $0, shim_timed(%rip)\n"                                                      \
            "jne timed_" #name "\n" replace                                                    \
            "jmp *shim_real+" #slot "(%rip)\n"                                                 \
            ".size " #name ", . - " #name "\n.size P" #name ", . - P" #name "\n");

#endif
