"""Timing: seconds of one call, of functions from nanoseconds to seconds.

A clock cannot time a call of a microsecond: its own cost and steps are as large. So calls are
repeated in an inner loop, as pyperf does it: how often is calibrated once for each size, such that
a batch takes a millisecond and a thousand steps of the clock. The least of a few batches counts,
once another is nearly as short and, where setting up costs nothing, all together took 10 ms:
whatever else runs on the machine only adds. What the thread waited for a processor meanwhile, as
Linux counts it, is taken off: calls of many milliseconds never run undisturbed beside others. The
first call at a size is made before and is not timed; the metric `cold` times it alone.

An argument comes from `setup`: one for each call, since a function may change it, or one for a
batch, for functions that leave it as it is.

Repetitions are made in rounds of all sizes. A processor is slower by a tenth, or beside others by
half, for milliseconds to seconds at a time: so each round has the sizes in an order of its own, and
where that leaves open what was asked, there are more rounds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from tidings.scaling.counters.calls import without_collector

METRICS = ("time", "cpu", "cold")
PER = ("call", "batch")

APART = 0.01
"""Scatter of times between sizes that repetitions do not show: where data lie in memory, by which
caches and branches they go. Without it a per cent at the largest size is a hidden cube."""

_WAITS = Path("/proc/thread-self/schedstat")
"""Nanoseconds on a processor, waiting for one, and how often (Linux)."""

_BATCH_S = 1e-3
_CLOCK_STEPS = 1000
_FEWEST_STEPS = 50
_BATCHES = 3
_MOST_BATCHES = 12
_SPREAD_S = 10e-3
"""What batches take together at least, where calls share an argument: for some milliseconds at a
time a processor is slower by a tenth, and batches that agree then are not the least."""
_AGREED = 1.02
"""The least of batches is known once another takes at most so many times as long."""
_LONG_S = 0.1
"""For longer than this no more batches are made than are needed."""
_LONG_BATCH_S = 0.05
_MOST_CALLS = 1 << 20
_MOST_ARGUMENTS = 256
_SETUP_S = 0.05
_WAITED = 0.2
_LOAD = 1.5
_MOST_ROUNDS = 8
"""Times as many rounds as were asked for may be made."""
_ROUNDS_S = 10.0
"""When so many seconds have passed no more than that are made."""

T = TypeVar("T")


def text_of(size: float | Sequence[float]) -> str:
    """Return a size, or a pair of two parameters, as text."""
    pair = size if isinstance(size, Sequence) else (size,)
    return ", ".join(f"{at:g}" for at in pair)


@lru_cache(maxsize=4)
def resolution(clock: Callable[[], float]) -> float:
    """Return the least step of a clock that reading it again and again shows."""
    steps = []
    for _ in range(50):
        began = clock()
        now = clock()
        while now == began:
            now = clock()
        steps.append(now - began)
    return min(steps)


def waited() -> float:
    """Return the seconds that this thread has waited for a processor; 0 where that is not told."""
    try:
        return 1e-9 * int(_WAITS.read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0


def _is_known(took: list[float], spread: float) -> bool:
    """Whether batches, over so many seconds, show the least that one takes."""
    if len(took) >= _MOST_BATCHES:
        return True
    if len(took) < _BATCHES or sum(took) < spread:
        return False
    least, second = sorted(took)[:2]
    return second <= _AGREED * least or sum(took) > _LONG_S


class _Same:
    """One argument for some calls, for as many batches as wanted."""

    def __init__(self, argument: Any, calls: int) -> None:  # noqa: ANN401
        self.argument = argument
        self.calls = calls

    def __iter__(self) -> Iterator[Any]:
        return repeat(self.argument, self.calls)


class Timing:
    """The timer of one function; it learns at each size how many calls make a batch.

    A size may be a pair, of two parameters.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        setup: Callable[[Any], Any] | None = None,
        per: str = "call",
        metric: str = "time",
    ) -> None:
        """Keep what is to be timed; nothing is run yet."""
        self.function = function
        self.setup = setup
        self.per = per
        self.metric = metric
        self.clock = time.process_time if metric == "cpu" else time.perf_counter
        self.calls: dict[Any, int] = {}
        self.short: set[Any] = set()
        self._wall_s = 0.0
        self._cpu_s = 0.0

    def value(self, size: Any) -> float:  # noqa: ANN401
        """Return the seconds of one call at a size."""
        if self.metric == "cold":
            return max(self._batch(self._arguments(size, 1)), 1e-12)
        if size not in self.calls:
            self.calls[size] = self._calibrated(size)
        calls = self.calls[size]
        shared = self.setup is None or self.per == "batch"
        arguments = self._arguments(size, calls)
        took = [self._batch(arguments)]
        spread = _SPREAD_S if shared else 0.0
        while took[0] < _LONG_BATCH_S and not _is_known(took, spread):
            arguments = arguments if shared else self._arguments(size, calls)
            took.append(self._batch(arguments))
        return max(min(took) / calls, 1e-12)

    def _calibrated(self, size: Any) -> int:  # noqa: ANN401
        """Return how many calls take long enough; the first of all calls is not timed."""
        enough = max(_BATCH_S, _CLOCK_STEPS * resolution(self.clock))
        most = self._most_calls(size)
        self._batch(self._arguments(size, 1))
        calls = 1
        while (took := self._batch(self._arguments(size, calls))) < enough:
            if calls >= most:
                if took < _FEWEST_STEPS * resolution(self.clock):
                    self.short.add(size)
                break
            wanted = calls * min(max(1.2 * enough / max(took, 1e-9), 2.0), 10.0)
            calls = min(int(wanted), most)
        return calls

    def _most_calls(self, size: Any) -> int:  # noqa: ANN401
        """Return how many calls a batch may have: arguments of their own take time and memory."""
        if self.setup is None or self.per == "batch":
            return _MOST_CALLS
        began = time.perf_counter()
        self.setup(size)
        took = time.perf_counter() - began
        return max(1, min(_MOST_ARGUMENTS, int(_SETUP_S / max(took, 1e-9))))

    def _arguments(self, size: Any, calls: int) -> Iterable[Any]:  # noqa: ANN401
        if self.setup is None:
            return _Same(size, calls)
        if self.per == "batch":
            return _Same(self.setup(size), calls)
        return [self.setup(size) for _ in range(calls)]

    def _batch(self, arguments: Iterable[Any]) -> float:
        """Return the seconds of calls with these arguments."""
        function, clock = self.function, self.clock
        with without_collector():
            before = waited()
            cpu = time.thread_time()
            wall = time.perf_counter()
            began = clock()
            for argument in arguments:
                function(argument)
            took = clock() - began
            self._wall_s += time.perf_counter() - wall
            used = time.thread_time() - cpu
            self._cpu_s += used
            delay = waited() - before
        return took if self.metric == "cpu" else max(took - delay, min(took, used))

    def remarks(self, variable: str) -> list[str]:
        """Return what makes these times doubtful: a loaded machine, calls that are too short."""
        said = []
        waited = 1 - self._cpu_s / self._wall_s if self._wall_s else 0.0
        load = os.getloadavg()[0] / (os.cpu_count() or 1)
        if waited > _WAITED and load > _LOAD:
            said.append(f"the machine is loaded: calls waited {100 * waited:.0f} % of the time")
        if self.short:
            said.append(
                f"calls are too short for the clock at {variable}={text_of(min(self.short))}: say "
                'per="batch" if the function leaves its argument as it is'
            )
        return said


def in_rounds(
    timer: Timing,
    sizes: Sequence[Any],
    rounds: int,
    judge: Callable[[list[tuple[Any, int, float]]], T],
    is_open: Callable[[T], bool],
) -> T:
    """Return what `judge` says of sizes, rounds and seconds; while that is open, time more."""
    values: list[tuple[Any, int, float]] = []
    began = time.monotonic()
    for _ in range(_MOST_ROUNDS):
        first = len(values) // len(sizes)
        for number in range(first, first + rounds):
            order = Random(number).sample(sizes, len(sizes))
            values += [(size, number, timer.value(size)) for size in order]
        judged = judge(values)
        if not is_open(judged) or time.monotonic() - began > _ROUNDS_S:
            break
    return judged
