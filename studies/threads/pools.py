"""All works on all pools, in turn, each cell in a process of its own.

    studies/threads/run

Systems alternate within a repetition, in another order each time, so that what else the machine
does meets all alike. A cell begins when the machine has been idle for a moment, or after a second
in any case; how busy it was before stands in the table. It runs its work once to warm caches up
and then three times, each with its result checked; a cell that fails is said on standard error,
and then there is no table.

Written are `threads.csv`, a row for each run, and its manifest.

Exit status: 0 done, 1 a cell failed, 2 wrong arguments, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from drawing.manifest import Table, first_line

COLUMNS = ("work", "system", "repetition", "run", "wall_ms", "processors_ms", "busy_before")
WORKS = ("fib", "queens", "tree")
RUST = {
    "in order, Rust": "in-order",
    "Tidings, forks": "tidings",
    "Tidings, lists": "lists",
    "rayon": "rayon",
    "chili": "chili",
}
CPP = {
    "in order, C++": "in_order",
    "oneTBB": "tbb",
    "Taskflow": "taskflow",
    "OpenMP": "openmp",
}
ONLY = {"Tidings, lists": ("queens", "tree"), "chili": ("fib",)}
"""Systems that do not have all works."""
CELL_S = 120
LOOK_S, WAIT_S = 0.1, 1
"""How long it is looked whether the machine is idle, and how long that is waited for."""
IDLE = 0.15
"""The share of all processors up to which a machine counts as idle."""

Cell = tuple[int, str, str]


def cells(repetitions: int) -> Iterator[Cell]:
    """Yield repetition, work and system; the order of systems is another each time."""
    order = random.Random(1)
    for repetition in range(1, repetitions + 1):
        for work in WORKS:
            chosen = [name for name in (*RUST, *CPP) if work in ONLY.get(name, WORKS)]
            order.shuffle(chosen)
            yield from ((repetition, work, name) for name in chosen)


def words(system: str, work: str, options: argparse.Namespace) -> list[str]:
    """Return the command line of a cell."""
    if system in RUST:
        return [str(options.rust), RUST[system], work]
    return [str(options.cpp / CPP[system]), work]


def busy_share() -> float:
    """Return the share of all processors' time that programs took for a moment."""

    def times() -> list[int]:
        first = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
        return [int(word) for word in first.split()[1:]]

    before = times()
    time.sleep(LOOK_S)
    spent = [after - one for one, after in zip(before, times(), strict=True)]
    return 1 - sum(spent[3:5]) / max(1, sum(spent))


def calm() -> float:
    """Wait for an idle machine, not for ever; return how busy it was last."""
    until = time.monotonic() + WAIT_S
    while (share := busy_share()) > IDLE and time.monotonic() < until:
        pass
    return share


def measured(cell: Cell, options: argparse.Namespace) -> list[list[object]]:
    """Return the rows of a cell."""
    repetition, work, system = cell
    command, share = words(system, work, options), f"{calm():.2f}"
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=CELL_S)
    return [
        [work, system, repetition, run, *map(float, line.split()), share]
        for run, line in enumerate(done.stdout.splitlines(), 1)
    ]


def taskflow_version(headers: Path) -> str:
    """Return what the headers of Taskflow say: 300900 is 3.9.0."""
    text = (headers / "taskflow/taskflow.hpp").read_text(encoding="utf-8")
    found = re.search(r"^#define TF_VERSION (\d+)$", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{headers}: taskflow/taskflow.hpp states no version")
    number = int(found[1])
    return f"{number // 100_000}.{number // 100 % 1000}.{number % 100}"


def versions(taskflow: Path) -> dict[str, str]:
    """Return the versions of what is compared."""
    found = {"rustc": first_line(["rustc", "--version"]), "g++": first_line(["g++", "--version"])}
    tbb = ["dpkg-query", "--show", "--showformat=${Version}", "libtbb-dev"]
    found["libtbb-dev"] = first_line(tbb)
    found["taskflow"] = taskflow_version(taskflow)
    command = ["cargo", "tree", "--locked", "-p", "tidings-fork-join", "--prefix", "none"]
    tree = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    for line in tree.splitlines():
        name, _, version = line.partition(" v")
        if name in ("rayon", "chili"):
            found[name] = version.split()[0]
    return found


def main() -> int:
    """Measure all, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rust", type=Path, required=True, help="the program of pools in Rust")
    parser.add_argument("--cpp", type=Path, required=True, help="the folder of those in C++")
    parser.add_argument("--taskflow", type=Path, required=True, help="where its headers are")
    parser.add_argument("--repetitions", type=int, default=11)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    table = Table(options.output / "threads.csv", seed=1)
    rows: list[list[object]] = []
    began = time.monotonic()
    for cell in cells(options.repetitions):
        try:
            rows += measured(cell, options)
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            print(f"pools: {cell}: {error}", file=sys.stderr)
            return 1
        print(f"{time.monotonic() - began:5.0f} s  {cell}", flush=True)
    table.write_rows(COLUMNS, rows, added=versions(options.taskflow))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
