"""Makes the wrappers of the shim from the mpi.h of one MPI.

Every function of that header that takes a communicator, or may wait, gets a wrapper that is
exported under both of its names, MPI_X and PMPI_X, since Fortran interfaces call either one, and
that reaches the library by dlsym. A communicator that is MPI_COMM_WORLD is replaced by the
application's world.

usage: python3 generate.py MPICC > functions.c
"""

import re
import sys

import header

# Written by hand, since substitution alone would be wrong.
BY_HAND = {
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Initialized",
    "MPI_Finalized",
    "MPI_Finalize",
    "MPI_Abort",
    "MPI_Comm_get_attr",
    "MPI_Attr_get",
    "MPI_Comm_create_errhandler",
    "MPI_Comm_set_errhandler",
    "MPI_Errhandler_create",
    "MPI_Errhandler_get",
    "MPI_Errhandler_set",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_Group_from_session_pset",
    "MPI_Session_get_pset_info",
    "MPI_Session_finalize",
    "MPI_Session_init",
}

# A handle of MPI_COMM_WORLD stays the same when it is converted to Fortran's and back: a call that
# uses it then replaces it. Wtime and Wtick are for measuring, and are not measured.
PASSED = re.compile(r"MPI_(\w+_(c2f|f2c|toint|fromint|f082f|f2f08|f082c|c2f08)|Wtime|Wtick|T_\w+)$")

# Functions without a communicator that may wait: for the share of time spent in MPI.
WAITING = re.compile(
    r"MPI_(Wait|Test|Start|Request_free|Mrecv|Imrecv|Cancel|Parrived|Pready"
    r"|File_|Win_|Put|Get$|Rput|Rget|Accumulate|Raccumulate|Get_acc|Rget_acc|Fetch_and|Compare_and)"
)

# Of x86-64: bytes of a pointer, and where the first parameters are, in eight bytes and in four.
POINTER = 8
REGISTERS = ["rdi, edi", "rsi, esi", "rdx, edx", "rcx, ecx", "r8, r8d", "r9, r9d"]


def wrapped(functions):
    """Return the functions that get a wrapper."""
    return [
        function
        for function in functions
        if function.name not in BY_HAND
        and function.parameters is not None
        and function.answer == "int"
        and not PASSED.match(function.name)
        and (function.takes("MPI_Comm") or WAITING.match(function.name))
    ]


def wrapper(number, function):
    """Return the C text of one wrapper, with two paths: timed and untimed.

    The second ends in a jump to the library's function, so that what is on the stack stays there,
    however many parameters there are.
    """
    name, taken = function.name, function.parameters
    declared = ", ".join(parameter.declaration for parameter in taken) or "void"
    passed = ", ".join(
        f"shim_comm({parameter.name})" if parameter.type == "MPI_Comm" else parameter.name
        for parameter in taken
    )
    real = f"((__typeof__(&{name}))shim_real[{number}])({passed})"
    timed = f"""
__attribute__((noinline, cold, used)) static int timed_{name}({declared})
{{
    shim_enter();
    int answer = {real};
    shim_leave();
    return answer;
}}
"""
    given = ", ".join(parameter.name for parameter in taken)
    compiled = f"""SHIM_EXPORT int {name}({declared})
{{
    if (__builtin_expect(shim_timed, 0))
        return timed_{name}({given});
    return {real};
}}
SHIM_EXPORT int P{name}({declared}) __attribute__((alias("{name}")));
"""
    if len(taken) <= len(REGISTERS):
        return timed + compiled
    return f"{timed}#ifdef SHIM_JUMPS\n{jump(number, function)}#else\n{compiled}#endif\n"


def jump(number, function):
    """Return the untimed path of a function with parameters on the stack, for x86-64."""
    replaced = ""
    for at, parameter in enumerate(function.parameters):
        if parameter.type == "MPI_Comm":
            above = at - len(REGISTERS)
            place = f"AT({POINTER * (above + 1)})" if above >= 0 else f"IN({REGISTERS[at]})"
            replaced += f" SHIM_REPLACE_{place}"
    return f"SHIM_JUMP({function.name}, {POINTER * number},{replaced})\n"


def main():
    """Write the wrappers and the table of names to standard output."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    all_wrapped = wrapped(header.functions(sys.argv[1]))
    count = len(all_wrapped)
    if count < 100:
        sys.exit(f"generate.py: found {count} functions only in the mpi.h of {sys.argv[1]}")
    print("/* Made by generate.py: do not edit. */")
    print('#include "jump.h"\n#include "shim.h"\n')
    print(f"const int shim_functions = {count};")
    print(f"void *shim_real[{count}];")
    print(f"const char *const shim_names[{count}] = {{")
    for function in all_wrapped:
        print(f'    "P{function.name}",')
    print("};")
    for number, function in enumerate(all_wrapped):
        print(wrapper(number, function), end="")


if __name__ == "__main__":
    main()
