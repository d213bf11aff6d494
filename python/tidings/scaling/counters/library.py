"""The counting library: compiled where it is first used, kept in the user's cache, loaded.

It is C (``native/tidings_counts.c``), because only code inside a process can wrap malloc and
control what callgrind counts. A compiled file in the package would fit one kind of machine and one
libc; compiling takes a tenth of a second, once. The file's name contains a digest of source and
compiler, so a new version never meets an old file. The file is moved to its place whole, so that
processes that start at once do not read half of it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from pathlib import Path

# hashlib and subprocess are imported where they are used: a check, which counts nothing, needs this
# module's error alone and starts sooner without them.

INCLUDE = Path(__file__).parents[1] / "native"
"""The folder of ``tidings_counts.h``."""

_SOURCE = INCLUDE / "tidings_counts.c"
_FLAGS = ("-std=c11", "-O2", "-shared", "-fPIC")


class CounterError(Exception):
    """Something cannot be counted here. The message says what is missing."""


class Counts(ctypes.Structure):
    """What the library counted, as in ``struct tidings_counts``."""

    _fields_ = (
        ("marks", ctypes.c_uint64),
        ("allocations", ctypes.c_uint64),
        ("heap", ctypes.c_int64),
        ("held", ctypes.c_int64),
        ("pss", ctypes.c_int64),
    )


def path(callgrind: bool = False) -> Path:
    """Return the library's file, compiled if it is missing; with callgrind's marks or malloc's.

    The compiler is ``CC``, or ``cc``.
    """
    import hashlib

    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None:
        raise CounterError(
            "no C compiler: the counting library is compiled when it is first used; "
            "install one (Debian: gcc libc6-dev), or set CC"
        )
    flags = [*_FLAGS, *(["-DTIDINGS_COUNTS_CALLGRIND"] if callgrind else [])]
    parts = [compiler, *flags, _SOURCE.read_text(), (INCLUDE / "tidings_counts.h").read_text()]
    digest = hashlib.sha256("\0".join([*parts, os.uname().machine]).encode()).hexdigest()
    built = _cache() / f"libtidings_counts-{digest[:16]}.so"
    if not built.exists():
        _compile([compiler, *flags], built)
    return built


def load(callgrind: bool = False) -> ctypes.CDLL:
    """Load the library into this process; a preloaded one is the same library."""
    loaded = ctypes.CDLL(str(path(callgrind)))
    if not callgrind:
        loaded.tidings_counts_so_far.restype = Counts
    return loaded


def _cache() -> Path:
    """Return the folder of compiled files; one that only this user can write to."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "tidings-scaling"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CounterError(f"{folder}: {error.strerror}; set XDG_CACHE_HOME") from None
    if folder.stat().st_uid != os.getuid():
        raise CounterError(f"{folder} belongs to another user; set XDG_CACHE_HOME")
    return folder


def _compile(words: list[str], built: Path) -> None:
    import subprocess

    handle, name = tempfile.mkstemp(suffix=".so", dir=built.parent)
    os.close(handle)
    fresh = Path(name)
    try:
        ended = subprocess.run(
            [*words, "-o", name, str(_SOURCE), "-ldl"],
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise CounterError(_explained(ended.stderr))
        fresh.replace(built)
    finally:
        fresh.unlink(missing_ok=True)


def _explained(said: str) -> str:
    """Return why the library did not compile, and, where that is known, what to install."""
    if "valgrind/callgrind.h" in said:
        return (
            "valgrind/callgrind.h is missing: install valgrind, headers included (Debian: valgrind)"
        )
    lines = [line for line in said.splitlines() if "error" in line] or said.splitlines()
    return f"the counting library does not compile: {(lines or ['no message'])[0]}"
