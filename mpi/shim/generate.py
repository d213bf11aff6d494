"""Makes the wrappers of the shim from the mpi.h of one MPI.

Every function of that header that takes a communicator, or may wait, gets a wrapper that is exported
under both of its names, MPI_X and PMPI_X, since Fortran interfaces call either one, and that reaches
the library by dlsym. A communicator that is MPI_COMM_WORLD is replaced by the application's world.

usage: python3 generate.py MPICC > functions.c
"""

import re
import subprocess
import sys

# Written by hand in shim.c, since substitution alone would be wrong.
BY_HAND = {
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Finalize",
    "MPI_Abort",
    "MPI_Comm_get_attr",
    "MPI_Attr_get",
    "MPI_Comm_spawn",
    "MPI_Comm_spawn_multiple",
    "MPI_Group_from_session_pset",
}

# A handle of MPI_COMM_WORLD stays what it is when it is turned into Fortran's and back: whoever uses
# it then has it replaced. Wtime and Wtick are called to measure, and measure nothing themselves.
PASSED = re.compile(r"MPI_(\w+_(c2f|f2c|toint|fromint|f082f|f2f08|f082c|c2f08)|Wtime|Wtick|T_\w+)$")

# Functions without a communicator in which time passes: for the share of time spent in MPI.
WAITING = re.compile(
    r"MPI_(Wait|Test|Start|Request_free|Mrecv|Imrecv|Cancel|Parrived|Pready"
    r"|File_|Win_|Put|Get$|Rput|Rget|Accumulate|Raccumulate|Get_acc|Rget_acc|Fetch_and|Compare_and)"
)

PROTOTYPE = re.compile(r"\bint\s+(MPI_\w+)\s*\(([^;{}]*)\)\s*;")
PARAMETER = re.compile(r"^(?P<type>.*?)\b(?P<name>\w+)\s*(?P<array>(\[[^\]]*\])*)$", re.DOTALL)
KEYWORDS = {"int", "char", "void", "double", "float", "long", "short", "unsigned", "const"}


def preprocessed(compiler):
    """Return what the compiler makes of the header, without attributes, on one line."""
    command = [compiler, "-E", "-P", "-x", "c", "-"]
    text = subprocess.run(
        command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True
    ).stdout
    return " ".join(without_attributes(text).split())


def without_attributes(text):
    """Remove each __attribute__((...)), however deep its brackets go."""
    kept = []
    while True:
        before, found, rest = text.partition("__attribute__")
        kept.append(before)
        if not found:
            return "".join(kept)
        start, depth = rest.index("("), 0
        for at in range(start, len(rest)):
            depth += {"(": 1, ")": -1}.get(rest[at], 0)
            if depth == 0:
                break
        text = rest[at + 1 :]


def parameters(text):
    """Return (declaration, name, is a communicator by value) of each parameter; None if varied."""
    if text.strip() in ("", "void"):
        return []
    taken = []
    for number, part in enumerate(text.split(",")):
        part = part.strip()
        if part == "...":
            return None
        found = PARAMETER.match(part)
        if not found or not found["type"].strip() or found["name"] in KEYWORDS:
            part, name = f"{part} unnamed{number}", f"unnamed{number}"
        else:
            name = found["name"]
        taken.append((part, name, re.fullmatch(r"MPI_Comm\s+\w+", part) is not None))
    return taken


def functions(text):
    """Return (name, parameters) of each function to be wrapped."""
    found = {}
    for name, inside in PROTOTYPE.findall(text):
        taken = parameters(inside)
        if name in BY_HAND or taken is None or PASSED.match(name):
            continue
        if any(is_comm for _, _, is_comm in taken) or WAITING.match(name):
            found[name] = taken
    return sorted(found.items())


def wrapper(number, name, taken):
    """Return the C text of one wrapper."""
    declared = ", ".join(part for part, _, _ in taken) or "void"
    passed = ", ".join(f"shim_comm({name})" if is_comm else name for _, name, is_comm in taken)
    return f"""
SHIM_EXPORT int {name}({declared})
{{
    SHIM_ENTER
    int answer = ((__typeof__(&{name}))shim_real[{number}])({passed});
    SHIM_LEAVE
    return answer;
}}
SHIM_EXPORT int P{name}({declared}) __attribute__((alias("{name}")));
"""


def main():
    """Write the wrappers and the table of names to standard output."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wrapped = functions(preprocessed(sys.argv[1]))
    if len(wrapped) < 100:
        sys.exit(f"generate.py: found {len(wrapped)} functions only in the mpi.h of {sys.argv[1]}")
    print("/* Made by generate.py: do not edit. */")
    print('#include "shim.h"\n')
    print(f"const int shim_functions = {len(wrapped)};")
    print(f"void *shim_real[{len(wrapped)}];")
    print(f"const char *const shim_names[{len(wrapped)}] = {{")
    for name, _ in wrapped:
        print(f'    "P{name}",')
    print("};")
    for number, (name, taken) in enumerate(wrapped):
        print(wrapper(number, name, taken), end="")


if __name__ == "__main__":
    main()
