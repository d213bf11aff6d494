"""One session: rounds in which all programs run in random order, and what may count of them.

A hypervisor moves the processors of a guest, and its latencies change by a factor of five then. So
before and after each run the gauge measures how far the processors are apart, and a block of runs
counts only if it says the same all the time. A block counts neither if other processes of normal
priority had more than a quarter of the processors' time.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from peer_programs import (
    IMB_MESSAGES,
    IMB_REPETITIONS,
    IMB_WINDOWS,
    NETPIPE_RUNS,
    SIZES,
    Programs,
    Reading,
    SlowError,
    allreduce_s,
    of_imb,
    of_rows,
    ping_pong_s,
    rows,
    uniband_s,
)
from peer_statistics import interquartile_mean

STEADY = 1.25
"""Gauges of a block that differ by more than this factor: the processors were moved."""
OTHERS = 0.25
"""The share of the processors' time that others of normal priority may have had."""
WARM = "in cache"
STREAMS = 20
"""Repetitions of ours where a stream has as many messages as a peer's."""
REDUCTION = ("--test", "collectives", "--operations", "allreduce")

Readings = dict[tuple[str, str], Reading]
"""By quantity and program."""


class Block(NamedTuple):
    """A program's runs beside those of its peers, once."""

    name: str
    readings: Readings
    gauges_ns: list[float]
    others: float

    def fault(self) -> str:
        """Return why the block does not count; nothing if it does."""
        if max(self.gauges_ns) > STEADY * min(self.gauges_ns):
            return "moved"
        return "busy" if self.others > OTHERS else ""


Run = Callable[[], Readings]


def point_to_point(programs: Programs, mpi: str) -> dict[str, Run]:
    """Return the runs of latency and bandwidth."""

    def ours() -> Readings:
        text = programs.characterize(mpi, "--test", "pair")
        tests = ("latency", "bandwidth")
        return {(test, "ours"): of_rows(text, test, WARM) for test in tests}

    def streams(least: int, most: int, messages: int) -> dict[int, list[float]]:
        words = ("--messages", str(messages), "--largest", str(most), "--test", "pair")
        found = rows(programs.characterize(mpi, *words, repetitions=STREAMS), "bandwidth", WARM)
        return {size: samples for size, samples in found.items() if size >= least}

    def windows() -> Readings:
        found = streams(1, SIZES[-1], IMB_MESSAGES)
        means = {size: interquartile_mean(samples) for size, samples in found.items()}
        return {("bandwidth", "ours, windows"): means}

    def trials() -> Readings:
        best = {}
        for least, most, repeats in NETPIPE_RUNS:
            found = streams(least, most, repeats)
            best |= {size: min(samples) for size, samples in found.items()}
        return {("bandwidth", "ours, trials"): best}

    def imb(quantity: str, benchmark: str, of_line: Callable[[list[float]], float]) -> Run:
        repetitions = IMB_REPETITIONS if quantity == "latency" else IMB_WINDOWS
        return lambda: {
            (quantity, benchmark): of_imb(
                programs.imb(benchmark, "sizes", repetitions), benchmark, of_line
            )
        }

    runs: dict[str, Run] = {
        "ours": ours,
        "NetPIPE": lambda: {("latency", "NetPIPE"): programs.netpipe(mpi)},
        "NetPIPE -s": lambda: {("bandwidth", "NetPIPE -s"): programs.netpipe(mpi, "-s")},
        "ours, trials": trials,
    }
    if mpi == "MPICH":
        runs["PingPong"] = imb("latency", "PingPong", ping_pong_s)
        runs["ours, windows"] = windows
        runs["Uniband"] = imb("bandwidth", "Uniband", uniband_s)
    return runs


def reductions(programs: Programs) -> dict[str, Run]:
    """Return the runs of allreduce: as reported, and above the library that times their calls."""
    below = programs.places.calls

    def imb(library: Path | None = None) -> str:
        return programs.imb("Allreduce", "reduced", IMB_REPETITIONS, library)

    def timed(name: str, started: Callable[[], str]) -> Run:
        def both() -> Readings:
            started()
            return {("allreduce", f"{name}, calls"): programs.calls()}

        return both

    def ours(library: Path | None = None) -> str:
        return programs.characterize("MPICH", *REDUCTION, below=library)

    return {
        "ours": lambda: {("allreduce", "ours"): of_rows(ours(), "allreduce", "WORLD")},
        "Allreduce": lambda: {("allreduce", "Allreduce"): of_imb(imb(), "Allreduce", allreduce_s)},
        "ours, timed": timed("ours", lambda: ours(below)),
        "Allreduce, timed": timed("Allreduce", lambda: imb(below)),
    }


def busy_s() -> float:
    """Return the seconds for which processors were busy so far, but for processes of low priority.

    Those have what is left over, and what they have disturbs nobody.
    """
    first, *_ = Path("/proc/stat").read_text(encoding="utf-8").splitlines()
    user, _, system, _, _, irq, soft, *_ = map(int, first.split()[1:])
    return (user + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def own_s() -> float:
    """Return the processor time of this process and of what it has started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def gauged_ns(gauge: Path) -> float:
    """Return how far the processors are apart now."""
    return float(subprocess.run([str(gauge)], check=True, capture_output=True, text=True).stdout)


def block(name: str, runs: Mapping[str, Run], gauge: Path, draws: random.Random) -> Block:
    """Make the runs of a block in random order; one that is slow makes all of it a busy one."""
    order = list(runs)
    draws.shuffle(order)
    readings: Readings = {}
    busy, own, began = busy_s(), own_s(), time.monotonic()
    gauges = [gauged_ns(gauge)]
    try:
        for one in order:
            readings |= runs[one]()
            gauges.append(gauged_ns(gauge))
    except SlowError:
        return Block(name, {}, gauges, 1.0)
    others = busy_s() - busy - (own_s() - own)
    share = others / (os.cpu_count() or 1) / (time.monotonic() - began)
    return Block(name, readings, gauges, share)


def blocks(programs: Programs, gauge: Path, seconds: float, seed: int) -> Iterator[Block]:
    """Make rounds for so long."""
    draws = random.Random(seed)
    kinds: dict[str, Mapping[str, Run]] = {
        "MPICH": point_to_point(programs, "MPICH"),
        "allreduce": reductions(programs),
        "Open MPI": point_to_point(programs, "Open MPI"),
    }
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        order = list(kinds)
        draws.shuffle(order)
        for name in order:
            yield block(name, kinds[name], gauge, draws)


def near(gauge_ns: float, others_ns: list[float]) -> bool:
    """Return whether a gauge is the usual one: that of most blocks."""
    usual = statistics.median(others_ns)
    return usual / STEADY <= gauge_ns <= usual * STEADY
