"""Executors of this process: the interface of the standard library, and its own processes."""

from __future__ import annotations

import concurrent.futures
import functools
from multiprocessing import get_context

import calls
import graphs

from systems.system import Call, System


class Futures(System):
    """A system behind the interface of ``concurrent.futures``."""

    executor: concurrent.futures.Executor
    replaces_workers = True
    futures: tuple[concurrent.futures.Future[int], ...] = ()

    def all_of(self, call: Call, count: int) -> None:
        """Have them done by `map`, which sends the function once."""
        done = sum(1 for _ in self.executor.map(call.function, range(count)))
        assert done == count

    def one(self, call: Call) -> None:
        """Have one done."""
        self.executor.submit(call.function, 0).result()

    def graph(self, layers: int) -> list[int]:
        """Submit each call with the futures that it reads: of Tidings, the pool has no graphs."""
        last = graphs.layered(layers, functools.partial(self.executor.submit, calls.both))
        return [one.result() for one in last]

    def submit(self, call: Call, count: int) -> None:
        """Submit each."""
        begin = functools.partial(self.executor.submit, call.function)
        self.futures = tuple(map(begin, range(count)))

    def wait(self, seconds: float) -> int:
        """Wait for each."""
        done, _ = concurrent.futures.wait(self.futures, seconds)
        return sum(not one.cancelled() and one.exception() is None for one in done)

    def owner(self, pid: int) -> int:
        """Return the process itself: it is replaced."""
        return pid

    def stop(self) -> None:
        """End it."""
        self.executor.shutdown(wait=True, cancel_futures=True)
        super().stop()


class Pool(Futures):
    """The limit: processes that keep no records."""

    def start(self) -> None:
        """Start the processes."""
        spawned = get_context("spawn")
        self.executor = concurrent.futures.ProcessPoolExecutor(self.slots, spawned)
