"""Verdicts by the number of sizes, three to ten: false alarms, and broken expectations caught.

    python few_sizes.py --seeds 5000 5007 --output .

Each list is drawn by a seed of its own, which also draws its cases: three to ten sizes, four or six
repetitions. Writes few-sizes.csv, a line for all, for each number of sizes, noise and family. The
near expectation is slower than the growth, but within its limits (`verdicts`). The thresholds
of `verdict.calibration` were chosen on the lists of seeds 40100 to 40138 (`--tune` prints shares
below other thresholds); these are not read again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import growths
import numpy as np
import verdicts
from drawing.manifest import Table
from suite import SUITES

THRESHOLDS = (0.3, 0.25, 0.2, 0.15, 0.12, 0.1, 0.05)
COLUMNS = (
    "sizes", "true", "alarms", "undecided", "misfits", "broken", "caught", "held", "broken_misfits",
    "near", "near_alarms",
)  # fmt: skip


class Group(NamedTuple):
    """What a case is counted by."""

    sizes: int
    noise: str
    family: str


Row = tuple[Group, str, str, float]
"""What a case is counted by; the kind of the expectation; its verdict; P(holds)."""


def evaluated(seed: int) -> Iterator[Row]:
    """Yield group, kind, verdict and P(holds) of the expectations of a list."""
    suite = replace(SUITES["drawn"], growths=growths.drawn(seed), sizes=(3, 10))
    for case in suite.cases(seed, 1):
        for kind, one in verdicts.evaluated(case):
            group = Group(len(case.sizes), case.noise, case.growth.family)
            yield group, kind, one.outcome.value, one.probability


def listed(seed: int) -> list[Row]:
    """Return all of a list, as another process does."""
    return list(evaluated(seed))


def line(name: object, rows: list[Row]) -> list[object]:
    """Return how many of each verdict there are."""
    true, near, broken = ([row[2] for row in rows if row[1] == kind] for kind in verdicts.KINDS)
    of_true = [true.count(kind) for kind in ("violated", "undecided", "misfit")]
    of_broken = [broken.count(kind) for kind in ("violated", "holds", "misfit")]
    of_near = [len(near), near.count("violated")]
    return [name, len(true), *of_true, len(broken), *of_broken, *of_near]


def grouped(rows: list[Row]) -> Iterator[tuple[object, list[Row]]]:
    """Yield all rows, and those of each number of sizes, noise and family."""
    yield "all", rows
    for at, name in enumerate(Group._fields):
        for value in sorted({row[0][at] for row in rows}):
            label = value if name == "sizes" else f"{name}:{value}"
            yield label, [row for row in rows if row[0][at] == value]


def main() -> None:
    """Evaluate, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, required=True, help="first and last list")
    parser.add_argument("--tune", action="store_true", help="print shares below thresholds")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--output", type=Path, required=True, help="folder of few-sizes.csv")
    options = parser.parse_args()
    first, last = options.seeds
    table = Table(options.output / "few-sizes.csv", seed=range(first, last + 1))
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = [row for rows in pool.map(listed, range(first, last + 1)) for row in rows]
    lines = []
    for name, own in grouped(rows):
        lines.append(line(name, own))
        for kind in verdicts.KINDS if options.tune else ():
            found = np.array([row[3] for row in own if row[1] == kind and row[2] != "misfit"])
            if not len(found):
                continue
            print(
                name,
                kind,
                *(f"{t}: {100 * (found < t).mean():.2f} %" for t in THRESHOLDS),
            )
    for row in lines:
        print(*row)
    table.write_rows(COLUMNS, lines)


if __name__ == "__main__":
    main()
