"""The functions that the benchmark of the executor calls."""

from __future__ import annotations

import time

BUSY_NS = 1_000_000


def nothing(number: int) -> int:
    """Return what it was given."""
    return number


def busy(number: int) -> int:
    """Use a processor for a millisecond."""
    until = time.thread_time_ns() + BUSY_NS
    while time.thread_time_ns() < until:
        pass
    return number
