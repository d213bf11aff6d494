"""Processes that have no call are not woken, whatever others do."""

from __future__ import annotations

import os
from pathlib import Path

import tidings.tasks as tt

CALLS = 300


def sleeps(pid: int) -> int:
    """Return how often the threads of a process have gone to sleep."""
    count = 0
    for status in Path("/proc", str(pid), "task").glob("*/status"):
        _, _, after = status.read_text(encoding="utf-8").partition("\nvoluntary_ctxt_switches:")
        count += int(after.split(None, 1)[0])
    return count


def test_a_process_without_a_call_sleeps_while_others_work() -> None:
    with tt.Executor(workers=1) as idle, tt.Executor(workers=1) as busy:
        pid = idle.submit(os.getpid).result()
        before = sleeps(pid)
        assert sum(busy.map(abs, range(CALLS))) == sum(range(CALLS))
        # Once, when it had said what its call has returned.
        assert sleeps(pid) - before <= 1
