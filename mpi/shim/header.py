"""The functions of one MPI, as its mpi.h declares them.

The compiler of that MPI preprocesses the header, so that the declarations are those that a program
is compiled against: the functions that this version has, with the names and types of their
parameters.
"""

import re
import subprocess
from typing import NamedTuple

# Extensions that come with the library are part of what a program can call.
SOURCE = """#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
"""

PROTOTYPE = re.compile(r"\b(\w+)\s+(MPIX?_\w+)\s*\(([^;{}]*)\)\s*;")
PARAMETER = re.compile(r"^(?P<type>.*?)\b(?P<name>\w+)\s*(?P<array>(\[[^\]]*\]\s*)*)$", re.DOTALL)
KEYWORDS = {"int", "char", "void", "double", "float", "long", "short", "unsigned", "const"}


class Parameter(NamedTuple):
    """One parameter: how it is declared, its type without optional spaces, its name."""

    declaration: str
    type: str
    name: str


class Function(NamedTuple):
    """One function; its parameters are None if their number varies."""

    answer: str
    name: str
    parameters: list[Parameter] | None

    def takes(self, *types):
        """Whether a parameter is of one of these types."""
        return any(parameter.type in types for parameter in self.parameters or [])


def functions(compiler):
    """Return the functions that this compiler's mpi.h declares, in order of their names."""
    found = {}
    for answer, name, inside in PROTOTYPE.findall(preprocessed(compiler)):
        if answer not in ("return", "typedef"):
            found[name] = Function(answer, name, parameters(inside))
    return [found[name] for name in sorted(found)]


def preprocessed(compiler):
    """Return the preprocessed header, without attributes, on one line."""
    command = [compiler, "-E", "-P", "-x", "c", "-"]
    text = subprocess.run(
        command, input=SOURCE, capture_output=True, text=True, check=True
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
    """Return the parameters between two brackets, or None if their number varies."""
    if text.strip() in ("", "void"):
        return []
    taken = []
    for number, part in enumerate(text.split(",")):
        part = part.strip()
        if part == "...":
            return None
        found = PARAMETER.match(part)
        if not found or not found["type"].strip() or found["name"] in KEYWORDS:
            part = f"{part} unnamed{number}"
            found = PARAMETER.match(part)
        kind = re.sub(r"\s*([*\[\]])\s*", r"\1", found["type"].strip() + found["array"])
        taken.append(Parameter(part, kind, found["name"]))
    return taken
