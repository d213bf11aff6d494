"""CPU time of a model: the default engine and Extra-P in turn, case by case, in one run.

    python cost.py --seed 5600 --extra-p /path/to/python --output .

The cases of one drawn list. Each is modelled by either tool in turn, three times; the least of
three is a model's time, since whatever else runs on the machine slows both. Extra-P is a process of
its own that measures its model alone, without reading and writing. Writes cost.csv: means of all,
by noise and by number of sizes, and the ratio of both. `largest` is the largest ratio of means of
24 cases that follow each other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import growths
import numpy as np
from compare import ExtraP
from drawing.manifest import Table
from suite import NOISES, SUITES, Case
from tidings.scaling.engines.bayes import BayesEngine
from tidings.scaling.measurement import Measurement

TURNS = 3
BLOCK = 24
COLUMNS = ("group", "cases", "tidings_ms", "extra_p_ms", "ratio", "largest")
Row = tuple[Case, float, float]


def own_ms(case: Case) -> float:
    """Return the CPU time of naming the growth of a case."""
    measured = Measurement.of_values(case.sizes, case.values)
    began = time.process_time()
    _ = BayesEngine().fit(measured).growth
    return 1e3 * (time.process_time() - began)


def timed(seed: int, python: str) -> Iterator[Row]:
    """Yield each case with the least CPU time of either tool."""
    other = ExtraP(python, "mean", False)
    suite = replace(SUITES["drawn"], growths=growths.drawn(seed))
    for case in suite.cases(seed, 1):
        turns = [(own_ms(case), other(case).cpu_ms) for _ in range(TURNS)]
        own, others = (min(times) for times in zip(*turns, strict=True))
        yield case, own, others


def line(name: str, rows: list[Row]) -> list[object]:
    """Return means, their ratio, and the largest ratio of a block."""
    own, other = (np.array([row[at] for row in rows]) for at in (1, 2))
    begins = range(0, max(len(rows) - BLOCK, 0) + 1, BLOCK)
    ratios = [own[b : b + BLOCK].mean() / other[b : b + BLOCK].mean() for b in begins]
    values = (own.mean(), other.mean(), own.mean() / other.mean(), max(ratios))
    return [name, len(rows), *(f"{value:.3g}" for value in values)]


def main() -> None:
    """Time, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True, help="of the list")
    parser.add_argument("--extra-p", required=True, help="python of an environment with extrap")
    parser.add_argument("--output", type=Path, required=True, help="folder of cost.csv")
    options = parser.parse_args()
    table = Table(options.output / "cost.csv", seed=options.seed)
    rows = list(timed(options.seed, options.extra_p))
    lines = [line("all", rows)]
    lines += [line(f"noise:{n}", [row for row in rows if row[0].noise == n]) for n in NOISES]
    counts = sorted({len(row[0].sizes) for row in rows})
    lines += [line(f"sizes:{n}", [row for row in rows if len(row[0].sizes) == n]) for n in counts]
    for one in lines:
        print(*one)
    table.write_rows(COLUMNS, lines, added={"extrap": "4.2.5"})


if __name__ == "__main__":
    main()
