"""Tidings' workers as programs of their own, beside a process that holds the store and decides."""

from __future__ import annotations

import sys

import tidings.tasks as tt
from processes import START_S, until

from systems.commands import Held
from systems.futures import Futures


class Workers(Held, Futures):
    """Functions, called by workers with one slot each."""

    replaces_workers = False

    def start(self) -> None:
        """Start holder, workers, and an executor without any."""
        self.hold()
        for _ in range(self.slots):
            self.worker("--queue", "python", "--python", sys.executable)
        until(lambda: self.workers_there() == self.slots + 1, START_S, "all workers are there")
        self.executor = tt.Executor(self.store, 0)

    def owner(self, pid: int) -> int:
        """Return the worker."""
        return self.crew.owner(pid)
