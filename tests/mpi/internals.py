"""Find the functions of a Fortran library of MPI that a shim does not reach.

A shim wraps MPI_X and PMPI_X. A function of Fortran that calls these is reached; one that calls an
internal of the library passes the shim by. The machine code says which do: each call of a function
that the library imports and that is no function of the standard. A call is reached all the same if
the shim exports the internal, or the Fortran function under each of its names; what needs no shim
is in EXEMPT, with the reason.

usage: python3 internals.py SHIM LIBRARY...
Prints a line for each function that is not reached, and exits with 1 if there is one.
"""

import re
import subprocess
import sys
from collections import defaultdict

STANDARD = re.compile(r"P?MPIX?_")
FOREIGN = re.compile(r"_ITM_|__|_gfortran|.*@(GLIBC|GFORTRAN|GCC)")

# Internals, the Fortran functions that may call them, and why no shim is needed.
EXEMPT = [
    ("ompi_attr_[gs]et_.*", "ompi_(win|type)_.*", "a window and a datatype are what they are"),
    ("ompi_attr_create_keyval_.*", ".*", "a key belongs to no communicator"),
    ("ompi_errhandler_create", "ompi_(win|file)_.*", "a handler of windows or files"),
    ("ompi_errhandler_invoke", ".*", "an argument is wrong: the true world has the same handler"),
    ("ompi_fortran_.*|opal_.*", ".*", "converts text and lists"),
    ("ompi_mpi_errors_are_fatal_comm_handler", ".*", "ends the program"),
    ("ompi_datatype_match_size|ompi_errcode.*", ".*", "takes no communicator"),
    ("MPII_(Type|Win)_[gs]et_attr", ".*", "a window and a datatype are what they are"),
    ("MPII_Keyval_set_proxy", ".*", "a key belongs to no communicator"),
    ("MPII_Grequest_set_lang_f77", ".*", "takes a request"),
]

LABEL = re.compile(r"^[0-9a-f]+ <([^@>+]+)[^>]*>:$")
CALL = re.compile(r"\b(?:call|jmp)q?\s+[0-9a-f]+ <([^@>+-]+)(@plt)?([^>]*)>")


def output(*command):
    """Return what a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exported(library):
    """Return the names that a library defines, by their addresses."""
    names = defaultdict(set)
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        address, _, name = line.split(maxsplit=2)
        names[address].add(name.partition("@")[0])
    return names


def names(library):
    """Return the names that a library defines."""
    return set().union(*exported(library).values())


def imported(library, fortran):
    """Return the internals that a library imports: what is none of the Fortran functions."""
    lines = output("nm", "-D", "--undefined-only", library).splitlines()
    all_names = {line.split()[-1] for line in lines}
    own = {name for name in all_names if not STANDARD.match(name) and not FOREIGN.match(name)}
    return {name.partition("@")[0] for name in own} - fortran


def calls(library, internals):
    """Return the internals that each function calls, itself or by a function without a name.

    The code of such a function stands behind that of one with a name, and counts as part of it.
    """
    found, reaches = defaultdict(set), defaultdict(set)
    own = ""
    for line in output("objdump", "-d", "--no-show-raw-insn", library).splitlines():
        if label := LABEL.match(line):
            own = label[1]
        elif call := CALL.search(line):
            name, through_table, _ = call.groups()
            if through_table and name in internals:
                found[own].add(name)
            elif not through_table and name != own:
                reaches[own].add(name)
    for function, others in reaches.items():
        for other in others:
            found[function] |= found.get(other, set())
    return found


def is_exempt(internal, alike):
    """Whether the function of these names may call it without a shim."""
    return any(
        re.fullmatch(inner, internal) and any(re.fullmatch(outer, name) for name in alike)
        for inner, outer, _ in EXEMPT
    )


def unreached(library, shim, fortran):
    """Return the functions of a library that call internals past a shim, with their names."""
    internals = imported(library, fortran)
    names_of = {name: alike for alike in exported(library).values() for name in alike}
    missing = []
    for function, called in sorted(calls(library, internals).items()):
        alike = names_of.get(function, set())
        for internal in sorted(called):
            if internal in shim or is_exempt(internal, alike):
                continue
            if left := sorted(alike - shim):
                missing.append(f"{library}: {', '.join(left)}: calls {internal}")
    return missing


def main():
    """Print what is not reached."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    shim, *libraries = sys.argv[1:]
    shim = names(shim)
    fortran = set().union(*map(names, libraries))
    missing = [line for library in libraries for line in unreached(library, shim, fortran)]
    print("\n".join(missing), end="\n" if missing else "")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
