"""Tidings' executor, with its own workers in the process that submits."""

from __future__ import annotations

import tidings.tasks as tt

from systems.futures import Futures


class Memory(Futures):
    """Tidings with records in memory."""

    store = "memory:"

    def start(self) -> None:
        """Start the processes."""
        self.executor = tt.Executor(self.store, self.slots)


class File(Memory):
    """Tidings with records in a file, synced before anything is acknowledged."""

    def start(self) -> None:
        """Start the processes."""
        self.store = f"file:{self.folder / 'store'}"
        super().start()
