"""The functions that are called as tasks: by all systems the same.

A function that writes a line does so when it begins and when it ends, so that :mod:`tally` sees
which tasks began more than once, and where a system paused.
"""

from __future__ import annotations

import os
import time

BUSY_NS = 1_000_000


def nothing(number: int) -> int:
    """Return what it was given."""
    return number


def both(left: int, right: int) -> int:
    """Return a number made of two, which says whether all before it were right."""
    return (left + right) % 1_000_003


def busy(number: int) -> int:
    """Use a processor for a millisecond, as the clock of this thread says."""
    until = time.thread_time_ns() + BUSY_NS
    while time.thread_time_ns() < until:
        pass
    return number


def line(file: str, seconds: float, number: int) -> int:
    """Write that it begins, sleep, write that it ends."""
    written = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(written, f"{number} begin {time.time_ns()} {os.getpid()}\n".encode())
        time.sleep(seconds)
        os.write(written, f"{number} end {time.time_ns()} {os.getpid()}\n".encode())
    finally:
        os.close(written)
    return number
