"""The processor time of what Python does for a call, each part alone, without another process.

    PYTHONPATH=python target/python/bin/python studies/tasks-peers/parts.py

What a call costs beside that is the engine's, the kernel's and that of caches which others use
meanwhile. The fastest of some rounds is printed: it depends least on what else the machine does.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

import tidings.tasks._native as native
from tidings.tasks import inputs, pickles, worker_process
from tidings.tasks.future import Future
from tidings.tasks.seal import CALL, Seal

ROUNDS = 5
CALLS = 4_000
TASK = os.urandom(16)


class Nobody:
    """What futures ask that belong to no executor."""

    def cancel(self, task: bytes) -> None:
        """Do nothing."""

    def is_running(self, task: bytes) -> bool:
        """Return that none is."""
        return not task


class Silent(worker_process.Channel):
    """A channel without a socket."""

    def __init__(self) -> None:
        self.ahead = 0

    def send(self, frame: bytes) -> None:
        """Say nothing."""


def nothing(value: int) -> int:
    """Return what it is given."""
    return value


def parts() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield each part by its name."""
    function, seal = pickles.Function(nothing), Seal(None)

    def dumped() -> bytes:
        return seal.close(CALL, TASK, inputs.dump_call(None, function, (1_000,), {})[0])

    def settled() -> int:
        future: Future[int] = Future(Nobody(), TASK)
        future.settle(1)
        return future.result()

    body = dumped()
    process = worker_process.Process(Silent(), seal, None)

    def made() -> bytes:
        process._meter.begin()
        inputs.give({})
        answer = process._answer(TASK, 1, "python", body)
        return native.spent(TASK, 1, process._meter.end(), False) + answer

    yield "caller: the call as bytes", dumped
    yield "caller: its future, settled and read", settled
    yield "process: the call, without its socket", made


def fastest_us(part: Callable[[], object]) -> float:
    """Return the microseconds of a part, in its fastest round."""
    rounds = []
    for _ in range(ROUNDS):
        begun_ns = time.thread_time_ns()
        for _ in range(CALLS):
            part()
        rounds.append((time.thread_time_ns() - begun_ns) / CALLS / 1e3)
    return min(rounds)


def main() -> None:
    """Print each part and their sum."""
    total_us = 0.0
    for name, part in parts():
        part_us = fastest_us(part)
        total_us += part_us
        sys.stdout.write(f"{name:<40} {part_us:6.2f} us\n")
    sys.stdout.write(f"{'all of them':<40} {total_us:6.2f} us\n")


if __name__ == "__main__":
    main()
