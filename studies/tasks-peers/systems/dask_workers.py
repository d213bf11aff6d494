"""Dask distributed: a scheduler and workers of one thread each, all processes of their own."""

from __future__ import annotations

import itertools
import os
import sys
import time
from pathlib import Path
from typing import Any

import calls
import graphs
from distributed import Client, Future
from processes import free_port

from systems.system import Call, System

# A client that has lost its scheduler gives up after 30 s by default: longer than is waited here.
PATH = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


class Workers(System):
    """Scheduler and workers without nannies: a worker that dies is not replaced."""

    futures: tuple[Future, ...] = ()

    def __init__(self, folder: Path, slots: int) -> None:
        """Prepare it."""
        super().__init__(folder, slots)
        self.numbers = itertools.count()

    def start(self) -> None:
        """Start them."""
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.restart()
        own = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        for _ in range(self.slots):
            self.program("dask_worker", self.address, *own)
        self.client = Client(self.address, timeout=30)
        self.client.wait_for_workers(self.slots, timeout=30)

    def program(self, name: str, *words: str) -> int:
        """Start one of its programs."""
        module = f"distributed.cli.{name}"
        return self.crew.start(sys.executable, "-m", module, *words, **PATH).pid

    def submit(self, call: Call, count: int) -> None:
        """Submit each."""
        self.futures = tuple(self.client.map(call.function, range(count), pure=False))

    def wait(self, seconds: float) -> int:
        """Wait for each; what is cancelled counts as lost."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            states = [one.status for one in self.futures]
            if all(state != "pending" for state in states):
                break
            time.sleep(0.01)
        return sum(one.status == "finished" for one in self.futures)

    def all_of(self, call: Call, count: int) -> None:
        """Have them done, and their results brought here."""
        self.submit(call, count)
        assert len(self.client.gather(list(self.futures))) == count
        self.futures = ()

    def graph(self, layers: int) -> list[int]:
        """Send the whole graph at once, its fastest way; all keys are new."""
        graph: dict[str, tuple[Any, ...]] = {}

        def declared(left: object, right: object) -> str:
            key = f"both-{next(self.numbers)}"
            graph[key] = (calls.both, left, right)
            return key

        return list(self.client.get(graph, graphs.layered(layers, declared)))

    def coordinator(self) -> int:
        """Return the scheduler."""
        return self.scheduler

    def restart(self) -> None:
        """Start a scheduler at the same address."""
        own = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"]
        self.scheduler = self.program("dask_scheduler", *own)

    def stop(self) -> None:
        """End it."""
        self.client.close(timeout=1)
        super().stop()
