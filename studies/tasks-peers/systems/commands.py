"""Tidings' store in a file, held by a worker that is a program of its own, and its commands."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from processes import START_S, until

from systems.system import Call, System


def tidings() -> Path:
    """Return the program of the commands."""
    return Path(os.environ["TIDINGS_BIN_DIR"]).resolve() / "tidings"


class Program(System):
    """A system whose program submits tasks, and ends when they have ended."""

    running: subprocess.Popen[bytes]

    def all_of(self, call: Call, count: int) -> None:
        """Have them done; without a bound, which would be waited for in steps of up to 50 ms."""
        self.submit(call, count)
        if (status := self.running.wait()) != 0:
            raise RuntimeError(
                f"{count} tasks: the program that waits for them ended with {status}"
            )


class Held(System):
    """A store in a file, held by a worker that takes nothing of what is measured."""

    def hold(self) -> None:
        """Start the holder, the first process that opens the store."""
        self.store = f"file:{self.folder / 'store'}"
        self.holder = self.worker("--queue", "nothing")
        until(self.holder_serves, START_S, "the holder of the store serves")

    def worker(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a worker."""
        return self.crew.start(tidings(), "worker", "--store", self.store, "--slots", "1", *words)

    def holder_serves(self) -> bool:
        """Return whether others can reach the holder."""
        return any(self.folder.glob("store*.sock*")) and self.workers_there() == 1

    def workers_there(self) -> int:
        """Return how many workers the coordinator knows."""
        words = [tidings(), "queue", "ls", "--json", "--store", self.store]
        said = subprocess.run(words, check=False, capture_output=True, text=True)
        return len(json.loads(said.stdout)["workers"]) if said.returncode == 0 else 0

    def coordinator(self) -> int:
        """Return the holder."""
        return self.holder.pid


class Commands(Program, Held):
    """Commands, started by a worker for `tidings run`."""

    def start(self) -> None:
        """Start the holder, which does the tasks."""
        self.store = f"file:{self.folder / 'store'}"
        self.holder = self.crew.start(
            tidings(), "worker", "--store", self.store, "--slots", str(self.slots)
        )
        until(self.holder_serves, START_S, "the worker is there")

    def submit(self, call: Call, count: int) -> None:
        """Start `tidings run`."""
        rows = ["--array", f"0-{count - 1}"] if count > 1 else []
        words = [tidings(), "run", "--store", self.store, "--slots", "0", *rows, "--"]
        self.count = count
        self.running = self.crew.start(*words, *call.command)

    def wait(self, seconds: float) -> int:
        """Wait for its end."""
        return self.count if self.running.wait(seconds) == 0 else 0
