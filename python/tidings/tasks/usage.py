"""Usage: what a call takes of processors and memory, as its own process sees it.

The processor's time is exact. The most memory that the process had is read where the call took
long: of a shorter one it is what the process had when that was read last, as no call gets much
more within that time.

Source: proc(5), ``status``, ``clear_refs``.
"""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_LONG_NS = 10_000_000
_STATUS = "/proc/self/status"
_CLEAR_REFS = "/proc/self/clear_refs"
_STATUS_BYTES = 1 << 14


class Meter:
    """Measures one call after the other."""

    def __init__(self) -> None:
        self._begun_ns = 0
        self._own_ns = 0
        self._children_us = _children_us()
        self._bytes = _memory()[1]

    def begin(self) -> None:
        """Begin a call."""
        self._begun_ns = time.monotonic_ns()
        self._own_ns = time.process_time_ns()

    def end(self) -> tuple[int, int, int]:
        """End a call; return its microseconds of processors, bytes of memory and microseconds.

        Children count that the process has waited for since the last call.
        """
        own_us = (time.process_time_ns() - self._own_ns) // 1_000
        before_us, self._children_us = self._children_us, _children_us()
        peak = self._bytes
        wall_ns = time.monotonic_ns() - self._begun_ns
        if wall_ns >= _LONG_NS:
            peak, self._bytes = _memory()
        return own_us + self._children_us - before_us, peak, wall_ns // 1_000


def _children_us() -> int:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * 1e6)


def _memory() -> tuple[int, int]:
    """Return the most memory since it was asked last, and that of now, in bytes."""
    try:
        status = _with(_STATUS, os.O_RDONLY, lambda file: os.read(file, _STATUS_BYTES))
        # Where it cannot be forgotten, that of earlier calls counts as well.
        with contextlib.suppress(OSError):
            _with(_CLEAR_REFS, os.O_WRONLY, lambda file: os.write(file, b"5"))
        return _bytes(status, b"VmHWM:"), _bytes(status, b"VmRSS:")
    except (OSError, LookupError, ValueError):
        return 0, 0


def _with(path: str, flags: int, use: Callable[[int], T]) -> T:
    # `Path` takes some times as long. It does not stay open: a call may close what it finds.
    file = os.open(path, flags)
    try:
        return use(file)
    finally:
        os.close(file)


def _bytes(status: bytes, name: bytes) -> int:
    return int(status.partition(name)[2].split(None, 1)[0]) << 10
