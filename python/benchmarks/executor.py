"""What calls through the executor cost, beside those of ``concurrent.futures``.

Two workers do calls of a function that does nothing, and of one that uses a processor for a
millisecond. Each round times the reference, ``ProcessPoolExecutor`` with as many processes, and
then ours; reported are medians over the rounds: tasks a second, microseconds of processors a task
(of this process and all that it has started, Linux's ticks of 10 ms), and for the longer calls the
*efficiency*: the processors' time of the functions themselves, over all that was used (by CPU) and
over what two processors could do meanwhile (by wall). One at a time is the time from a submission
to its result. The comparison is unfair to us where nothing fails: the reference keeps no records,
and loses all calls with one process.

The native module has to be an optimised one::

    cargo build --profile extension -p tidings-python
    cp target/extension/libtidings_tasks_native.so python/tidings/tasks/_native.abi3.so
    python python/benchmarks/executor.py
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from calls import BUSY_NS, busy, nothing

import tidings.tasks as tt

WORKERS = 2
TICK_US = 1_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass
class Taken:
    """What some tasks took."""

    tasks: int
    wall_s: float
    cpu_s: float

    @property
    def rate(self) -> float:
        """Tasks a second."""
        return self.tasks / self.wall_s

    @property
    def cpu_us(self) -> float:
        """Microseconds of processors a task."""
        return self.cpu_s / self.tasks * 1e6

    @property
    def efficiency(self) -> tuple[float, float]:
        """By wall and by CPU, of tasks that take a millisecond."""
        own = self.tasks * BUSY_NS / 1e9
        return own / (self.wall_s * WORKERS), own / self.cpu_s


def cpu_s() -> float:
    """Return the processors' time of this process and all that it has started, so far."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    own = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(ticks[pid] for pid in own) * TICK_US / 1e6


def timed(call: Callable[[], int]) -> Taken:
    """Time a call that returns how many tasks it did."""
    cpu, begun = cpu_s(), time.perf_counter()
    tasks = call()
    return Taken(tasks, time.perf_counter() - begun, cpu_s() - cpu)


def mapped(
    executor: concurrent.futures.Executor, function: Callable[[int], int], tasks: int
) -> int:
    """Have a function called so many times."""
    results = list(executor.map(function, range(tasks)))
    assert results == list(range(tasks))
    return tasks


def one_by_one(executor: concurrent.futures.Executor, tasks: int) -> list[float]:
    """Return the microseconds of each of some calls, one at a time."""
    times = []
    for number in range(tasks):
        begun = time.perf_counter()
        executor.submit(nothing, number).result()
        times.append((time.perf_counter() - begun) * 1e6)
    return times


@contextmanager
def executors(folder: Path) -> Iterator[dict[str, concurrent.futures.Executor]]:
    """Have an executor of each kind, whose processes have begun."""
    with (
        concurrent.futures.ProcessPoolExecutor(WORKERS, get_context("spawn")) as reference,
        tt.Executor("memory:", WORKERS) as memory,
        tt.Executor(f"file:{folder / 'store'}", WORKERS) as file,
    ):
        all_of_them = {"ProcessPoolExecutor": reference, "memory:": memory, "file:": file}
        for executor in all_of_them.values():
            mapped(executor, nothing, 200)
        yield all_of_them


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description="calls a second through the executor")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=10_000, help="calls that do nothing, a round")
    parser.add_argument("--busy", type=int, default=2_000, help="calls of 1 ms, a round")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, executors(Path(folder)) as compared:
        empty: dict[str, list[Taken]] = {name: [] for name in compared}
        full: dict[str, list[Taken]] = {name: [] for name in compared}
        single: dict[str, list[float]] = {name: [] for name in compared}
        for _ in range(options.rounds):
            for name, executor in compared.items():
                tasks = options.tasks // 10 if name == "file:" else options.tasks
                empty[name].append(timed(lambda e=executor, n=tasks: mapped(e, nothing, n)))
                full[name].append(timed(lambda e=executor: mapped(e, busy, options.busy)))
                single[name].extend(one_by_one(executor, 200))
    report(empty, full, single)


def report(
    empty: dict[str, list[Taken]], full: dict[str, list[Taken]], single: dict[str, list[float]]
) -> None:
    """Print a line for each kind of executor."""
    print(f"{'':20} no-ops/s   ratio  CPU us  1 ms: wall / CPU  one at a time us p50 / p99")
    first = empty["ProcessPoolExecutor"]
    for name, taken in empty.items():
        ratio = statistics.median(a.rate / b.rate for a, b in zip(taken, first, strict=True))
        wall, cpu = (statistics.median(t.efficiency[n] for t in full[name]) for n in (0, 1))
        quantiles = statistics.quantiles(single[name], n=100)
        print(
            f"{name:20} {statistics.median(t.rate for t in taken):8,.0f} {ratio:7.2f}"
            f" {statistics.median(t.cpu_us for t in taken):7.0f}        {wall:.2f} / {cpu:.2f}"
            f"  {quantiles[49]:17.0f} / {quantiles[98]:.0f}"
        )


if __name__ == "__main__":
    main()
